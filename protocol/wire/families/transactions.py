"""The requests of transactional producers, and the markers that brokers send for them.

AddPartitionsToTxn has several transactions in one message since version 4: each becomes a request of its own. Only
brokers use those versions; the *verification* of a transaction (KIP-890) is not modelled, and is answered
UNSUPPORTED_VERSION. An EndTxn of version 5 is treated as version 4: the producer keeps its epoch, because the feature
`transaction.version` 2 is not listed, and clients do not use that version then.

TxnOffsetCommit has topic ids from version 6 on (KIP-1319); an unknown id is answered UNKNOWN_TOPIC_ID here.

Producers of old versions get some errors under other names.

Sources: `KafkaApis.handleInitProducerIdRequest` and its neighbours, `AddPartitionsToTxnRequest.getErrorResponse`;
KIP-98, KIP-447, KIP-890, KIP-1319.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.protocol.basics import NO_EPOCH, NO_GENERATION, Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    OffsetInTxn,
    TxnMarker,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from groupsim.protocol.values import frozen
from groupsim.protocol.wire.by_topic import errors_by_name, in_request_order, named_partitions, requested_topic
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, one

_BATCHED_SINCE = 4
_FENCED_SINCE = {Api.INIT_PRODUCER_ID: 4, Api.ADD_PARTITIONS_TO_TXN: 2, Api.ADD_OFFSETS_TO_TXN: 2, Api.END_TXN: 2}
"""The versions with PRODUCER_FENCED; older ones are answered INVALID_PRODUCER_EPOCH."""
_LOADING_SINCE = 2  # the version of TxnOffsetCommit whose producers survive COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)


def _known(error: ErrorCode, header: Header) -> ErrorCode:
    """Return the error as this version of the request names it."""
    if error is ErrorCode.PRODUCER_FENCED and header.version < _FENCED_SINCE[header.api]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error


# --- InitProducerId ----------------------------------------------------------------------------------------------


def _init_producer_id(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = InitProducerIdRequest(
        transactional_id=fields["transactional_id"],
        transaction_timeout_ms=fields["transaction_timeout"],
        producer_id=fields.get("producer_id", -1),
        producer_epoch=fields.get("producer_epoch", -1),
        version=header.version,
    )
    half = (request.producer_id == -1) != (request.producer_epoch == -1)

    def encode(answers: Sequence[InitProducerIdResponse]) -> Fields:
        answer = answers[0] if answers else InitProducerIdResponse(ErrorCode.INVALID_REQUEST)
        return {
            "throttle_time": 0,
            "error_code": _known(answer.error, header),
            "producer_id": answer.producer_id,
            "producer_epoch": answer.producer_epoch,
        }

    return Translation(header, () if half else (request,), encode)


# --- AddPartitionsToTxn ------------------------------------------------------------------------------------------


@frozen
class _Added:
    """One transaction of an AddPartitionsToTxn; one for verification only is not for the coordinator."""

    request: AddPartitionsToTxnRequest
    verify_only: bool


def _add_partitions(fields: Fields, header: Header, directory: Directory) -> Exchange:
    batched = header.version >= _BATCHED_SINCE
    entries = fields["transactions"] if batched else [_single(fields)]
    added = [_added(entry, header.version) for entry in entries]

    def encode(answers: Sequence[AddPartitionsToTxnResponse]) -> Fields:
        whole = next((answer.error for answer in answers if answer.error), ErrorCode.NONE)
        if whole:
            return _refused_at_the_top(whole)
        results = _per_transaction(added, answers, header)
        message: Fields = {"throttle_time": 0, "error_code": ErrorCode.NONE}
        if not batched:
            return {**message, "results_by_topic_v3_and_below": results[0]["topic_results"]}
        return {**message, "results_by_transaction": results}

    requests = tuple([entry.request for entry in added if not entry.verify_only])
    return Translation(header, requests, encode, refused=_refused_at_the_top if batched else None)


def _refused_at_the_top(error: ErrorCode) -> Fields:
    """Return the error of several transactions that are refused as a whole: at the top only."""
    return {"throttle_time": 0, "error_code": error, "results_by_transaction": ()}


def _single(fields: Fields) -> Fields:
    """Return the one transaction of an old version in the form of the newer ones."""
    return {name.removeprefix("v3_and_below_"): value for name, value in fields.items()}


def _added(entry: Fields, version: int) -> _Added:
    partitions = named_partitions(entry["topics"], "partitions")
    request = AddPartitionsToTxnRequest(
        entry["transactional_id"], entry["producer_id"], entry["producer_epoch"], partitions, version
    )
    return _Added(request, entry.get("verify_only", False))


def _per_transaction(
    added: list[_Added], answers: Sequence[AddPartitionsToTxnResponse], header: Header
) -> list[Fields]:
    left = iter(answers)
    found = []
    for entry in added:
        if entry.verify_only:
            answer = refusal(entry.request, ErrorCode.UNSUPPORTED_VERSION)
        else:
            answer = next(left)
        results = [(partition, _known(error, header)) for partition, error in answer.results]
        topics = errors_by_name(results, "results_by_partition", "partition_error_code")
        found.append({"transactional_id": entry.request.transactional_id, "topic_results": topics})
    return found


# --- AddOffsetsToTxn, EndTxn -------------------------------------------------------------------------------------


def _add_offsets(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = AddOffsetsToTxnRequest(
        transactional_id=fields["transactional_id"],
        producer_id=fields["producer_id"],
        producer_epoch=fields["producer_epoch"],
        group_id=fields["group_id"],
        version=header.version,
    )

    def encode(answer: AddOffsetsToTxnResponse) -> Fields:
        return {"throttle_time": 0, "error_code": _known(answer.error, header)}

    return one(header, request, encode)


def _end(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = EndTxnRequest(
        transactional_id=fields["transactional_id"],
        producer_id=fields["producer_id"],
        producer_epoch=fields["producer_epoch"],
        committed=fields["committed"],
        version=header.version,
    )

    def encode(answer: EndTxnResponse) -> Fields:
        return {
            "throttle_time": 0,
            "error_code": _known(answer.error, header),
            "producer_id": answer.producer_id,
            "producer_epoch": answer.producer_epoch,
        }

    return one(header, request, encode)


# --- TxnOffsetCommit ---------------------------------------------------------------------------------------------


def _commit_offsets(fields: Fields, header: Header, directory: Directory) -> Exchange:
    topics = [(requested_topic(topic, directory, "name"), topic["partitions"]) for topic in fields["topics"]]
    known = [_offset(topic.name, item) for topic, items in topics for item in items if topic.name is not None]
    unknown = any(items for topic, items in topics if topic.name is None)
    request = TxnOffsetCommitRequest(
        transactional_id=fields["transactional_id"],
        group_id=fields["group_id"],
        producer_id=fields["producer_id"],
        producer_epoch=fields["producer_epoch"],
        offsets=tuple(known),
        generation_id=fields.get("generation_id", NO_GENERATION),
        member_id=fields.get("member_id", ""),
        group_instance_id=fields.get("group_instance_id"),
        version=header.version,
    )
    asked = [(topic, [item["partition_index"] for item in items]) for topic, items in topics]

    def encode(answers: Sequence[TxnOffsetCommitResponse], error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID) -> Fields:
        results = (_loading(result, header.version) for answer in answers for _, result in answer.results)
        errors = (error if topic.name is None else next(results) for topic, numbers in asked for _ in numbers)
        return {"throttle_time": 0, "topics": in_request_order(asked, errors, directory)}

    return Translation(
        header,
        () if unknown and not known else (request,),
        encode,
        refused=lambda error: encode([refusal(request, error)], error),
    )


def _offset(topic: str, part: Fields) -> OffsetInTxn:
    return OffsetInTxn(
        TopicPartition(topic, part["partition_index"]),
        part["committed_offset"],
        part.get("committed_leader_epoch", NO_EPOCH),
        part["committed_metadata"] or "",
    )


def _loading(error: ErrorCode, version: int) -> ErrorCode:
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _LOADING_SINCE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return error


# --- WriteTxnMarkers ---------------------------------------------------------------------------------------------


def _write_markers(fields: Fields, header: Header, directory: Directory) -> Exchange:
    markers = [
        TxnMarker(
            marker["producer_id"],
            marker["producer_epoch"],
            marker["transaction_result"],
            named_partitions(marker["topics"], "partition_indexes"),
            marker["coordinator_epoch"],
        )
        for marker in fields["markers"]
    ]
    return one(header, WriteTxnMarkersRequest(tuple(markers), header.version), _encode_markers)


def _encode_markers(answer: WriteTxnMarkersResponse) -> Fields:
    return {
        "markers": [
            {"producer_id": producer, "topics": errors_by_name(results, "partitions")}
            for producer, results in answer.markers
        ]
    }


READERS = {
    Api.INIT_PRODUCER_ID: _init_producer_id,
    Api.ADD_PARTITIONS_TO_TXN: _add_partitions,
    Api.ADD_OFFSETS_TO_TXN: _add_offsets,
    Api.END_TXN: _end,
    Api.TXN_OFFSET_COMMIT: _commit_offsets,
    Api.WRITE_TXN_MARKERS: _write_markers,
}
"""API → the function that makes an exchange from a request's fields."""
