"""max.poll.interval.ms: the limit of the application's time away from `poll`.

The background thread looks whether it has expired before each heartbeat, while the coordinator is known. The limit does
not expire while the application waits in `poll`, whose loop restarts it. One heap event is moved when it comes up too
early.

Source: `AbstractHeartbeatRequestManager.poll`, `resetPollTimer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupsim.eventloop.units import MS_US
from groupsim.members.ports import Ports


class PollTimer:
    """Whether the application is inside `poll`, and since when it is away."""

    __slots__ = ("_armed", "_limit_us", "_long_us", "_member", "_on_end", "away_since_us", "inside")

    def __init__(self, member: Ports, on_end: Callable[[], None]) -> None:
        self._member = member
        self._on_end = on_end
        self._limit_us = member.settings.max_poll_interval_ms * MS_US
        self._long_us = member.settings.fetch_max_wait_ms * MS_US
        self._armed = False
        self.inside = False
        self.away_since_us = 0

    def enter(self) -> None:
        """Record that the application waits inside `poll`."""
        if not self.inside:
            self.inside = True
            if self._member.loop.now_us - self.away_since_us > self._long_us:
                self._member.fetcher.was_away(self.away_since_us)

    def leave(self) -> None:
        """Record that the application's thread is busy."""
        self.inside = False
        self.away_since_us = self._member.loop.now_us
        if not self._armed:
            self._arm()

    @property
    def limit_us(self) -> int:
        """The limit, in microseconds."""
        return self._limit_us

    @property
    def is_over(self) -> bool:
        """Whether the application has been away for longer than the limit."""
        return not self.inside and self._member.now_us >= self.away_since_us + self._limit_us

    def _arm(self) -> None:
        self._armed = True
        self._member.host.call_at(self.away_since_us + self._limit_us, self._due)

    def _due(self, _: Any) -> None:
        self._armed = False
        if self.inside or self._member.closing:
            return
        if self.is_over:
            self._on_end()
        else:
            self._arm()
