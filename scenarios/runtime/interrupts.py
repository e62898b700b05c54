"""Defer ctrl-C while a reader processes a part of a trace.

A half-read event would leave a wrong story of the run so far.
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
    """A subscriber that passes events on in parts; ctrl-C takes effect after the part."""

    def __init__(self, read: Callable[[Sequence[TraceEvent]], object], size: int) -> None:
        self._read = read
        self._size = size
        self._waiting: list[TraceEvent] = []
        self._busy = self._interrupted = False
        self._before: Any = None

    def __call__(self, event: TraceEvent) -> None:
        self._waiting.append(event)
        if len(self._waiting) >= self._size:
            self.flush()

    def flush(self) -> None:
        """Pass the waiting events on."""
        self._busy = True
        waiting, self._waiting = self._waiting, []
        self._read(waiting)
        self._busy = False
        if self._interrupted:
            self._interrupted = False
            self._before(signal.SIGINT, sys._getframe())

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Defer ctrl-C in this block. Has no effect outside the main thread, and without a handler of ctrl-C."""
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
            self._interrupted = True
        else:
            self._before(number, frame)
