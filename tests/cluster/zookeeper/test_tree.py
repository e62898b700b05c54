"""Znodes: parents and children, versions, and zxids."""

from __future__ import annotations

import pytest

from groupsim.cluster.zookeeper.tree import Tree, ZkRefused, name_of, parent_of
from groupsim.protocol.messages.zookeeper import ZkError


def refused(error: ZkError) -> object:
    """Expect a refusal."""
    return pytest.raises(ZkRefused, match=error.name)


def tree(*paths: str) -> Tree:
    """A tree with these nodes."""
    made = Tree()
    for path in paths:
        made.create(path, "")
    return made


def test_a_path_has_a_parent_and_a_name() -> None:
    """The parent of a node at the top is the root."""
    assert (parent_of("/a/b"), parent_of("/a"), name_of("/a/b")) == ("/a", "/", "b")


def test_a_node_needs_its_parent() -> None:
    """Creating below nothing is refused, and creates nothing."""
    made = tree()
    with refused(ZkError.NO_NODE):
        made.create("/a/b", "")
    assert made.find("/a/b") is None


def test_a_node_is_created_once() -> None:
    """The second creation is refused and leaves the data alone."""
    made = tree("/a")
    with refused(ZkError.NODE_EXISTS):
        made.create("/a", "other")
    assert made.get("/a").data == ""


def test_an_ephemeral_node_has_no_children() -> None:
    """A child of an ephemeral node is refused."""
    made = tree()
    made.create("/a", "", owner=7)
    with refused(ZkError.NO_CHILDREN_FOR_EPHEMERALS):
        made.create("/a/b", "")


def test_a_node_with_children_is_not_deleted() -> None:
    """Children have to go first."""
    made = tree("/a", "/a/b")
    with refused(ZkError.NOT_EMPTY):
        made.delete("/a")
    made.delete("/a/b")
    made.delete("/a")
    assert made.find("/a") is None


def test_data_are_replaced_at_the_expected_version_only() -> None:
    """Version 0 is the first; -1 is any; a wrong one changes nothing."""
    made = tree("/a")
    assert made.set_data("/a", "x", expected=0).version == 1
    with refused(ZkError.BAD_VERSION):
        made.set_data("/a", "y", expected=0)
    assert (made.get("/a").data, made.set_data("/a", "z").version) == ("x", 2)


def test_a_delete_minds_the_version() -> None:
    """A delete with an old version is refused."""
    made = tree("/a")
    made.set_data("/a", "x")
    with refused(ZkError.BAD_VERSION):
        made.delete("/a", expected=0)


def test_children_are_listed_in_order() -> None:
    """Names are sorted, whatever the order of their creation."""
    assert tree("/a", "/a/2", "/a/10", "/a/1").children("/a") == ("1", "10", "2")


def test_every_change_has_a_larger_number() -> None:
    """Creation, data and children each set the zxid of their own."""
    made = tree("/a")
    created = made.get("/a").created
    made.set_data("/a", "x")
    made.create("/a/b", "")
    node = made.get("/a")
    assert created < node.modified < node.children_modified == made.zxid
