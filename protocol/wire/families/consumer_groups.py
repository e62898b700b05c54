"""The consumer group protocol (KIP-848): ConsumerGroupHeartbeat, ConsumerGroupDescribe.

Topics stay ids in both: the coordinator keeps its groups by id, and an id that this broker does not know is an answer
of its own. Kafka's zero id is 22 times "A" here, since an entry of a list of partitions always has an id.

Sources: `ConsumerGroupHeartbeatRequest.json`, `ConsumerGroupDescribeRequest.json`, the `getErrorResponse` of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groupsim.protocol.basics import Api
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedPartitions,
    TopicPartitions,
)
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, one, operations_of, parts

_ZERO_ID = "A" * 22


def _heartbeat(fields: Fields, header: Header, directory: Directory) -> Exchange:
    names, owned = fields["subscribed_topic_names"], fields["topic_partitions"]
    request = ConsumerGroupHeartbeatRequest(
        group_id=fields["group_id"],
        member_id=fields["member_id"],
        member_epoch=fields["member_epoch"],
        instance_id=fields["instance_id"],
        rack_id=fields["rack_id"],
        rebalance_timeout_ms=fields["rebalance_timeout"],
        subscribed_topic_names=None if names is None else tuple(names),
        subscribed_topic_regex=fields.get("subscribed_topic_regex"),
        server_assignor=fields["server_assignor"],
        topic_partitions=None if owned is None else tuple([_partitions(entry) for entry in owned]),
        version=header.version,
    )
    return one(header, request, _encode_heartbeat)


def _partitions(entry: Fields) -> TopicPartitions:
    return TopicPartitions(entry["topic_id"] or _ZERO_ID, tuple(entry["partitions"]))


def _encode_heartbeat(answer: ConsumerGroupHeartbeatResponse) -> Fields:
    assigned = answer.assignment
    return {
        "throttle_time": 0,
        "error_code": answer.error,
        "error_message": answer.error_message,
        "member_id": answer.member_id,
        "member_epoch": answer.member_epoch,
        "heartbeat_interval": answer.heartbeat_interval_ms,
        "assignment": None
        if assigned is None
        else {
            "topic_partitions": [
                {"topic_id": entry.topic_id, "partitions": list(entry.partitions)} for entry in assigned
            ]
        },
    }


def _describe(fields: Fields, header: Header, directory: Directory) -> Exchange:
    operations = fields["include_authorized_operations"]
    asked = [
        ConsumerGroupDescribeRequest(tuple(part), operations, header.version) for part in parts(fields["group_ids"])
    ]

    def encode(answers: Sequence[ConsumerGroupDescribeResponse]) -> Fields:
        return {"throttle_time": 0, "groups": [_group(group, header) for answer in answers for group in answer.groups]}

    return Translation(header, tuple(asked), encode)


def _group(group: DescribedConsumerGroup, header: Header) -> Fields:
    return {
        "error_code": group.error,
        "error_message": group.error_message,
        "group_id": group.group_id,
        "group_state": group.state,
        "group_epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor_name": group.assignor,
        "members": [_member(member) for member in group.members],
        "authorized_operations": operations_of(group.authorized_operations, header),
    }


def _member(member: DescribedConsumer) -> Fields:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.member_epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": list(member.subscribed_topic_names),
        "subscribed_topic_regex": member.subscribed_topic_regex,
        "assignment": _assignment(member.assignment),
        "target_assignment": _assignment(member.target_assignment),
        "member_type": member.member_type,
    }


def _assignment(entries: Sequence[DescribedPartitions]) -> Fields:
    return {
        "topic_partitions": [
            {"topic_id": entry.topic_id, "topic_name": entry.topic_name, "partitions": list(entry.partitions)}
            for entry in entries
        ]
    }


READERS: Mapping[Api, Callable[[Fields, Header, Directory], Exchange]] = {
    Api.CONSUMER_GROUP_HEARTBEAT: _heartbeat,
    Api.CONSUMER_GROUP_DESCRIBE: _describe,
}
"""API → the function that makes an exchange from a request's fields."""
