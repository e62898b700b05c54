"""Waits before the next attempt.

Java since 3.7 doubles 100 ms up to 1,000 ms, each ±20 % and capped (KIP-580); older Java and most other libraries wait
a constant `retry.backoff.ms`. Source: `ExponentialBackoff`; classic-protocol reference, section 4.1.
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

    __slots__ = ("_attempts", "_base_us", "_exponential", "_max_us", "_new_stream", "_stream")

    def __init__(self, settings: ConsumerSettings, profile: ClientProfile, new_stream: Callable[[], Stream]) -> None:
        self._range(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._exponential = profile.retries.exponential
        self._new_stream = new_stream  # called at the first wait: most members never wait
        self._stream: Stream | None = None
        self._attempts = 0

    @classmethod
    def of_connections(
        cls, settings: ConsumerSettings, profile: ClientProfile, new_stream: Callable[[], Stream]
    ) -> Backoff:
        """Return the waits before a reconnect: reconnect.backoff.ms, which grows in every library (KIP-144)."""
        made = cls(settings, profile, new_stream)
        made._range(settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms)
        made._exponential = True
        return made

    def _range(self, base_ms: int, max_ms: int) -> None:
        self._base_us = base_ms * MS_US
        self._max_us = max(self._base_us, max_ms * MS_US)

    def reset(self) -> None:
        """Restart at the shortest wait."""
        self._attempts = 0

    def next_us(self) -> int:
        """Return the wait before the next attempt, in microseconds."""
        if not self._exponential or not self._base_us:
            return self._base_us
        doubled = min(self._base_us << min(self._attempts, _MOST_DOUBLINGS), self._max_us)
        self._attempts += 1
        spread = doubled * _JITTER_PERCENT // 100
        stream = self._stream = self._stream or self._new_stream()
        return min(doubled - spread + stream.below(2 * spread + 1), self._max_us)
