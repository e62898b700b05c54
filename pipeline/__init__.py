"""The data pipeline: from a question to thousands of runs, to tables, to an answer with a page behind it.

An experiment file (`experiment/`) names a scenario, what to vary and how many seeds. A sweep (`sweep/`) simulates each
cell of the grid with each seed, on Spark or in a plain pool of processes, and writes the tables of `tables/schemas.py`,
whose rows come from the trace of each run (`runs/`). The analysis (`analysis/`) compares the cells seed by seed and
recommends one; the page (`page/`) shows the answer, the plots, and the lanes of single runs.
"""
