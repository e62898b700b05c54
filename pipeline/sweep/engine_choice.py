"""`--engine auto`: Spark, unless a pool of processes finishes the whole sweep before Spark is up, or without Spark."""

from __future__ import annotations

from importlib.util import find_spec

from groupsim.pipeline.sweep.engines import AUTO, POOL, SPARK, EngineOptions
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.spark.java import find_java
from groupsim.protocol.values import frozen

SHORT_S = 15.0  # of a sweep in a pool: below, Spark's start and first tasks take longer than all of it
NEEDED = ("pyspark", "pyarrow", "pandas")


@frozen
class EngineChoice:
    """An engine, and why; the engine `auto` while that is not known yet."""

    engine: str
    why: str

    @property
    def sentence(self) -> str:
        """For the user; nothing where nothing was chosen."""
        return f"engine: {self.engine} ({self.why})" if self.why else ""


def choose(options: EngineOptions, pool_s: float | None = None) -> EngineChoice:
    """Return the engine for `auto`, by the estimated time of the whole sweep in a pool; `auto` while it is unknown."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        return EngineChoice(POOL, f"{' and '.join(missing)} not installed: pip install groupsim[spark]")
    try:
        java = find_java()
    except SweepError as error:
        return EngineChoice(POOL, error.message)
    if pool_s is None:
        return EngineChoice(AUTO, "")
    if pool_s < SHORT_S:
        return EngineChoice(POOL, f"it takes about {max(1, round(pool_s))} s here, less than Spark's start is worth")
    where = f"local[{options.workers}]" if options.workers else "local mode"
    return EngineChoice(SPARK, f"{where}, Java {java.version} from {java.found}; --engine pool for processes alone")
