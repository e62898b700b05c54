"""What every assignor is made of.

Where to read:

    interface      what an assignor is
    steps          the steps of an assignment, for explanations
    errors         its defects
    common, racks  what the built-in ones share
"""
