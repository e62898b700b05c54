"""One run as rows: from a canonical document and a seed, the rows of every table (`tables/schemas.py`).

Executors run this: no YAML, no Spark, and pyarrow only where rows become Arrow tables. A simulation that fails
is a row too, with its error and the command that repeats it.
"""

from __future__ import annotations

from groupsim.pipeline.runs.arrow import to_arrow
from groupsim.pipeline.runs.lists import Lists
from groupsim.pipeline.runs.rows import Label, Rows, rows_of
from groupsim.pipeline.runs.simulation import simulate

__all__ = ["Label", "Lists", "Rows", "rows_of", "simulate", "to_arrow"]
