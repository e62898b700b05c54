"""The ambient cause for the length of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from groupsim.eventloop.trace.trace import Trace


@contextmanager
def caused_by(trace: Trace, seq: int = 0) -> Iterator[None]:
    """What is begun in this block has event `seq` for its cause (0: the cause it has); afterwards all is as before."""
    before = trace.cause
    trace.begin(seq)
    try:
        yield
    finally:
        trace.cause = before
