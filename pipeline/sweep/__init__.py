"""Sweeps: the missing runs, the engine (Spark or a pool), the finished runs, and the directory with all of them.

`sweep` runs what an experiment still lacks and writes it into a `Directory`; both engines (`pool`, `spark/engine.py`)
are sent the same tasks (`plan`), do the same work (`work`) and answer with the same tables. In `spark/`: one zip goes
to other machines (`bundle`); `probe` checks first whether the machines can run it; `session` makes the
Spark session, `java` finds the Java under it. No module here is called as the function `session` is: it would hide it.

Where to read:

    driver                     begin here: `sweep`, from the missing runs to the finished ones
    plan, work                 the tasks; what an executor does with one
    engines, engine_choice     what an engine is; `--engine auto`
    pool, spark                the two engines
    directory, contents        the directory of a sweep, and what `experiment.json` says of it
    chunks, parts              the manifests of finished runs; the files of their rows
    place, files, hdfs         a folder or a URL; complete files and the lock; HDFS
    compact, merging           few large files in the place of many: the driver's and the worker's half
    assignors                  the user's own assignors, and their files
    repeat                     the command that repeats one run
    ticking, errors            progress; errors that end a sweep
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groupsim.pipeline.sweep.directory import Directory
    from groupsim.pipeline.sweep.driver import Outcome, sweep
    from groupsim.pipeline.sweep.engines import EngineOptions
    from groupsim.pipeline.sweep.errors import SweepError
    from groupsim.pipeline.sweep.spark.data_source import register
    from groupsim.pipeline.sweep.spark.session import session

_HOMES = {
    "Directory": "directory",
    "EngineOptions": "engines",
    "Outcome": "driver",
    "SweepError": "errors",
    "register": "spark.data_source",
    "session": "spark.session",
    "sweep": "driver",
}

__all__ = ["Directory", "EngineOptions", "Outcome", "SweepError", "register", "session", "sweep"]


def __getattr__(name: str) -> Any:
    # On first use, so that an executor, which loads `work`, does not load the driver's half.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
