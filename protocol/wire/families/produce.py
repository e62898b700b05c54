"""Produce: the batches of a producer, one for each partition.

Records that no broker would append (`records`) go along with the batches as `Unfit`, because the broker checks the
leadership before most of their errors. A topic with an unknown id is answered here, without a request if nothing else
is left. A partition that is named twice counts once, with its last entry, as in Kafka. With acks=0 nothing is answered;
after an error the broker closes the connection, once it has appended the rest.

Source: `KafkaApis.handleProduceRequest`, `ProduceRequest`, `RequestUtils.hasTransactionalRecords`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import LeaderIs, Produced, ProduceRequest, ProduceResponse, Unfit
from groupsim.protocol.values import define
from groupsim.protocol.wire.by_topic import Topic, grouped, requested_topic
from groupsim.protocol.wire.endpoints import endpoints
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.records import RecordsRefused, batch_of_producer
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation

_LEADER_SINCE = 10
"""The version of Produce whose response names the leader (KIP-951)."""


@define
class _ProducePartition:
    """One partition of the request, with its batch or its error."""

    topic: Topic
    partition: int
    batch: Batch | None = None
    refused: ErrorCode = ErrorCode.NONE
    early: bool = True

    @property
    def name(self) -> TopicPartition:
        """The partition with the name that the broker knows."""
        return TopicPartition(self.topic.name or "", self.partition)


def _produce(fields: Fields, header: Header, directory: Directory) -> Exchange:
    asked = list(_partitions(fields["topic_data"], header.version, directory))
    answered = fields["acks"] != 0
    all_refused = _check_producers(asked, fields["transactional_id"])
    goes_along = [one for one in asked if one.refused and (one.topic.name is not None or not answered)]
    unfit = () if all_refused and answered else tuple([Unfit(o.name, o.refused, o.early) for o in goes_along])
    batches = tuple([(one.name, one.batch) for one in asked if one.batch is not None])
    request = ProduceRequest(
        acks=fields["acks"],
        timeout_ms=fields["timeout"],
        batches=batches,
        transactional_id=fields["transactional_id"],
        version=header.version,
        unfit=unfit,
    )

    def encode(answers: Sequence[ProduceResponse]) -> Fields:
        produced = {result.partition: result for answer in answers for result in answer.results}
        return _response(asked, produced, header.version, directory)

    requests = (request,) if batches or unfit else ()
    return Translation(header, requests, encode, answered=answered)


def _partitions(topics: list[Fields], version: int, directory: Directory) -> Iterator[_ProducePartition]:
    found: dict[tuple[Topic, int], bytes | None] = {}
    for fields in topics:
        topic = requested_topic(fields, directory, "name")
        for partition in fields["partition_data"]:
            found[topic, partition["index"]] = partition["records"]
    for (topic, partition), data in found.items():
        yield _asked(topic, partition, data, version)


def _asked(topic: Topic, partition: int, data: bytes | None, version: int) -> _ProducePartition:
    if topic.name is None:
        return _ProducePartition(topic, partition, refused=ErrorCode.UNKNOWN_TOPIC_ID)
    try:
        return _ProducePartition(topic, partition, batch_of_producer(data, version))
    except RecordsRefused as refused:
        return _ProducePartition(topic, partition, refused=refused.error, early=refused.early)


def _check_producers(asked: list[_ProducePartition], transactional_id: str | None) -> bool:
    """Whether the whole request is refused: transactional records need the transactional id, and one producer."""
    producers = {one.batch.producer_id for one in asked if one.batch is not None and one.batch.is_transactional}
    error = ErrorCode.NONE
    if producers and transactional_id is None:
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif len(producers) > 1:
        error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    for one in asked if error else ():
        one.batch, one.refused = None, error
    return error is not ErrorCode.NONE


def _response(
    asked: list[_ProducePartition], produced: Mapping[TopicPartition, Produced], version: int, directory: Directory
) -> Fields:
    leaders: list[LeaderIs] = []
    pairs = []
    for one in asked:
        result = produced.get(one.name) or Produced(one.name, one.refused)
        leader = result.current_leader if result.error is ErrorCode.NOT_LEADER_OR_FOLLOWER else None
        if leader is not None and version >= _LEADER_SINCE:
            leaders.append(leader)
        pairs.append((one.topic, _entry(result, leader)))
    return {
        "responses": grouped(pairs, "name", "partition_responses"),
        "throttle_time": 0,
        "node_endpoints": endpoints(leaders, directory),
    }


def _entry(result: Produced, leader: LeaderIs | None) -> Fields:
    fields: Fields = {
        "index": result.partition.partition,
        "error_code": result.error,
        "base_offset": result.base_offset,
        "log_append_time": result.log_append_time_ms,
        "log_start_offset": result.log_start_offset,
        "record_errors": [
            {"batch_index": number, "batch_index_error_message": words} for number, words in result.record_errors
        ],
        "error_message": result.message,
    }
    if leader is not None:
        fields["current_leader"] = {"leader_id": leader.leader, "leader_epoch": leader.epoch}
    return fields


READERS = {Api.PRODUCE: _produce}
"""API → the function that makes an exchange from a request's fields."""
