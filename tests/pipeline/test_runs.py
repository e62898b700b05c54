from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest

from groupsim.cluster.traffic import Traffic
from groupsim.eventloop.events import Kind
from groupsim.pipeline.reference import BEGIN, END, reference, rewritten
from groupsim.pipeline.runs import Label, Rows, rows_of, simulate, to_arrow
from groupsim.pipeline.schemas import TABLES, Type, arrow_schema
from groupsim.scenarios.canonical import canonical_json
from groupsim.scenarios.catalogue import find, list_scenarios
from groupsim.scenarios.document import read_document
from groupsim.scenarios.evidence import Evidence
from groupsim.scenarios.load import load_file
from groupsim.scenarios.runner import Run, run_scenario

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = sorted(one.name for one in list_scenarios())
LABEL = Label(3, 0, "document", "code", "groupsim run x")
Named = dict[str, Any]


def document(name: str) -> str:
    """The canonical document of a library scenario."""
    return canonical_json(read_document(ROOT / "scenarios" / "library" / f"{name}.yaml"), name)


@functools.cache
def finished(name: str) -> tuple[Run, Evidence, Rows]:
    """A library scenario, run once for all tests that look at it."""
    run = run_scenario(load_file(find(name)), seed=0)
    evidence = Evidence(run.events)
    failed = len(run.failed)
    return (
        run,
        evidence,
        rows_of(run.events, evidence.story, LABEL, expectations_failed=failed, traces=True),
    )


def named(rows: Rows, table: str) -> list[Named]:
    """The rows of a table by column name."""
    return [dict(zip(TABLES[table].names, row, strict=True)) for row in rows[table]]


def total(rows: Rows, table: str, column: str) -> int:
    """The sum of a column."""
    return sum(row[column] for row in named(rows, table))


def by(rows: list[Named], *columns: str) -> dict[tuple[Any, ...], list[Named]]:
    """Rows sorted out by some columns, in their order."""
    found: dict[tuple[Any, ...], list[Named]] = defaultdict(list)
    for row in rows:
        found[tuple(row[column] for column in columns)].append(row)
    return found


PYTHON = {Type.INT: int, Type.LONG: int, Type.BOOL: bool, Type.TEXT: str}


@pytest.mark.parametrize("name", LIBRARY)
def test_rows_are_what_the_schema_says(name: str) -> None:
    """Every value has its column's very type, and nothing is missing where nothing may be missing."""
    _, _, rows = finished(name)
    assert list(rows) == [*(table for table in TABLES if table != "runs"), "runs"]
    for table in TABLES:
        for row in rows[table]:
            for column, value in zip(TABLES[table].columns, row, strict=True):
                assert (value is None and column.null) or type(value) is PYTHON[column.type], (table, column, value)


@pytest.mark.parametrize("name", LIBRARY)
def test_totals_are_those_of_the_headline_and_sums_of_the_other_tables(name: str) -> None:
    """What `groupsim run` prints, what expectations find and what the tables add up to is one figure."""
    run, evidence, rows = finished(name)
    (one,) = named(rows, "runs")
    groups = evidence.story.groups
    assert one["headline"] == evidence.story.headline
    assert one["rebalances"] == sum(len(group.rebalances) for group in groups)
    assert one["generations"] == len(rows["generations"])
    assert one["stopped_us"] == sum(group.stopped_us for group in groups)
    assert one["moved"] == total(rows, "generations", "moves") == sum(group.moved for group in groups)
    assert one["moved_back"] == total(rows, "generations", "moves_back")
    assert one["partition_stop_us"] == sum(stop["ended_us"] - stop["began_us"] for stop in named(rows, "stops"))
    stops = by(named(rows, "stops"), "group", "topic", "partition").values()
    worst = max((sum(stop["ended_us"] - stop["began_us"] for stop in each) for each in stops), default=0)
    assert one["worst_partition_us"] == worst
    assert one["unserved_us"] == sum(stop["ended_us"] - stop["silent_us"] for stop in named(rows, "stops"))
    assert one["worst_unserved_us"] <= min(one["unserved_us"], worst)
    for table in ("members", "deliveries"):
        assert one["delivered"] == total(rows, table, "delivered")
        assert one["duplicates"] == total(rows, table, "duplicates")
    assert one["commits"] == total(rows, "members", "commits")
    assert one["commits"] + one["commits_failed"] == total(rows, "commits", "count")
    assert one["commits_failed"] == total(rows, "members", "commits_failed")
    assert one["lag_area"] == total(rows, "deliveries", "lag_area")
    assert one["events"] == len(run.events) == len(rows["traces"])
    assert one["expectations_failed"] == 0


@pytest.mark.parametrize("name", LIBRARY)
def test_every_record_of_a_run_is_accounted_for(name: str) -> None:
    """Counting offset by offset gives the same, and every record that was written is in exactly one column."""
    run, _, rows = finished(name)
    given: dict[tuple[object, ...], Counter[int]] = {}
    for event in run.events:
        if event.kind is Kind.RECORDS_DELIVERED and event.payload:
            offsets = range(event.payload["base"], event.payload["base"] + event.payload["count"])
            given.setdefault((event.group, event.topic, event.partition), Counter()).update(offsets)
    for row in named(rows, "deliveries"):
        counts = given.get((row["group"], row["topic"], row["partition"]), Counter())
        assert row["delivered"] == counts.total()
        if row["written"] is None:  # its topic was deleted
            continue
        unread = sum(row[column] for column in ("older", "skipped", "expired", "waiting", "aborted"))
        assert row["once"] + row["again"] + unread + row["truncated"] - row["phantoms"] == row["written"]
        if not row["phantoms"]:
            assert row["again"] == sum(number > 1 for number in counts.values())
            assert row["duplicates"] == counts.total() - len(counts)
            assert row["once"] + row["again"] == len(counts)


@pytest.mark.parametrize("name", LIBRARY)
def test_evictions_in_the_runs_table_are_rows_of_their_own(name: str) -> None:
    """Each count is a count of rows, and every removal by the coordinator for silence has its row."""
    run, _, rows = finished(name)
    (one,) = named(rows, "runs")
    evictions = named(rows, "evictions")
    silent = [row for row in evictions if row["reason"] in ("session-expired", "join-timeout", "sync-timeout")]
    assert one["evictions"] == len(silent)
    assert one["false_evictions"] == sum(row["alive"] for row in silent)
    assert one["poll_evictions"] == sum(row["reason"] == "poll-limit" for row in evictions)
    removed = [event.reason for event in run.events if event.kind is Kind.MEMBER_REMOVED]
    assert len(silent) == sum(reason in ("session-expired", "join-timeout", "sync-timeout") for reason in removed)
    crashed = [event for event in run.events if event.kind is Kind.PROCESS_CRASHED]
    assert one["crashes"] == sum(event.group is not None for event in crashed)
    assert one["producer_crashes"] == sum(event.group is None for event in crashed)
    assert all(row["silent_us"] >= 0 for row in silent)


@pytest.mark.parametrize("name", LIBRARY)
def test_phases_of_a_process_tile_the_run(name: str) -> None:
    """From the start of the run to its end, without gap or overlap."""
    run, _, rows = finished(name)
    end_us = run.events[-1].t_us
    for phases in by(named(rows, "phases"), "host").values():
        assert (phases[0]["began_us"], phases[-1]["ended_us"]) == (0, end_us)
        assert all(one["ended_us"] == other["began_us"] for one, other in pairwise(phases))


@pytest.mark.parametrize("name", LIBRARY)
def test_states_of_a_group_follow_each_other_to_the_end(name: str) -> None:
    """From its first state on, without gap or overlap, and each begins where the trace says so."""
    run, _, rows = finished(name)
    changes = [event.t_us for event in run.events if event.kind is Kind.GROUP_STATE]
    states = named(rows, "states")
    for stretches in by(states, "group").values():
        assert stretches[-1]["ended_us"] == run.events[-1].t_us
        assert all(one["ended_us"] == other["began_us"] for one, other in pairwise(stretches))
    assert sorted(set(changes)) == sorted({s["began_us"] for s in states} & set(changes))


@pytest.mark.parametrize("name", LIBRARY)
def test_one_process_has_a_partition_once_at_a_time(name: str) -> None:
    """Spans of one process and partition do not overlap; two processes do only where two owners are to be seen."""
    run, evidence, rows = finished(name)
    end_us = run.events[-1].t_us
    spans = named(rows, "spans")
    for one, other in (
        pair for each in by(spans, "group", "topic", "partition", "host").values() for pair in pairwise(each)
    ):
        assert one["released_us"] is not None
        assert one["released_us"] <= other["owned_us"]
    both = 0
    for each in by(spans, "group", "topic", "partition").values():
        ends = [end_us if span["released_us"] is None else span["released_us"] for span in each]
        both += sum(end > other["owned_us"] for end, (_, other) in zip(ends, pairwise(each), strict=False))
    overlapping = sum(len(group.overlaps) for group in evidence.story.groups)
    assert overlapping <= both
    assert (named(rows, "runs")[0]["overlap_us"] > 0) == (overlapping > 0)


@pytest.mark.parametrize("name", LIBRARY)
def test_every_request_of_the_protocol_stands_in_the_messages_once(name: str) -> None:
    """As many rows as the broker received, and what was sent and never arrived; times in order."""
    run, _, rows = finished(name)
    messages = named(rows, "messages")
    for api in ("JoinGroup", "SyncGroup", "LeaveGroup"):
        mine = [row for row in messages if row["api"] == api]
        seen = {kind: [e for e in run.events if e.kind is kind and e.api == api] for kind in Kind}
        assert sum(row["received_us"] is not None for row in mine) == len(seen[Kind.REQUEST_RECEIVED])
        assert len(mine) == len(seen[Kind.REQUEST_SENT])
        assert sum(row["answered_us"] is not None for row in mine) == len(seen[Kind.RESPONSE_SENT])
        back = len(seen[Kind.RESPONSE_RECEIVED]) + len(seen[Kind.REQUEST_FAILED])
        assert sum(row["returned_us"] is not None for row in mine) == back
    for row in messages:
        times = [row[at] for at in ("sent_us", "received_us", "answered_us") if row[at] is not None]
        assert times == sorted(times), row


@pytest.mark.parametrize("name", LIBRARY)
def test_the_lag_area_is_the_time_that_records_waited(name: str) -> None:
    """Record by record, from the instant it was written to the instant the group had come past it."""
    run, _, rows = finished(name)
    scenario = run.scenario
    steady = {t: s for t, s in scenario.topics.items() if not s.steps and s.rate.per_second}
    touched = {getattr(step.deed, "topic", None) for step in scenario.timeline}
    for row in named(rows, "deliveries"):
        topic = steady.get(row["topic"])
        if scenario.cluster.logs == "replicated":
            if not row["truncated"]:
                dues = appended(run, row)
                assert waited(run, row, dues.__getitem__, len(dues)) == (row["lag_area"], row["lag_end"])
            continue
        if topic is None or row["topic"] in touched:
            continue
        rate = round(topic.rate.per_second * 1_000_000)
        traffic = Traffic(topic.weights or [1] * topic.partitions, rate, 0)
        due = partial(traffic.due_us, row["partition"])
        written = traffic.end(row["partition"], run.events[-1].t_us)
        assert waited(run, row, due, written) == (row["lag_area"], row["lag_end"])


def appended(run: Run, row: Named) -> list[int]:
    """When each record of a replicated log was written, by offset."""
    found: list[int] = []
    for event in run.events:
        if event.kind is Kind.RECORDS_APPENDED and (event.topic, event.partition) == (row["topic"], row["partition"]):
            found += [event.t_us] * (event.payload or {})["count"]
    return found


def waited(run: Run, row: Named, due_us: Callable[[int], int | None], written: int) -> tuple[int, int]:
    """Lag area and lag at the end of one partition, by adding up the waits of its records."""
    end_us, number = run.events[-1].t_us, row["partition"]
    steps = [
        (event.t_us, (event.payload or {}).get("offset", None), event.payload or {})
        for event in run.events
        if event.kind in (Kind.RECORDS_PROCESSED, Kind.POSITION_SET)
        and (event.group, event.topic, event.partition) == (row["group"], row["topic"], number)
    ]
    come = [(t, said["base"] + said["count"] if offset is None else offset) for t, offset, said in steps]
    first = next((offset for _, offset, _ in steps if offset is not None), 0)
    reached, area = first, 0
    for t_us, offset in [*come, (end_us, written)]:
        for record in range(reached, offset):
            due = due_us(record)
            area += max(0, t_us - due) if due is not None else 0
        reached = max(reached, offset)
    done = max([first, *(offset for _, offset in come)])
    return area // 1000, max(0, written - done)


def test_every_kind_of_row_is_seen_somewhere() -> None:
    """The library makes rows of every table, so that the tests above are about something."""
    names = ("deploy-jvm-S-killed", "zombie-consumers-go-on", "slow-record-livelock", "every-way-a-rebalance-starts")
    seen = {table for name in names for table, rows in finished(name)[2].items() if rows}
    assert seen == set(TABLES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("deploy-jvm-S-killed", {"crashes": 3, "evictions": 3, "false_evictions": 0, "undetected": 0}),
        ("zombie-consumers-go-on", {"crashes": 0, "evictions": 9, "false_evictions": 9, "detection_us": None}),
        ("slow-record-livelock", {"evictions": 0, "poll_evictions": 5, "crashes": 0}),
        ("socket-timeout-below-the-hold", {"evictions": 6, "false_evictions": 1}),
        ("deploy-jvm-S-static", {"rebalances": 0, "evictions": 0, "settled_us": 0}),
        ("offsets-expire-over-the-weekend", {"lost": 21_541}),
    ],
)
def test_the_library_is_judged_as_its_sources_tell_it(name: str, expected: Named) -> None:
    """Crashes are detected, not false; pauses and cut networks are false; a poll limit is a leave."""
    (one,) = named(finished(name)[2], "runs")
    assert {column: one[column] for column in expected} == expected


def test_a_crash_is_detected_within_the_session_unless_a_rebalance_held_the_member() -> None:
    """Each crashed pod: a session since its last heartbeat; the one with a parked join a session after that."""
    crashed = named(finished("deploy-jvm-S-killed")[2], "evictions")
    assert [row["cause"] for row in crashed] == ["crash"] * 3
    assert 42_000_000 < min(row["silent_us"] for row in crashed) <= 45_000_000


def test_simulate_gives_the_rows_of_the_run_under_its_label() -> None:
    """From the canonical document, with the cell, the seed and the hashes in place; no traces unless asked for."""
    name = "four-scenes"
    rows = simulate(document(name), 0, cell=3, digest="document", code="code", repeat="groupsim run x")
    _, _, expected = finished(name)
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
    assert one["generations"] != [(0, 1, *row[2:]) for row in other["generations"]]


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
    assert "nothing ends this scenario" in failed('{"name":"x","topics":{},"groups":{}}')["error"]
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
    _, _, rows = finished("four-scenes")
    tables = to_arrow(rows)
    assert set(tables) == set(TABLES)
    for name, table in tables.items():
        assert table.schema.equals(arrow_schema(TABLES[name]), check_metadata=True)
        assert [tuple(row.values()) for row in table.to_pylist()] == rows[name]


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
    names = ("deploy-jvm-S-cooperative", "zombie-consumers-go-on", "new-partitions-noticed-late", "coordinator-moves")
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
    """docs/tables.md is current; `python -m groupsim.pipeline.reference docs/tables.md` makes it so."""
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert page == rewritten(page)
    assert all(f"### `{table}`" in reference() for table in TABLES)
    with pytest.raises(ValueError, match="markers"):
        rewritten("a page without them")
    assert page.index(BEGIN) < page.index(END)


def test_rows_of_one_table_stand_in_the_runs_order() -> None:
    """Generations, standstills of a partition, messages: in the order in which they happened."""
    _, _, rows = finished("every-way-a-rebalance-starts")
    for table, column in (("generations", "began_us"), ("faults", "began_us"), ("callbacks", "began_us")):
        moments = [row[column] for row in named(rows, table)]
        assert moments == sorted(moments), table
    for _, spans in groupby(named(rows, "spans"), key=lambda row: (row["group"], row["topic"], row["partition"])):
        owned = [span["owned_us"] for span in spans]
        assert owned == sorted(owned)
