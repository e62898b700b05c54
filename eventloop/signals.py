"""Signals of the operating system, for a program that serves in real time."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager

import trio

from groupsim.eventloop.realtime import RealTimeLoop

_STOP = (signal.SIGINT, signal.SIGTERM)


def on_signals(loop: RealTimeLoop, callback: Callable[[int], None]) -> None:
    """Call `callback` with the number of every SIGINT and SIGTERM from now on, as an event of the loop, until its end.

    Signals are caught when this returns, not only after the loop's next turn: a supervisor may send one as soon as the
    program reports that it is ready. Only in the main thread, where Python delivers signals.
    """
    receiver = trio.open_signal_receiver(*_STOP)
    loop.start_soon(_listen, loop, callback, receiver, receiver.__enter__(), name="signals")


async def _listen(
    loop: RealTimeLoop,
    callback: Callable[[int], None],
    receiver: AbstractContextManager[AsyncIterator[int]],
    received: AsyncIterator[int],
) -> None:
    try:
        async for number in received:
            loop.from_outside(callback, number)
    finally:
        receiver.__exit__(None, None, None)
