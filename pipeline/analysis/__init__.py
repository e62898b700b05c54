"""The answer of a sweep from its tables: statistics per cell, cells paired by seed, the front, a recommendation."""

from groupsim.pipeline.analysis.analyse import analyse, answer_of
from groupsim.pipeline.analysis.answer import Answer
from groupsim.pipeline.analysis.results import read_answer
from groupsim.pipeline.tables.metrics import METRICS, Metric, Unit

__all__ = ["METRICS", "Answer", "Metric", "Unit", "analyse", "answer_of", "read_answer"]
