"""The flag that the task of a member waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Event, EventLoop


class Wake:
    """A flag that is up while the poll loop has work. `on_set` is called each time the flag is raised."""

    __slots__ = ("_loop", "_raised", "at_once", "on_set", "up")

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self.up = False
        self.at_once = False  #: the application is called for: `poll` looks at once (`wakeup`)
        self.on_set: Callable[[], None] = _no_listener
        self._raised: Event | None = None  # made at the first wait: most members run without a task

    def set(self) -> None:
        """Raise the flag, wake the task that waits, and call `on_set`."""
        if not self.up:
            self.up = True
            if self._raised is not None:
                self._raised.set()
            self.on_set()

    def hurry(self) -> None:
        """Raise the flag for the application itself, whose thread may look at other work later."""
        self.at_once = True
        self.set()

    def clear(self) -> None:
        """Lower the flag. Call this before the check for work, so that later work raises it again."""
        self.up = False

    async def wait(self) -> None:
        """Wait until the flag is up."""
        if not self.up:
            if self._raised is None:
                self._raised = self._loop.event()
            self._raised.clear()
            await self._raised.wait()


class SharedWake(Wake):
    """The flag of a library whose own task checks for work besides the poll loop (`classic/away.py`)."""

    __slots__ = ("on_set_too",)

    def __init__(self, loop: EventLoop) -> None:
        super().__init__(loop)
        self.on_set_too: Callable[[], None] = _no_listener

    def set(self) -> None:
        """Raise the flag, and call the second listener."""
        super().set()
        self.on_set_too()


def _no_listener() -> None:
    """Do nothing: no listener is registered."""
