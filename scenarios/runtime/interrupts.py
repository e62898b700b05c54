"""Ctrl-C between two parts of a trace: a reader is never stopped in the midst of one.

What a half-read event leaves behind would make the story so far wrong.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from groupsim.eventloop.trace.events import TraceEvent


class InParts:
    """A subscriber that hands events on, so many at once; ctrl-C meanwhile comes when they are read."""

    def __init__(self, read: Callable[[Sequence[TraceEvent]], object], size: int) -> None:
        self._read = read
        self._size = size
        self._waiting: list[TraceEvent] = []
        self._busy = self._asked = False
        self._before: Any = None

    def __call__(self, event: TraceEvent) -> None:
        self._waiting.append(event)
        if len(self._waiting) >= self._size:
            self.flush()

    def flush(self) -> None:
        """Hand on what waits."""
        self._busy = True
        waiting, self._waiting = self._waiting, []
        self._read(waiting)
        self._busy = False
        if self._asked:
            self._asked = False
            self._before(signal.SIGINT, sys._getframe())

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Let ctrl-C wait in this block. Does nothing outside the main thread, and where ctrl-C does nothing."""
        self._before = signal.getsignal(signal.SIGINT)
        try:
            if callable(self._before):
                signal.signal(signal.SIGINT, self._interrupt)
        except ValueError:  # not the main thread
            self._before = None
        try:
            yield
        finally:
            if callable(self._before):
                signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._busy:
            self._asked = True
        else:
            self._before(number, frame)
