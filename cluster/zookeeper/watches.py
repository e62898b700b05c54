"""One-shot watches: who is told, once, when something happens to a path.

There are two sorts. A data watch (left by Exists and GetData) fires when the node is created, changed or deleted; a
child watch (left by GetChildren) when a child comes or goes, or the node itself is deleted. A watcher has at most one
of each sort on a path, however often it asks. Watches belong to a connection and go with it.

Source: ZooKeeper 3.4, `WatchManager`, `DataTree.createNode`, `deleteNode`, `setWatches`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from groupsim.cluster.zookeeper.tree import Tree, parent_of
from groupsim.protocol.messages.zookeeper import EventType, SetWatches, WatchEvent


class Watcher(Protocol):
    """Whoever can be told."""

    def push(self, event: WatchEvent) -> None:
        """Tell of an event."""


Table = dict[str, dict[Watcher, None]]


class Watches:
    """The watches of one server."""

    def __init__(self) -> None:
        self._data: Table = {}
        self._children: Table = {}

    def on_data(self, path: str, watcher: Watcher) -> None:
        """Watch a node, or for one to be created."""
        self._data.setdefault(path, {})[watcher] = None

    def on_children(self, path: str, watcher: Watcher) -> None:
        """Watch a node's children."""
        self._children.setdefault(path, {})[watcher] = None

    def forget(self, watcher: Watcher) -> None:
        """A connection is gone, and its watches with it."""
        for table in (self._data, self._children):
            for path in [path for path, watchers in table.items() if watcher in watchers]:
                del table[path][watcher]
                if not table[path]:
                    del table[path]

    @property
    def count(self) -> int:
        """How many watches there are."""
        return sum(len(watchers) for table in (self._data, self._children) for watchers in table.values())

    # -- what happens -------------------------------------------------------------------------------------------

    def created(self, path: str, zxid: int) -> None:
        """A node was created."""
        self._fire(self._data, path, EventType.CREATED, zxid)
        self._fire(self._children, parent_of(path), EventType.CHILDREN_CHANGED, zxid)

    def changed(self, path: str, zxid: int) -> None:
        """A node has other data."""
        self._fire(self._data, path, EventType.DATA_CHANGED, zxid)

    def deleted(self, path: str, zxid: int) -> None:
        """A node was deleted; who watched both it and its children is told once."""
        told = self._fire(self._data, path, EventType.DELETED, zxid)
        self._fire(self._children, path, EventType.DELETED, zxid, but_not=told)
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
        """Leave watches again for a client that has seen changes up to `asked.since`; what it missed fires now."""
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
