"""How long to wait before the next attempt.

Java since 3.7: 100 ms doubling up to 1,000 ms, each ±20 % (the result capped); before that, and in most other
libraries, a constant `retry.backoff.ms`. Source: `ExponentialBackoff`; classic-protocol reference, section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groupsim.eventloop.units import MS_US

if TYPE_CHECKING:
    from groupsim.eventloop.randomness import Stream
    from groupsim.members.profiles import ClientProfile
    from groupsim.members.settings import ConsumerSettings

_JITTER_PERCENT = 20
_MOST_DOUBLINGS = 20


class Backoff:
    """The waits of one kind of attempt; `reset` after a success."""

    __slots__ = ("_attempts", "_base_us", "_exponential", "_luck", "_max_us", "_stream")

    def __init__(self, settings: ConsumerSettings, profile: ClientProfile, luck: Callable[[], Stream]) -> None:
        self._range(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._exponential = profile.retries.exponential
        self._luck = luck  # most members never wait: the stream is made when it is needed
        self._stream: Stream | None = None
        self._attempts = 0

    @classmethod
    def of_connections(cls, settings: ConsumerSettings, profile: ClientProfile, luck: Callable[[], Stream]) -> Backoff:
        """The waits before a broker is connected to again: reconnect.backoff.ms, growing in every library (KIP-144)."""
        made = cls(settings, profile, luck)
        made._range(settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms)
        made._exponential = True
        return made

    def _range(self, base_ms: int, max_ms: int) -> None:
        self._base_us = base_ms * MS_US
        self._max_us = max(self._base_us, max_ms * MS_US)

    def reset(self) -> None:
        """Begin again with the shortest wait."""
        self._attempts = 0

    def next_us(self) -> int:
        """The wait before the next attempt."""
        if not self._exponential or not self._base_us:
            return self._base_us
        doubled = min(self._base_us << min(self._attempts, _MOST_DOUBLINGS), self._max_us)
        self._attempts += 1
        spread = doubled * _JITTER_PERCENT // 100
        stream = self._stream = self._stream or self._luck()
        return min(doubled - spread + stream.below(2 * spread + 1), self._max_us)
