"""Watches fire once and by their kind, and missed changes fire after a reconnect."""

from __future__ import annotations

from groupsim.cluster.zookeeper.tree import Tree
from groupsim.cluster.zookeeper.watches import Watches
from groupsim.protocol.messages.zookeeper import EventType, SetWatches, WatchEvent


class Ear:
    """A watcher that collects its events."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str]] = []

    def push(self, event: WatchEvent) -> None:
        self.received.append((event.type.value, event.path))


def test_a_watch_fires_once() -> None:
    """The second change fires no event."""
    watches, ear = Watches(), Ear()
    watches.on_data("/a", ear)
    watches.changed("/a", 1)
    watches.changed("/a", 2)
    assert ear.received == [("NodeDataChanged", "/a")]


def test_a_watch_set_twice_fires_once() -> None:
    """A watcher has one watch of a kind on a path."""
    watches, ear = Watches(), Ear()
    watches.on_data("/a", ear)
    watches.on_data("/a", ear)
    watches.changed("/a", 1)
    assert (len(ear.received), watches.count) == (1, 0)


def test_a_new_child_fires_child_watches() -> None:
    """A data watch on the parent does not fire."""
    watches, of_data, of_children = Watches(), Ear(), Ear()
    watches.on_data("/a", of_data)
    watches.on_children("/a", of_children)
    watches.created("/a/b", 1)
    assert (of_data.received, of_children.received) == ([], [("NodeChildrenChanged", "/a")])


def test_a_deletion_fires_once_for_a_watcher_of_both_kinds() -> None:
    """A watcher with a data and a child watch gets one event, and no watch is left."""
    watches, ear = Watches(), Ear()
    watches.on_data("/a", ear)
    watches.on_children("/a", ear)
    watches.deleted("/a", 1)
    assert ear.received == [("NodeDeleted", "/a")]
    assert watches.count == 0


def test_a_watch_waits_for_a_node_to_be_created() -> None:
    """A watch of Exists on a missing node fires at its creation."""
    watches, ear = Watches(), Ear()
    watches.on_data("/a", ear)
    watches.created("/a", 1)
    assert ear.received == [("NodeCreated", "/a")]


def test_a_connection_takes_its_watches_with_it() -> None:
    """The watches of other connections stay."""
    watches, gone, stays = Watches(), Ear(), Ear()
    watches.on_data("/a", gone)
    watches.on_data("/a", stays)
    watches.forget(gone)
    watches.changed("/a", 1)
    assert (gone.received, len(stays.received)) == ([], 1)


def test_after_a_reconnect_what_was_missed_fires_at_once() -> None:
    """Changed data, changed children, a deleted and a new node fire; unchanged nodes are watched again."""
    tree, watches, ear = Tree(), Watches(), Ear()
    for path in ("/data", "/children", "/same", "/gone"):
        tree.create(path, "")
    seen = tree.zxid
    tree.set_data("/data", "x")
    tree.create("/children/c", "")
    tree.delete("/gone")
    tree.create("/new", "")
    watches.restore(SetWatches(seen, ("/data", "/gone", "/same"), ("/new",), ("/children", "/same")), tree, ear)
    assert ear.received == [
        (EventType.DATA_CHANGED, "/data"),
        (EventType.DELETED, "/gone"),
        (EventType.CREATED, "/new"),
        (EventType.CHILDREN_CHANGED, "/children"),
    ]
    assert watches.count == 2
