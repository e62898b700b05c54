"""The engines of grouped tasks: in this process, one cell after the other, or Spark. The task is the same function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType
from typing import TYPE_CHECKING, Any, Protocol, get_args, get_type_hints

import attrs

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.sweep.directory import Directory
    from groupsim.pipeline.sweep.engines import EngineOptions
    from groupsim.pipeline.sweep.spark.frames import Cluster

# One cell's rows → rows of the result.
Task = Callable[["pa.Table"], "pa.Table"]


class Seen(Protocol):
    """The observations of a sweep (`observations`), wherever they are."""

    def of(self, cells: Sequence[int], /) -> Seen:
        """Those of some cells."""

    def rows(self, cells: Sequence[int] | None = None, metrics: Sequence[str] | None = None) -> pa.Table:
        """The rows of cells and metrics, in no order."""

    def grouped(self, task: Task, schema: pa.Schema) -> pa.Table:
        """One task per cell; all their results, in any order."""


class Here:
    """All observations in this process, sorted by cell."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def of(self, cells: Sequence[int]) -> Here:
        return Here(self.rows(cells))

    def rows(self, cells: Sequence[int] | None = None, metrics: Sequence[str] | None = None) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        found = self._table
        if cells is not None:
            found = found.filter(pc.is_in(found["cell"], pa.array(cells, found["cell"].type)))
        if metrics is not None:
            found = found.filter(pc.is_in(found["metric"], pa.array(list(dict.fromkeys(metrics)))))
        return found

    def grouped(self, task: Task, schema: pa.Schema) -> pa.Table:
        """See `Seen`: one task after the other."""
        import pyarrow as pa

        counts = sorted((pair["values"], pair["counts"]) for pair in self._table["cell"].value_counts().to_pylist())
        found, begin = [schema.empty_table()], 0
        for _, count in counts:
            found.append(task(self._table.slice(begin, count)))
            begin += count
        return pa.concat_tables(found)


def as_schema(kind: type) -> pa.Schema:
    """The Arrow schema of a flat attrs class: int becomes int64, float double."""
    import pyarrow as pa

    types = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
    hints = get_type_hints(kind)
    fields = []
    for field in attrs.fields(kind):
        hint = hints[field.name]
        options = [option for option in get_args(hint) if option is not NoneType]
        fields.append(pa.field(field.name, types[options[0] if options else hint], nullable=bool(options)))
    return pa.schema(fields)


def spark_installed() -> bool:
    """Whether there is a PySpark that `auto` may take."""
    return find_spec("pyspark") is not None


@contextmanager
def cluster(options: EngineOptions, directory: Directory, engine: Any = None) -> Iterator[Cluster]:
    """The session of the engine that simulated, or one that the options describe and that ends with the block.

    A cluster gets our code as the zip of the sweeps, and a probe checks whether it sees the storage. Raises SweepError
    when Spark cannot be had.
    """
    from groupsim.pipeline.sweep.spark.frames import Cluster
    from groupsim.pipeline.sweep.spark.session import session

    if engine is not None:
        yield Cluster(engine.session, engine.zip_name, engine.shares)
        return
    # The zip stays for as long as the session: executors fetch it when they come.
    with TemporaryDirectory(prefix="groupsim-zip-") as folder, session(options) as found:
        if not options.remote and (options.master or "local").startswith("local"):
            yield Cluster(found, None, True)
            return
        from groupsim.pipeline.sweep.spark.bundle import bundle
        from groupsim.pipeline.sweep.spark.probe import probe

        made = bundle()
        found.addArtifacts(str(made.write(Path(folder))), pyfile=True)
        yield Cluster(found, made.name, probe(found, made.name, directory.place)[1])
