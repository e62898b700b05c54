"""A virtual run inside a program that has an event loop of its own: a notebook, a web service, a test of asyncio.

A run blocks its thread until it ends, in virtual time, so it needs no turn of the loop around it. Two things of a
process are shared, and this module takes care of them. Neither is seen by a trace.

Signals   A loop asks Python to write the numbers of signals into a socket of its own (`signal.set_wakeup_fd`); there is
          one such place in a process. trio warns where another loop has it. So that loop's place is put aside for the
          run, and put back. A signal handler of asyncio that falls due during a run is called with the next signal.
trio      One thread runs one trio loop. Inside `trio.run` a run is refused, with the thread as the remedy.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import trio

from groupsim.eventloop.errors import SchedulingError


@contextmanager
def beside_host_loop() -> Iterator[None]:
    """Run trio in this block although another loop may run in this thread.

    Raises SchedulingError when that loop is trio's.
    """
    if trio.lowlevel.in_trio_run():
        raise SchedulingError(
            "a run in virtual time cannot begin inside trio.run, which has one loop for each thread: "
            "call it from a thread (`await trio.to_thread.run_sync(sim.run, story)`), or before trio.run"
        )
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
