"""Unserved time is the one measure of a stop, in the headline, in expectations and in the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.pipeline.runs import Label, Lists, rows_of
from groupsim.pipeline.tables.schemas import RUNS
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import Run, run_scenario
from groupsim.scenarios.story import tell

QUIET = """
run-for: 20m
cluster: {logs: counted}
topics: {orders: {partitions: 1, rate: 1/s, steps: [{at: 20s, rate: 0}]}}
groups: {g: {properties: {session.timeout.ms: 10000}, members: {c: 1}}}
timeline: [{at: 16m, do: restart, member: c, how: crash, downtime: 20s}]
expect: [{stopped: 22s..24s}]
"""
BUSY = """
run-for: 3m
cluster: {logs: counted}
topics: {orders: {partitions: 1, rate: 1/s}}
groups: {g: {properties: {max.poll.interval.ms: 30000}, members: {c: {count: 2, processing: 1ms}}}}
timeline: [{at: 60s, do: block-poll, member: c-1, for: 80s}]
expect: [{stopped: "<= 3s"}]
"""


def ran(folder: Path, text: str) -> Run:
    """Run a scenario file with this text."""
    file = folder / "still.yaml"
    file.write_text(text)
    return run_scenario(load_file(file), seed=0)


def test_a_crash_in_a_silent_topic_stops_it_until_the_owner_is_back(tmp_path: Path) -> None:
    """Records, 15 quiet minutes, a crash, a restart after 20 s and a join of 3 s: 23 s in every figure."""
    run = ran(tmp_path, QUIET)
    story = tell(run.events)
    (row,) = rows_of(Lists(run.events), story, Label())["runs"]
    table = dict(zip(RUNS.names, row, strict=True))
    assert run.failed == ()
    assert ", 23.0 s stopped, " in story.headline
    assert table["stopped_us"] == table["unserved_us"] == story.groups[0].stopped_us
    assert table["unserved_us"] == pytest.approx(23_000_000, abs=100_000)


def test_a_member_that_does_not_poll_makes_lag_and_no_stop(tmp_path: Path) -> None:
    """Its poll limit ends its membership; only the time of the rebalance is unserved."""
    run = ran(tmp_path, BUSY)
    story = tell(run.events)
    assert run.failed == ()
    assert any(group.evictions for group in story.groups)
    assert story.totals[0].lag is not None
    assert story.totals[0].lag.most > 20
