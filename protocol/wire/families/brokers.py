"""Metadata and FindCoordinator, whose answers need the directory for addresses and ids.

In Metadata 0 an empty list means all topics, in newer versions null, so that empty can mean none; up to version 3 it
always lets the broker create missing topics. From version 12 on topics may be given by id; if one is, names do not
count. FindCoordinator names several keys from version 4 on, each of which is a request of its own.

Sources: `MetadataRequest`, `KafkaApis.handleTopicMetadataRequest`; `FindCoordinatorRequest`,
`KafkaApis.handleFindCoordinatorRequest`; KIP-516, KIP-699.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionInfo,
    Response,
    TopicInfo,
)
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header, encode_response
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, operations_of, parts

_EMPTY_IS_NONE = 1  # from this version of Metadata on
_BY_ID = 12
_SEVERAL_KEYS = 4
_IN_WORDS = (2, 3)  # from this release on FindCoordinator has a message
_COORDINATES = (0, 1)  # groups and transactions
_SHARE = 2
_WORDS = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
}

# --- Metadata ----------------------------------------------------------------------------------------------------


class _Metadata:
    """One Metadata request: its `topics`, None for all."""

    answered = True

    def __init__(self, fields: Fields, header: Header, directory: Directory) -> None:
        topics: list[Fields] | None = fields["topics"]
        self._header = header
        self._directory = directory
        self._topics = topics if topics or header.version >= _EMPTY_IS_NONE else None
        self._ids = {topic["topic_id"] for topic in topics or () if topic.get("topic_id")}
        self._unknown: list[str] = []
        self._valid = header.version >= _BY_ID or not any(t.get("topic_id") or t["name"] is None for t in topics or ())
        names = self._names()
        self._valid = self._valid and None not in (names or ())
        known = None if names is None else [name for name in names if name is not None]
        self.requests = tuple(
            MetadataRequest(
                topics=piece,
                auto_create=fields.get("allow_auto_topic_creation", True),
                include_topic_operations=fields.get("include_topic_authorized_operations", False),
                include_cluster_operations=fields.get("include_cluster_authorized_operations", False),
                version=header.version,
            )
            for piece in _pieces(known)
            if self._valid
        )

    def _names(self) -> list[str | None] | None:
        """Return the topics to request from the broker, each once."""
        if self._topics is None:
            return None
        if not self._ids:
            return list(dict.fromkeys(topic["name"] for topic in self._topics))
        ids = (topic["topic_id"] for topic in self._topics if topic.get("topic_id"))
        found = {topic_id: self._directory.topic_name(topic_id) for topic_id in ids}
        self._unknown = [topic_id for topic_id, name in found.items() if name is None]
        return [name for name in found.values() if name is not None]

    def response(self, answers: Sequence[Response]) -> bytes:
        """Return brokers and topics. As in Kafka, ids below version 12, and topics without both, are errors."""
        if not self._valid:
            by_id = self._header.version >= _BY_ID
            return self.refusal(ErrorCode.UNKNOWN_SERVER_ERROR if by_id else ErrorCode.INVALID_REQUEST)
        found = [answer for answer in answers if isinstance(answer, MetadataResponse)]
        unknown = [{"error_code": ErrorCode.UNKNOWN_TOPIC_ID, "name": None, "topic_id": i} for i in self._unknown]
        body = {
            "throttle_time": 0,
            "brokers": [self._broker(node) for node, _ in found[0].brokers],
            "cluster_id": self._directory.cluster_id,
            "controller_id": self._directory.controller,
            "topics": [{"partitions": (), **topic} for topic in unknown]
            + [self._topic(topic) for answer in found for topic in answer.topics],
            "error_code": ErrorCode.NONE,
            "cluster_authorized_operations": operations_of(found[0].operations, self._header),
        }
        return encode_response(self._header, body)

    def refusal(self, error: ErrorCode) -> bytes:
        """Return the error for every named topic, without brokers and cluster."""
        topics = [
            {"error_code": error, "name": t["name"] or "", "topic_id": t.get("topic_id"), "partitions": ()}
            for t in self._topics or ()
        ]
        body: Fields = {"throttle_time": 0, "brokers": (), "topics": topics, "error_code": error}
        return encode_response(self._header, body)

    def _broker(self, node: int) -> Fields:
        host, port = self._directory.address(node)
        return {"node_id": node, "host": host, "port": port, "rack": self._directory.rack(node)}

    def _topic(self, topic: TopicInfo) -> Fields:
        name, topic_id = self._called(topic)
        return {
            "error_code": topic.error,
            "name": name,
            "topic_id": topic_id,
            "is_internal": topic.internal,
            "partitions": [_partition(partition) for partition in topic.partitions],
            "topic_authorized_operations": operations_of(topic.operations, self._header),
        }

    def _called(self, topic: TopicInfo) -> tuple[str | None, str | None]:
        """Return name and id. An unauthorized topic has only the one of the request, and no other field."""
        topic_id = self._directory.topic_id(topic.name)
        if topic.error is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return topic.name, topic_id
        return (None, topic_id) if topic_id in self._ids else (topic.name, None)


def _pieces(names: list[str] | None) -> list[tuple[str, ...] | None]:
    """Return the names of topics in pieces; an answer has them sorted, so several pieces are sorted before."""
    if names is None:
        return [None]
    pieces = parts(names)
    return [tuple(piece) for piece in (pieces if len(pieces) == 1 else parts(sorted(names)))]


def _partition(partition: PartitionInfo) -> Fields:
    return {
        "error_code": partition.error,
        "partition_index": partition.partition,
        "leader_id": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": partition.replicas,
        "isr_nodes": partition.isr,
        "offline_replicas": partition.offline,
    }


# --- FindCoordinator ---------------------------------------------------------------------------------------------


def _find(fields: Fields, header: Header, directory: Directory) -> Exchange:
    key_type = fields.get("key_type", 0)
    several = header.version >= _SEVERAL_KEYS
    keys: list[str] = fields["coordinator_keys"] if several else [fields["key"]]
    known = key_type in _COORDINATES
    requests = tuple(FindCoordinatorRequest(key, header.version, key_type) for key in keys) if known else ()

    def answer_fields(answers: Sequence[FindCoordinatorResponse], *, in_words: bool) -> Fields:
        if several:
            return {
                "throttle_time": 0,
                "coordinators": [place(*pair, in_words) for pair in zip(keys, answers, strict=True)],
            }
        # a single key always has a message; on success it is the name of its error code
        return {"throttle_time": 0, **place(keys[0], answers[0], True)}

    def place(key: str, answer: FindCoordinatorResponse, in_words: bool) -> Fields:
        words = None if header.release < _IN_WORDS else _WORDS.get(answer.error, answer.error.name)
        return {"key": key, "error_message": words if in_words else "", **_place(answer, directory)}

    def refused(error: ErrorCode) -> Fields:
        return answer_fields([FindCoordinatorResponse(error)] * len(keys), in_words=True)

    def encode(answers: Sequence[FindCoordinatorResponse]) -> Fields:
        if known:
            return answer_fields(answers, in_words=False)
        invalid = [FindCoordinatorResponse(ErrorCode.INVALID_REQUEST)] * len(keys)
        return answer_fields(invalid, in_words=key_type != _SHARE)

    return Translation(header, requests, encode, refused=refused)


def _place(answer: FindCoordinatorResponse, directory: Directory) -> Fields:
    node = -1 if answer.error else answer.node
    host, port = ("", -1) if answer.error else directory.address(answer.node)
    return {"error_code": answer.error, "node_id": node, "host": host, "port": port}


READERS: Mapping[Api, Callable[[Fields, Header, Directory], Exchange]] = {
    Api.METADATA: _Metadata,
    Api.FIND_COORDINATOR: _find,
}
"""API → the function that makes an exchange from a request's fields."""
