"""Tables as pandas DataFrames: of a run, of a sweep, of an assignment. pandas is imported here alone, when needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from groupsim.pipeline.runs import Label, Lists, rows_of, to_arrow
from groupsim.pipeline.sweep.directory import Directory
from groupsim.pipeline.tables.schemas import QUERIED
from groupsim.protocol.embedded.assignment import GroupAssignment
from groupsim.scenarios.language.problems import suggest

if TYPE_CHECKING:
    import pandas as pd

INSTALL = 'pip install "groupsim[notebook]"'
NEEDED = ("pandas", "pyarrow")
ASSIGNMENT = "assignment"


def frame(source: Any, table: str = "") -> pd.DataFrame:
    """One table of a run (`Run`, `Simulation`), of a sweep (`Directory`, `Outcome`) or of an assignment as a DataFrame.

    `table` is a name of docs/tables.md, such as "changes"; an assignment has one table alone, with the columns member,
    topic and partition. Raises ModuleNotFoundError, with the extra to install, where pandas or pyarrow is missing,
    ValueError for a table that there is not and for a run that kept no events, TypeError for another source.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(f"a DataFrame needs {' and '.join(missing)}: {INSTALL}", name=missing[0])
    if isinstance(source, GroupAssignment):
        return _of_assignment(source, table)
    directory = getattr(source, "directory", source)
    if isinstance(directory, Directory):
        return _of_sweep(directory, table)
    if not hasattr(source, "events"):
        words = "a Run, a Simulation, a Directory, an Outcome or a GroupAssignment"
        raise TypeError(f"{type(source).__name__} has no tables; {words} has")
    return _of_run(source, table)


def _of_assignment(assignment: GroupAssignment, table: str) -> pd.DataFrame:
    import pandas as pd

    _check(table or ASSIGNMENT, (ASSIGNMENT,))
    rows = [(member, *partition) for member, held in assignment.partitions.items() for partition in held]
    return pd.DataFrame(rows, columns=["member", "topic", "partition"])


def _of_sweep(directory: Directory, table: str) -> pd.DataFrame:
    from groupsim.pipeline.experiment.cell_rows import cells_of

    _check(table, QUERIED)
    found = cells_of(directory.experiment) if table == "cells" else directory.tables(table)
    result: pd.DataFrame = found.to_pandas()
    return result


def _of_run(run: Any, table: str) -> pd.DataFrame:
    if not run.events:
        raise ValueError("the run kept no events, and its tables are made of them: run it with keep_events=True")
    story = run.story() if callable(run.story) else run.story
    tables: Mapping[str, Any] = rows_of(Lists(run.events), story, Label(seed=run.seed))
    _check(table, tables)
    result: pd.DataFrame = to_arrow({table: tables[table]})[table].to_pandas()
    return result


def _check(table: str, known: Iterable[str]) -> None:
    names = list(known)
    if table not in names:
        raise ValueError(f"there is no table {table!r}: {suggest(table, names, 'tables')}")
