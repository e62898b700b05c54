"""Committed offsets: OffsetCommit, OffsetFetch, OffsetDelete.

From version 10 on commits and fetches have topic ids; an unknown id is answered UNKNOWN_TOPIC_ID here. From version 8
on OffsetFetch names several groups, each of which is a request of its own, with its error at the group. Below version 2
only the partitions have a field for an error.

Sources: `OffsetCommitRequest.json`, `OffsetFetchRequest.json`, `OffsetDeleteRequest.json`, the `getErrorResponse` of
each; KIP-211, KIP-320, KIP-709, KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from groupsim.protocol.basics import NO_EPOCH, Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    FetchedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.values import frozen
from groupsim.protocol.wire.by_topic import Topic, grouped, in_request_order, requested_topic
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, one

_GROUP_ERROR = 2  # from this version of OffsetFetch on an error of the whole group has a field
_SEVERAL_GROUPS = 8
_TOPIC_IDS = 10

# --- OffsetCommit ------------------------------------------------------------------------------------------------


def _commit(fields: Fields, header: Header, directory: Directory) -> Exchange:
    topics = [(requested_topic(topic, directory, "name"), topic["partitions"]) for topic in fields["topics"]]
    known = [_to_commit(topic.name, item) for topic, items in topics for item in items if topic.name is not None]
    unknown = any(items for topic, items in topics if topic.name is None)
    request = OffsetCommitRequest(
        group_id=fields["group_id"],
        offsets=tuple(known),
        generation_id=fields["generation_id_or_member_epoch"],
        member_id=fields["member_id"],
        group_instance_id=fields.get("group_instance_id"),
        retention_time_ms=fields.get("retention_time", -1),
        version=header.version,
    )
    asked = [(topic, [item["partition_index"] for item in items]) for topic, items in topics]

    def encode(answers: Sequence[OffsetCommitResponse], error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID) -> Fields:
        results = (result for answer in answers for _, result in answer.partitions)
        errors = (error if topic.name is None else next(results) for topic, numbers in asked for _ in numbers)
        return {"throttle_time": 0, "topics": in_request_order(asked, errors, directory)}

    return Translation(
        header,
        () if unknown and not known else (request,),
        encode,
        refused=lambda error: encode([refusal(request, error)], error),
    )


def _to_commit(topic: str, item: Fields) -> OffsetToCommit:
    return OffsetToCommit(
        partition=TopicPartition(topic, item["partition_index"]),
        offset=item["committed_offset"],
        leader_epoch=item.get("committed_leader_epoch", NO_EPOCH),
        metadata=item["committed_metadata"] or "",
    )


# --- OffsetFetch -------------------------------------------------------------------------------------------------


@frozen
class _FetchedGroup:
    """One group of an OffsetFetch: topics with the numbers of their partitions, None for all offsets; its sender."""

    group_id: str
    topics: tuple[tuple[Topic, tuple[int, ...]], ...] | None
    member_id: str | None
    member_epoch: int

    def request(self, require_stable: bool, version: int) -> OffsetFetchRequest:
        """Return the request that reads the offsets of this group."""
        return OffsetFetchRequest(
            self.group_id, self._partitions(), require_stable, version, self.member_id, self.member_epoch
        )

    def _partitions(self) -> tuple[TopicPartition, ...] | None:
        if self.topics is None:
            return None
        named = ((topic.name, number) for topic, numbers in self.topics for number in numbers)
        return tuple(TopicPartition(name, number) for name, number in named if name is not None)


def _fetch(fields: Fields, header: Header, directory: Directory) -> Exchange:
    groups = fields["groups"] if header.version >= _SEVERAL_GROUPS else [fields]
    asked = [_asked(group, directory) for group in groups]
    # versions before 7 have no field for offsets of open transactions
    stable = fields.get("require_stable", False)
    requests = tuple(group.request(stable, header.version) for group in asked)

    def encode(answers: Sequence[OffsetFetchResponse]) -> Fields:
        groups = [_encode_group(*pair, directory, header.version) for pair in zip(asked, answers, strict=True)]
        top = {"groups": groups} if header.version >= _SEVERAL_GROUPS else groups[0]
        return {"throttle_time": 0, **top}

    return Translation(header, requests, encode)


def _asked(group: Fields, directory: Directory) -> _FetchedGroup:
    topics = group["topics"]
    named = topics and [
        (requested_topic(topic, directory, "name"), tuple(topic["partition_indexes"])) for topic in topics
    ]
    return _FetchedGroup(
        group["group_id"],
        None if named is None else tuple(named),
        group.get("member_id"),
        group.get("member_epoch", NO_EPOCH),
    )


def _encode_group(asked: _FetchedGroup, answer: OffsetFetchResponse, directory: Directory, version: int) -> Fields:
    topics = [] if answer.error and version >= _GROUP_ERROR else _requested_topics(asked, answer, directory, version)
    return {"group_id": asked.group_id, "topics": topics, "error_code": answer.error}


def _requested_topics(
    asked: _FetchedGroup, answer: OffsetFetchResponse, directory: Directory, version: int
) -> list[Fields]:
    if asked.topics is None:
        return _all_topics(answer, directory, version)
    found = iter(answer.offsets)
    return [
        {**topic.fields("name"), "partitions": [_offset(_found(topic, number, found)) for number in numbers]}
        for topic, numbers in asked.topics  # topic by topic, in the order of the request
    ]


def _found(topic: Topic, number: int, found: Iterator[FetchedOffset]) -> FetchedOffset:
    if topic.name is None:
        return FetchedOffset(TopicPartition("", number), error=ErrorCode.UNKNOWN_TOPIC_ID)
    return next(found)


def _all_topics(answer: OffsetFetchResponse, directory: Directory, version: int) -> list[Fields]:
    topics = {fetched.partition.topic: Topic(fetched.partition.topic) for fetched in answer.offsets}
    if version >= _TOPIC_IDS:  # a deleted topic has no id
        topics = {name: Topic(name, found) for name in topics if (found := directory.topic_id(name))}
    pairs = [(topics[one.partition.topic], _offset(one)) for one in answer.offsets if one.partition.topic in topics]
    return grouped(pairs, "name", "partitions")


def _offset(fetched: FetchedOffset) -> Fields:
    return {
        "partition_index": fetched.partition.partition,
        "committed_offset": fetched.offset,
        "committed_leader_epoch": fetched.leader_epoch,
        "metadata": fetched.metadata,
        "error_code": fetched.error,
    }


# --- OffsetDelete ------------------------------------------------------------------------------------------------


def _delete(fields: Fields, header: Header, directory: Directory) -> Exchange:
    asked = [
        (Topic(topic["name"]), [part["partition_index"] for part in topic["partitions"]]) for topic in fields["topics"]
    ]
    partitions = [
        TopicPartition(topic["name"], part["partition_index"])
        for topic in fields["topics"]
        for part in topic["partitions"]
    ]
    request = OffsetDeleteRequest(fields["group_id"], tuple(partitions), header.version)

    def encode(answer: OffsetDeleteResponse) -> Fields:
        errors = (error for _, error in answer.partitions)
        topics = [] if answer.error else in_request_order(asked, errors, directory)
        return {"error_code": answer.error, "throttle_time": 0, "topics": topics}

    return one(header, request, encode)


READERS: Mapping[Api, Callable[[Fields, Header, Directory], Exchange]] = {
    Api.OFFSET_COMMIT: _commit,
    Api.OFFSET_FETCH: _fetch,
    Api.OFFSET_DELETE: _delete,
}
"""API → the function that makes an exchange from a request's fields."""
