"""The tables of a sweep's directory as DataFrames of Spark, on any storage.

Spark reads the files itself where it can: a folder that its executors share with the driver, and HDFS. Object stores
are read by Arrow on the executors, so Spark needs no jars for them. Where executors share nothing with the driver, the
rows go through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from groupsim.pipeline.sweep.parts import table_file
from groupsim.pipeline.sweep.spark.remote import reading
from groupsim.pipeline.tables.column_types import Table
from groupsim.pipeline.tables.schemas import TABLES
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.pipeline.sweep.directory import Directory

BYTES_PER_TASK = 8 << 20  # of files that Arrow reads


@frozen
class Cluster:
    """A session, the zip that was shipped to its workers (nothing: they have what the driver has), and whether they
    see the storage of the sweep.
    """

    session: Any
    zip_name: str | None
    shares: bool


def ddl(table: Table, columns: Sequence[str] | None = None) -> str:
    """A table's columns in Spark's words."""
    chosen = [column for column in table.columns if columns is None or column.name in columns]
    return ", ".join(f"`{column.name}` {column.type}" for column in chosen)


def frame(on: Cluster, directory: Directory, name: str, columns: Sequence[str] | None = None) -> Any:
    """One table, or some of its columns (in the table's order), in no order of rows."""
    schema = ddl(TABLES[name], columns)
    names = [column.name for column in TABLES[name].columns if columns is None or column.name in columns]
    files = directory.files(name)
    if not files:
        return on.session.createDataFrame([], schema)
    if not on.shares:
        return on.session.createDataFrame(directory.read(name, names))
    if directory.place.local is not None or directory.place.url.lower().startswith("hdfs:"):
        return on.session.read.schema(schema).parquet(*map(_text, directory.parts(name)))
    listed = on.session.createDataFrame([(table_file(file),) for file in files], "file string")
    size = sum(file.bytes for file in files)
    spread = listed.repartition(min(len(files), 2 + size // BYTES_PER_TASK))
    return spread.mapInArrow(reading(directory.place, name, names, on.zip_name), schema)


def _text(part: Any) -> str:
    return part if isinstance(part, str) else str(part.as_uri())
