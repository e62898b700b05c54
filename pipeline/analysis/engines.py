"""Where the grouped tasks run: here, one cell after the other, or on Spark. The task is the same function."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import attrs

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.sweep.engines import EngineOptions

# One cell's rows → rows of the result.
Task = Callable[["pa.Table"], "pa.Table"]
# All rows (with a column `cell`), the task, the schema of the result → all results, in any order.
Engine = Callable[["pa.Table", Task, "pa.Schema"], "pa.Table"]

SPARK_TYPES = {"int32": "int", "int64": "bigint", "double": "double", "string": "string", "bool": "boolean"}


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


def plain(table: pa.Table, task: Task, schema: pa.Schema) -> pa.Table:
    """One task after the other, in this process. The rows are sorted by cell."""
    import pyarrow as pa

    counts = sorted((pair["values"], pair["counts"]) for pair in table["cell"].value_counts().to_pylist())
    found, begin = [schema.empty_table()], 0
    for _, count in counts:
        found.append(task(table.slice(begin, count)))
        begin += count
    return pa.concat_tables(found)


@contextmanager
def spark(options: EngineOptions | None = None) -> Iterator[Engine]:
    """One Spark task per cell, in a session with the ordinary JIT that ends with the block.

    The rows travel through the driver: executors need no common file system. On a cluster they also need our code,
    which goes there as the zip of the sweeps. Raises SweepError when Spark cannot be had.
    """
    from groupsim.pipeline.sweep.spark_session import session

    # The zip stays for as long as the session: executors fetch it when they come.
    with TemporaryDirectory(prefix="groupsim-zip-") as folder, session(options) as found:
        yield partial(_on_spark, found, _shipped(found, options, Path(folder)))


def _shipped(session: Any, options: EngineOptions | None, folder: Path) -> str | None:
    """Ship our code to a cluster; returns the name of the zip, nothing for this machine's workers."""
    master = options.master if options else None
    if not (options and options.remote) and (master or "local").startswith("local"):
        return None
    from groupsim.pipeline.sweep.bundle import bundle

    made = bundle()
    session.addArtifacts(str(made.write(folder)), pyfile=True)
    return made.name


def _on_spark(session: Any, zip_name: str | None, table: pa.Table, task: Task, schema: pa.Schema) -> pa.Table:
    ddl = ", ".join(f"`{field.name}` {SPARK_TYPES[str(field.type)]}" for field in schema)
    from groupsim.pipeline.sweep.probe import explained
    from groupsim.pipeline.sweep.spark_session import jvm_log

    groups = session.createDataFrame(table).groupBy("cell")
    try:
        found = groups.applyInArrow(_group(pickle.dumps(task), zip_name), ddl).toArrow()
    except Exception as error:
        raise explained(error, jvm_log(session)) from error
    return found.cast(schema)


def _group(packed: bytes, zip_name: str | None) -> Task:
    """The task for an executor, which imports our modules only when the zip is in its place."""
    from groupsim.pipeline.sweep.remote import unpacking

    unpack = unpacking(zip_name) if zip_name else None

    # One argument: Spark gives functions of two the key as well.
    def group(rows: pa.Table) -> pa.Table:
        import pickle

        if unpack is not None:
            unpack()
        return pickle.loads(packed)(rows)

    return group
