"""A simulation inside a program that has an event loop of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio

from groupsim import Simulation
from groupsim.eventloop.errors import SchedulingError
from groupsim.eventloop.trace.events import TraceEvent


async def story(sim: Simulation) -> str:
    """Two members form a group, and one crashes."""
    sim.topic("orders", 4)
    members = [sim.member(name) for name in ("c1", "c2")]
    await sim.stable("g1", members=2)
    members[0].crash()
    await sim.stable("g1", members=1)
    return "told"


def simulate() -> tuple[str, list[TraceEvent]]:
    """What the story returns, and its trace."""
    sim = Simulation(seed=3)
    return sim.run(story), sim.events


def in_asyncio(work: Callable[[], Any]) -> Any:
    """Run it inside asyncio's loop, which listens for a signal, as a server and a notebook do."""

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        heard = asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, heard.set)
        ticks = asyncio.ensure_future(asyncio.sleep(0, "ticked"))
        found = work()
        assert asyncio.get_running_loop() is loop
        assert await ticks == "ticked"
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(heard.wait(), 30)
        return found

    return asyncio.run(main())


def in_a_thread_of_trio(work: Callable[[], Any]) -> Any:
    """Run it in a thread, while trio runs in this one."""
    return trio.run(partial(trio.to_thread.run_sync, work))


@pytest.mark.parametrize("within", [in_asyncio, in_a_thread_of_trio])
def test_a_run_inside_another_loop_has_the_same_trace(within: Callable[[Callable[[], Any]], Any]) -> None:
    """It works, without a warning, its trace is that of a run alone, and the loop around it goes on."""
    assert within(simulate) == simulate()


def test_inside_trio_the_remedy_is_named() -> None:
    """One thread has one loop of trio: the message says to use another thread; afterwards trio goes on."""

    async def main() -> None:
        with pytest.raises(SchedulingError, match=r"await trio\.to_thread\.run_sync\(sim\.run, story\)"):
            Simulation().run(story)
        await trio.sleep(0)
        assert await trio.to_thread.run_sync(Simulation().run, story) == "told"

    trio.run(main)


def test_a_run_that_fails_gives_the_signals_back() -> None:
    """The loop around it has its place for signals again, whatever ends the run."""

    async def broken(sim: Simulation) -> None:
        raise LookupError("of the story")

    async def main() -> tuple[int, int]:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)
        before = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(before)
        with pytest.raises(LookupError, match="of the story"):
            Simulation().run(broken)
        return before, signal.set_wakeup_fd(before)

    before, after = asyncio.run(main())
    assert before == after != -1


def test_ctrl_c_ends_a_run_inside_asyncio() -> None:
    """As a notebook's button for an interrupt does, in a process of its own."""
    text = (
        "import asyncio, os, signal, groupsim\n"
        "async def story(sim):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    await sim.run_for('10m')\n"
        "async def main():\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    try:\n"
        "        groupsim.Simulation().run(story)\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "interrupted\n", done.stderr
