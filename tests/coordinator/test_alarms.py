"""Alarms ring when a timer is due, and not at all for a deadline that somebody keeps."""

from __future__ import annotations

from groupsim.coordinator.alarms import Alarms
from groupsim.coordinator.config import CoordinatorConfig
from groupsim.coordinator.effects import SetTimer
from groupsim.coordinator.purgatory import Purgatory
from groupsim.coordinator.timers import Timer, TimerKind, Timers
from groupsim.coordinator.turn import Turn
from groupsim.eventloop import Order, VirtualLoop, run_virtual


class _Keeper:
    """Moves a deadline at hand, and notes whether the alarm has left it to him."""

    def __init__(self, timer: Timer, deadline: tuple[int, int]) -> None:
        self.timer, self.deadline, self.watches = timer, deadline, 0
        timer.lend(self)

    def watch(self) -> None:
        self.watches += 1

    def end(self) -> None:
        self.timer.give_back()


def test_an_alarm_that_rings_for_a_kept_deadline_is_set_again_when_it_is_given_back() -> None:
    """The keeper is told; after he has given it back, the timer is due in its place, with the cause its alarm had."""
    seen: list[tuple[int, str, int]] = []

    async def main(loop: VirtualLoop) -> None:
        host = loop.host("broker")
        alarms = Alarms(loop, host, lambda timer: seen.append((loop.now_us, timer.name, loop.trace.cause)))
        timer = Timer("session", TimerKind.SESSION, "g", "m")
        timer.move(100, loop.ticket())
        loop.trace.cause = 5
        alarms.set(timer)
        keeper = _Keeper(timer, (900, loop.ticket()))
        loop.call_at(900, lambda _: seen.append((loop.now_us, "set after it", 0)), order=Order.TIMER)
        loop.trace.cause = 6
        await loop.sleep(500)
        assert (keeper.watches, timer.alarm, timer.due_us) == (1, None, 900)
        keeper.end()
        assert timer.keeper is None
        await loop.sleep(500)

    run_virtual(main)
    assert seen == [(900, "session", 5), (900, "set after it", 0)]


def test_who_stops_a_kept_timer_hears_no_alarm() -> None:
    """A timer that is stopped while its deadline is kept is given back, and never due."""
    seen: list[Timer] = []

    async def main(loop: VirtualLoop) -> None:
        alarms = Alarms(loop, loop.host("broker"), seen.append)
        timer = Timer("session", TimerKind.SESSION, "g", "m")
        timer.move(100, loop.ticket())
        alarms.set(timer)
        _Keeper(timer, (900, loop.ticket()))
        await loop.sleep(500)
        timer.move(-1, 0)
        alarms.stop(timer)
        await loop.sleep(1_000)
        assert not timer.running

    run_virtual(main)
    assert not seen


def test_a_deadline_that_is_moved_within_its_instant_comes_in_its_new_place() -> None:
    """The driver is not told of such a move; whoever was set between is due before."""
    seen: list[str] = []

    async def main(loop: VirtualLoop) -> None:
        alarms = Alarms(loop, loop.host("broker"), lambda timer: seen.append(timer.name))
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
    turn = Turn(CoordinatorConfig(), Timers(iter(range(1, 9)).__next__), Purgatory(0), every_move=False)
    timer = turn.set_timer("join-g", TimerKind.JOIN, 100, "g")
    assert [type(effect) for effect in turn.take()] == [SetTimer]
    timer.rings_us = 100  # as the driver notes
    for delay_us, told in ((100, []), (150, []), (99, [SetTimer])):
        assert turn.set_timer("join-g", TimerKind.JOIN, delay_us, "g") is timer
        assert [type(effect) for effect in turn.take()] == told
