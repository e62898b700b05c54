"""Links of limited bandwidth: what is sent on one waits for what was sent on it before.

A link carries so many bytes a second each way, as one queue: a message of n bytes occupies its direction for
n / bandwidth, and what is sent meanwhile, on whichever connection, waits behind it. Then it has its latency as always.
A link may be shared by several pairs of hosts: the consumers of a site, all that talk to one broker. A message that
needs two limited links passes both at once, and the one that takes longer counts.

Nothing is dropped and nothing is slowed down at its sender: there is no TCP window and no fair share between
connections. So the queue may be of any length, and a small message waits for all of it.

Time is exact: what a message occupies is kept in parts of a microsecond, and only the time at which it has left is
rounded, up.
"""

from __future__ import annotations

from groupsim.eventloop.units import SECOND_US


class Lane:
    """One direction of a link."""

    __slots__ = ("_free", "_rate")

    def __init__(self, per_second: int) -> None:
        self._rate = per_second
        self._free = 0  # when all that was sent has left, in µs times the rate: a byte takes SECOND_US of these

    def send(self, now_us: int, size: int) -> int:
        """Put a message of `size` bytes behind those before it; returns how long it takes to leave, in µs."""
        self._free = max(self._free, now_us * self._rate) + size * SECOND_US
        return self.waits_us(now_us)

    def waits_us(self, now_us: int) -> int:
        """How long what is sent now waits before its first byte leaves, in µs."""
        return max(-(-self._free // self._rate) - now_us, 0)


class Bandwidth:
    """A link of `per_second` bytes a second each way; `out` is the direction away from the hosts it is named after.

    Raises ValueError for less than one byte a second.
    """

    __slots__ = ("in_", "out", "per_second")

    def __init__(self, per_second: int) -> None:
        if per_second < 1:
            raise ValueError(f"a link of {per_second} bytes a second carries nothing: give 1 or more, or let it stall")
        self.per_second = per_second
        self.out = Lane(per_second)
        self.in_ = Lane(per_second)
