"""ListOffsets: the ends of logs, and offsets by time.

Some timestamps mean ends, each since a version of its own. An older version with one is answered UNSUPPORTED_VERSION, a
partition that is named twice INVALID_REQUEST. Both are answered here.

Sources: `ReplicaManager.fetchOffset`, `ListOffsetsRequest.duplicatePartitions`, `ListOffsetsRequest.json`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    NO_LEADER_EPOCH,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetAsked,
    OffsetListed,
)
from groupsim.protocol.wire.by_topic import Topic, grouped
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, parts

SINCE = {
    LATEST_TIMESTAMP: 1,
    EARLIEST_TIMESTAMP: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
"""Timestamps that mean ends → the first version of ListOffsets with them (KIP-734, KIP-405, KIP-1005, KIP-1023)."""


def _list_offsets(fields: Fields, header: Header, directory: Directory) -> Exchange:
    asked = [_asked(topic["name"], part) for topic in fields["topics"] for part in topic["partitions"]]
    times = Counter(one.partition for one in asked)
    refused = {one.partition: _refused(one, times, header.version) for one in asked}
    level = fields.get("isolation_level", READ_UNCOMMITTED)
    if level not in (READ_UNCOMMITTED, READ_COMMITTED):  # the broker fails on it before any other check
        refused = dict.fromkeys(refused, ErrorCode.UNKNOWN_SERVER_ERROR)
    good = [one for one in asked if not refused[one.partition]]
    requests = [ListOffsetsRequest(tuple(part), level, fields["replica_id"], header.version) for part in parts(good)]

    def encode(answers: Sequence[ListOffsetsResponse]) -> Fields:
        found = {listed.partition: listed for answer in answers for listed in answer.partitions}
        listed = {tp: OffsetListed(tp, error) if error else found[tp] for tp, error in refused.items()}
        return _response(listed.values())

    return Translation(header, tuple(requests) if good else (), encode)


def _asked(topic: str, part: Fields) -> OffsetAsked:
    partition = TopicPartition(topic, part["partition_index"])
    return OffsetAsked(partition, part["timestamp"], part.get("current_leader_epoch", NO_LEADER_EPOCH))


def _refused(asked: OffsetAsked, times: Counter[TopicPartition], version: int) -> ErrorCode:
    if times[asked.partition] > 1:
        return ErrorCode.INVALID_REQUEST
    unknown = asked.timestamp < 0 and SINCE.get(asked.timestamp, version + 1) > version
    return ErrorCode.UNSUPPORTED_VERSION if unknown else ErrorCode.NONE


def _response(listed: Iterable[OffsetListed]) -> Fields:
    pairs = (
        (
            Topic(one.partition.topic),
            {
                "partition_index": one.partition.partition,
                "error_code": one.error,
                "timestamp": one.timestamp,
                "offset": one.offset,
                "leader_epoch": one.leader_epoch,
            },
        )
        for one in listed
    )
    return {"throttle_time": 0, "topics": grouped(pairs, "name", "partitions")}


READERS = {Api.LIST_OFFSETS: _list_offsets}
"""API → the function that makes an exchange from a request's fields."""
