"""The messages of transactional producers, as values.

Sources: `InitProducerIdRequest.json`, `AddPartitionsToTxnRequest.json`, `AddOffsetsToTxnRequest.json`,
`EndTxnRequest.json`, `WriteTxnMarkersRequest.json`, `TxnOffsetCommitRequest.json`; KIP-98, KIP-447, KIP-890.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from groupsim.protocol.basics import NO_EPOCH, NO_GENERATION, AnsweredBy, Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import frozen


@frozen
class InitProducerIdRequest(AnsweredBy["InitProducerIdResponse"]):
    """Ask for a producer id and epoch; with a transactional id, fence its last owner and end its open transaction."""

    API: ClassVar[Api] = Api.INIT_PRODUCER_ID
    transactional_id: str | None
    transaction_timeout_ms: int = 60_000
    producer_id: int = -1
    producer_epoch: int = -1
    version: int = 5


@frozen
class InitProducerIdResponse:
    """The producer id and its epoch."""

    API: ClassVar[Api] = Api.INIT_PRODUCER_ID
    error: ErrorCode = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int = -1


@frozen
class AddPartitionsToTxnRequest(AnsweredBy["AddPartitionsToTxnResponse"]):
    """Add the partitions that the transaction is about to write to."""

    API: ClassVar[Api] = Api.ADD_PARTITIONS_TO_TXN
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    version: int = 3


@frozen
class AddPartitionsToTxnResponse:
    """One error per partition of the request, in its order; or, since version 4, one top-level error."""

    API: ClassVar[Api] = Api.ADD_PARTITIONS_TO_TXN
    results: tuple[tuple[TopicPartition, ErrorCode], ...] = ()
    error: ErrorCode = ErrorCode.NONE


@frozen
class AddOffsetsToTxnRequest(AnsweredBy["AddOffsetsToTxnResponse"]):
    """Add a group's partition of `__consumer_offsets`, because the transaction is about to commit its offsets."""

    API: ClassVar[Api] = Api.ADD_OFFSETS_TO_TXN
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
    version: int = 4


@frozen
class AddOffsetsToTxnResponse:
    """One error."""

    API: ClassVar[Api] = Api.ADD_OFFSETS_TO_TXN
    error: ErrorCode = ErrorCode.NONE


@frozen
class OffsetInTxn:
    """One partition's offset in a TxnOffsetCommit."""

    partition: TopicPartition
    offset: int
    leader_epoch: int = NO_EPOCH
    metadata: str = ""


@frozen
class TxnOffsetCommitRequest(AnsweredBy["TxnOffsetCommitResponse"]):
    """Commit offsets inside a transaction, fenced by the group's generation since version 3 (KIP-447).

    `generation_id` is the member epoch of a member of a consumer group (KIP-848). Version 6 has topic ids, and errors
    that older versions do not know (KIP-1319).
    """

    API: ClassVar[Api] = Api.TXN_OFFSET_COMMIT
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    offsets: tuple[OffsetInTxn, ...]
    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None
    version: int = 5


@frozen
class TxnOffsetCommitResponse:
    """One error per partition of the request, in its order."""

    API: ClassVar[Api] = Api.TXN_OFFSET_COMMIT
    results: tuple[tuple[TopicPartition, ErrorCode], ...] = ()

    @property
    def error(self) -> ErrorCode:
        """The first error of any partition, else NONE."""
        return next((error for _, error in self.results if error), ErrorCode.NONE)


@frozen
class EndTxnRequest(AnsweredBy["EndTxnResponse"]):
    """Commit or abort the transaction."""

    API: ClassVar[Api] = Api.END_TXN
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    version: int = 5


@frozen
class EndTxnResponse:
    """One error; with version 5 the producer's next id and epoch (KIP-890), -1 when they stay."""

    API: ClassVar[Api] = Api.END_TXN
    error: ErrorCode = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int = -1


@frozen
class TxnMarker:
    """The end of one producer's transaction, for the partitions it wrote to."""

    producer_id: int
    producer_epoch: int
    committed: bool
    partitions: tuple[TopicPartition, ...]
    coordinator_epoch: int = 0


@frozen
class WriteTxnMarkersRequest(AnsweredBy["WriteTxnMarkersResponse"]):
    """Let partition leaders append commit or abort markers; sent by the transaction coordinator."""

    API: ClassVar[Api] = Api.WRITE_TXN_MARKERS
    markers: tuple[TxnMarker, ...]
    version: int = 1


@frozen
class WriteTxnMarkersResponse:
    """For each marker of the request, in its order: the producer id, and one error per partition."""

    API: ClassVar[Api] = Api.WRITE_TXN_MARKERS
    markers: tuple[tuple[int, tuple[tuple[TopicPartition, ErrorCode], ...]], ...] = ()


TxnRequest: TypeAlias = (
    InitProducerIdRequest
    | AddPartitionsToTxnRequest
    | AddOffsetsToTxnRequest
    | TxnOffsetCommitRequest
    | EndTxnRequest
    | WriteTxnMarkersRequest
)
TxnResponse: TypeAlias = (
    InitProducerIdResponse
    | AddPartitionsToTxnResponse
    | AddOffsetsToTxnResponse
    | TxnOffsetCommitResponse
    | EndTxnResponse
    | WriteTxnMarkersResponse
)
