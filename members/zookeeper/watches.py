"""Watches, and the listeners that they call.

A watch fires once. A read sets the watch of a subscribed path again before its listener is called, so no change stays
unnoticed, but two quick changes cause one call. After a reconnect all watches are set again, and missed changes fire
then. After an expiry no watch is left, so all listeners are called.

One task calls the listeners one after the other: a slow one delays the rest.

Source: zkclient 0.3, `ZkClient.processDataOrChildChange`, `fireChildChangedEvents`, `ZkEventThread`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from groupsim.protocol.messages.zookeeper import (
    EventType,
    Exists,
    GetChildren,
    GetData,
    SetWatches,
    WatchEvent,
    ZkAnswer,
    ZkError,
    ZkRequest,
)

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Queue

Listener: TypeAlias = Callable[[], Awaitable[None]]
Ask: TypeAlias = Callable[[ZkRequest], Awaitable[ZkAnswer]]


class Watches:
    """The watches and listeners of one process."""

    def __init__(self, loop: EventLoop, ask: Ask) -> None:
        self._ask = ask
        self._queue: Queue[Listener] = loop.queue()
        self._of_children: dict[str, Listener] = {}
        self._of_data: dict[str, Listener] = {}
        self._data: dict[str, None] = {}
        self._exists: dict[str, None] = {}
        self._children: dict[str, None] = {}

    # -- listeners ----------------------------------------------------------------------------------------------

    async def subscribe_children(self, path: str, listener: Listener) -> None:
        """Call `listener` when a child of `path` is created or deleted, from now on."""
        self._of_children[path] = listener
        await self._look_at_children(path)

    async def subscribe_data(self, path: str, listener: Listener) -> None:
        """Call `listener` when the data of `path` change, from now on."""
        self._of_data[path] = listener
        await self._ask(Exists(path, watch=True))

    def is_subscribed(self, path: str) -> bool:
        """Whether a path has a listener: its reads set watches then."""
        return path in self._of_children or path in self._of_data

    async def run(self) -> None:
        """Call listeners one after the other, without end."""
        while True:
            listener = await self._queue.get()
            await listener()

    def restart(self, first: Listener) -> None:
        """Forget the watches of an expired session, and call `first`, then all listeners."""
        for watched in (self._data, self._exists, self._children):
            watched.clear()
        self._queue.put(first)
        for path in self._of_children:
            self._queue.put(self._children_changed(path))
        for path in self._of_data:
            self._queue.put(self._data_changed(path))

    # -- watches ------------------------------------------------------------------------------------------------

    def record(self, request: ZkRequest, answer: ZkAnswer) -> None:
        """Record the watch that a read has set."""
        if isinstance(request, GetChildren) and request.watch and answer.error is ZkError.OK:
            self._children[request.path] = None
        elif isinstance(request, GetData | Exists) and request.watch:
            if answer.error is ZkError.OK:
                self._data[request.path] = None
            elif isinstance(request, Exists):
                self._exists[request.path] = None

    def to_restore(self, zxid: int) -> SetWatches | None:
        """Return the request that sets all watches on a new connection; None without any."""
        if not (self._data or self._exists or self._children):
            return None
        return SetWatches(zxid, tuple(self._data), tuple(self._exists), tuple(self._children))

    def fired(self, event: WatchEvent) -> None:
        """Remove a watch that has fired, and call its listeners."""
        path = event.path
        of_children = event.type is EventType.CHILDREN_CHANGED
        if of_children or event.type is EventType.DELETED:
            self._children.pop(path, None)
        if not of_children:
            self._data.pop(path, None)
            self._exists.pop(path, None)
        if path in self._of_children and event.type is not EventType.DATA_CHANGED:
            self._queue.put(self._children_changed(path))
        if path in self._of_data and not of_children:
            self._queue.put(self._data_changed(path))

    def _children_changed(self, path: str) -> Listener:
        async def notify() -> None:
            await self._look_at_children(path)
            await self._of_children[path]()

        return notify

    def _data_changed(self, path: str) -> Listener:
        async def notify() -> None:
            await self._ask(Exists(path, watch=True))
            await self._of_data[path]()

        return notify

    async def _look_at_children(self, path: str) -> None:
        await self._ask(Exists(path, watch=True))
        await self._ask(GetChildren(path, watch=True))
