"""The requests and responses of the consumer group protocol (KIP-848): ConsumerGroupHeartbeat, ConsumerGroupDescribe.

One class per message (`values.py`). Topics are ids here, as on the wire: a topic that is deleted and created again is
another topic (`topic_ids.py`). None means that a request does not change, or does not report, a field.

Sources: `ConsumerGroupHeartbeatRequest.json`, `ConsumerGroupDescribeRequest.json` and their responses.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from groupsim.protocol.basics import AnsweredBy, Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import NOT_ASKED
from groupsim.protocol.values import value

JOIN_EPOCH = 0
"""The member epoch of a member that joins or rejoins."""
LEAVE_EPOCH = -1
"""The member epoch of a member that leaves for good."""
STATIC_LEAVE_EPOCH = -2
"""The member epoch of a static member that leaves and intends to come back."""


@value
class TopicPartitions:
    """Partitions of one topic, by its id, in the order of the message."""

    topic_id: str
    partitions: tuple[int, ...]


@value
class ConsumerGroupHeartbeatRequest(AnsweredBy["ConsumerGroupHeartbeatResponse"]):
    """Join, keep the session, report the owned partitions, or leave. `rebalance_timeout_ms` -1: not given."""

    API: ClassVar[Api] = Api.CONSUMER_GROUP_HEARTBEAT
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None
    version: int = 1


@value
class ConsumerGroupHeartbeatResponse:
    """The member's epoch and the interval of its heartbeats; an assignment when it is new to the member, else None."""

    API: ClassVar[Api] = Api.CONSUMER_GROUP_HEARTBEAT
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: tuple[TopicPartitions, ...] | None = None


@value
class ConsumerGroupDescribeRequest(AnsweredBy["ConsumerGroupDescribeResponse"]):
    """Describe consumer groups by their ids."""

    API: ClassVar[Api] = Api.CONSUMER_GROUP_DESCRIBE
    group_ids: tuple[str, ...]
    include_authorized_operations: bool = False
    version: int = 1


@value
class DescribedPartitions:
    """Partitions of one topic, with its id and its name."""

    topic_id: str
    topic_name: str
    partitions: tuple[int, ...]


@value
class DescribedConsumer:
    """One member of a consumer group. `member_type`: 0 for the classic protocol, 1 for the consumer protocol."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    assignment: tuple[DescribedPartitions, ...] = ()
    target_assignment: tuple[DescribedPartitions, ...] = ()
    member_type: int = -1


@value
class DescribedConsumerGroup:
    """One consumer group, as of the last committed record."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()
    authorized_operations: int = NOT_ASKED


@value
class ConsumerGroupDescribeResponse:
    """One description per group of the request, in its order."""

    API: ClassVar[Api] = Api.CONSUMER_GROUP_DESCRIBE
    groups: tuple[DescribedConsumerGroup, ...] = ()


ConsumerGroupRequest: TypeAlias = ConsumerGroupHeartbeatRequest | ConsumerGroupDescribeRequest
ConsumerGroupResponse: TypeAlias = ConsumerGroupHeartbeatResponse | ConsumerGroupDescribeResponse
