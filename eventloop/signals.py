"""Signals of the operating system, for a program that serves in real time."""

from __future__ import annotations

import signal
from collections.abc import Callable

import trio

from groupsim.eventloop.realtime import RealTimeLoop

STOP = (signal.SIGINT, signal.SIGTERM)


def on_signals(loop: RealTimeLoop, told: Callable[[int], None], signals: tuple[signal.Signals, ...] = STOP) -> None:
    """Call `told` with the number of every such signal from now on, as an event of the loop, until the run ends.

    Only in the main thread, where Python delivers signals.
    """
    loop.start_soon(_listen, loop, told, signals, name="signals")


async def _listen(loop: RealTimeLoop, told: Callable[[int], None], signals: tuple[signal.Signals, ...]) -> None:
    with trio.open_signal_receiver(*signals) as received:
        async for number in received:
            loop.from_outside(told, number)
