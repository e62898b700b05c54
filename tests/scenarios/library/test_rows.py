"""The rows of the library's scenes in the tables of a sweep: complete, consistent, and equal to the report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from itertools import groupby, pairwise
from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.producer.traffic import Traffic
from groupsim.pipeline.runs import Rows
from groupsim.pipeline.tables.column_types import Type
from groupsim.pipeline.tables.schemas import TABLES
from groupsim.scenarios.loading.catalogue import names
from groupsim.scenarios.runtime.runner import Run
from groupsim.scenarios.story.rebalances.copies import Copies
from tests.helpers.library_scenes import scene

Named = dict[str, Any]


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


@pytest.mark.parametrize("name", names())
def test_rows_are_what_the_schema_says(name: str) -> None:
    """Every value has exactly its column's type, and no required value is missing."""
    rows = scene(name).rows
    assert list(rows) == [*(table for table in TABLES if table != "runs"), "runs"]
    for table in TABLES:
        for row in rows[table]:
            for column, value in zip(TABLES[table].columns, row, strict=True):
                assert (value is None and column.null) or type(value) is PYTHON[column.type], (table, column, value)


@pytest.mark.parametrize("name", names())
def test_totals_are_those_of_the_headline_and_sums_of_the_other_tables(name: str) -> None:
    """The output of `groupsim run`, the expectations and the tables have the same figure."""
    run, evidence, rows = scene(name).run, scene(name).evidence, scene(name).rows
    (one,) = named(rows, "runs")
    groups = evidence.story.groups
    assert one["headline"] == evidence.story.headline
    assert one["rebalances"] == sum(len(group.rebalances) for group in groups)
    assert one["generations"] == len(rows["changes"])
    assert one["rebalances"] == sum(not change["first_start"] for change in named(rows, "changes"))
    assert one["stopped_us"] == sum(group.stopped_us for group in groups)
    uncounted = [change for group in groups for change in group.generations if change not in group.counted]
    forming = sum(len(change.moves) for change in uncounted)
    assert one["moved"] == total(rows, "changes", "moves") - forming == sum(group.moved for group in groups)
    assert one["moved_back"] == total(rows, "changes", "moves_back")
    assert one["unserved_us"] == sum(stop["ended_us"] - stop["began_us"] for stop in named(rows, "stops"))
    assert one["unserved_us"] == sum(group.unserved_us for group in groups)
    stops = by(named(rows, "stops"), "group_id", "topic", "partition_id").values()
    worst = max((sum(stop["ended_us"] - stop["began_us"] for stop in each) for each in stops), default=0)
    assert one["worst_unserved_us"] == worst
    for table in ("members", "deliveries"):
        assert one["delivered"] == total(rows, table, "delivered")
        assert one["duplicates"] == total(rows, table, "duplicates")
    assert one["commits"] == total(rows, "members", "commits")
    assert one["commits"] + one["commits_failed"] == total(rows, "commits", "n")
    assert one["commits_failed"] == total(rows, "members", "commits_failed")
    assert one["lag_area"] == total(rows, "deliveries", "lag_area")
    assert one["events"] == len(run.events) == len(rows["traces"])
    assert one["expectations_failed"] == 0


@pytest.mark.parametrize("name", names())
def test_every_record_of_a_run_is_accounted_for(name: str) -> None:
    """Counting offset by offset gives the same result, and every written record is in exactly one column."""
    run, rows = scene(name).run, scene(name).rows
    given: dict[tuple[object, ...], Counter[int]] = {}
    for event in run.events:
        if event.kind is Kind.RECORDS_DELIVERED and event.payload:
            offsets = range(event.payload["base"], event.payload["base"] + event.payload["count"])
            given.setdefault((event.group, event.topic, event.partition), Counter()).update(offsets)
    for row in named(rows, "deliveries"):
        counts = given.get((row["group_id"], row["topic"], row["partition_id"]), Counter())
        assert row["delivered"] == counts.total()
        if row["written"] is None:  # its topic was deleted
            continue
        unread = sum(row[column] for column in ("older", "skipped", "expired", "waiting", "aborted"))
        assert row["once"] + row["again"] + unread + row["truncated"] - row["phantoms"] == row["written"]
        if not row["phantoms"]:
            assert row["again"] == sum(number > 1 for number in counts.values())
            assert row["duplicates"] == counts.total() - len(counts)
            assert row["once"] + row["again"] == len(counts)


@pytest.mark.parametrize("name", names())
def test_evictions_in_the_runs_table_are_rows_of_their_own(name: str) -> None:
    """Each count is a count of rows, and every removal by the coordinator for silence has its row."""
    run, rows = scene(name).run, scene(name).rows
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


@pytest.mark.parametrize("name", names())
def test_phases_of_a_process_tile_the_run(name: str) -> None:
    """From the start of the run to its end, without gap or overlap."""
    run, rows = scene(name).run, scene(name).rows
    end_us = run.events[-1].t_us
    for phases in by(named(rows, "phases"), "host").values():
        assert (phases[0]["began_us"], phases[-1]["ended_us"]) == (0, end_us)
        assert all(one["ended_us"] == other["began_us"] for one, other in pairwise(phases))


@pytest.mark.parametrize("name", names())
def test_states_of_a_group_follow_each_other_to_the_end(name: str) -> None:
    """From its first state on, without gap or overlap, and each span begins when the active copy changes."""
    run, rows = scene(name).run, scene(name).rows
    kinds, counts = (Kind.GROUP_STATE, Kind.GROUP_LOADED, Kind.GROUP_UNLOADED), Copies().counts
    reported = [event for event in run.events if event.kind in kinds and counts(event)]
    changes = [event.t_us for event in reported if event.kind is Kind.GROUP_STATE]
    states = named(rows, "states")
    for stretches in by(states, "group_id").values():
        assert stretches[-1]["ended_us"] == run.events[-1].t_us
        assert all(one["ended_us"] == other["began_us"] for one, other in pairwise(stretches))
    assert sorted(set(changes)) == sorted({s["began_us"] for s in states} & set(changes))


@pytest.mark.parametrize("name", names())
def test_one_process_has_a_partition_once_at_a_time(name: str) -> None:
    """Spans of one process and partition do not overlap; two processes do only if two owners are visible."""
    run, evidence, rows = scene(name).run, scene(name).evidence, scene(name).rows
    end_us = run.events[-1].t_us
    spans = named(rows, "spans")
    for one, other in (
        pair for each in by(spans, "group_id", "topic", "partition_id", "host").values() for pair in pairwise(each)
    ):
        assert one["released_us"] is not None
        assert one["released_us"] <= other["owned_us"]
    both = 0
    for each in by(spans, "group_id", "topic", "partition_id").values():
        ends = [end_us if span["released_us"] is None else span["released_us"] for span in each]
        both += sum(end > other["owned_us"] for end, (_, other) in zip(ends, pairwise(each), strict=False))
    overlapping = sum(len(group.overlaps) for group in evidence.story.groups)
    assert overlapping <= both
    assert (named(rows, "runs")[0]["overlap_us"] > 0) == (overlapping > 0)


@pytest.mark.parametrize("name", names())
def test_every_request_of_the_protocol_stands_in_the_messages_once(name: str) -> None:
    """As many rows as the broker received, and the requests that never arrived; times in order."""
    run, rows = scene(name).run, scene(name).rows
    messages = named(rows, "messages")
    seen = Counter((event.api, event.kind) for event in run.events)
    for api in ("JoinGroup", "SyncGroup", "LeaveGroup"):
        mine = [row for row in messages if row["api"] == api]
        assert sum(row["received_us"] is not None for row in mine) == seen[api, Kind.REQUEST_RECEIVED]
        assert len(mine) == seen[api, Kind.REQUEST_SENT]
        assert sum(row["answered_us"] is not None for row in mine) == seen[api, Kind.RESPONSE_SENT]
        back = seen[api, Kind.RESPONSE_RECEIVED] + seen[api, Kind.REQUEST_FAILED]
        assert sum(row["returned_us"] is not None for row in mine) == back
    for row in messages:
        times = [row[at] for at in ("sent_us", "received_us", "answered_us") if row[at] is not None]
        assert times == sorted(times), row


@pytest.mark.parametrize("name", names())
def test_the_lag_area_is_the_time_that_records_waited(name: str) -> None:
    """Record by record, from the instant it was written to the instant the group passed it."""
    run, rows = scene(name).run, scene(name).rows
    scenario = run.scenario
    steady = {t: s for t, s in scenario.topics.items() if not s.steps and s.rate.per_second}
    touched = {getattr(step.action, "topic", None) for step in scenario.timeline}
    for row in named(rows, "deliveries"):
        if row["topic"].startswith("__"):  # Kafka's own: the trace does not say when their records were appended
            assert (row["written"], row["lag_area"]) in ((None, None), (None, 0))
            continue
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
        due = partial(traffic.due_us, row["partition_id"])
        written = traffic.end(row["partition_id"], run.events[-1].t_us)
        assert waited(run, row, due, written) == (row["lag_area"], row["lag_end"])


def appended(run: Run, row: Named) -> list[int]:
    """When each record of a replicated log was written, by offset."""
    found: list[int] = []
    for event in run.events:
        if event.kind is Kind.RECORDS_APPENDED and (event.topic, event.partition) == (
            row["topic"],
            row["partition_id"],
        ):
            found += [event.t_us] * (event.payload or {})["count"]
    return found


def waited(run: Run, row: Named, due_us: Callable[[int], int | None], written: int) -> tuple[int, int]:
    """Compute lag area and lag at the end of one partition from the waits of its records."""
    end_us, number = run.events[-1].t_us, row["partition_id"]
    steps = [
        (event.t_us, (event.payload or {}).get("offset", None), event.payload or {})
        for event in run.events
        if event.kind in (Kind.RECORDS_PROCESSED, Kind.POSITION_SET)
        and (event.group, event.topic, event.partition) == (row["group_id"], row["topic"], number)
    ]
    come = [(t, payload["base"] + payload["count"] if offset is None else offset) for t, offset, payload in steps]
    first = next((offset for _, offset, _ in steps if offset is not None), 0)
    reached, area = first, 0
    for t_us, offset in [*come, (end_us, written)]:
        for record in range(reached, offset):
            due = due_us(record)
            area += max(0, t_us - due) if due is not None else 0
        reached = max(reached, offset)
    done = max([first, *(offset for _, offset in come)])
    return area // 1000, max(0, written - done)


@pytest.mark.parametrize("name", ["deploy-jvm-S-killed", "every-way-a-rebalance-starts"])
def test_a_scene_with_everything_has_rows_of_every_kind(name: str) -> None:
    """So that the tests above have rows to check."""
    assert {table for table, rows in scene(name).rows.items() if rows} == set(TABLES)


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
    (one,) = named(scene(name).rows, "runs")
    assert {column: one[column] for column in expected} == expected


@pytest.mark.parametrize("name", ["deploy-jvm-S-killed"])
def test_a_crash_is_detected_within_the_session_unless_a_rebalance_held_the_member(name: str) -> None:
    """Each crashed pod: a session since its last heartbeat; the one with a parked join a session after that."""
    crashed = named(scene(name).rows, "evictions")
    assert [row["cause"] for row in crashed] == ["crash"] * 3
    assert 42_000_000 < min(row["silent_us"] for row in crashed) <= 45_000_000


@pytest.mark.parametrize("name", ["every-way-a-rebalance-starts"])
def test_rows_of_one_table_stand_in_the_runs_order(name: str) -> None:
    """Generations, standstills of a partition, messages: in the order of their times."""
    rows = scene(name).rows
    for table, column in (("changes", "began_us"), ("faults", "began_us"), ("callbacks", "began_us")):
        moments = [row[column] for row in named(rows, table)]
        assert moments == sorted(moments), table
    for _, spans in groupby(named(rows, "spans"), key=lambda row: (row["group_id"], row["topic"], row["partition_id"])):
        owned = [span["owned_us"] for span in spans]
        assert owned == sorted(owned)


@pytest.mark.parametrize("name", ["deploy-jvm-S-static", "socket-timeout-below-the-hold"])
def test_rollouts_and_what_hindered_a_group_stand_in_the_tables_as_told(name: str) -> None:
    """The length in the headline is that of the table, and every hindrance is in its generation."""
    done = scene(name)
    (run,) = named(done.rows, "runs")
    story = done.evidence.story
    rollouts = [one for group in story.groups for one in group.rollouts]
    assert run["rollout_us"] == max((one.took_us for one in rollouts), default=None)
    reported = ["; ".join(h.words for h in one.hindrances) or None for g in story.groups for one in g.generations]
    assert [row["hindered"] for row in named(done.rows, "changes")] == reported
    assert any(reported) or rollouts
