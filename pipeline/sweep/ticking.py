"""Progress reports during a long operation without output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from contextlib import contextmanager

from groupsim.pipeline.sweep.engines import TICK_S


@contextmanager
def ticking(tick: Callable[[], object]) -> Iterator[None]:
    """Call `tick` at once and then every few seconds, from a thread of its own, for as long as the block lasts."""
    ended: Future[None] = Future()

    def until_ended() -> None:
        while True:
            try:
                ended.result(TICK_S)
            except Late:
                tick()
            else:
                return

    tick()
    with ThreadPoolExecutor(1, "groupsim-tick") as thread:
        thread.submit(until_ended)
        try:
            yield
        finally:
            ended.set_result(None)
