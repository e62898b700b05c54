"""Long computations beside the loop in real time."""

from __future__ import annotations

import sys
import threading

from groupsim.eventloop.realtime import RealTimeLoop, run_realtime
from groupsim.eventloop.units import ms, seconds


def test_the_loop_goes_on_while_something_is_computed_aside() -> None:
    """A computation that waits for the loop to do something can end only when the loop goes on beside it."""
    moved, told = threading.Event(), []

    async def main(loop: RealTimeLoop) -> None:
        loop.aside(lambda: moved.wait(30), told.append)
        loop.call_at(loop.now_us + ms(5), lambda _: moved.set(), None)
        assert await loop.until(lambda: bool(told), seconds(30))

    run_realtime(main)
    assert told == [True]


def test_computations_aside_are_done_one_after_the_other_in_order() -> None:
    """Nothing of the second begins before the first is done; each is told in the loop's own thread."""
    steps: list[str] = []
    threads = set()

    def compute(name: str) -> str:
        steps.append(f"{name} begins")
        steps.append(f"{name} ends")
        return name

    def tell(name: str) -> None:
        threads.add(threading.current_thread())
        steps.append(f"{name} told")

    async def main(loop: RealTimeLoop) -> None:
        for name in ("a", "b", "c"):
            loop.aside(lambda name=name: compute(name), tell)
        await loop.until(lambda: len(steps) == 9, seconds(30))

    run_realtime(main)
    assert [step for step in steps if not step.endswith("told")] == [
        f"{name} {what}" for name in "abc" for what in ("begins", "ends")
    ]
    assert [step for step in steps if step.endswith("told")] == ["a told", "b told", "c told"]
    assert threads == {threading.current_thread()}


def test_an_error_aside_is_told_as_what_came_of_it() -> None:
    """Who asked is told of the error; the loop goes on."""
    told: list[object] = []

    def broken() -> None:
        raise ValueError("broken")

    async def main(loop: RealTimeLoop) -> None:
        loop.aside(broken, told.append)
        await loop.until(lambda: bool(told), seconds(30))

    run_realtime(main)
    assert repr(told) == "[ValueError('broken')]"


def test_the_interpreter_takes_turns_as_before_when_the_run_is_over() -> None:
    """While something is computed aside the loop has its turn sooner; who runs afterwards finds nothing changed."""
    before, during = sys.getswitchinterval(), []

    async def main(loop: RealTimeLoop) -> None:
        loop.aside(sys.getswitchinterval, during.append)
        await loop.until(lambda: bool(during), seconds(30))

    run_realtime(main)
    assert during[0] < before
    assert sys.getswitchinterval() == before
