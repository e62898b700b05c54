"""Alarms ring when a timer is due."""

from __future__ import annotations

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.effects import SetTimer
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.purgatory import Purgatory
from groupsim.coordinator.base.timers import Timer, TimerKind, Timers
from groupsim.coordinator.loop_timers import LoopTimers
from groupsim.eventloop.virtual import VirtualLoop, run_virtual


def test_a_deadline_that_is_moved_within_its_instant_comes_in_its_new_place() -> None:
    """The driver gets no call for such a move; a timer that was set meanwhile is due before."""
    seen: list[str] = []

    async def main(loop: VirtualLoop) -> None:
        alarms = LoopTimers(loop, loop.host("broker"), lambda timer: seen.append(timer.name))
        first, second = (Timer(name, TimerKind.SESSION, "g", name) for name in ("first", "second"))
        for timer in (first, second):
            timer.move(100, loop.ticket())
            alarms.set(timer)
        first.move(100, loop.ticket())
        await loop.sleep(200)

    run_virtual(main)
    assert seen == ["second", "first"]


def test_only_a_move_that_an_alarm_would_ring_too_late_for_is_told() -> None:
    """Where nobody asks for every move: the first, and one to an earlier deadline than the alarm's."""
    op = Operation(CoordinatorConfig(), Timers(iter(range(1, 9)).__next__), Purgatory(0), every_move=False)
    timer = op.set_timer("join-g", TimerKind.JOIN, 100, "g")
    assert [type(effect) for effect in op.take()] == [SetTimer]
    timer.rings_us = 100  # as the driver notes
    for delay_us, told in ((100, []), (150, []), (99, [SetTimer])):
        assert op.set_timer("join-g", TimerKind.JOIN, delay_us, "g") is timer
        assert [type(effect) for effect in op.take()] == told
