"""Latencies drawn in blocks, which is faster than a draw per segment."""

from __future__ import annotations

from array import array

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.randomness import Stream

BLOCK = 32
FIRST = 24  # first index of the first block: many connections carry only a handshake and two requests
_SKIPPED = array("Q", [0] * FIRST)


def drawn(distribution: Distribution, stream: Stream, start: int = 0) -> array[int]:
    """Return the next block of draws, from `start` to `BLOCK`, in µs.

    An array of 64-bit numbers keeps the memory of ten thousand connections small.
    """
    ahead = distribution.ahead(stream, BLOCK - start)
    return _SKIPPED[:start] + ahead if start else ahead


class Draws:
    """Draws of one distribution from one stream, in order, a block at a time."""

    __slots__ = ("_at", "_block", "_distribution", "_stream")

    def __init__(self, distribution: Distribution, stream: Stream) -> None:
        self._distribution = distribution
        self._stream = stream
        self._block: array[int] = array("Q")
        self._at = BLOCK

    def next(self) -> int:
        """Return the next draw, in µs."""
        at = self._at
        if at == BLOCK:
            at = 0 if self._block else FIRST
            self._block = drawn(self._distribution, self._stream, at)
        self._at = at + 1
        return self._block[at]

    def pair(self) -> tuple[int, int]:
        """Return the next two draws, in µs."""
        at = self._at
        if at > BLOCK - 2:
            return self.next(), self.next()
        self._at, block = at + 2, self._block
        return block[at], block[at + 1]
