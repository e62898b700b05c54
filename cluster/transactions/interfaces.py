"""The protocols through which the transaction coordinator uses its broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import LogRecord
from groupsim.protocol.errors import ErrorCode


class NoProducerId(Exception):
    """The broker has no producer id at the moment; the client has to retry."""


class TransactionLog(Protocol):
    """The broker's replicas of `__transaction_state`."""

    def append(self, partition: int, records: Sequence[LogRecord], done: Callable[[ErrorCode | None], None]) -> None:
        """Append one batch as leader; `done(None)` when it is committed, `done(error)` when it failed.

        `done` is never called from within `append`, and calls for one partition come in the order of the appends.
        """

    def read(self, partition: int) -> Sequence[LogRecord]:
        """Return all records of the partition, oldest first."""


class Topics(Protocol):
    """The leaders and partition counts in the broker's image."""

    def leader(self, partition: TopicPartition) -> int | None:
        """Return the leader's node id, -1 without a leader; None for an unknown partition."""

    def partition_count(self, topic: str) -> int | None:
        """Return the number of partitions, None for an unknown topic."""
