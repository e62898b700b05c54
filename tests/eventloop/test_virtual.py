"""What only virtual time promises: determinism, the deadlock report, standing still, one task per pass, ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest
import trio

from groupsim.eventloop.errors import DeadlockError, SchedulingError, StandstillError
from groupsim.eventloop.interface import EventLoop, Order
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.units import ms, seconds
from groupsim.eventloop.virtual import VirtualLoop, run_virtual

PROGRAM = """
    from groupsim.eventloop.trace.sinks import MemorySink
    from groupsim.eventloop.trace.trace import Level, Trace
    from groupsim.eventloop.units import ms
    from groupsim.eventloop.virtual import run_virtual
    from groupsim.eventloop.distributions import parse_distribution
    from groupsim.eventloop.trace.events import Kind

    seen = []
    latency = parse_distribution("exponential(mean=2ms)")

    async def member(loop, name, queue, flag):
        stream = loop.stream("latency", name)
        for _ in range(20):
            with loop.timeout(ms(3)) as limit:
                seen.append((loop.now_us, name, await queue.get()))
            loop.trace.emit(Kind.WARNING, host=name, reason=str(limit.expired))
            await loop.sleep(latency.draw(stream) // 1000 * 1000)
            if stream.chance(100_000):
                flag.set()
            elif stream.chance(100_000):
                await flag.wait()
                flag.clear()

    async def main(loop):
        queue, flag = loop.queue(), loop.event()
        names = [f"m{n}" for n in range(30)]
        for name in names:
            loop.host(name).start_soon(member, loop, name, queue, flag, name=name)
        for n in range(500):
            queue.put(n)
            await loop.sleep(1000)
            if n % 97 == 50:
                loop.host(names[n % 30]).crash()
            if n % 53 == 20:
                loop.host(names[n % 7]).pause()
            if n % 53 == 40:
                for name in names:
                    loop.host(name).resume()

    run_virtual(main, seed=7, trace=Trace(Level.{level}))
    import hashlib
    print(len(seen), hashlib.sha256(repr(seen).encode()).hexdigest())
"""


def _run_program(level: str, hash_seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    program = textwrap.dedent(PROGRAM).replace("{level}", level)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_same_seed_same_run() -> None:
    """The same program takes the same course whatever PYTHONHASHSEED, whether the trace is on or off."""
    first = _run_program("OFF", 0)
    assert int(first.split()[0]) > 80
    assert {_run_program(level, seed) for level, seed in [("OFF", 1), ("FULL", 2), ("NORMAL", 12345)]} == {first}


def test_virtual_time_jumps() -> None:
    """A year of sleeping costs no time, and ends at exactly the microsecond."""

    async def main(loop: EventLoop) -> int:
        await loop.sleep(seconds(365 * 86_400) + 1)
        return loop.now_us

    assert run_virtual(main) == 365 * 86_400 * 1_000_000 + 1


def test_stories_and_events_of_one_instant() -> None:
    """At one instant messages, append results and timers run before tasks, these by their tickets."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        flag = loop.event()

        async def sleeper(name: str, us: int) -> None:
            await loop.sleep(us)
            seen.append(name)

        async def waiter() -> None:
            await flag.wait()
            seen.append("waiter")

        host = loop.host("a")
        host.start_soon(waiter, name="waiter")
        host.start_soon(sleeper, "sleeper 1", 100, name="1")
        host.start_soon(sleeper, "sleeper 2", 100, name="2")
        loop.call_at(100, lambda _: flag.set(), order=Order.MESSAGE)
        loop.call_at(100, seen.append, "timer")
        loop.call_at(100, seen.append, "append", order=Order.APPEND)
        await loop.sleep(200)

    run_virtual(main)
    # The waiter was woken by a message of this instant, after the sleepers had drawn their tickets.
    assert seen == ["append", "timer", "sleeper 1", "sleeper 2", "waiter"]


def test_cancellations_come_first() -> None:
    """A task cancelled by a message is unwound before the timers of that instant run, and before its own wake-up."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        async def sleeper() -> None:
            try:
                await loop.sleep(100)
                seen.append("woke up")
            finally:
                seen.append("unwound")

        task = loop.host("a").start_soon(sleeper, name="sleeper")
        loop.call_at(100, lambda _: task.cancel(), order=Order.MESSAGE)
        loop.call_at(100, seen.append, "timer")
        await loop.sleep(200)

    run_virtual(main)
    assert seen == ["unwound", "timer"]


def test_a_timer_wins_over_a_wake_up_of_the_same_instant() -> None:
    """A timeout that is due when the awaited sleep ends cuts it short: timers come before tasks."""

    async def main(loop: EventLoop) -> bool:
        with loop.timeout(100) as limit:
            await loop.sleep(100)
        return limit.expired

    assert run_virtual(main)


def test_nested_timeouts_end_separately() -> None:
    """Of two nested timeouts the one that ran out ends its own block, and the outer one goes on."""

    async def main(loop: EventLoop) -> tuple[bool, bool, int]:
        with loop.timeout(300) as outer:
            with loop.timeout(100) as inner:
                await loop.event().wait()
            await loop.sleep(50)
        return outer.expired, inner.expired, loop.now_us

    assert run_virtual(main) == (False, True, 150)


def test_a_pause_delays_sleep_and_timeout_of_its_stories() -> None:
    """A task of a paused host wakes, and its timeout runs out, only at resume, though others woke it before."""
    seen: list[tuple[str, int]] = []

    async def main(loop: EventLoop) -> None:
        host, flag = loop.host("a"), loop.event()

        async def sleeper() -> None:
            await loop.sleep(100)
            seen.append(("sleeper", loop.now_us))

        async def limited() -> None:
            with loop.timeout(50) as limit:
                await loop.queue().get()
            seen.append((f"limited {limit.expired}", loop.now_us))

        async def waiter() -> None:
            await flag.wait()
            seen.append(("waiter", loop.now_us))

        for task in (sleeper, limited, waiter):
            host.start_soon(task, name=task.__name__)
        loop.call_at(10, lambda _: host.pause())
        loop.call_at(20, lambda _: flag.set())
        loop.call_at(500, lambda _: host.resume())
        await loop.sleep(1000)

    run_virtual(main)
    assert seen == [("waiter", 500), ("sleeper", 500), ("limited True", 500)]


def test_a_crash_ends_a_paused_host() -> None:
    """Crashing a paused host drops what it held back, and cancels tasks that were already woken."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        host, flag = loop.host("a"), loop.event()

        async def waiter() -> None:
            try:
                await flag.wait()
                seen.append("woke up")
            finally:
                seen.append("unwound")

        host.start_soon(waiter, name="waiter")
        host.call_at(30, seen.append, "timer")
        await loop.sleep(10)
        host.pause()
        flag.set()
        await loop.sleep(50)
        host.crash()
        host.crash()
        host.resume()
        await loop.sleep(50)

    run_virtual(main)
    assert seen == ["unwound"]


def test_dropped_events_do_not_move_time() -> None:
    """Cancelled events, and those of the dead, do not advance the clock."""

    async def main(loop: EventLoop) -> None:
        loop.cancel(loop.call_at(5_000, print))
        loop.host("a").call_at(6_000, print)
        loop.host("a").crash()
        await loop.event().wait()

    loop = VirtualLoop()
    with pytest.raises(DeadlockError):
        loop.run(main)
    assert loop.now_us == 0


def test_many_cancelled_events_are_thrown_out() -> None:
    """The heap does not fill with cancelled events, and the others keep their order."""
    seen: list[int] = []
    sizes: list[int] = []

    async def main(loop: VirtualLoop) -> None:
        for n in range(10):
            loop.call_at(100 - n, seen.append, n)
        for n in range(50_000):
            loop.cancel(loop.call_at(1_000 + n, seen.append, -1))
            sizes.append(len(loop._agenda))
        await loop.sleep(200)

    run_virtual(main)
    assert seen == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert max(sizes) < 3_000


def test_the_deadlock_report_names_who_waits() -> None:
    """When nothing can happen any more, the run ends with the time, every waiting task, and hosts that are paused."""

    async def main(loop: EventLoop) -> None:
        async def consume() -> None:
            await loop.queue().get()

        loop.host("m1").start_soon(consume, name="poll loop")
        loop.host("m2").call_at(4_000, print)
        loop.host("m2").pause()
        await loop.sleep(3_000)
        await loop.until(lambda: False)

    with pytest.raises(DeadlockError) as caught:
        run_virtual(main)
    report = str(caught.value)
    assert "nothing can happen any more at 0.003 s" in report
    assert "task 'main' waits for until test_the_deadlock_report" in report
    assert "since 0.003 s" in report
    assert "task 'poll loop' on m1 waits for an item of a queue since 0.000 s" in report
    assert "host m2 is paused, and holds back 1 due events" in report


def test_a_shielded_wait_does_not_hang_a_dead_run() -> None:
    """A task that shields itself and waits again while the run is being ended gets an error instead of hanging."""

    async def main(loop: EventLoop) -> None:
        try:
            await loop.event().wait()
        finally:
            with trio.CancelScope(shield=True):
                await loop.event().wait()

    with pytest.raises(DeadlockError) as caught:
        run_virtual(main)
    assert "while the run was being ended" in caught.value.__notes__[1]


def test_time_that_stands_still_ends_the_run() -> None:
    """Callbacks that schedule each other for ever at one instant end the run, and are named."""

    async def main(loop: EventLoop) -> None:
        def ping(_: object) -> None:
            loop.call_at(loop.now_us, pong)

        def pong(_: object) -> None:
            loop.call_at(loop.now_us, ping)

        loop.call_at(ms(7), ping)
        await loop.sleep(seconds(1))

    with pytest.raises(StandstillError) as caught:
        run_virtual(main, standstill_events=5_000)
    report = str(caught.value)
    assert "stands still at 0.007 s since 5000 events" in report
    assert ".ping" in report
    assert ".pong" in report


def test_a_story_that_never_lets_time_pass_is_named() -> None:
    """A task that sleeps for nothing for ever is named too."""

    async def main(loop: EventLoop) -> None:
        async def spin() -> None:
            while True:
                await loop.sleep(0)

        loop.host("m1").start_soon(spin, name="busy")
        await loop.sleep(seconds(1))

    with pytest.raises(StandstillError, match="task 'busy' on m1"):
        run_virtual(main, standstill_events=2_000)


def test_two_tasks_in_one_pass_fail_the_run() -> None:
    """Tasks started with trio itself would step in one pass, in an order that is luck: the run fails and names them."""

    async def main(loop: EventLoop) -> None:
        async def one() -> None:
            await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(one, name="first")
            nursery.start_soon(one, name="second")

    with pytest.raises(SchedulingError, match="'first' and 'second'"):
        run_virtual(main)


def test_trio_events_that_wake_two_fail_the_run() -> None:
    """A trio.Event that wakes two tasks at once fails the run."""

    async def main(loop: EventLoop) -> None:
        flag = trio.Event()
        for name in "ab":
            loop.host(name).start_soon(flag.wait, name=name)
        await loop.sleep(10)
        flag.set()
        await loop.sleep(10)

    with pytest.raises(SchedulingError, match="became runnable at once"):
        run_virtual(main)


def test_trio_deadlines_fail_the_run() -> None:
    """trio.sleep would make trio keep the time: the run fails and says what to use instead."""

    async def main(loop: EventLoop) -> None:
        await trio.sleep(1)

    with pytest.raises(SchedulingError, match="use the event loop's sleep"):
        run_virtual(main)


def test_ctrl_c_in_a_busy_loop_of_callbacks_unwinds() -> None:
    """SIGINT while callbacks follow each other for ever reaches main as KeyboardInterrupt, and the tasks unwind."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        def again(n: int) -> None:
            if n == 50_000:
                signal.raise_signal(signal.SIGINT)
            loop.call_at(loop.now_us + 1, again, n + 1)

        async def task() -> None:
            try:
                await loop.event().wait()
            finally:
                seen.append("task")

        loop.host("a").start_soon(task, name="task")
        again(0)
        try:
            await loop.sleep(seconds(3600))
        finally:
            seen.append("main")

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main)
    assert seen == ["main", "task"]


def test_ctrl_c_in_a_story_unwinds() -> None:
    """SIGINT while a task computes is one KeyboardInterrupt at the edge of the run."""

    async def main(loop: EventLoop) -> None:
        async def task() -> None:
            signal.raise_signal(signal.SIGINT)
            await loop.sleep(1)

        loop.host("a").start_soon(task, name="task")
        await loop.sleep(1_000)

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main)


def test_a_failed_assertion_in_a_story_keeps_its_words() -> None:
    """pytest.fail in a callback or an assert in a task surface as themselves."""

    async def main(loop: EventLoop) -> None:
        loop.call_at(5, lambda _: pytest.fail("seen in a callback"))
        await loop.sleep(10)

    with pytest.raises(pytest.fail.Exception, match="seen in a callback"):
        run_virtual(main)


def test_an_error_keeps_its_cause() -> None:
    """`raise … from …` in a task keeps its cause at the edge of the run."""

    async def main(loop: EventLoop) -> None:
        raise LookupError("outer") from KeyError("inner")

    with pytest.raises(LookupError) as caught:
        run_virtual(main)
    assert isinstance(caught.value.__cause__, KeyError)


def test_the_second_error_becomes_a_note() -> None:
    """What goes wrong while a run unwinds does not hide the first error."""

    async def main(loop: EventLoop) -> None:
        async def fails_in_finally() -> None:
            try:
                await loop.event().wait()
            finally:
                raise ValueError("second")

        loop.host("a").start_soon(fails_in_finally, name="late")
        await loop.sleep(1)
        raise LookupError("first")

    with pytest.raises(LookupError, match="first") as caught:
        run_virtual(main)
    assert "ValueError('second')" in caught.value.__notes__[1]


def test_tracing_draws_nothing_from_the_run() -> None:
    """Tickets, and so every order, are the same with the trace on and off."""

    async def main(loop: EventLoop) -> Any:
        loop.trace.begin(loop.trace.emit(Kind.ACTION, reason="x"))
        await loop.sleep(5)
        return loop.ticket(), loop.stream("x").word()

    sink = MemorySink()
    on = Trace(Level.FULL)
    on.subscribe(sink)
    assert run_virtual(main, trace=on) == run_virtual(main, trace=None)
    assert [event.reason for event in sink.events] == ["x"]


def test_event_objects_leave_no_cycles_behind() -> None:
    """A wait leaves nothing for the garbage collector: the waiting list and the table of tasks are empty afterwards."""

    async def main(loop: VirtualLoop) -> tuple[int, int, int]:
        async def task() -> None:
            await loop.sleep(5)

        for n in range(10):
            loop.host("a").start_soon(task, name=str(n))
        await loop.sleep(10)
        return len(loop._waiting), len(loop._by_trio_task), len(loop._tasks)

    assert run_virtual(main) == (0, 1, 1)
