"""`groupsim sql` and `groupsim tables`: ten questions with their answers, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from groupsim.cli.app import app
from groupsim.pipeline.runs import simulate, to_arrow
from groupsim.pipeline.sql import ask, asking
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.repeat import repeat_command
from groupsim.pipeline.tables.schemas import QUERIED, TABLES
from tests.helpers import small_sweep, spark_cluster

ROOT = Path(__file__).resolve().parents[3]


def questions() -> dict[str, str]:
    """The questions of the page, with their SQL."""
    page = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    found = re.findall(r"^## \d+\. (.+?)$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return {title: "\n".join(re.findall(r"^    (.*)$", body, re.MULTILINE)) for title, body in found}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    """Three assignors, two seeds, a crash that is detected; with traces, in two chunks."""
    folder = tmp_path_factory.mktemp("sql")
    experiment = small_sweep.load_experiment(str(small_sweep.write(folder, run_for="70s")))
    with Directory.prepare(folder / "out", Contents(experiment, "code", traces=True)) as directory:
        for seed in experiment.seeds:
            rows: dict[str, list[Any]] = {name: [] for name in TABLES}
            for cell in experiment.cells:
                command = f"{repeat_command(experiment, cell)} --seed {seed}"
                made = simulate(cell.document, seed, cell=cell.number, digest="", code="", repeat=command, traces=True)
                for name, more in made.items():
                    rows[name] += more
            directory.write(to_arrow(rows))
    return Directory.open(folder / "out")


def rows(directory: Directory, query: str, engine: str = "duckdb") -> list[dict[str, Any]]:
    """The rows that a query finds."""
    return list(ask(directory, query, engine).to_pylist())


def test_there_are_ten_questions() -> None:
    """Each with one query."""
    assert len(questions()) == 10
    assert all(query.startswith(("select", "with")) for query in questions().values())


@pytest.mark.parametrize("title", questions())
def test_a_question_has_an_answer(swept: Directory, title: str) -> None:
    """Its query runs as it stands on the page and finds something in a small sweep."""
    assert rows(swept, questions()[title])


def test_answers_are_those_of_the_tables(swept: Directory) -> None:
    """Counted again in Python: causes without first starts and follow-ups, runs per value, pairs of seeds."""
    by_title = {title: rows(swept, query) for title, query in questions().items()}
    axes, causes, _, stood, removed, _, pairs, worst, _, busiest = by_title.values()
    changes = swept.tables("changes").to_pylist()
    due = [one["cause"] for one in changes if not one["first_start"] and not one["follow_up"]]
    assert {one["cause"]: one["rebalances"] for one in causes} == {cause: due.count(cause) for cause in due}
    assert due
    assert {(one["axis"], one["value"], one["runs"]) for one in axes} == {
        ("assignor", value, 2) for value in ("range", "sticky", "cooperative-sticky")
    }
    runs = swept.tables("runs").to_pylist()
    assert sum(one["removed"] for one in removed) == sum(run["evictions"] for run in runs) > 0
    assert [one["pairs"] for one in pairs] == [2, 2, 2]
    assert next(one["unserved_s"] for one in pairs if one["cell"] == swept.experiment.baseline) == 0
    assert [one["cell"] for one in stood] == [one["cell"] for one in worst] == [0, 1, 2]
    assert all(one["repeat"].endswith(f"--seed {one['seed']}") for one in worst)
    received = [one for one in swept.tables("traces").to_pylist() if one["kind"] == "request.received"]
    places = [(one["cell"], one["seed"], one["t_us"] // 1_000_000) for one in received]
    assert busiest[0]["requests"] == max(places.count(place) for place in set(places))


@pytest.fixture(scope="module")
def spark() -> Iterator[None]:
    """A session that all questions use."""
    from groupsim.pipeline.sweep.spark.session import session

    if why := spark_cluster.why_not():
        pytest.skip(f"no Spark: {why}")
    with session(EngineOptions(workers=2), lean=True, settings={"spark.sql.shuffle.partitions": "2"}):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_spark_gives_the_answers_of_duckdb(swept: Directory) -> None:
    """All ten, row by row, numbers to nine digits; and the same remedies for names that are none."""
    for title, query in questions().items():
        one, other = rows(swept, query), rows(swept, query, "spark")
        assert [list(row) for row in one] == [list(row) for row in other], title
        for mine, theirs in zip(one, other, strict=True):
            for name, value in mine.items():
                same = pytest.approx(float(value), rel=1e-9) if isinstance(value, int | float) else value
                assert (float(theirs[name]) if isinstance(value, int | float) else theirs[name]) == same, (title, name)
    for query, remedy in (("select * from generations", "changes"), ("select caus from changes", "cause")):
        with pytest.raises(SweepError) as caught:
            ask(swept, query, "spark")
        assert remedy in caught.value.remedy


def test_every_table_can_be_asked_those_without_rows_too(swept: Directory) -> None:
    """Its columns are those of the schema, and its rows as many as the directory says."""
    for name, table in QUERIED.items():
        found = ask(swept, f"select * from {name}", "duckdb")
        assert tuple(found.column_names) == table.names
        assert len(found) == (3 if name == "cells" else swept.count(name))


REFUSED = [
    ("select * from chagnes", "no table 'chagnes'", "did you mean `changes`"),
    ("select * from generations", "no table 'generations'", "did you mean changes"),
    ("select caus from changes", "no column 'caus'", "did you mean `cause`"),
    ("select c.partition from stops c", "no column 'partition'", "did you mean partition_id"),
    ("select group from changes", "syntax error", "the column is group_id"),
    ("select 1; select 2", "two statements", "one at a time"),
    ("  -- nothing\n", "empty", "such as"),
    ("drop view changes", "`drop`", "only|standard output"),
    ("with x as (select 1) insert into changes select * from x", "`insert`", "standard output"),
    ("copy changes to 'x.csv'", "`copy`", "standard output"),
    ("explain analyze copy changes to 'x.csv'", "`copy`", "standard output"),
    ("pragma version", "`pragma`", "begin with select"),
    ("select cell frm changes x", "LINE 1", "groupsim tables"),
]


@pytest.mark.parametrize(("query", "message", "remedy"), REFUSED)
def test_what_cannot_be_answered_says_why_and_what_helps(
    swept: Directory, query: str, message: str, remedy: str
) -> None:
    """Names that are none get the nearest; whatever would write is refused, and nothing is written."""
    before = sorted(swept.path.rglob("*"))
    with pytest.raises(SweepError, match=message) as caught:
        ask(swept, query, "duckdb")
    assert caught.value.bad_input
    assert re.search(remedy, caught.value.remedy)
    assert sorted(swept.path.rglob("*")) == before


def test_words_in_quotes_and_comments_are_no_statements(swept: Directory) -> None:
    """A text may say drop, and have a semicolon."""
    assert rows(swept, "select 'drop; it''s' as x /* insert; */ -- delete\n;") == [{"x": "drop; it's"}]


def test_an_engine_is_chosen_by_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB if it is there, else Spark; a named cluster is Spark's; what is missing is said with its remedy."""
    there = {"duckdb", "pyspark"}
    monkeypatch.setattr(asking, "find_spec", lambda name: name if name in there else None)
    assert (asking.chosen_engine("auto"), asking.chosen_engine("auto", True)) == ("duckdb", "spark")
    there.remove("duckdb")
    assert asking.chosen_engine("auto") == "spark"
    with pytest.raises(SweepError, match="duckdb is not installed"):
        asking.chosen_engine("duckdb")
    there.remove("pyspark")
    with pytest.raises(SweepError, match="neither DuckDB nor Spark") as caught:
        asking.chosen_engine("auto")
    assert "groupsim[sql]" in caught.value.remedy
    with pytest.raises(SweepError, match="no such engine"):
        asking.chosen_engine("sqlite")


def command(*arguments: str | Path, columns: int | None = None) -> Any:
    """The command, in this process."""
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": str(columns)} if columns else {})


def test_rows_are_printed_as_a_table_as_csv_and_as_json(swept: Directory) -> None:
    """Each with all rows; two columns of one name stay two."""
    query = "select cell, cell, value from cells order by cell"
    plain = command("sql", swept.path, query, "--engine", "duckdb")
    assert (plain.exit_code, plain.stdout.splitlines()[1].split()) == (0, ["0", "0", "range"])
    found = list(csv.DictReader(io.StringIO(command("sql", swept.path, query, "--csv").stdout)))
    assert [row["value"] for row in found] == ["range", "sticky", "cooperative-sticky"]
    document = json.loads(command("sql", swept.path, query, "--json").stdout)
    assert document["columns"] == ["cell", "cell_2", "value"]
    assert document["rows"][2] == {"cell": 2, "cell_2": 2, "value": "cooperative-sticky"}
    total = json.loads(command("sql", swept.path, "select sum(seed) as s from runs", "--json").stdout)
    assert total["rows"] == [{"s": 3}]
    narrow = command("sql", swept.path, "select * from runs", columns=80).stdout
    assert max(map(len, narrow.splitlines())) <= 80
    assert command("sql", swept.path, "select 1", "--csv", "--json").exit_code == 2
    assert command("sql", swept.path / "tables", "select 1").exit_code == 2


def test_tables_says_what_is_there_and_what_it_means(swept: Directory) -> None:
    """Every table with its rows and columns; chosen ones; CSV and JSON; a name that is none gets the nearest."""
    all_of_them = command("tables", swept.path).stdout
    assert all(f"{name}, {swept.count(name):,} row" in all_of_them for name in TABLES)
    document = json.loads(command("tables", swept.path, "changes", "--json").stdout)
    (only,) = document["tables"]
    assert (only["name"], only["rows"]) == ("changes", swept.count("changes"))
    assert [column["name"] for column in only["columns"]] == list(QUERIED["changes"].names)
    lines = list(csv.DictReader(io.StringIO(command("tables", swept.path, "--csv").stdout)))
    assert len(lines) == sum(len(table.columns) for table in QUERIED.values())
    assert max(map(len, command("tables", swept.path, columns=80).stdout.splitlines())) <= 80
    wrong = command("tables", swept.path, "change")
    assert wrong.exit_code == 2
    assert "`changes`" in wrong.stderr
