"""Signals in real time: caught at once, told as events of the loop, and given back at the end."""

from __future__ import annotations

import os
import signal

from groupsim.eventloop.realtime import RealTimeLoop, run_realtime
from groupsim.eventloop.signals import on_signals


def test_a_signal_that_comes_at_once_is_caught() -> None:
    """Not a turn of the loop lies between asking for signals and having them."""
    came: list[int] = []

    async def main(loop: RealTimeLoop) -> bool:
        on_signals(loop, came.append)
        os.kill(os.getpid(), signal.SIGTERM)
        return await loop.until(lambda: bool(came), 10_000_000)

    assert run_realtime(main)
    assert came == [signal.SIGTERM]


def test_signals_are_given_back_when_the_run_ends() -> None:
    """What handled them before handles them again."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    async def main(loop: RealTimeLoop) -> None:
        on_signals(loop, print)
        await loop.sleep(1_000)

    run_realtime(main)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
