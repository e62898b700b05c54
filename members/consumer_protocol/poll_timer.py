"""max.poll.interval.ms: the limit of the application's time away from `poll`.

The background thread looks whether it has expired before each heartbeat, while the coordinator is known. It does not
wake up for it: a member leaves when its next heartbeat is due, or another event needs the thread. The limit does not
expire while the application waits in `poll`, whose loop restarts it.

Source: `AbstractHeartbeatRequestManager.poll`, `resetPollTimer`.
"""

from __future__ import annotations

from groupsim.eventloop.units import MS_US
from groupsim.members.ports import Ports


class PollTimer:
    """Whether the application is inside `poll`, and since when it is away."""

    __slots__ = ("_limit_us", "_long_us", "_member", "away_since_us", "came_late", "inside")

    def __init__(self, member: Ports) -> None:
        self._member = member
        self._limit_us = member.settings.max_poll_interval_ms * MS_US
        self._long_us = member.settings.fetch_max_wait_ms * MS_US
        self.inside = False
        self.came_late = False  #: the limit was over when the application last entered `poll`
        self.away_since_us = 0

    def enter(self) -> None:
        """Record that the application waits inside `poll`."""
        if not self.inside:
            self.came_late = self.is_over
            self.inside = True
            if self._member.loop.now_us - self.away_since_us > self._long_us:
                self._member.fetcher.was_away(self.away_since_us)

    def leave(self) -> None:
        """Record that the application's thread is busy."""
        self.inside = False
        self.away_since_us = self._member.loop.now_us

    @property
    def limit_us(self) -> int:
        """The limit, in microseconds."""
        return self._limit_us

    @property
    def is_over(self) -> bool:
        """Whether the application has been away for longer than the limit."""
        return not self.inside and self._member.now_us >= self.away_since_us + self._limit_us
