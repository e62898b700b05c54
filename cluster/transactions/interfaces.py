"""What the transaction coordinator needs of its broker, as small protocols of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import LogRecord
from groupsim.protocol.errors import ErrorCode


class NoProducerId(Exception):
    """The broker has no producer id to give just now: whoever asked is to come again."""


class TransactionLog(Protocol):
    """The broker's replicas of `__transaction_state`."""

    def append(self, partition: int, records: Sequence[LogRecord], done: Callable[[ErrorCode | None], None]) -> None:
        """Append one batch as leader; `done(None)` when it is committed, `done(error)` when it failed.

        `done` is never called from within `append`, and calls for one partition come in the order of the appends.
        """

    def read(self, partition: int) -> Sequence[LogRecord]:
        """All records of the partition, oldest first."""


class Topics(Protocol):
    """What the broker knows of partitions and of the groups' topic."""

    def leader(self, partition: TopicPartition) -> int | None:
        """Node id of the leader, -1 when there is none now; None when there is no such partition."""

    def partition_count(self, topic: str) -> int | None:
        """Number of partitions, None for an unknown topic."""
