"""The znodes: a tree of paths with data, versions, and the owning session of an ephemeral node.

Every change has a zxid, larger than those of earlier changes. A node has the zxids of its creation, of its data's last
change and of its children's last change: with these, a reconnected client finds the changes that it missed.

Source: ZooKeeper 3.4, `DataTree`, `PrepRequestProcessor`.
"""

from __future__ import annotations

from attrs import Factory

from groupsim.protocol.messages.zookeeper import ANY_VERSION, Stat, ZkError
from groupsim.protocol.values import define


class ZkRefused(Exception):
    """A request was refused; `error` is the reason."""

    def __init__(self, error: ZkError, path: str) -> None:
        super().__init__(f"{error.name} for {path}")
        self.error = error
        self.path = path


@define
class Znode:
    """One node, with its children by name."""

    data: str
    created: int
    modified: int
    children_modified: int
    version: int = 0
    owner: int = 0
    children: dict[str, None] = Factory(dict)

    @property
    def stat(self) -> Stat:
        """The node's stat, as clients get it."""
        return Stat(self.created, self.modified, self.children_modified, self.version, self.owner)


def parent_of(path: str) -> str:
    """Return the parent's path: `/a` for `/a/b`, `/` for `/a`."""
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


class Tree:
    """All znodes, by path."""

    def __init__(self) -> None:
        self.zxid = 0
        self._nodes: dict[str, Znode] = {"/": Znode("", 0, 0, 0)}

    def find(self, path: str) -> Znode | None:
        """Return the node at a path, or None."""
        return self._nodes.get(path)

    def get(self, path: str) -> Znode:
        """Return the node at a path. Raises ZkRefused NO_NODE."""
        node = self._nodes.get(path)
        if node is None:
            raise ZkRefused(ZkError.NO_NODE, path)
        return node

    def children(self, path: str) -> tuple[str, ...]:
        """Return the names of a node's children, sorted. Raises ZkRefused NO_NODE."""
        return tuple(sorted(self.get(path).children))

    def create(self, path: str, data: str, owner: int = 0) -> Znode:
        """Add a node. Raises ZkRefused NODE_EXISTS, NO_NODE (no parent), NO_CHILDREN_FOR_EPHEMERALS."""
        if path in self._nodes:
            raise ZkRefused(ZkError.NODE_EXISTS, path)
        parent = self.get(parent_of(path))
        if parent.owner:
            raise ZkRefused(ZkError.NO_CHILDREN_FOR_EPHEMERALS, path)
        zxid = self._next()
        node = self._nodes[path] = Znode(data, zxid, zxid, zxid, owner=owner)
        parent.children[name_of(path)] = None
        parent.children_modified = zxid
        return node

    def delete(self, path: str, expected: int = ANY_VERSION) -> Znode:
        """Remove a node. Raises ZkRefused NO_NODE, BAD_VERSION, NOT_EMPTY."""
        node = self._expect(path, expected)
        if node.children:
            raise ZkRefused(ZkError.NOT_EMPTY, path)
        del self._nodes[path]
        parent = self.get(parent_of(path))
        del parent.children[name_of(path)]
        parent.children_modified = self._next()
        return node

    def set_data(self, path: str, data: str, expected: int = ANY_VERSION) -> Znode:
        """Replace a node's data. Raises ZkRefused NO_NODE, BAD_VERSION."""
        node = self._expect(path, expected)
        node.data = data
        node.version += 1
        node.modified = self._next()
        return node

    def _expect(self, path: str, expected: int) -> Znode:
        node = self.get(path)
        if expected not in (ANY_VERSION, node.version):
            raise ZkRefused(ZkError.BAD_VERSION, path)
        return node

    def _next(self) -> int:
        self.zxid += 1
        return self.zxid
