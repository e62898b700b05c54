"""One-shot watches: each notifies its watcher once of a change at a path.

There are two kinds. A data watch (set by Exists and GetData) fires when the node is created, changed or deleted. A
child watch (set by GetChildren) fires when a child is created or deleted, or the node is deleted. A watcher has at most
one watch of each kind on a path. Watches belong to a connection and end with it.

Source: ZooKeeper 3.4, `WatchManager`, `DataTree.createNode`, `deleteNode`, `setWatches`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from groupsim.cluster.zookeeper.tree import Tree, parent_of
from groupsim.protocol.messages.zookeeper import EventType, SetWatches, WatchEvent


class Watcher(Protocol):
    """A connection that receives watch events."""

    def push(self, event: WatchEvent) -> None:
        """Send an event."""


Table = dict[str, dict[Watcher, None]]


class Watches:
    """The watches of one server."""

    def __init__(self) -> None:
        self._data: Table = {}
        self._children: Table = {}

    def on_data(self, path: str, watcher: Watcher) -> None:
        """Set a data watch on a node, which need not exist."""
        self._data.setdefault(path, {})[watcher] = None

    def on_children(self, path: str, watcher: Watcher) -> None:
        """Set a child watch on a node."""
        self._children.setdefault(path, {})[watcher] = None

    def forget(self, watcher: Watcher) -> None:
        """Remove the watches of a connection."""
        for table in (self._data, self._children):
            for path in [path for path, watchers in table.items() if watcher in watchers]:
                del table[path][watcher]
                if not table[path]:
                    del table[path]

    @property
    def count(self) -> int:
        """The number of watches."""
        return sum(len(watchers) for table in (self._data, self._children) for watchers in table.values())

    # -- changes ------------------------------------------------------------------------------------------------

    def created(self, path: str, zxid: int) -> None:
        """Fire the watches for a created node."""
        self._fire(self._data, path, EventType.CREATED, zxid)
        self._fire(self._children, parent_of(path), EventType.CHILDREN_CHANGED, zxid)

    def changed(self, path: str, zxid: int) -> None:
        """Fire the watches for changed data."""
        self._fire(self._data, path, EventType.DATA_CHANGED, zxid)

    def deleted(self, path: str, zxid: int) -> None:
        """Fire the watches for a deleted node; a watcher with a data and a child watch on it gets one event."""
        notified = self._fire(self._data, path, EventType.DELETED, zxid)
        self._fire(self._children, path, EventType.DELETED, zxid, but_not=notified)
        self._fire(self._children, parent_of(path), EventType.CHILDREN_CHANGED, zxid)

    def _fire(
        self, table: Table, path: str, type_: EventType, zxid: int, but_not: Iterable[Watcher] = ()
    ) -> Iterable[Watcher]:
        watchers = table.pop(path, {})
        for watcher in watchers:
            if watcher not in but_not:
                watcher.push(WatchEvent(type_, path, zxid))
        return watchers

    # -- after a reconnect --------------------------------------------------------------------------------------

    def restore(self, asked: SetWatches, tree: Tree, watcher: Watcher) -> None:
        """Set the watches of a reconnected client again; those with changes after `asked.since` fire now."""
        for path in asked.data:
            node = tree.find(path)
            if node is None:
                watcher.push(WatchEvent(EventType.DELETED, path, tree.zxid))
            elif node.modified > asked.since:
                watcher.push(WatchEvent(EventType.DATA_CHANGED, path, tree.zxid))
            else:
                self.on_data(path, watcher)
        for path in asked.exists:
            if tree.find(path) is not None:
                watcher.push(WatchEvent(EventType.CREATED, path, tree.zxid))
            else:
                self.on_data(path, watcher)
        for path in asked.children:
            node = tree.find(path)
            if node is None:
                watcher.push(WatchEvent(EventType.DELETED, path, tree.zxid))
            elif node.children_modified > asked.since:
                watcher.push(WatchEvent(EventType.CHILDREN_CHANGED, path, tree.zxid))
            else:
                self.on_children(path, watcher)
