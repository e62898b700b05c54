"""Python's garbage collector during a run.

A run holds millions of small objects (a hundred for each member of a group) and makes few cycles. With its own
thresholds Python visits all of them again and again: that is 60 % of the CPU time in which a group of ten thousand
forms, and below 20 % with these thresholds.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_COLLECT = (200_000, 20, 20)  # thresholds while a run lasts: Python's own are 700, 10, 10


@contextmanager
def patient_collector() -> Iterator[None]:
    """Let Python's garbage collector run more rarely inside this block.

    Put it around more than the run, as a sweep does: then the results of the run are built and dropped under it, too.
    """
    before = gc.get_threshold()
    if before[0]:  # 0: it is switched off
        gc.set_threshold(*(max(pair) for pair in zip(before, _COLLECT, strict=True)))
    try:
        yield
    finally:
        gc.set_threshold(*before)
