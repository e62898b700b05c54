"""The interfaces that the coordinator needs from the floors above it.

`cluster/` implements them; tests use fakes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from groupsim.coordinator.base.records import Loaded, Record
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Request, Response
from groupsim.protocol.values import value


class Call(Protocol):
    """One request under way in a broker: its sender, and the destination of its answer."""

    @property
    def request(self) -> Request: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def correlation(self) -> int: ...

    def answer(self, response: Response) -> None:
        """Send the response; called at most once. An answer to a closed connection is dropped by the connection."""


class DescribesTopics(Protocol):
    """A call of a sender that may not describe every topic; other calls have no such method."""

    def describable(self, names: Iterable[str]) -> Collection[str]:
        """Return those of the topics that the sender may describe now."""


class LoadFailed(Exception):
    """A partition cannot be read, or holds an invalid record; the message names both."""


class OutOfSync(Exception):
    """The log has moved without the coordinator: its next append would not follow the records that it has read."""


class AppendRefused(Exception):
    """The log refused a transaction's batch; `error` is the reason."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error)
        self.error = error


class Log(Protocol):
    """The broker's replicas of `__consumer_offsets`."""

    def append(
        self,
        partition: int,
        records: Sequence[Record],
        done: Callable[[ErrorCode | None], None],
        within_ms: int | None = None,
    ) -> None:
        """Append records; call `done(None)` when the high watermark has passed them, `done(error)` when they failed.

        With `within_ms` the append is one with acks=-1: NOT_ENOUGH_REPLICAS, and nothing is appended, when fewer than
        `min.insync.replicas` are in sync; REQUEST_TIMED_OUT, and the records stay, when it takes longer.

        Either all of them are `OffsetRecord`s of one producer (a transactional batch), or the only one is a
        `TransactionEnd` (a control batch), or none belongs to a transaction. `done` is never called from within
        `append`, and calls for one partition come in the order of the appends. Raises OutOfSync; then nothing is
        appended, `done` is not called, and the coordinator loads the partition again.

        The log may refuse a transactional or control batch at once: it raises AppendRefused, and `done` is not
        called. Kafka writes such a batch alone and at once, so its refusal concerns no other request.
        """

    def read(self, partition: int) -> Iterable[Loaded]:
        """Return all records of the partition, uncommitted ones too, oldest first, for loading.

        They may be decoded as they are read, so that a long log takes no memory. Raises LoadFailed, then or meanwhile.
        """


class Metadata(Protocol):
    """The broker's view of topics."""

    def partition_count(self, topic: str) -> int | None:
        """Return the number of partitions, None for an unknown topic."""


@value
class TopicView:
    """One topic as a broker knows it; `racks` are those of the replicas of each partition, empty when unknown.

    Two replicas in one rack are two entries: Kafka hashes each of them.
    """

    topic_id: str
    name: str
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()


class TopicsImage(Protocol):
    """The broker's view of topics with their ids (`CoordinatorMetadataImage`).

    `version` grows with every change; `created_version` is the version of the newest topic.
    """

    @property
    def version(self) -> int: ...
    @property
    def created_version(self) -> int: ...

    def topic(self, name: str) -> TopicView | None:
        """Return the topic of that name."""

    def topic_by_id(self, topic_id: str) -> TopicView | None:
        """Return the topic with that id."""

    def names(self) -> Sequence[str]:
        """Return the names of all topics."""


class GroupSettings(Protocol):
    """What groups have set for themselves, as the broker knows it, and what was changed of the running broker.

    Each mapping is from Kafka's name to the value as text, and is another object after every change.
    """

    def in_force(self, group_id: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the settings of a group, empty without any, and the changed settings of the broker."""


class _NoSettings:
    """No group has settings of its own."""

    def in_force(self, group_id: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """See `GroupSettings`."""
        return _NONE, _NONE


_NONE: Mapping[str, str] = {}
NO_SETTINGS: GroupSettings = _NoSettings()
"""No group has settings of its own, and no broker was changed."""
