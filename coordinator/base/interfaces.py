"""What the coordinator needs from the floors above it, as small protocols of its own.

`cluster/` implements them; tests use fakes. The coordinator never learns what stands behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from groupsim.coordinator.base.records import Loaded, Record
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Request, Response


class Call(Protocol):
    """One request on its way through a broker: who sent it, and where the answer goes."""

    @property
    def request(self) -> Request: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def correlation(self) -> int: ...

    def answer(self, response: Response) -> None:
        """Send the response; called at most once. An answer to a connection that is gone is dropped there."""


class LoadFailed(Exception):
    """A partition cannot be read, or holds a record that is none; the message says which and where."""


class OutOfSync(Exception):
    """The log has moved behind the coordinator's back: what it would append does not follow what it has read."""


class AppendRefused(Exception):
    """The log did not take a transaction's batch; `error` says why."""

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
        """Append records; `done(None)` when the high watermark has passed them, `done(error)` when it failed.

        With `within_ms` the append is one with acks=-1: NOT_ENOUGH_REPLICAS, and nothing is appended, when fewer than
        `min.insync.replicas` are in sync; REQUEST_TIMED_OUT, and the records stay, when it takes longer.

        Either all of them are `OffsetRecord`s of one producer (a transactional batch), or the only one is a
        `TransactionEnd` (a control batch), or none has to do with a transaction. `done` is never called from within
        `append`, and calls for one partition come in the order of the appends. Raises OutOfSync; then nothing is
        appended, `done` is not called, and the coordinator reads the partition anew.

        A transactional or control batch that the log does not take may be refused at once: AppendRefused, and `done`
        is not called. Kafka writes such a batch alone, at once, and its refusal concerns nobody else.
        """

    def read(self, partition: int) -> Sequence[Loaded]:
        """All records of the partition, uncommitted ones too, oldest first, for loading. Raises LoadFailed."""


class Metadata(Protocol):
    """What the broker knows of topics."""

    def partition_count(self, topic: str) -> int | None:
        """Number of partitions, None for an unknown topic."""
