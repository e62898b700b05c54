"""A run's rows: `simulate` makes those of a label, failures too, without YAML and Spark, in any process."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tables_reference import BEGIN, END, reference, rewritten

from groupsim.pipeline.runs import Label, Lists, Rows, rows_of, simulate, to_arrow
from groupsim.pipeline.tables.schemas import TABLES, arrow_schema
from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.loading.canonical import canonical_json
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import tell

ROOT = Path(__file__).resolve().parents[3]
LABEL = Label(3, 0, "document", "code", "groupsim run x")
Named = dict[str, Any]


def document(name: str) -> str:
    """The canonical document of a library scenario."""
    return canonical_json(read_document(ROOT / "scenarios" / "library" / f"{name}.yaml"), name)


@functools.cache
def finished(name: str) -> Rows:
    """The rows of a library scenario, run once for all tests that look at it."""
    run = run_scenario(load_file(find(name)), seed=0)
    story = tell(run.events)
    return rows_of(Lists(run.events, traces=True), story, LABEL, expectations_failed=len(run.failed))


def named(rows: Rows, table: str) -> list[Named]:
    """The rows of a table by column name."""
    return [dict(zip(TABLES[table].names, row, strict=True)) for row in rows[table]]


def test_simulate_gives_the_rows_of_the_run_under_its_label() -> None:
    """From the canonical document, with the cell, the seed and the hashes in place; no traces unless asked for."""
    name = "four-scenes"
    rows = simulate(document(name), 0, cell=3, digest="document", code="code", repeat="groupsim run x")
    expected = finished(name)
    assert rows == {**expected, "traces": []}
    with_traces = simulate(
        document(name), 0, cell=3, digest="document", code="code", repeat="groupsim run x", traces=True
    )
    assert with_traces == expected


def test_two_seeds_are_two_runs() -> None:
    """The seed is in every row, and makes a difference."""
    one, other = (
        simulate(document("deploy-jvm-S-eager"), seed, cell=0, digest="", code="", repeat="") for seed in (1, 2)
    )
    assert {row[1] for table in other.values() for row in table} == {2}
    assert one["changes"] != [(0, 1, *row[2:]) for row in other["changes"]]


def failed(text: str) -> Named:
    """The only row of a run that fails."""
    rows = simulate(text, 7, cell=5, digest="d", code="c", repeat="groupsim run it --seed 7")
    assert {table for table, found in rows.items() if found} == {"runs"}
    assert set(rows) == set(TABLES)
    to_arrow(rows)
    (one,) = named(rows, "runs")
    assert (one["cell"], one["seed"], one["status"], one["repeat"]) == (5, 7, "failed", "groupsim run it --seed 7")
    return one


def test_a_step_that_cannot_be_done_is_a_row_with_its_error_and_instant() -> None:
    """The error is one paragraph and says when in virtual time."""
    error = failed(
        """{"name": "x", "run-for": "1m", "cluster": {"brokers": 1}, "topics": {"orders": 2},
            "groups": {"g": {"members": {"c": 1}}},
            "timeline": [{"at": "3s", "do": "crash-broker", "broker": "0"},
                         {"at": "4s", "do": "move-coordinator"}]}"""
    )["error"]
    assert "StepError" in error
    assert "4.000 s" in error
    assert "\n" not in error


def test_a_document_that_is_no_scenario_is_a_failed_run_too() -> None:
    """Whatever is handed in: a row, not a dead job."""
    assert "the key `run-for` is missing" in failed('{"name":"x","topics":{},"groups":{}}')["error"]
    assert failed("no JSON at all")["error"].startswith(("JSONDecodeError", "ValueError", "ScenarioError"))


def test_memory_that_has_run_out_is_no_failed_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the machine's failure, not the scenario's; neither are ctrl-C and the end of the process."""
    for error in (MemoryError, KeyboardInterrupt, SystemExit):

        def fails(*_: object, raised: type[BaseException] = error, **__: object) -> None:
            raise raised

        monkeypatch.setattr("groupsim.pipeline.runs.simulation.run_scenario", fails)
        with pytest.raises(error):
            simulate(document("four-scenes"), 0, cell=0, digest="", code="", repeat="")


def test_arrow_tables_have_the_schemas_and_the_rows() -> None:
    """Every table, the empty ones too."""
    rows = finished("four-scenes")
    tables = to_arrow(rows)
    assert set(tables) == set(TABLES)
    for name, table in tables.items():
        assert table.schema.equals(arrow_schema(TABLES[name]), check_metadata=True)
        assert [tuple(row.values()) for row in table.to_pylist()] == rows[name]


def test_the_leaders_list_and_plan_stand_in_the_messages() -> None:
    """A JoinGroup's answer holds all subscriptions for the leader and none for others; so does the plan it sends."""
    rows = named(finished("four-scenes"), "messages")
    first = [row for row in rows if row["generation"] == 1 and row["error"] is None]
    counted = {(row["host"], row["api"]): (row["subscriptions"], row["assignments"]) for row in first}
    assert counted["c1", "JoinGroup"] == (3, None)
    assert counted["c1", "SyncGroup"] == (None, 3)
    assert counted["c2", "JoinGroup"] == counted["c3", "JoinGroup"] == (0, None)
    assert counted["c2", "SyncGroup"] == counted["c3", "SyncGroup"] == (None, 0)


def test_fetches_stand_with_their_members_and_in_the_run() -> None:
    """Those of a run are the sum over its members; a producer has none."""
    rows = finished("four-scenes")
    members, (run,) = named(rows, "members"), named(rows, "runs")
    assert [row["fetches"] is None for row in members] == [row["group_id"] is None for row in members]
    for name in ("fetches", "fetches_empty"):
        assert run[name] == sum(row[name] or 0 for row in members)
    assert run["fetches"] > run["fetches_empty"]
    assert all((row["fetch_waited_us"] or 0) <= 3 * 60_000_000 for row in members)


SCRIPT = """
import hashlib, sys
from pathlib import Path
from groupsim.pipeline.runs import simulate
found = hashlib.sha256()
for text in sys.stdin.read().splitlines():
    found.update(repr(simulate(text, 4, cell=0, digest="", code="", repeat="", traces=True)).encode())
heavy = [name for name in ("ruamel", "pyspark", "pyarrow", "plotly") if name in sys.modules]
print(found.hexdigest(), *heavy)
"""


def test_rows_do_not_depend_on_the_hash_seed_and_need_neither_yaml_nor_spark() -> None:
    """Two processes with other orders of their sets make the same rows, with nothing but the simulator imported."""
    names = ("every-way-a-rebalance-starts", "slow-record-livelock", "coordinator-moves")
    documents = "\n".join(document(name) for name in names)
    found = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input=documents,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.split()
        for seed in ("0", "1")
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 1, found[0]
    assert len(found[0][0]) == hashlib.sha256().digest_size * 2


def test_the_page_of_the_tables_is_made_from_the_schemas() -> None:
    """docs/tables.md is current; `python tools/tables_reference.py` makes it so."""
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert page == rewritten(page)
    assert all(f"### `{table}`" in reference() for table in TABLES)
    with pytest.raises(ValueError, match="markers"):
        rewritten("a page without them")
    assert page.index(BEGIN) < page.index(END)
