"""What every room may rely on, whichever driver runs it. Delays are milliseconds, so that real time is short."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.eventloop.interface import EventLoop, Order
from groupsim.eventloop.realtime import RealTimeLoop, run_realtime
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.units import ms
from groupsim.eventloop.virtual import VirtualLoop, run_virtual

Main = Callable[[Any], Awaitable[Any]]
Run = Callable[..., Any]


@pytest.fixture(params=[run_virtual, run_realtime], ids=["virtual", "realtime"])
def run(request: pytest.FixtureRequest) -> Run:
    """Each driver in turn."""
    runner: Run = request.param
    return runner


def test_main_returns_its_result(run: Run) -> None:
    """What main returns, run returns."""

    async def main(loop: EventLoop) -> str:
        await loop.sleep(ms(1))
        return "done"

    assert run(main) == "done"


def test_callbacks_run_in_order_of_time(run: Run) -> None:
    """Callbacks run at their time, whatever the order in which they were scheduled."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        now = loop.now_us
        loop.call_at(now + ms(6), seen.append, "later")
        loop.call_at(now + ms(2), seen.append, "sooner")
        loop.call_at(now - ms(2), seen.append, "past")
        await loop.sleep(ms(12))

    run(main)
    assert seen == ["past", "sooner", "later"]


def test_classes_within_one_instant(run: Run) -> None:
    """Cancellations come before messages, these before append results, timers and tasks; then by ticket."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        at = loop.now_us + ms(3)
        for order in reversed(Order):
            loop.call_at(at, seen.append, f"{order.name} 1", order=order)
            loop.call_at(at, seen.append, f"{order.name} 2", order=order)
        await loop.sleep(ms(8))

    run(main)
    assert seen == [f"{order.name} {n}" for order in Order for n in (1, 2)]


def test_a_ticket_fixes_the_rank(run: Run) -> None:
    """An event with an old ticket runs before one scheduled earlier with a younger ticket."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        at = loop.now_us + ms(2)
        old = loop.ticket()
        loop.call_at(at, seen.append, "second")
        loop.set_in_place(at, old, seen.append, "first")
        loop.set_in_place(at, old, seen.append, "first again")
        await loop.sleep(ms(5))

    run(main)
    assert seen == ["first", "first again", "second"]


def test_cancelled_events_do_not_run(run: Run) -> None:
    """A cancelled event does not run; cancelling twice, or after it ran, does nothing."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        now = loop.now_us
        ran = loop.call_at(now + ms(1), seen.append, "ran")
        never = loop.call_at(now + ms(2), seen.append, "never")
        loop.cancel(never)
        loop.cancel(never)
        await loop.sleep(ms(5))
        loop.cancel(ran)

    run(main)
    assert seen == ["ran"]


def test_event_wakes_in_order_of_waiting(run: Run) -> None:
    """`set` wakes every waiter, in the order they came, however many."""
    seen: list[int] = []

    async def main(loop: EventLoop) -> None:
        flag, host = loop.event(), loop.host("a")

        async def wait(n: int) -> None:
            await flag.wait()
            seen.append(n)

        for n in range(20):
            host.start_soon(wait, n, name=f"waiter {n}")
        await loop.sleep(ms(3))
        assert not flag.is_set()
        flag.set()
        await loop.until(lambda: len(seen) == 20)
        assert flag.is_set()
        flag.clear()
        assert not flag.is_set()

    run(main)
    assert seen == list(range(20))


def test_queue_serves_in_order(run: Run) -> None:
    """Items come out in the order they went in, each to the getter that has waited longest."""
    seen: list[tuple[str, int]] = []

    async def main(loop: EventLoop) -> None:
        queue, host = loop.queue(), loop.host("a")

        async def take(name: str) -> None:
            seen.append((name, await queue.get()))

        queue.put(0)
        for name in "abc":
            host.start_soon(take, name, name=name)
        await loop.sleep(ms(2))
        for n in (1, 2, 3):
            queue.put(n)
        await loop.until(lambda: len(seen) == 3)
        assert len(queue) == 1

    run(main)
    assert seen == [("a", 0), ("b", 1), ("c", 2)]


def test_timeout_cuts_a_wait_short(run: Run) -> None:
    """A block that takes longer than its timeout is cancelled and says so; one that does not is left alone."""

    async def main(loop: EventLoop) -> tuple[bool, bool, int]:
        began = loop.now_us
        with loop.timeout(ms(2)) as short:
            await loop.event().wait()
        with loop.timeout(ms(500)) as long:
            await loop.sleep(ms(1))
        return short.expired, long.expired, loop.now_us - began

    short, long, took_us = run(main)
    assert (short, long) == (True, False)
    assert ms(3) <= took_us < ms(400)


def test_an_item_is_not_lost_to_a_timeout(run: Run) -> None:
    """An item handed to a getter whose timeout ran out at the same instant stays in the queue."""

    async def main(loop: EventLoop) -> tuple[bool, int]:
        queue = loop.queue()

        def put_and_hold(_: object) -> None:
            queue.put(7)
            queue.put(8)

        at = loop.now_us + ms(2)
        loop.call_at(at, put_and_hold, order=Order.MESSAGE)
        with loop.timeout(at - loop.now_us) as limit:
            first = await queue.get()
            return limit.expired, first
        return limit.expired, await queue.get()

    assert run(main)[1] == 7


def test_until_looks_after_every_event(run: Run) -> None:
    """`until` goes on right after the event that makes its predicate hold, and gives up at its timeout."""

    async def main(loop: EventLoop) -> tuple[bool, int, bool, bool]:
        seen: list[int] = []
        at = loop.now_us + ms(2)
        for n in range(10):
            loop.call_at(at + n, seen.append, n)
        held = await loop.until(lambda: len(seen) >= 3)
        count = len(seen)
        gave_up = await loop.until(lambda: False, ms(2))
        at_once = await loop.until(lambda: True)
        return held, count, gave_up, at_once

    held, count, gave_up, at_once = run(main)
    assert (held, count, gave_up, at_once) == (True, 3, False, True)


def test_what_a_predicate_raises_is_raised_in_until(run: Run) -> None:
    """A predicate that raises ends its own `until`, not the run."""

    async def main(loop: EventLoop) -> str:
        seen: list[int] = []
        loop.call_at(loop.now_us + ms(1), seen.append, 1)
        with pytest.raises(ZeroDivisionError):
            await loop.until(lambda: bool(seen) and 1 // 0 > 0)
        return "went on"

    assert run(main) == "went on"


def test_a_paused_host_stands_still(run: Run) -> None:
    """While a host is paused nothing of it runs; at resume it runs in the order in which it came due."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        host = loop.host("a")
        now = loop.now_us
        host.call_at(now + ms(2), seen.append, "timer")
        host.call_at(now + ms(4), seen.append, "message", order=Order.MESSAGE)
        taken_back = host.call_at(now + ms(3), seen.append, "taken back")

        async def sleeper() -> None:
            await host.sleep(ms(3))
            seen.append("task")

        host.start_soon(sleeper, name="sleeper")
        host.pause()
        assert host.paused
        assert host.alive
        await loop.sleep(ms(8))
        host.deliver(seen.append, "delivered")
        host.cancel(taken_back)
        assert seen == []
        host.resume()
        assert not host.paused
        await loop.sleep(ms(20))

    run(main)
    # The task had not begun when the host was paused, so its sleep begins at resume.
    assert seen == ["timer", "message", "delivered", "task"]


def test_deliver_runs_at_once(run: Run) -> None:
    """`deliver` runs its callback before it returns, when the host runs."""

    async def main(loop: EventLoop) -> list[int]:
        seen: list[int] = []
        loop.host("a").deliver(seen.append, 1)
        return seen

    assert run(main) == [1]


def test_a_crash_drops_timers_and_cancels_stories_in_start_order(run: Run) -> None:
    """A crashed host's timers never run and its tasks end in the order they were started; then it can start anew."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        host = loop.host("a")
        assert host is loop.host("a")

        async def task(name: str) -> None:
            try:
                await loop.event().wait()
            finally:
                seen.append(name)

        tasks = [host.start_soon(task, name, name=name) for name in "cab"]
        host.call_at(loop.now_us + ms(4), seen.append, "timer")
        await loop.sleep(ms(2))
        unborn = host.start_soon(task, "unborn", name="unborn")
        host.crash()
        host.deliver(seen.append, "delivered to the dead")
        host.call_at(loop.now_us, seen.append, "scheduled by the dead")
        assert not host.alive
        assert not host.paused
        assert unborn.done
        await loop.sleep(ms(5))
        assert all(task.done for task in tasks)
        host.start()
        assert host.alive
        assert host.incarnation == 1
        host.call_at(loop.now_us, seen.append, "second life")
        await loop.sleep(ms(3))

    run(main)
    assert seen == ["c", "a", "b", "second life"]


def test_a_cancelled_story_ends_where_it_waits(run: Run) -> None:
    """`Task.cancel` ends a task; one that has not begun never begins; nothing else stops."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        async def task(name: str) -> None:
            seen.append(f"{name} begins")
            try:
                await loop.event().wait()
            finally:
                seen.append(f"{name} ends")

        host = loop.host("a")
        one = host.start_soon(task, "one", name="one")
        await loop.sleep(ms(1))
        two = host.start_soon(task, "two", name="two")
        two.cancel()
        one.cancel()
        one.cancel()
        assert two.done
        await loop.sleep(ms(2))
        assert one.done

    run(main)
    assert seen == ["one begins", "one ends"]


def test_an_error_in_a_story_ends_the_run(run: Run) -> None:
    """What a task raises, run raises, with a note of when and in which task; other tasks unwind in start order."""
    seen: list[str] = []

    async def main(loop: EventLoop) -> None:
        async def bystander(name: str) -> None:
            try:
                await loop.event().wait()
            finally:
                seen.append(name)

        async def culprit() -> None:
            await loop.sleep(ms(1))
            raise LookupError("broken")

        for name in "ba":
            loop.host("a").start_soon(bystander, name, name=name)
        loop.host("m7").start_soon(culprit, name="culprit")
        try:
            await loop.event().wait()
        finally:
            seen.append("main")

    with pytest.raises(LookupError, match="broken") as caught:
        run(main)
    assert seen == ["main", "b", "a"]
    assert "task 'culprit' on m7" in caught.value.__notes__[0]


def test_an_error_in_a_callback_ends_the_run(run: Run) -> None:
    """What a callback raises, run raises, with a note of when and in which callback."""

    def breaks(_: object) -> None:
        raise LookupError("broken")

    async def main(loop: EventLoop) -> None:
        loop.call_at(loop.now_us + ms(1), breaks)
        await loop.event().wait()

    with pytest.raises(LookupError, match="broken") as caught:
        run(main)
    assert "breaks" in caught.value.__notes__[0]


def test_a_group_of_errors_becomes_one(run: Run) -> None:
    """A task that raises an exception group ends the run with one error out of it."""

    async def main(loop: EventLoop) -> None:
        raise ExceptionGroup("several", [ExceptionGroup("inner", [LookupError("first")]), ValueError("second")])

    with pytest.raises(LookupError, match="first"):
        run(main)


def test_the_end_of_main_ends_the_others(run: Run) -> None:
    """When main returns, the tasks that still wait are cancelled, in start order."""
    seen: list[int] = []

    async def main(loop: EventLoop) -> str:
        async def task(n: int) -> None:
            try:
                await loop.sleep(ms(100_000))
            finally:
                seen.append(n)

        for n in range(5):
            loop.host(f"h{5 - n}").start_soon(task, n, name=f"task {n}")
        await loop.sleep(ms(2))
        return "result"

    assert run(main) == "result"
    assert seen == [0, 1, 2, 3, 4]


def test_the_cause_follows_what_was_scheduled(run: Run) -> None:
    """An event's cause is the one that was ambient when it was scheduled; a task inherits it from what woke it."""
    sink = MemorySink()
    trace = Trace(Level.NORMAL)
    trace.subscribe(sink)

    async def main(loop: EventLoop) -> None:
        flag = loop.event()

        def act(name: str) -> None:
            trace.begin(trace.emit(Kind.ACTION, reason=name))
            loop.call_at(loop.now_us + ms(4), follow, name)

        def follow(name: str) -> None:
            trace.emit(Kind.WARNING, reason=name)
            if name == "b":
                flag.set()

        loop.call_at(loop.now_us + ms(1), act, "a")
        loop.call_at(loop.now_us + ms(2), act, "b")
        await flag.wait()
        await loop.sleep(ms(1))
        trace.emit(Kind.WARNING, reason="task")

    run(main, trace=trace)
    assert [(event.seq, event.reason, event.cause) for event in sink.events] == [
        (1, "a", 0),
        (2, "b", 0),
        (3, "a", 1),
        (4, "b", 2),
        (5, "task", 2),
    ]


def test_streams_are_named(run: Run) -> None:
    """The same name gives the same words from the beginning; another incarnation gives others."""

    async def main(loop: EventLoop) -> list[int]:
        streams = [loop.stream("latency", "a"), loop.stream("latency", "a"), loop.stream("latency", "a", 1)]
        return [stream.word() for stream in streams]

    one, two, other = run(main, seed=3)
    assert one == two != other


def test_both_loops_fit_the_interface() -> None:
    """Both drivers satisfy the protocol that rooms are written against (mypy checks the types; this the names)."""
    names = [name for name in vars(EventLoop) if not name.startswith("_")]
    for loop in (VirtualLoop(), RealTimeLoop()):
        missing = [name for name in [*names, "trace"] if not hasattr(loop, name)]
        assert missing == []
