"""The one flag that a member's story waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop


class Wake:
    """The flag is up while there is something to look at; `roused` is called when it is raised (`rounds.py`)."""

    __slots__ = ("_raised", "roused", "up")

    def __init__(self, loop: EventLoop) -> None:
        self.up = False
        self.roused: Callable[[], None] = _nobody
        self._raised = loop.event()

    def set(self) -> None:
        """Raise the flag."""
        if not self.up:
            self.up = True
            self._raised.set()
            self.roused()

    def clear(self) -> None:
        """Lower the flag, before looking."""
        self.up = False

    async def wait(self) -> None:
        """Return at once when the flag is up, else when it is raised."""
        if not self.up:
            self._raised.clear()
            await self._raised.wait()


def _nobody() -> None:
    """No story rests."""
