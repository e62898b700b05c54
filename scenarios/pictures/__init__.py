"""Pictures of a run as SVG: lanes and generations over time, written plainly, in colours for light and for dark.

Where to read:

    run_picture    the picture of a run: generations, a lane for each member, standstills, what was done
    parts          the strips of that picture, one below the other
    choice         which groups and which lanes are drawn or printed, where not all of them fit
    scale          virtual time as pixels, and round steps of its axis
    svg            the writer of SVG
    notebook       a run as HTML, for a notebook
"""
