"""Signals of the operating system, for a program that serves in real time."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager

import trio

from groupsim.eventloop.realtime import RealTimeLoop

_STOP = (signal.SIGINT, signal.SIGTERM)


def on_signals(loop: RealTimeLoop, told: Callable[[int], None]) -> None:
    """Call `told` with the number of every SIGINT and SIGTERM from now on, as an event of the loop, until the run ends.

    Signals are caught when this returns, not only once the loop has turned: whoever starts a program may send one as
    soon as it says that it is ready. Only in the main thread, where Python delivers signals.
    """
    receiver = trio.open_signal_receiver(*_STOP)
    loop.start_soon(_listen, loop, told, receiver, receiver.__enter__(), name="signals")


async def _listen(
    loop: RealTimeLoop,
    told: Callable[[int], None],
    receiver: AbstractContextManager[AsyncIterator[int]],
    received: AsyncIterator[int],
) -> None:
    try:
        async for number in received:
            loop.from_outside(told, number)
    finally:
        receiver.__exit__(None, None, None)
