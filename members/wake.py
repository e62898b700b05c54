"""The one flag that a member's story waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop


class Wake:
    """As the loop's own `Event`; it also calls `roused` when it is raised, for a story that rests (`rounds.py`)."""

    __slots__ = ("_event", "roused")

    def __init__(self, loop: EventLoop) -> None:
        self._event = loop.event()
        self.roused: Callable[[], None] = _nobody

    def set(self) -> None:
        """Raise the flag: there is something to look at."""
        if not self._event.is_set():
            self._event.set()
            self.roused()

    def clear(self) -> None:
        """Lower the flag, before looking."""
        self._event.clear()

    def is_set(self) -> bool:
        """Whether the flag is up."""
        return self._event.is_set()

    async def wait(self) -> None:
        """Return at once when the flag is up, else when it is raised."""
        await self._event.wait()


def _nobody() -> None:
    """No story rests."""
