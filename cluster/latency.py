"""Latencies drawn ahead, in blocks: one list operation per segment instead of one draw."""

from __future__ import annotations

from collections.abc import Callable

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.randomness import Stream

_BLOCK = 16
_FIRST_BLOCK = 4  # many connections carry a few requests only


class Draws:
    """Draws of one distribution from one stream, in order."""

    __slots__ = ("_block", "_distribution", "_size", "_stream", "pop")

    def __init__(self, distribution: Distribution, stream: Stream) -> None:
        self._distribution = distribution
        self._stream = stream
        self._block: list[int] = []
        self._size = _FIRST_BLOCK
        #: The next draw; raises IndexError when the block is used up, and `next` draws another. For the hottest paths.
        self.pop: Callable[[], int] = self._block.pop

    def next(self) -> int:
        """The next draw, in µs."""
        try:
            return self.pop()
        except IndexError:
            draw, stream = self._distribution.draw, self._stream
            block = [draw(stream) for _ in range(self._size)]
            block.reverse()
            self._size = _BLOCK
            self._block.extend(block)
            return self.pop()
