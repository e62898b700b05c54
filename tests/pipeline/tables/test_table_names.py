"""Names of tables and columns: fit for SQL without quotes, and one mapping from the trace's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.sinks import COLUMNS, PARQUET, read_trace, write_trace
from groupsim.pipeline.sweep.directory import Directory
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.tables.column_types import KEY, Table
from groupsim.pipeline.tables.schemas import QUERIED, TABLES_VERSION, TRACES
from tests.helpers import small_sweep, words_of_sql

WORDS = words_of_sql.SPARK | words_of_sql.DUCKDB | words_of_sql.BESIDE


@pytest.mark.parametrize("table", QUERIED.values(), ids=lambda table: table.name)
def test_no_table_and_no_column_is_named_by_a_word_of_sql(table: Table) -> None:
    """Every name can stand in a query as it is, with Spark in ANSI mode and with DuckDB."""
    assert WORDS & {table.name, *table.names} == set()
    assert all(name.isascii() and name.isidentifier() and name == name.lower() for name in (table.name, *table.names))


def test_words_are_there_to_be_found() -> None:
    """The names that columns had before would be refused."""
    assert {"group", "from", "to", "partition", "count", "member"} <= WORDS


def test_traces_of_a_sweep_have_the_columns_of_parquet_traces() -> None:
    """The table and the files of `run --trace` name a column alike; only the key is before them."""
    assert TRACES.names == (*(column.name for column in KEY), *PARQUET.values())
    assert list(PARQUET) == list(COLUMNS)
    assert len(set(PARQUET.values())) == len(PARQUET)


def test_parquet_of_an_earlier_version_is_refused_and_json_lines_are_not(tmp_path: Path) -> None:
    """A Parquet trace with the old names says what is wrong; a JSON Lines trace keeps its keys for ever."""
    events = [TraceEvent(1, 0, Kind.GROUP_STATE, "b", "g", from_="Empty", to="Stable", cause=7)]
    write_trace(events, tmp_path / "t.parquet")
    write_trace(events, tmp_path / "t.jsonl")
    assert set(json.loads((tmp_path / "t.jsonl").read_text())) > {"group", "from", "to", "cause"}
    table = pq.read_table(tmp_path / "t.parquet")
    pq.write_table(table.rename_columns(list(COLUMNS)), tmp_path / "old.parquet")
    assert read_trace(tmp_path / "t.parquet") == read_trace(tmp_path / "t.jsonl") == events
    with pytest.raises(ValueError, match="no column 'group'"):
        read_trace(tmp_path / "old.parquet")


def test_a_directory_of_another_version_is_refused(tmp_path: Path) -> None:
    """Its tables have other columns: the message has both versions, and what to do."""
    where = tmp_path / "out"
    Directory.prepare(where, small_sweep.contents(tmp_path / "yaml")).close()
    file = where / "experiment.json"
    file.write_text(file.read_text().replace(f'"tables": {TABLES_VERSION}', '"tables": 2'))
    with pytest.raises(SweepError, match=f"version 2 of the tables, this is version {TABLES_VERSION}") as caught:
        Directory.open(where)
    assert "sweep into a new directory" in caught.value.remedy


def test_cells_say_what_their_numbers_stand_for(tmp_path: Path) -> None:
    """A row for each axis of each cell, with what is given and which cell is the baseline."""
    experiment = small_sweep.load_given(tmp_path / "yaml")
    where = tmp_path / "out"
    contents = small_sweep.Contents(experiment, code="c0de")
    Directory.prepare(where, contents).close()
    rows = pq.read_table(where / "tables" / "cells").to_pylist()
    assert len(rows) == 2 * len(experiment.cells)
    assert {row["axis"]: row["given"] for row in rows} == {"assignor": False, "callback": True}
    assert {row["cell"] for row in rows if row["baseline"]} == {experiment.baseline}
    for cell in experiment.cells:
        assert {row["axis"]: row["value"] for row in rows if row["cell"] == cell.number} == dict(cell.labels)


def test_a_change_of_the_columns_is_another_version_of_the_tables() -> None:
    """Names, order and types are those of this version; who changes them raises `TABLES_VERSION`, and then this."""
    columns = [(table.name, one.name, one.type.value, one.null) for table in QUERIED.values() for one in table.columns]
    digest = hashlib.sha256(json.dumps(columns).encode()).hexdigest()[:12]
    assert (TABLES_VERSION, digest) == (4, "7f0ec42cfe94")
