"""Links of limited bandwidth, on which a message waits for earlier messages.

A link carries a number of bytes a second each way, as one queue: a message of n bytes occupies its direction for
n / bandwidth, and later messages, of any connection, wait behind it. Then the message has its usual latency. Several
pairs of hosts may share a link, such as the consumers of a site, or all clients of a broker. A message on two limited
links passes both at once, and the slower one decides.

No message is dropped, and no sender slows down: there is no TCP window and no fairness between connections. The queue
may have any length, and a small message waits for all of it.

Time is exact: occupied time is stored in fractions of a microsecond, and only the time of leaving is rounded up.
"""

from __future__ import annotations

from groupsim.eventloop.units import SECOND_US


class LinkDirection:
    """One direction of a link."""

    __slots__ = ("_free", "_rate")

    def __init__(self, per_second: int) -> None:
        self._rate = per_second
        self._free = 0  # when all messages have left, in µs times the rate: a byte takes SECOND_US of these

    def send(self, now_us: int, size: int) -> int:
        """Queue a message of `size` bytes; return the time until it has left, in µs."""
        self._free = max(self._free, now_us * self._rate) + size * SECOND_US
        return self.waits_us(now_us)

    def waits_us(self, now_us: int) -> int:
        """Return the time until the first byte of a new message leaves, in µs."""
        return max(-(-self._free // self._rate) - now_us, 0)


class Bandwidth:
    """A link of `per_second` bytes a second each way; `out` is the direction away from the hosts that the fault names.

    Raises ValueError for less than one byte a second.
    """

    __slots__ = ("in_", "out", "per_second")

    def __init__(self, per_second: int) -> None:
        if per_second < 1:
            raise ValueError(f"a link of {per_second} bytes a second carries nothing: give 1 or more, or use a stall")
        self.per_second = per_second
        self.out = LinkDirection(per_second)
        self.in_ = LinkDirection(per_second)
