"""The requests and responses of the classic group protocol, as values.

One class per message (`values.py`), with the fields of the newest classic version; `version` is the version that the
sender uses, and fields that older versions lack stay at their default (`versions.py` holds that table). Sources:
Kafka's message schemas (`clients/src/main/resources/common/message/*.json`); classic-protocol reference, section 5.

Strings are never None unless the schema says nullable. Times are milliseconds where Kafka's field is (`_ms`).
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from groupsim.protocol.basics import NO_EPOCH as NO_EPOCH
from groupsim.protocol.basics import NO_GENERATION as NO_GENERATION
from groupsim.protocol.basics import NO_OFFSET as NO_OFFSET
from groupsim.protocol.basics import AnsweredBy as AnsweredBy
from groupsim.protocol.basics import Api as Api
from groupsim.protocol.basics import TopicPartition as TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import NOT_ASKED, AclRequest, AclResponse
from groupsim.protocol.messages.admin import AdminRequest, AdminResponse
from groupsim.protocol.messages.cluster import ClusterRequest, ClusterResponse
from groupsim.protocol.messages.consumer_group import ConsumerGroupRequest, ConsumerGroupResponse
from groupsim.protocol.messages.data import DataRequest, DataResponse
from groupsim.protocol.messages.operator import OperatorRequest, OperatorResponse
from groupsim.protocol.messages.transactions import TxnRequest, TxnResponse
from groupsim.protocol.messages.zookeeper import ZkRequest, ZkResponse
from groupsim.protocol.values import value

# --- Metadata and FindCoordinator ------------------------------------------------------------------------------


@value
class MetadataRequest(AnsweredBy["MetadataResponse"]):
    """Ask any broker for topics; `topics=None` asks for all of them. `topic_ids` asks for topics by id, beside names.

    `auto_create` lets the broker create missing topics, if it is configured to. The other two ask for the authorized
    operations on the topics, and on the cluster.
    """

    API: ClassVar[Api] = Api.METADATA
    topics: tuple[str, ...] | None = None
    version: int = 13
    auto_create: bool = False
    include_topic_operations: bool = False
    include_cluster_operations: bool = False
    topic_ids: tuple[str, ...] = ()


@value
class PartitionInfo:
    """Leader (-1: none) and replica placement of one partition; `racks` are the racks of its replicas."""

    partition: int
    leader: int
    replicas: tuple[int, ...] = ()
    racks: tuple[str, ...] = ()
    leader_epoch: int = NO_EPOCH
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    error: ErrorCode = ErrorCode.NONE


@value
class TopicInfo:
    """One topic of a Metadata response; `partitions` sorted by number, empty when the topic is unknown.

    `operations`: one bit for each authorized operation. `topic_id`: None when the topic is unknown. A topic that was
    asked for by id and may not be described has no name ("").
    """

    name: str
    error: ErrorCode = ErrorCode.NONE
    partitions: tuple[PartitionInfo, ...] = ()
    internal: bool = False
    operations: int = NOT_ASKED
    topic_id: str | None = None


@value
class MetadataResponse:
    """Brokers (node id → host) and the requested topics, sorted by name; the authorized operations on the cluster."""

    API: ClassVar[Api] = Api.METADATA
    brokers: tuple[tuple[int, str], ...]
    topics: tuple[TopicInfo, ...]
    operations: int = NOT_ASKED


@value
class FindCoordinatorRequest(AnsweredBy["FindCoordinatorResponse"]):
    """Ask any broker for the coordinator of the group `key`, or (key type 1) of the transactional id `key`."""

    API: ClassVar[Api] = Api.FIND_COORDINATOR
    key: str
    version: int = 6
    key_type: int = 0


@value
class FindCoordinatorResponse:
    """The coordinator's node id and host; (-1, "") with an error."""

    API: ClassVar[Api] = Api.FIND_COORDINATOR
    error: ErrorCode = ErrorCode.NONE
    node: int = -1
    host: str = ""


# --- JoinGroup -------------------------------------------------------------------------------------------------


@value
class JoinProtocol:
    """One assignor that a member offers, with its subscription as bytes."""

    name: str
    metadata: bytes = b""


@value
class JoinGroupRequest(AnsweredBy["JoinGroupResponse"]):
    """Join, or rejoin, a group. Version 0 has no rebalance timeout: the session timeout is used."""

    API: ClassVar[Api] = Api.JOIN_GROUP
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = "consumer"
    protocols: tuple[JoinProtocol, ...] = ()
    reason: str | None = None
    version: int = 9


@value
class JoinMember:
    """One member in the leader's JoinGroup response."""

    member_id: str
    group_instance_id: str | None = None
    metadata: bytes = b""


@value
class JoinGroupResponse:
    """The answer to JoinGroup; `members` is filled for the leader alone."""

    API: ClassVar[Api] = Api.JOIN_GROUP
    error: ErrorCode = ErrorCode.NONE
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    member_id: str = ""
    members: tuple[JoinMember, ...] = ()
    skip_assignment: bool = False


# --- SyncGroup -------------------------------------------------------------------------------------------------


@value
class SyncAssignment:
    """The assignment of one member, as bytes."""

    member_id: str
    assignment: bytes = b""


@value
class SyncGroupRequest(AnsweredBy["SyncGroupResponse"]):
    """Ask for this member's assignment; the leader's request contains the assignments of all members."""

    API: ClassVar[Api] = Api.SYNC_GROUP
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[SyncAssignment, ...] = ()
    version: int = 5


@value
class SyncGroupResponse:
    """This member's assignment as bytes."""

    API: ClassVar[Api] = Api.SYNC_GROUP
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


# --- Heartbeat and LeaveGroup ----------------------------------------------------------------------------------


@value
class HeartbeatRequest(AnsweredBy["HeartbeatResponse"]):
    """Keep a member's session alive."""

    API: ClassVar[Api] = Api.HEARTBEAT
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    version: int = 4


@value
class HeartbeatResponse:
    """The answer to Heartbeat: an error code only."""

    API: ClassVar[Api] = Api.HEARTBEAT
    error: ErrorCode = ErrorCode.NONE


@value
class LeavingMember:
    """One member to remove: by member id, or (administrators) by instance id with member id ""."""

    member_id: str = ""
    group_instance_id: str | None = None
    reason: str | None = None


@value
class LeaveGroupRequest(AnsweredBy["LeaveGroupResponse"]):
    """Remove members. Versions 0–2 carry exactly one, without instance id."""

    API: ClassVar[Api] = Api.LEAVE_GROUP
    group_id: str
    members: tuple[LeavingMember, ...] = ()
    version: int = 5


@value
class LeftMember:
    """The result of one entry of a LeaveGroup request."""

    member_id: str
    group_instance_id: str | None = None
    error: ErrorCode = ErrorCode.NONE


@value
class LeaveGroupResponse:
    """Per member answers (v3+); v0–2 lift the single member's error to `error`."""

    API: ClassVar[Api] = Api.LEAVE_GROUP
    error: ErrorCode = ErrorCode.NONE
    members: tuple[LeftMember, ...] = ()


# --- Offsets ---------------------------------------------------------------------------------------------------


@value
class OffsetToCommit:
    """One partition's offset in an OffsetCommit request."""

    partition: TopicPartition
    offset: int
    leader_epoch: int = NO_EPOCH
    metadata: str = ""


@value
class OffsetCommitRequest(AnsweredBy["OffsetCommitResponse"]):
    """Store offsets for a group; generation -1 with member id "" is a commit from outside the group.

    `generation_id` is the member epoch of a member of a consumer group (KIP-848).
    """

    API: ClassVar[Api] = Api.OFFSET_COMMIT
    group_id: str
    offsets: tuple[OffsetToCommit, ...]
    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    version: int = 9


@value
class OffsetCommitResponse:
    """One error per partition of the request, in its order."""

    API: ClassVar[Api] = Api.OFFSET_COMMIT
    partitions: tuple[tuple[TopicPartition, ErrorCode], ...] = ()

    @property
    def error(self) -> ErrorCode:
        """The first error of any partition, else NONE."""
        for _, error in self.partitions:
            if error:
                return error
        return ErrorCode.NONE


@value
class OffsetFetchRequest(AnsweredBy["OffsetFetchResponse"]):
    """Read committed offsets of one group; `partitions=None` asks for all.

    A member of a consumer group (KIP-848) names itself and its epoch, for the broker to fence it.
    """

    API: ClassVar[Api] = Api.OFFSET_FETCH
    group_id: str
    partitions: tuple[TopicPartition, ...] | None = None
    require_stable: bool = True
    version: int = 9
    member_id: str | None = None
    member_epoch: int = -1


@value
class FetchedOffset:
    """One committed offset; offset -1 when there is none."""

    partition: TopicPartition
    offset: int = NO_OFFSET
    leader_epoch: int = NO_EPOCH
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


@value
class OffsetFetchResponse:
    """Committed offsets, in the order of the request (or sorted, when all were asked for)."""

    API: ClassVar[Api] = Api.OFFSET_FETCH
    error: ErrorCode = ErrorCode.NONE
    offsets: tuple[FetchedOffset, ...] = ()


@value
class OffsetDeleteRequest(AnsweredBy["OffsetDeleteResponse"]):
    """Delete committed offsets of partitions that the group does not subscribe to."""

    API: ClassVar[Api] = Api.OFFSET_DELETE
    group_id: str
    partitions: tuple[TopicPartition, ...]
    version: int = 0


@value
class OffsetDeleteResponse:
    """Top-level error, or one error per partition of the request."""

    API: ClassVar[Api] = Api.OFFSET_DELETE
    error: ErrorCode = ErrorCode.NONE
    partitions: tuple[tuple[TopicPartition, ErrorCode], ...] = ()


# --- Administration --------------------------------------------------------------------------------------------


@value
class DescribeGroupsRequest(AnsweredBy["DescribeGroupsResponse"]):
    """Describe groups by id."""

    API: ClassVar[Api] = Api.DESCRIBE_GROUPS
    groups: tuple[str, ...]
    include_authorized_operations: bool = False
    version: int = 6


@value
class DescribedMember:
    """One member in a group's description."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    metadata: bytes = b""
    assignment: bytes = b""


@value
class DescribedGroup:
    """One group's description; `state` is the name that Kafka's tools print (CompletingRebalance, not AwaitingSync)."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()
    authorized_operations: int = NOT_ASKED


@value
class DescribeGroupsResponse:
    """One description per group of the request, in its order."""

    API: ClassVar[Api] = Api.DESCRIBE_GROUPS
    groups: tuple[DescribedGroup, ...] = ()


@value
class ListGroupsRequest(AnsweredBy["ListGroupsResponse"]):
    """List the groups of a broker; empty filters match everything."""

    API: ClassVar[Api] = Api.LIST_GROUPS
    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    version: int = 5


@value
class ListedGroup:
    """One group of a list."""

    group_id: str
    protocol_type: str = ""
    state: str = ""
    group_type: str = "classic"


@value
class ListGroupsResponse:
    """The groups that the broker coordinates."""

    API: ClassVar[Api] = Api.LIST_GROUPS
    error: ErrorCode = ErrorCode.NONE
    groups: tuple[ListedGroup, ...] = ()


@value
class DeleteGroupsRequest(AnsweredBy["DeleteGroupsResponse"]):
    """Delete empty groups."""

    API: ClassVar[Api] = Api.DELETE_GROUPS
    groups: tuple[str, ...]
    version: int = 2


@value
class DeleteGroupsResponse:
    """One error per group of the request, in its order."""

    API: ClassVar[Api] = Api.DELETE_GROUPS
    results: tuple[tuple[str, ErrorCode], ...] = ()


Request: TypeAlias = (
    MetadataRequest
    | FindCoordinatorRequest
    | JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | OffsetDeleteRequest
    | DescribeGroupsRequest
    | ListGroupsRequest
    | DeleteGroupsRequest
    | ConsumerGroupRequest
    | DataRequest
    | TxnRequest
    | AdminRequest
    | AclRequest
    | OperatorRequest
    | ClusterRequest
    | ZkRequest
)
Response: TypeAlias = (
    MetadataResponse
    | FindCoordinatorResponse
    | JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | OffsetDeleteResponse
    | DescribeGroupsResponse
    | ListGroupsResponse
    | DeleteGroupsResponse
    | ConsumerGroupResponse
    | DataResponse
    | TxnResponse
    | AdminResponse
    | AclResponse
    | OperatorResponse
    | ClusterResponse
    | ZkResponse
)
