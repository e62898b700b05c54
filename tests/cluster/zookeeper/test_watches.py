"""Watches fire once, in the right sort, and what was missed fires after a reconnect."""

from __future__ import annotations

from groupsim.cluster.zookeeper.tree import Tree
from groupsim.cluster.zookeeper.watches import Watches
from groupsim.protocol.messages.zookeeper import EventType, SetWatches, WatchEvent


class Ear:
    """Somebody who can be told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def push(self, event: WatchEvent) -> None:
        self.heard.append((event.type.value, event.path))


def test_a_watch_fires_once() -> None:
    """The second change is told to nobody."""
    watches, ear = Watches(), Ear()
    watches.on_data("/a", ear)
    watches.changed("/a", 1)
    watches.changed("/a", 2)
    assert ear.heard == [("NodeDataChanged", "/a")]


def test_asking_twice_is_told_once() -> None:
    """A watcher has one watch of a sort on a path."""
    watches, ear = Watches(), Ear()
    watches.on_data("/a", ear)
    watches.on_data("/a", ear)
    watches.changed("/a", 1)
    assert (len(ear.heard), watches.count) == (1, 0)


def test_a_new_child_is_told_to_who_watches_children() -> None:
    """Who watches the parent's data hears nothing."""
    watches, of_data, of_children = Watches(), Ear(), Ear()
    watches.on_data("/a", of_data)
    watches.on_children("/a", of_children)
    watches.created("/a/b", 1)
    assert (of_data.heard, of_children.heard) == ([], [("NodeChildrenChanged", "/a")])


def test_a_deletion_is_told_once_to_who_watches_both_sorts() -> None:
    """Node and children watched by one: one event, none left."""
    watches, ear = Watches(), Ear()
    watches.on_data("/a", ear)
    watches.on_children("/a", ear)
    watches.deleted("/a", 1)
    assert ear.heard == [("NodeDeleted", "/a")]
    assert watches.count == 0


def test_a_watch_waits_for_a_node_to_be_created() -> None:
    """What Exists leaves on nothing fires at the creation."""
    watches, ear = Watches(), Ear()
    watches.on_data("/a", ear)
    watches.created("/a", 1)
    assert ear.heard == [("NodeCreated", "/a")]


def test_a_connection_takes_its_watches_with_it() -> None:
    """Others keep theirs."""
    watches, gone, stays = Watches(), Ear(), Ear()
    watches.on_data("/a", gone)
    watches.on_data("/a", stays)
    watches.forget(gone)
    watches.changed("/a", 1)
    assert (gone.heard, len(stays.heard)) == ([], 1)


def test_after_a_reconnect_what_was_missed_fires_at_once() -> None:
    """Changed data, changed children, a node gone and one that came; what has not changed is watched again."""
    tree, watches, ear = Tree(), Watches(), Ear()
    for path in ("/data", "/children", "/same", "/gone"):
        tree.create(path, "")
    seen = tree.zxid
    tree.set_data("/data", "x")
    tree.create("/children/c", "")
    tree.delete("/gone")
    tree.create("/new", "")
    watches.restore(SetWatches(seen, ("/data", "/gone", "/same"), ("/new",), ("/children", "/same")), tree, ear)
    assert ear.heard == [
        (EventType.DATA_CHANGED, "/data"),
        (EventType.DELETED, "/gone"),
        (EventType.CREATED, "/new"),
        (EventType.CHILDREN_CHANGED, "/children"),
    ]
    assert watches.count == 2
