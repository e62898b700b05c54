"""Fetch: the batches for a consumer, from its positions.

Sessions (KIP-227) are declined, as by a Kafka broker with a full session cache: every answer has session id 0, so the
client names all of its partitions each time. A request that continues a session is answered that it does not exist. A
sender with a replica id (a broker of another cluster, say) is answered that it is no replica of the partition.

Topics have ids since version 13; an unknown id is answered here. As in Kafka, unknown partitions come last, and aborted
transactions are null for READ_UNCOMMITTED.

Sources: `KafkaApis.handleFetchRequest`, `FetchManager.newContext`, `FetchResponse.toMessage`,
`Partition.followerReplicaOrThrow`, `FetchRequest.getErrorResponse`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    CONSUMER,
    NO_LEADER_EPOCH,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIs,
    PartitionData,
)
from groupsim.protocol.values import frozen
from groupsim.protocol.wire.by_topic import Topic, grouped, requested_topic
from groupsim.protocol.wire.endpoints import endpoints
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.records import Joined
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation

FETCH_MAX_BYTES = 57_671_680
"""The broker's `fetch.max.bytes`: no response gets larger, whatever the request allows."""

_BEGINS, _SESSIONLESS = 0, -1  # epochs of requests that name all their partitions
_IDS_SINCE = 13  # topics by id; an error of the whole request is at the top only
_LEADER_SINCE = 16
_MISSING = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED}
)
_LEADER_NAMED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
_STORAGE_ERROR_SINCE = 6
_NOTHING: Fields = {"aborted_transactions": []}


@frozen
class _FetchPartition:
    """One partition of the request, with its error if it is not for the broker."""

    topic: Topic
    partition: FetchPartition
    refused: ErrorCode = ErrorCode.NONE


def _fetch(fields: Fields, header: Header, directory: Directory) -> Exchange:
    if fields.get("session_epoch", _SESSIONLESS) not in (_BEGINS, _SESSIONLESS):
        lost = _message(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ())
        return Translation(header, (), lambda _: lost)
    asked = _partitions(fields, directory)
    request = _request(fields, header, tuple([one.partition for one in asked if not one.refused]))
    if fields["isolation_level"] not in (READ_UNCOMMITTED, READ_COMMITTED):
        failed = _failed(asked, request)
        return Translation(header, (), lambda _: failed)

    def encode(answers: Sequence[FetchResponse]) -> Fields:
        return _response(asked, answers, request, directory)

    return Translation(header, (request,) if request.partitions else (), encode)


def _request(fields: Fields, header: Header, partitions: tuple[FetchPartition, ...]) -> FetchRequest:
    max_bytes = min(fields["max_bytes"], FETCH_MAX_BYTES)
    return FetchRequest(
        max_wait_ms=max(fields["max_wait"], 0),
        min_bytes=min(fields["min_bytes"], max_bytes),
        partitions=partitions,
        max_bytes=max_bytes,
        isolation_level=READ_COMMITTED if fields["isolation_level"] == READ_COMMITTED else READ_UNCOMMITTED,
        rack_id=fields.get("rack_id", ""),
        version=header.version,
    )


def _partitions(fields: Fields, directory: Directory) -> list[_FetchPartition]:
    """Return the partitions in their order; one that is named twice counts once, with its last entry."""
    found: dict[tuple[Topic, int], _FetchPartition] = {}
    replica = _is_replica(fields)
    nothing = fields["max_bytes"] < 0
    for topic_fields in fields["topics"]:
        topic = requested_topic(topic_fields, directory, "topic")
        for part in topic_fields["partitions"]:
            one = FetchPartition(
                TopicPartition(topic.name or "", part["partition"]),
                part["fetch_offset"],
                part["partition_max_bytes"],
                max(part.get("current_leader_epoch", NO_LEADER_EPOCH), NO_LEADER_EPOCH),  # below 0 is none
                max(part.get("last_fetched_epoch", NO_LEADER_EPOCH), NO_LEADER_EPOCH),
                part.get("log_start_offset", -1),
            )
            found[topic, part["partition"]] = _FetchPartition(topic, one, _refused(topic, one, replica, nothing))
    return list(found.values())


def _is_replica(fields: Fields) -> bool:
    """Whether a broker sent the request. Numbers below 0, a copy in another folder (-3) too, may read."""
    state = fields.get("replica_state")
    replica: int = fields.get("replica_id", CONSUMER) if state is None else state["replica_id"]
    return replica >= 0


def _refused(topic: Topic, asked: FetchPartition, replica: bool, nothing: bool) -> ErrorCode:
    if topic.name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if replica:
        knows = asked.current_leader_epoch != NO_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if knows else ErrorCode.NOT_LEADER_OR_FOLLOWER
    no_buffer = nothing or asked.max_bytes < 0
    return ErrorCode.UNKNOWN_SERVER_ERROR if no_buffer else ErrorCode.NONE


def _response(
    asked: list[_FetchPartition], answers: Sequence[FetchResponse], request: FetchRequest, directory: Directory
) -> Fields:
    error = next((answer.error for answer in answers if answer.error), ErrorCode.NONE)
    if error and request.version >= _IDS_SINCE:
        return _message(error, ())
    found: Mapping[TopicPartition, PartitionData] = {
        data.partition: data for answer in answers for data in answer.partitions
    }
    pairs: list[tuple[Topic, PartitionData]] = []
    for one in asked:
        name = one.partition.partition
        pairs.append((one.topic, PartitionData(name, one.refused) if one.refused else found[name]))
    pairs.sort(key=lambda pair: pair[1].error in _MISSING)
    leaders = [data.current_leader for _, data in pairs if _has_leader(data, request.version)]
    message = _message(error, grouped(((topic, _entry(data, request)) for topic, data in pairs), "topic", "partitions"))
    return {**message, "node_endpoints": endpoints(filter(None, leaders), directory)}


def _failed(asked: list[_FetchPartition], request: FetchRequest) -> Fields:
    """Return the answer to a request that fails in the broker: the error at the top, and for each named partition."""
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    if request.version >= _IDS_SINCE:
        return _message(error, ())
    pairs = (
        (one.topic, {**_entry(PartitionData(one.partition.partition, error), request), **_NOTHING}) for one in asked
    )
    return _message(error, grouped(pairs, "topic", "partitions"))


def _message(error: ErrorCode, topics: Sequence[Fields]) -> Fields:
    return {"throttle_time": 0, "error_code": error, "session_id": 0, "responses": topics}


def _has_leader(data: PartitionData, version: int) -> bool:
    return version >= _LEADER_SINCE and data.current_leader is not None and data.error in _LEADER_NAMED


def _entry(data: PartitionData, request: FetchRequest) -> Fields:
    error = data.error
    if error is ErrorCode.KAFKA_STORAGE_ERROR and request.version < _STORAGE_ERROR_SINCE:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    fields: Fields = {
        "partition_index": data.partition.partition,
        "error_code": error,
        "high_watermark": data.high_watermark,
        "last_stable_offset": data.last_stable_offset,
        "log_start_offset": data.log_start_offset,
        "aborted_transactions": _aborted(data, request),
        "preferred_read_replica": data.preferred_read_replica,
        "records": Joined(data.batches),
    }
    if data.diverging is not None:
        fields["diverging_epoch"] = {"epoch": data.diverging.epoch, "end_offset": data.diverging.end_offset}
    if _has_leader(data, request.version):
        leader: LeaderIs = data.current_leader  # type: ignore[assignment]  # checked above
        fields["current_leader"] = {"leader_id": leader.leader, "leader_epoch": leader.epoch}
    return fields


def _aborted(data: PartitionData, request: FetchRequest) -> list[Fields] | None:
    """Return None for READ_UNCOMMITTED and without data; an unknown partition has an empty list."""
    if data.error in _MISSING:
        return []
    read = not data.error and data.diverging is None and data.preferred_read_replica < 0
    if not read or request.isolation_level != READ_COMMITTED:
        return None
    return [{"producer_id": producer, "first_offset": offset} for producer, offset in data.aborted]


READERS = {Api.FETCH: _fetch}
"""API → the function that makes an exchange from a request's fields."""
