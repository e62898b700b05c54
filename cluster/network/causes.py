"""The trace's current cause for the length of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from groupsim.eventloop.trace.trace import Trace


@contextmanager
def caused_by(trace: Trace, seq: int = 0) -> Iterator[None]:
    """Make event `seq` the cause of all events in the block (0: no change), then restore the previous cause."""
    before = trace.cause
    trace.begin(seq)
    try:
        yield
    finally:
        trace.cause = before
