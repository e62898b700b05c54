"""Requests as Kafka's JSON, and answers of both sides in one form.

`bodies` has the body of each request, `answers` what is compared of each answer: a pair of functions, of which the
first reads our response and the second Kafka's JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.embedded.consumer_protocol import decode_assignment
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest
from tests.beside_kafka.kafka_shard import Body


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def _topics(pairs: Iterable[tuple[TopicPartition, Body]], name: str = "partitions") -> list[Body]:
    """Return entries of partitions by topic, in the order of their first one."""
    found: dict[str, list[Body]] = {}
    for where, entry in pairs:
        found.setdefault(where.topic, []).append({"partitionIndex": where.partition, **entry})
    return [{"name": topic, name: entries} for topic, entries in found.items()]


def _offset(entry: Any) -> Body:
    return {
        "committedOffset": entry.offset,
        "committedLeaderEpoch": entry.leader_epoch,
        "committedMetadata": entry.metadata,
    }


def _beat(r: ConsumerGroupHeartbeatRequest) -> Body:
    owned, names = r.topic_partitions, r.subscribed_topic_names
    return {
        "groupId": r.group_id,
        "memberId": r.member_id,
        "memberEpoch": r.member_epoch,
        "instanceId": r.instance_id,
        "rackId": r.rack_id,
        "rebalanceTimeoutMs": r.rebalance_timeout_ms,
        "subscribedTopicNames": None if names is None else [*names],
        "subscribedTopicRegex": r.subscribed_topic_regex,
        "serverAssignor": r.server_assignor,
        "topicPartitions": None
        if owned is None
        else [{"topicId": one.topic_id, "partitions": [*one.partitions]} for one in owned],
    }


def _join(r: JoinGroupRequest) -> Body:
    return {
        "groupId": r.group_id,
        "sessionTimeoutMs": r.session_timeout_ms,
        "rebalanceTimeoutMs": r.rebalance_timeout_ms,
        "memberId": r.member_id,
        "groupInstanceId": r.group_instance_id,
        "protocolType": r.protocol_type,
        "protocols": [{"name": one.name, "metadata": _base64(one.metadata)} for one in r.protocols],
        "reason": r.reason,
    }


def _sync(r: SyncGroupRequest) -> Body:
    return {
        "groupId": r.group_id,
        "generationId": r.generation_id,
        "memberId": r.member_id,
        "groupInstanceId": r.group_instance_id,
        "protocolType": r.protocol_type,
        "protocolName": r.protocol_name,
        "assignments": [{"memberId": one.member_id, "assignment": _base64(one.assignment)} for one in r.assignments],
    }


def _heartbeat(r: HeartbeatRequest) -> Body:
    return {
        "groupId": r.group_id,
        "generationId": r.generation_id,
        "memberId": r.member_id,
        "groupInstanceId": r.group_instance_id,
    }


def _leave(r: LeaveGroupRequest) -> Body:
    members = [
        {"memberId": one.member_id, "groupInstanceId": one.group_instance_id, "reason": one.reason} for one in r.members
    ]
    return {"groupId": r.group_id, "members": members}


def _commit(r: OffsetCommitRequest) -> Body:
    return {
        "groupId": r.group_id,
        "generationIdOrMemberEpoch": r.generation_id,
        "memberId": r.member_id,
        "groupInstanceId": r.group_instance_id,
        "topics": _topics((one.partition, _offset(one)) for one in r.offsets),
    }


def _commit_in_transaction(r: TxnOffsetCommitRequest) -> Body:
    return {
        "transactionalId": r.transactional_id,
        "groupId": r.group_id,
        "producerId": r.producer_id,
        "producerEpoch": r.producer_epoch,
        "generationIdOrMemberEpoch": r.generation_id,
        "memberId": r.member_id,
        "groupInstanceId": r.group_instance_id,
        "topics": _topics((one.partition, _offset(one)) for one in r.offsets),
    }


def _fetch(r: OffsetFetchRequest) -> Body:
    found: dict[str, list[int]] = {}
    for where in r.partitions or ():
        found.setdefault(where.topic, []).append(where.partition)
    topics = [{"name": topic, "partitionIndexes": numbers} for topic, numbers in found.items()]
    group = {"groupId": r.group_id, "memberId": r.member_id, "memberEpoch": r.member_epoch}
    return {
        "requireStable": r.require_stable,
        "groups": [{**group, "topics": None if r.partitions is None else topics}],
    }


def _delete_offsets(r: OffsetDeleteRequest) -> Body:
    return {"groupId": r.group_id, "topics": _topics((one, {}) for one in r.partitions)}


def _delete(r: DeleteGroupsRequest) -> Body:
    return {"groups": [*r.groups]}


BODIES: Mapping[type[Any], tuple[str, Callable[[Any], Body]]] = {
    ConsumerGroupHeartbeatRequest: ("CONSUMER_GROUP_HEARTBEAT", _beat),
    JoinGroupRequest: ("JOIN_GROUP", _join),
    SyncGroupRequest: ("SYNC_GROUP", _sync),
    HeartbeatRequest: ("HEARTBEAT", _heartbeat),
    LeaveGroupRequest: ("LEAVE_GROUP", _leave),
    OffsetCommitRequest: ("OFFSET_COMMIT", _commit),
    TxnOffsetCommitRequest: ("TXN_OFFSET_COMMIT", _commit_in_transaction),
    OffsetFetchRequest: ("OFFSET_FETCH", _fetch),
    OffsetDeleteRequest: ("OFFSET_DELETE", _delete_offsets),
    DeleteGroupsRequest: ("DELETE_GROUPS", _delete),
}
"""Type of a request → the API, and its body."""


def _of_partitions(found: Sequence[tuple[TopicPartition, Any]]) -> list[tuple[str, int, int]]:
    return [(where.topic, where.partition, int(error)) for where, error in found]


def _partitions(body: Body) -> list[tuple[str, int, int]]:
    return [(t["name"], p["partitionIndex"], p["errorCode"]) for t in body["topics"] for p in t["partitions"]]


def _assigned(body: Body | None) -> object:
    return None if body is None else {one["topicId"]: tuple(one["partitions"]) for one in body["topicPartitions"]}


def _by_topic(data: bytes) -> object:
    """Return an assignment by topic; bytes that are none, as they are."""
    try:
        found = decode_assignment(data)
    except ProtocolError:
        return data
    return data[:2], {one.topic: [p for topic, p in found.partitions if topic == one.topic] for one in found.partitions}


ANSWERS: Mapping[str, tuple[Callable[[Any], object], Callable[[Body], object]]] = {
    "CONSUMER_GROUP_HEARTBEAT": (
        lambda r: (
            int(r.error),
            r.member_id,
            r.member_epoch,
            r.heartbeat_interval_ms,
            None if r.assignment is None else {one.topic_id: one.partitions for one in r.assignment},
        ),
        lambda b: (
            b["errorCode"],
            b["memberId"],
            b["memberEpoch"],
            b["heartbeatIntervalMs"],
            _assigned(b["assignment"]),
        ),
    ),
    "JOIN_GROUP": (
        lambda r: (
            int(r.error),
            r.generation_id,
            r.protocol_type,
            r.protocol_name or None,
            r.leader,
            r.member_id,
            r.skip_assignment,
            [(one.member_id, one.group_instance_id, one.metadata) for one in r.members],
        ),
        lambda b: (
            b["errorCode"],
            b["generationId"],
            b["protocolType"],
            b["protocolName"] or None,
            b["leader"],
            b["memberId"],
            b["skipAssignment"],
            [(one["memberId"], one["groupInstanceId"], _bytes(one["metadata"])) for one in b["members"]],
        ),
    ),
    "SYNC_GROUP": (
        lambda r: (int(r.error), r.protocol_type, r.protocol_name, _by_topic(r.assignment)),
        lambda b: (b["errorCode"], b["protocolType"], b["protocolName"], _by_topic(_bytes(b["assignment"]))),
    ),
    "HEARTBEAT": (lambda r: int(r.error), lambda b: b["errorCode"]),
    "LEAVE_GROUP": (
        lambda r: (int(r.error), [(one.member_id, one.group_instance_id, int(one.error)) for one in r.members]),
        lambda b: (
            b["errorCode"],
            [(one["memberId"], one["groupInstanceId"], one["errorCode"]) for one in b["members"]],
        ),
    ),
    "OFFSET_COMMIT": (lambda r: _of_partitions(r.partitions), _partitions),
    "TXN_OFFSET_COMMIT": (lambda r: _of_partitions(r.results), _partitions),
    "OFFSET_DELETE": (
        lambda r: (int(r.error), sorted(_of_partitions(r.partitions))),
        lambda b: (b["errorCode"], sorted(_partitions(b))),
    ),
    "OFFSET_FETCH": (
        lambda r: sorted((*one.partition, one.offset, one.metadata, int(one.error)) for one in r.offsets),
        lambda b: sorted(
            {  # after a failed append Kafka lists an offset more than once
                (t["name"], p["partitionIndex"], p["committedOffset"], p["metadata"], p["errorCode"])
                for t in b["groups"][0]["topics"]
                for p in t["partitions"]
            }
        ),
    ),
    "DELETE_GROUPS": (
        lambda r: [(group, int(error)) for group, error in r.results],
        lambda b: [(one["groupId"], one["errorCode"]) for one in b["results"]],
    ),
}
"""API → what is compared of our response, and of Kafka's."""
