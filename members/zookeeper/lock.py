"""A lock for tasks, first come, first served."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Event, EventLoop


class Lock:
    """An asynchronous context manager: `async with lock:`."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._held = False
        self._waiting: list[Event] = []

    async def __aenter__(self) -> None:
        if self._held:
            turn = self._loop.event()
            self._waiting.append(turn)
            await turn.wait()
        self._held = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._waiting:
            self._waiting.pop(0).set()  # the next task holds it without a gap
        else:
            self._held = False
