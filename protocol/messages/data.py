"""Produce, Fetch, ListOffsets, OffsetForLeaderEpoch: the messages that move records, as values.

Fields of the newest versions, by topic name where Kafka has moved to topic ids. Sources: `ProduceRequest.json`,
`FetchRequest.json` and their neighbours; KIP-101, KIP-279, KIP-320, KIP-392.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple, TypeAlias

from groupsim.protocol.basics import AnsweredBy, Api, TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import value

CONSUMER: Final = -1
"""The replica id of a consumer's Fetch."""
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
EARLIEST_TIMESTAMP: Final = -2
LATEST_TIMESTAMP: Final = -1
MAX_TIMESTAMP: Final = -3
"""The record with the largest timestamp (KIP-734)."""
EARLIEST_LOCAL_TIMESTAMP: Final = -4
LATEST_TIERED_TIMESTAMP: Final = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP: Final = -6
NO_LEADER_EPOCH: Final = -1


class LeaderIs(NamedTuple):
    """The leader of the partition, as the refusing broker knows it (KIP-951)."""

    leader: int
    epoch: int


# --- Produce -------------------------------------------------------------------------------------------------------


@value
class Unfit:
    """Records of a Produce that are no batch a broker appends, with their error.

    `early`: Kafka checks it before the leadership.
    """

    partition: TopicPartition
    error: ErrorCode
    early: bool = False


@value
class ProduceRequest(AnsweredBy["ProduceResponse"]):
    """Append batches; `acks` is -1 (all in-sync replicas), 1 (the leader) or 0 (no answer is sent).

    `unfit` are partitions with other content; they are refused, the others are appended.
    """

    API: ClassVar[Api] = Api.PRODUCE
    acks: int
    timeout_ms: int
    batches: tuple[tuple[TopicPartition, Batch], ...]
    transactional_id: str | None = None
    version: int = 12
    unfit: tuple[Unfit, ...] = ()


def partitions_of(request: ProduceRequest) -> list[TopicPartition]:
    """Return the partitions of a Produce, those in `unfit` too."""
    return [name for name, _ in request.batches] + [one.partition for one in request.unfit]


@value
class Produced:
    """The result of one batch: its offset, or its error. `base_offset` is -1 with an error.

    `record_errors`: the errors of single records, by their numbers in the batch.
    """

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    current_leader: LeaderIs | None = None
    message: str | None = None
    record_errors: tuple[tuple[int, str], ...] = ()


@value
class ProduceResponse:
    """One result per batch of the request, in its order."""

    API: ClassVar[Api] = Api.PRODUCE
    results: tuple[Produced, ...] = ()


# --- Fetch ---------------------------------------------------------------------------------------------------------


class FetchPartition(NamedTuple):
    """One partition of a Fetch. `last_fetched_epoch` lets the leader detect diverged logs (KIP-595)."""

    partition: TopicPartition
    fetch_offset: int
    max_bytes: int = 1_048_576
    current_leader_epoch: int = NO_LEADER_EPOCH
    last_fetched_epoch: int = NO_LEADER_EPOCH
    log_start_offset: int = -1


@value
class FetchRequest(AnsweredBy["FetchResponse"]):
    """Fetch records from these positions; the answer waits for `min_bytes`, `max_wait_ms` at most.

    `replica_id` is the follower's node id, CONSUMER for consumers, who may name their rack (KIP-392).

    Followers fetch in a session (KIP-227): request 0 names all partitions, request n the new and the changed ones, and
    those to forget; the answer names those with data or an error. `session_epoch` -1: no session.

    `renewed`, which no Fetch of Kafka has, makes one request stand for all the long polls of `max_wait_ms` that would
    follow it without new records (`members.interfaces.Renewing`).

    `pushes` is for a broker that pushes, which Kafka's does not: it is called with the answer after that was sent, and
    may let the broker send further answers without a request (`members.fetch.pushes`).
    """

    API: ClassVar[Api] = Api.FETCH
    max_wait_ms: int
    min_bytes: int
    partitions: tuple[FetchPartition, ...]
    max_bytes: int = 52_428_800
    isolation_level: int = READ_UNCOMMITTED
    replica_id: int = CONSUMER
    replica_epoch: int = -1
    rack_id: str = ""
    version: int = 17
    session_epoch: int = -1
    forgotten: tuple[TopicPartition, ...] = ()
    renewed: bool = False
    pushes: Callable[[FetchRequest, FetchResponse], None] | None = None


class EpochEnd(NamedTuple):
    """The largest epoch not above the requested one, and the offset at which it ends in this log."""

    epoch: int
    end_offset: int


@value
class PartitionData:
    """The result of a Fetch for one partition.

    `aborted` lists (producer id, first offset) of aborted transactions among the batches, for READ_COMMITTED.
    `diverging` gives a follower the point where its log differs from the leader's.
    """

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    batches: tuple[Batch, ...] = ()
    aborted: tuple[tuple[int, int], ...] = ()
    diverging: EpochEnd | None = None
    current_leader: LeaderIs | None = None
    preferred_read_replica: int = -1


@value
class FetchResponse:
    """One entry per requested partition, in the order of the request; in a session, one per changed partition.

    `error` concerns the session as a whole.
    """

    API: ClassVar[Api] = Api.FETCH
    error: ErrorCode = ErrorCode.NONE
    partitions: tuple[PartitionData, ...] = ()


# --- ListOffsets ---------------------------------------------------------------------------------------------------


class OffsetAsked(NamedTuple):
    """One partition of a ListOffsets: the first offset not older than `timestamp` (ms), or an end of the log."""

    partition: TopicPartition
    timestamp: int = LATEST_TIMESTAMP
    current_leader_epoch: int = NO_LEADER_EPOCH


@value
class ListOffsetsRequest(AnsweredBy["ListOffsetsResponse"]):
    """Find offsets by time, or the ends of the log."""

    API: ClassVar[Api] = Api.LIST_OFFSETS
    partitions: tuple[OffsetAsked, ...]
    isolation_level: int = READ_UNCOMMITTED
    replica_id: int = CONSUMER
    version: int = 10


@value
class OffsetListed:
    """The found offset (-1: none), with its record's timestamp and leader epoch."""

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = NO_LEADER_EPOCH


@value
class ListOffsetsResponse:
    """One entry per requested partition, in the order of the request."""

    API: ClassVar[Api] = Api.LIST_OFFSETS
    partitions: tuple[OffsetListed, ...] = ()


# --- OffsetForLeaderEpoch ------------------------------------------------------------------------------------------


class EpochAsked(NamedTuple):
    """One partition of an OffsetForLeaderEpoch."""

    partition: TopicPartition
    leader_epoch: int
    current_leader_epoch: int = NO_LEADER_EPOCH


@value
class OffsetForLeaderEpochRequest(AnsweredBy["OffsetForLeaderEpochResponse"]):
    """Ask for the end offset of an epoch; sent by consumers after a change of leader (KIP-320)."""

    API: ClassVar[Api] = Api.OFFSET_FOR_LEADER_EPOCH
    partitions: tuple[EpochAsked, ...]
    replica_id: int = CONSUMER
    version: int = 4


@value
class EpochEndOffset:
    """The answer for one partition; -1 and -1 when the epoch is unknown."""

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    leader_epoch: int = NO_LEADER_EPOCH
    end_offset: int = -1


@value
class OffsetForLeaderEpochResponse:
    """One entry per requested partition, in the order of the request."""

    API: ClassVar[Api] = Api.OFFSET_FOR_LEADER_EPOCH
    partitions: tuple[EpochEndOffset, ...] = ()


DataRequest: TypeAlias = ProduceRequest | FetchRequest | ListOffsetsRequest | OffsetForLeaderEpochRequest
DataResponse: TypeAlias = ProduceResponse | FetchResponse | ListOffsetsResponse | OffsetForLeaderEpochResponse
