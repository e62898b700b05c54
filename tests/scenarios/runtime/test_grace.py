"""A process that does not end is killed when its grace period is over, like a pod."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import run_scenario

BASE = """
run-for: 90s
topics: {orders: {partitions: 4, rate: 4/s}}
groups: {billing: {processing: %s, members: {c: 2}}}
cluster: {logs: counted}
timeline:
- {at: 20s, %s}
"""


def ends(processing: str, step: str) -> dict[str, tuple[str, int]]:
    """Return how the first processes ended, and when, in whole seconds."""
    events: list[TraceEvent] = run_scenario(load_text(BASE % (processing, step))).events
    kinds = ("process.stopped", "process.crashed")
    return {
        str(event.host): (event.kind, round(event.t_us / 1_000_000))
        for event in reversed(events)
        if event.kind in kinds
    }


def test_a_handler_that_takes_too_long_is_killed_at_the_end_of_the_grace() -> None:
    """SIGTERM waits for the current record, the supervisor does not; without a grace period it waits for ever."""
    assert ends("40s", "do: stop, member: c-1, grace: 5s") == {"c-1": ("process.crashed", 25)}
    assert ends("40s", "do: stop, member: c-1")["c-1"][0] == "process.stopped"
    assert ends("1ms", "do: stop, member: c-1, grace: 5s") == {"c-1": ("process.stopped", 20)}


@pytest.mark.parametrize(("stop_time", "end"), [("10s", ("process.crashed", 24)), ("1s", ("process.stopped", 21))])
def test_in_a_rollout_the_grace_begins_with_the_signal(stop_time: str, end: tuple[str, int]) -> None:
    """A preStop hook longer than the grace period prevents the clean leave."""
    step = f"do: rolling-restart, kind: statefulset, stop-time: {stop_time}, grace: 4s"
    assert ends("1ms", step)["c-2"] == end


def test_who_was_killed_in_its_hook_is_replaced_at_once() -> None:
    """The next pod does not wait for the rest of a preStop hook whose process is dead."""
    step = "do: rolling-restart, kind: statefulset, stop-time: 10s, grace: 4s"
    events: list[TraceEvent] = run_scenario(load_text(BASE % ("1ms", step))).events
    begun = [round(e.t_us / 1_000_000) for e in events if (e.kind, e.host) == ("process.started", "c-2")]
    assert begun == [0, 24]


def test_the_next_life_is_not_killed() -> None:
    """The grace period belongs to the process that was stopped, not to its successor of the same name."""
    assert ends("1ms", "do: rolling-restart, kind: statefulset, grace: 30s") == {
        "c-2": ("process.stopped", 20),
        "c-1": ("process.stopped", 20),
    }
