"""Python's search for garbage in cycles, while a run lasts.

A run keeps millions of small objects alive (a hundred for each member of a group) and makes few cycles. With its own
thresholds Python walks through all of them again and again: of the CPU time in which a group of ten thousand forms that
is 60 %, with the thresholds below 20 %.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_COLLECT = (200_000, 20, 20)  # thresholds while a run lasts: Python's own are 700, 10, 10


@contextmanager
def patient_collector() -> Iterator[None]:
    """Let Python look for garbage in cycles more rarely inside this block.

    Put it around more than the run, as a sweep does, and what is told of the run is made and dropped in the same peace.
    """
    before = gc.get_threshold()
    if before[0]:  # 0: somebody switched it off
        gc.set_threshold(*(max(pair) for pair in zip(before, _COLLECT, strict=True)))
    try:
        yield
    finally:
        gc.set_threshold(*before)
