"""Where the grouped tasks run: here, one cell after the other, or on Spark. The task is the same function."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import attrs

if TYPE_CHECKING:
    import pyarrow as pa

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


def spark(session: Callable[[], Any], table: pa.Table, task: Task, schema: pa.Schema) -> pa.Table:
    """One Spark task per cell. The rows travel through the driver: executors need no common file system."""
    ddl = ", ".join(f"`{field.name}` {SPARK_TYPES[str(field.type)]}" for field in schema)
    frame = session().createDataFrame(table)
    return frame.groupBy("cell").applyInArrow(_without_key(task), ddl).toArrow().cast(schema)


def _without_key(task: Task) -> Task:
    """As Spark wants it: a function of exactly one argument tells it that the key is not asked for."""

    def group(rows: pa.Table) -> pa.Table:
        return task(rows)

    return group


def local_session() -> Any:
    """A Spark session on this machine with the ordinary JIT: a session of sweeps is lean, and slow at queries."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[*]")
        .appName("groupsim analysis")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
