"""The answer of a sweep from its tables: statistics per cell, cells paired by seed, the front, a recommendation.

Where to read:

    analyse            begin here: the order of all steps
    observations       from the tables to rows of cell, seed, metric, value
    observed_on_spark  the same rows by SQL on Spark
    engines            one task for each cell, in this process or on Spark

    cells              statistics of a cell, and of one against another
    intervals          confidence intervals over the seeds
    significance       paired tests
    resampling         the random draws of both
    effects            the effect of one axis
    front              cells that no other cell beats in both goals
    recommendation     the cell to recommend
    given              one answer for each circumstance

    answer, wording    the answer as plain data, and as text
    traffic            the requests in the traces
    results            the files of an analysis
"""

from groupsim.pipeline.analysis.analyse import analyse, answer_of
from groupsim.pipeline.analysis.answer import Answer
from groupsim.pipeline.analysis.results import read_answer
from groupsim.pipeline.tables.metrics import METRICS, Metric, Unit

__all__ = ["METRICS", "Answer", "Metric", "Unit", "analyse", "answer_of", "read_answer"]
