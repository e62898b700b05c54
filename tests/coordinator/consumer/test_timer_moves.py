"""Where an alarm of a timer stands in the event loop changes nothing in a run of consumer groups."""

from __future__ import annotations

import pytest

from groupsim import load_text, run_scenario
from groupsim.coordinator.base.timers import Timer
from groupsim.coordinator.loop_timers import LoopTimers
from groupsim.eventloop.trace.events import TraceEvent

SCENE = """
run-for: 150s
topics: {orders: {partitions: 6, rate: 6/s}}
groups:
  g1:
    properties: {group.protocol: consumer, max.poll.interval.ms: 20000}
    client: java-4.4
    members: {c: {count: 2, instance-id: "{name}"}, d: , late: {start: 20s}, later: {start: 27s}}
timeline:
  - {at: 18s, do: block-callback, member: c-1, callback: revoked, for: 30s}
  - {at: 60s, do: crash, member: d}
  - {at: 70s, do: restart, member: c-2, downtime: 5s}
"""


def played() -> list[TraceEvent]:
    """Run the scene: sessions end, a member that does not revoke is removed, a static one comes back."""
    return list(run_scenario(load_text(SCENE)).events)


def test_alarms_that_move_at_once_give_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """With alarms that follow every move of a deadline the trace is that of alarms that stay where they are."""
    lazy, moves = played(), []

    def eager(timers: LoopTimers, timer: Timer) -> None:
        if timer.alarm is not None:
            moves.append(timer.name)
            timers._loop.cancel(timer.alarm)
        timers._arm(timer)

    monkeypatch.setattr(LoopTimers, "set", eager)
    assert played() == lazy
    assert any(name.startswith("session-timeout-") for name in moves)
