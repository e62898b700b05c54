"""Query a sweep's directory: each of its tables is a view, and the answer an Arrow table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from groupsim.pipeline.experiment.cell_rows import cells_of
from groupsim.pipeline.sql.names import explained
from groupsim.pipeline.sql.statement import checked, named
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.tables.schemas import CELLS, QUERIED, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.sweep.directory import Directory
    from groupsim.pipeline.sweep.engines import EngineOptions

AUTO, DUCKDB, SPARK = "auto", "duckdb", "spark"
ENGINES = (DUCKDB, SPARK, AUTO)


def chosen_engine(engine: str, clustered: bool = False) -> str:
    """Return DuckDB where it is installed, unless Spark or a cluster is requested. Raises SweepError."""
    if engine not in ENGINES:
        raise SweepError(f"--engine {engine}: no such engine", f"one of {', '.join(ENGINES)}", bad_input=True)
    if engine == DUCKDB and clustered:
        raise SweepError("--engine duckdb runs in this process", "leave out --master and --remote", bad_input=True)
    if engine == DUCKDB and find_spec("duckdb") is None:
        raise SweepError("duckdb is not installed", 'pip install "groupsim[sql]"', bad_input=True)
    if engine == AUTO:
        engine = SPARK if clustered or find_spec("duckdb") is None else DUCKDB
    if engine == SPARK and find_spec("pyspark") is None:
        remedy = 'pip install "groupsim[sql]" for DuckDB, or "groupsim[spark]"'
        raise SweepError("neither DuckDB nor Spark is installed", remedy, bad_input=True)
    return engine


def ask(directory: Directory, query: str, engine: str = AUTO, options: EngineOptions | None = None) -> pa.Table:
    """What a query finds in the tables of a sweep.

    The query may name every table of `QUERIED`; `options` are Spark's place. Raises SweepError for a query that
    does not only read, names unknown tables or cannot be answered, and for an engine that is not installed.
    """
    text = checked(query)
    chosen = chosen_engine(engine, bool(options and options.clustered))
    return (_by_duckdb if chosen == DUCKDB else _by_spark)(directory, text, options)


def _by_duckdb(directory: Directory, query: str, _: EngineOptions | None) -> pa.Table:
    import duckdb

    tables = named(query)
    with duckdb.connect(":memory:") as connection:
        for name in tables:
            _view(connection, directory, name)
        try:
            return connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            raise explained(error, tables, query) from error


def _view(connection: Any, directory: Directory, name: str) -> None:
    """A view of a table: of its files, where they lie on this machine; else of its rows."""

    if name == CELLS.name:
        connection.register(name, cells_of(directory.experiment))
        return
    parts = directory.parts(name) if directory.place.local is not None else []
    if parts:
        files = ", ".join("'" + str(part).replace("'", "''") + "'" for part in parts)
        connection.execute(f"create view {name} as select * from read_parquet([{files}])")
        return
    empty: pa.Table = arrow_schema(QUERIED[name]).empty_table()
    connection.register(name, empty if directory.place.local is not None else directory.read(name))


@contextmanager
def _without_log() -> Iterator[None]:
    """Silence PySpark's log of a query's mistake, with the stack of the JVM; the user gets a sentence."""
    from pyspark.logger import PySparkLogger

    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _by_spark(directory: Directory, query: str, options: EngineOptions | None) -> pa.Table:
    from groupsim.pipeline.analysis.engines import cluster
    from groupsim.pipeline.sweep.engines import EngineOptions
    from groupsim.pipeline.sweep.spark.frames import frame
    from groupsim.pipeline.sweep.spark.probe import explained as of_spark

    tables = named(query)
    with cluster(options or EngineOptions(SPARK), directory) as on:
        for name in tables:
            rows = on.session.createDataFrame(cells_of(directory.experiment)) if name == CELLS.name else None
            (frame(on, directory, name) if rows is None else rows).createOrReplaceTempView(name)
        try:
            with _without_log():
                return on.session.sql(query).toArrow()
        except Exception as error:
            if re.search(r"AnalysisException|ParseException", type(error).__name__):
                raise explained(error, tables, query) from error
            raise of_spark(error) from error
