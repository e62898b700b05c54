"""The timers of one partition on the event loop.

The core's table of deadlines (`base/timers.py`) is authoritative. A session's deadline moves at every heartbeat, and
moving its entry in the loop's heap every time would cost more than the heartbeat. So an alarm (the loop's entry of a
timer) stays where it is when the deadline moves away. When the alarm rings before the deadline, it is set again, with
the rank that the timer drew when it moved: the order within an instant is the same as if the entry had moved at once.
An alarm is set earlier only when a deadline comes nearer.

Alarms ring on the loop rather than on the broker's host, and a timer that is due is delivered to the host. So a paused
broker, whose deadlines cannot move, fires its timers at the end of the pause in the order in which they came due.
"""

from __future__ import annotations

from collections.abc import Callable

from groupsim.coordinator.base.timers import NEVER, Timer
from groupsim.eventloop.interface import EventLoop, Host


class LoopTimers:
    """The alarms of one partition's timers. `fire(timer)` is called when a timer is due."""

    __slots__ = ("_fire", "_host", "_incarnation", "_loop")

    def __init__(self, loop: EventLoop, host: Host, fire: Callable[[Timer], None]) -> None:
        self._loop = loop
        self._host = host
        self._fire = fire
        self._incarnation = host.incarnation

    def set(self, timer: Timer) -> None:
        """Set the alarm of a timer that was started or moved."""
        if timer.alarm is not None:
            if timer.rings_us <= timer.due_us:
                return
            self._loop.cancel(timer.alarm)
        self._arm(timer)

    def stop(self, timer: Timer) -> None:
        """Remove the alarm of a timer that was stopped."""
        if timer.alarm is not None:
            self._loop.cancel(timer.alarm)
            timer.alarm, timer.rings_us = None, NEVER

    def _arm(self, timer: Timer) -> None:
        timer.rings_us, timer.rings_ticket = due_us, ticket = timer.due_us, timer.ticket
        timer.alarm = self._loop.set_in_place(due_us, ticket, self._ring, timer)

    def _ring(self, timer: Timer) -> None:
        rang_us, timer.rings_us, timer.alarm = timer.rings_us, NEVER, None
        if not timer.running or self._host.incarnation != self._incarnation:
            return
        if rang_us == timer.due_us and timer.rings_ticket == timer.ticket:
            self._host.deliver(self._due, timer)
        else:
            self._arm(timer)

    def _due(self, timer: Timer) -> None:
        # A pause may separate the alarm and this call: a heartbeat before it in the backlog has prolonged the session.
        if not timer.running:
            return
        if timer.due_us > self._loop.now_us:
            self.set(timer)
        else:
            self._fire(timer)
