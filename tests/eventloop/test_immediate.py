"""Stories that have nothing to wait for, run in the middle of an event."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from groupsim.eventloop.immediate import run_without_waiting
from groupsim.eventloop.virtual import VirtualLoop, run_virtual


class Waits:
    """Whoever awaits it has to wait."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def test_what_has_nothing_to_wait_for_runs_at_once() -> None:
    """A task that never waits is run in the middle of an event; one that waits is refused, and named."""
    seen: list[str] = []

    async def told() -> str:
        return "done"

    async def waits() -> str:
        await Waits()
        return "never"

    async def main(loop: VirtualLoop) -> None:
        loop.call_at(5, lambda _: seen.append(run_without_waiting(told())))
        loop.call_at(7, lambda _: seen.append(run_without_waiting(waits())))
        await loop.sleep(10)

    with pytest.raises(RuntimeError, match=r"waits was run as an event, and has to wait"):
        run_virtual(main)
    assert seen == ["done"]
