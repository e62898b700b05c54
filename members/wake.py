"""The one flag that a member's story waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Event, EventLoop


class Wake:
    """The flag is up while there is something to look at; `roused` is called when it is raised (`rounds.py`)."""

    __slots__ = ("_loop", "_raised", "roused", "up")

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self.up = False
        self.roused: Callable[[], None] = _nobody
        self._raised: Event | None = None  # most members have no story that ever waits for it

    def set(self) -> None:
        """Raise the flag."""
        if not self.up:
            self.up = True
            if self._raised is not None:
                self._raised.set()
            self.roused()

    def clear(self) -> None:
        """Lower the flag, before looking."""
        self.up = False

    async def wait(self) -> None:
        """Return at once when the flag is up, else when it is raised."""
        if not self.up:
            if self._raised is None:
                self._raised = self._loop.event()
            self._raised.clear()
            await self._raised.wait()


class SharedWake(Wake):
    """The flag of a library in which a task of its own looks, too, whoever has looked before (`classic/away.py`)."""

    __slots__ = ("also",)

    def __init__(self, loop: EventLoop) -> None:
        super().__init__(loop)
        self.also: Callable[[], None] = _nobody

    def set(self) -> None:
        """Raise the flag, and tell the other one."""
        super().set()
        self.also()


def _nobody() -> None:
    """No story rests."""
