"""The requests of operators beyond topics and settings: leaders, replicas, disks, records, producers.

Sources: `ElectLeadersRequest.json`, `AlterPartitionReassignmentsRequest.json`,
`ListPartitionReassignmentsRequest.json`, `DescribeTopicPartitionsRequest.json`, `DeleteRecordsRequest.json`,
`DescribeLogDirsRequest.json`, `DescribeProducersRequest.json`, `ListTransactionsRequest.json`,
`DescribeTransactionsRequest.json`; KIP-460, KIP-455, KIP-966, KIP-107, KIP-113, KIP-664.
"""

from __future__ import annotations

from typing import ClassVar, Final, TypeAlias

from groupsim.protocol.basics import AnsweredBy, Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import NOT_ASKED
from groupsim.protocol.values import frozen

PREFERRED_ELECTION: Final = 0
UNCLEAN_ELECTION: Final = 1
HIGH_WATERMARK: Final = -1
"""The offset of a DeleteRecords that means everything there is."""
NO_WATERMARK: Final = -1

# --- leaders and replicas ------------------------------------------------------------------------------------------


@frozen
class ElectLeadersRequest(AnsweredBy["ElectLeadersResponse"]):
    """Elect leaders of these partitions, or (None) of all; `election` 0: the preferred replica, 1: any live one."""

    API: ClassVar[Api] = Api.ELECT_LEADERS
    partitions: tuple[TopicPartition, ...] | None
    election: int = PREFERRED_ELECTION
    timeout_ms: int = 60_000
    version: int = 2


@frozen
class ElectLeadersResponse:
    """By topic, for each partition its number, error and message; with all partitions, only those that changed."""

    API: ClassVar[Api] = Api.ELECT_LEADERS
    error: ErrorCode = ErrorCode.NONE
    topics: tuple[tuple[str, tuple[tuple[int, ErrorCode, str | None], ...]], ...] = ()


@frozen
class AlterPartitionReassignmentsRequest(AnsweredBy["AlterPartitionReassignmentsResponse"]):
    """Set the replicas of partitions, or (None) cancel the reassignment under way."""

    API: ClassVar[Api] = Api.ALTER_PARTITION_REASSIGNMENTS
    targets: tuple[tuple[TopicPartition, tuple[int, ...] | None], ...]
    timeout_ms: int = 60_000
    other_factor: bool = True  # whether the number of replicas may change (KIP-860)
    version: int = 1


@frozen
class AlterPartitionReassignmentsResponse:
    """Partition, error and message for each of the request, in its order."""

    API: ClassVar[Api] = Api.ALTER_PARTITION_REASSIGNMENTS
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    results: tuple[tuple[TopicPartition, ErrorCode, str | None], ...] = ()
    other_factor: bool = True


@frozen
class ListPartitionReassignmentsRequest(AnsweredBy["ListPartitionReassignmentsResponse"]):
    """List the reassignments under way, of these partitions or (None) of all."""

    API: ClassVar[Api] = Api.LIST_PARTITION_REASSIGNMENTS
    partitions: tuple[TopicPartition, ...] | None = None
    timeout_ms: int = 60_000
    version: int = 0


@frozen
class UnderWay:
    """One reassignment: all present replicas, the added and the removed ones."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@frozen
class ListPartitionReassignmentsResponse:
    """The reassignments, topics in the order of their creation."""

    API: ClassVar[Api] = Api.LIST_PARTITION_REASSIGNMENTS
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    moves: tuple[UnderWay, ...] = ()


@frozen
class DescribeTopicPartitionsRequest(AnsweredBy["DescribeTopicPartitionsResponse"]):
    """Describe topics with their partitions, all if none is named, at most so many partitions, from a partition on."""

    API: ClassVar[Api] = Api.DESCRIBE_TOPIC_PARTITIONS
    topics: tuple[str, ...] = ()
    limit: int = 2_000
    cursor: tuple[str, int] | None = None
    version: int = 0


@frozen
class DescribedPartition:
    """One partition; `elr` and `last_known_elr` are the replicas that may be elected when the ISR is empty."""

    number: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    offline: tuple[int, ...]


@frozen
class DescribedTopic:
    """One topic; the directory adds the id. `operations`: the authorized operations."""

    name: str
    error: ErrorCode = ErrorCode.NONE
    internal: bool = False
    partitions: tuple[DescribedPartition, ...] = ()
    operations: int = NOT_ASKED


@frozen
class DescribeTopicPartitionsResponse:
    """The topics by name; `next` is the first one left out, None at the end."""

    API: ClassVar[Api] = Api.DESCRIBE_TOPIC_PARTITIONS
    topics: tuple[DescribedTopic, ...] = ()
    next: tuple[str, int] | None = None


# --- records and disks ---------------------------------------------------------------------------------------------


@frozen
class DeleteRecordsRequest(AnsweredBy["DeleteRecordsResponse"]):
    """Move the start of logs to these offsets; HIGH_WATERMARK deletes every record."""

    API: ClassVar[Api] = Api.DELETE_RECORDS
    offsets: tuple[tuple[TopicPartition, int], ...]
    timeout_ms: int = 60_000
    version: int = 2


@frozen
class DeleteRecordsResponse:
    """Partition, error and low watermark: the start of the log on every live replica."""

    API: ClassVar[Api] = Api.DELETE_RECORDS
    results: tuple[tuple[TopicPartition, ErrorCode, int], ...] = ()


@frozen
class DescribeLogDirsRequest(AnsweredBy["DescribeLogDirsResponse"]):
    """List the bytes on a broker's disks, of these partitions or (None) of all."""

    API: ClassVar[Api] = Api.DESCRIBE_LOG_DIRS
    partitions: tuple[TopicPartition, ...] | None = None
    version: int = 5


@frozen
class LogDir:
    """One folder of a broker: for each log its bytes, and its lag in offsets; bytes of the disk, -1 for unknown."""

    path: str
    logs: tuple[tuple[TopicPartition, int, int], ...] = ()
    total_bytes: int = -1
    usable_bytes: int = -1


@frozen
class DescribeLogDirsResponse:
    """The folders of the broker."""

    API: ClassVar[Api] = Api.DESCRIBE_LOG_DIRS
    error: ErrorCode = ErrorCode.NONE
    dirs: tuple[LogDir, ...] = ()


# --- producers and transactions --------------------------------------------------------------------------------------


@frozen
class DescribeProducersRequest(AnsweredBy["DescribeProducersResponse"]):
    """List the active producers of these partitions; sent to their leaders."""

    API: ClassVar[Api] = Api.DESCRIBE_PRODUCERS
    partitions: tuple[TopicPartition, ...]
    version: int = 0


@frozen
class ActiveProducer:
    """One producer of a log; -1 for unknown values, and for the start of a transaction when none is open."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start: int


@frozen
class ProducersOf:
    """The producers of one partition."""

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    producers: tuple[ActiveProducer, ...] = ()


@frozen
class DescribeProducersResponse:
    """One result per partition of the request, in its order."""

    API: ClassVar[Api] = Api.DESCRIBE_PRODUCERS
    results: tuple[ProducersOf, ...] = ()


@frozen
class ListTransactionsRequest(AnsweredBy["ListTransactionsResponse"]):
    """List a coordinator's transactional ids: in these states, with these producer ids, open for longer, by pattern."""

    API: ClassVar[Api] = Api.LIST_TRANSACTIONS
    states: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    longer_than_ms: int = -1
    pattern: str | None = None
    version: int = 2


@frozen
class ListTransactionsResponse:
    """Transactional id, producer id and state of each; the unknown names of states in the request."""

    API: ClassVar[Api] = Api.LIST_TRANSACTIONS
    error: ErrorCode = ErrorCode.NONE
    unknown_states: tuple[str, ...] = ()
    transactions: tuple[tuple[str, int, str], ...] = ()


@frozen
class DescribeTransactionsRequest(AnsweredBy["DescribeTransactionsResponse"]):
    """Describe these transactional ids; sent to their coordinator."""

    API: ClassVar[Api] = Api.DESCRIBE_TRANSACTIONS
    transactional_ids: tuple[str, ...]
    version: int = 0


@frozen
class DescribedTransaction:
    """One transactional id; `start_ms` is -1 when no transaction is open."""

    transactional_id: str
    error: ErrorCode = ErrorCode.NONE
    state: str = ""
    timeout_ms: int = 0
    start_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    partitions: tuple[TopicPartition, ...] = ()


@frozen
class DescribeTransactionsResponse:
    """One result per id of the request, in its order."""

    API: ClassVar[Api] = Api.DESCRIBE_TRANSACTIONS
    transactions: tuple[DescribedTransaction, ...] = ()


OperatorRequest: TypeAlias = (
    ElectLeadersRequest
    | AlterPartitionReassignmentsRequest
    | ListPartitionReassignmentsRequest
    | DescribeTopicPartitionsRequest
    | DeleteRecordsRequest
    | DescribeLogDirsRequest
    | DescribeProducersRequest
    | ListTransactionsRequest
    | DescribeTransactionsRequest
)
OperatorResponse: TypeAlias = (
    ElectLeadersResponse
    | AlterPartitionReassignmentsResponse
    | ListPartitionReassignmentsResponse
    | DescribeTopicPartitionsResponse
    | DeleteRecordsResponse
    | DescribeLogDirsResponse
    | DescribeProducersResponse
    | ListTransactionsResponse
    | DescribeTransactionsResponse
)
