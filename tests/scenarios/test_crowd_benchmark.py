"""The memory of a large group stays within bounds, however long it runs."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.crowd import CROWD
from groupsim.cli.scenario_source import load
from groupsim.cluster.counted import offsets
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import index_events, lineage

FEWER = ["groups.g1.members.c.count=10", "topics.orders.partitions=100", "topics.orders.rate=20/s"]
LIMIT = 500


def measured(hours: list[float], logs: str, settings: list[str]) -> list[dict[str, Any]]:
    """Run the benchmark in a process of its own: a child's peak memory includes its parent's."""
    command = [sys.executable, "-m", "benchmarks.crowd", "--json", "--logs", logs]
    command += [part for each in hours for part in ("--hours", str(each))]
    command += [part for each in settings for part in ("--set", each)]
    rows: list[dict[str, Any]] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return rows


def test_the_crowd_holds_what_it_expects_when_it_is_smaller() -> None:
    """The benchmark's scenario is valid: one generation, every partition owned, nothing lost, hardly any lag."""
    (found,) = measured([0.05], "counted", FEWER)
    assert found["headline"].startswith("no rebalance: g1 formed in ")
    assert 0 < found["peak_mb"] < 200
    assert found["cpu_s"] > 0


@pytest.mark.parametrize("logs", ["counted", "replicated"])
def test_a_smaller_crowd_keeps_nothing_of_another_minute(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of some thousand events a minute less than one in 200 leaves an object in cluster, members or story."""
    for module, name in ((index_events, "STEPS"), (lineage, "LINKS"), (offsets, "TIDY")):
        monkeypatch.setattr(module, name, LIMIT)
    seen: list[tuple[int, int]] = []

    def look(stage: Any) -> None:
        gc.collect()
        seen.append((sys.getallocatedblocks(), stage.loop.trace.total))

    scenario = load(str(CROWD), [*FEWER, f"cluster.logs={logs}", "run-for=10m"])
    run = run_scenario(scenario, looks=[(minute * 60_000_000, look) for minute in (4, 9)], keep_events=False)
    (before, first), (after, last) = seen
    assert not run.failed
    assert last - first > 10_000
    assert after - before < (last - first) / 200


@pytest.mark.slow
def test_an_hour_of_the_crowd_stays_below_600_megabytes() -> None:
    """500 members on 5,000 partitions for one virtual hour: two minutes of processor time."""
    (hour,) = measured([1], "counted", [])
    assert hour["peak_mb"] < 600


@pytest.mark.slow
def test_replicated_logs_grow_by_half_a_megabyte_a_minute_at_most() -> None:
    """A tenth of the large group: leaders' appends are packed; the first ten minutes fill each log's unpacked part."""
    tenth = ["groups.g1.members.c.count=50", "topics.orders.partitions=500", "topics.orders.rate=50/s"]
    shorter, longer = (row["peak_mb"] for row in measured([25 / 60, 50 / 60], "replicated", tenth))
    assert longer < 200
    assert longer - shorter < 12.5
