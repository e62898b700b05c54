"""The messages of Kafka's clients of 0.8 to ZooKeeper: sessions, znodes, one-shot watches.

ZooKeeper is another program with a protocol of its own, so these messages share one api key that is not Kafka's
(`Api.ZOOKEEPER`). Requests of one connection are answered in order. Between answers the server sends `WatchEvent`s,
which answer nothing: an event reaches the client before the answer to any read that would show its change.

Sources: ZooKeeper 3.4, `zookeeper.jute`, `KeeperException.Code`, `Watcher.Event.EventType`.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import ClassVar, Final, TypeAlias

from groupsim.protocol.basics import Api
from groupsim.protocol.values import frozen

ZOOKEEPER_NODE: Final = 2181
"""The node id of ZooKeeper in the simulated network; it equals the default port."""
ANY_VERSION: Final = -1


class ZkError(IntEnum):
    """The result of a request, by ZooKeeper's own numbers."""

    OK = 0
    CONNECTION_LOSS = -4
    NO_NODE = -101
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112


class EventType(StrEnum):
    """The event of a watch."""

    CREATED = "NodeCreated"
    DELETED = "NodeDeleted"
    DATA_CHANGED = "NodeDataChanged"
    CHILDREN_CHANGED = "NodeChildrenChanged"


@frozen
class Stat:
    """ZooKeeper's state of a znode besides its data; `owner` is the session of an ephemeral one, else 0."""

    created: int
    modified: int
    children_modified: int
    version: int
    owner: int = 0


@frozen
class _Request:
    API: ClassVar[Api] = Api.ZOOKEEPER
    version: ClassVar[int] = 0


@frozen
class OpenSession(_Request):
    """Open a session, or resume one (`session` other than 0); the first message of a connection."""

    timeout_ms: int
    session: int = 0


@frozen
class CloseSession(_Request):
    """End the session: its ephemeral nodes go at once."""


@frozen
class Ping(_Request):
    """Report that the client is alive."""


@frozen
class Create(_Request):
    """Create a znode; its parent must exist and not be ephemeral."""

    path: str
    data: str = ""
    ephemeral: bool = False


@frozen
class Delete(_Request):
    """Remove a znode without children, if its version is the expected one."""

    path: str
    expected: int = ANY_VERSION


@frozen
class SetData(_Request):
    """Replace a znode's data, if its version is the expected one."""

    path: str
    data: str
    expected: int = ANY_VERSION


@frozen
class Exists(_Request):
    """Read a znode's Stat; the watch is set even when it does not exist."""

    path: str
    watch: bool = False


@frozen
class GetData(_Request):
    """Read a znode's data."""

    path: str
    watch: bool = False


@frozen
class GetChildren(_Request):
    """Read the names of a znode's children."""

    path: str
    watch: bool = False


@frozen
class SetWatches(_Request):
    """Set these watches again after a reconnect; changes after `since` are reported at once."""

    since: int
    data: tuple[str, ...] = ()
    exists: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


@frozen
class ZkAnswer:
    """The answer to any request; `zxid` is the server's last change at that time."""

    API: ClassVar[Api] = Api.ZOOKEEPER
    error: ZkError = ZkError.OK
    zxid: int = 0
    data: str = ""
    children: tuple[str, ...] = ()
    stat: Stat | None = None
    session: int = 0
    timeout_ms: int = 0


@frozen
class WatchEvent:
    """A watch has fired; it does not fire again."""

    API: ClassVar[Api] = Api.ZOOKEEPER
    type: EventType
    path: str
    zxid: int


ZkRequest: TypeAlias = (
    OpenSession | CloseSession | Ping | Create | Delete | SetData | Exists | GetData | GetChildren | SetWatches
)
ZkResponse: TypeAlias = ZkAnswer | WatchEvent
