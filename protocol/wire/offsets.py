"""Committed offsets: OffsetCommit, OffsetFetch, OffsetDelete.

From version 10 on commits and fetches name topics by id; what an unknown id asks for is answered UNKNOWN_TOPIC_ID
here. From version 8 on OffsetFetch asks for several groups, each of which is a request of its own, and whose errors
stand with the group. Below version 2 it has no place for an error but the partitions.

Sources: `OffsetCommitRequest.json`, `OffsetFetchRequest.json`, `OffsetDeleteRequest.json`, the `getErrorResponse` of
each; KIP-211, KIP-320, KIP-709, KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import frozen

from groupsim.protocol.basics import NO_EPOCH, Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    FetchedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from groupsim.protocol.refusals import refusal
from groupsim.protocol.wire.by_topic import Topic, asked_topic, errors_by_name, grouped
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, one

_GROUP_ERROR = 2  # from this version of OffsetFetch on an error of the whole group has a field
_SEVERAL_GROUPS = 8
_TOPIC_IDS = 10

# --- OffsetCommit ------------------------------------------------------------------------------------------------


def _commit(fields: Fields, header: Header, directory: Directory) -> Exchange:
    topics = [(asked_topic(topic, directory, "name"), topic["partitions"]) for topic in fields["topics"]]
    known = [_to_commit(topic.name, item) for topic, items in topics for item in items if topic.name is not None]
    unknown = [(topic, item) for topic, items in topics for item in items if topic.name is None]
    request = OffsetCommitRequest(
        group_id=fields["group_id"],
        offsets=tuple(known),
        generation_id=fields["generation_id_or_member_epoch"],
        member_id=fields["member_id"],
        group_instance_id=fields.get("group_instance_id"),
        retention_time_ms=fields.get("retention_time", -1),
        version=header.version,
    )
    named = {topic.name: topic for topic, _ in topics}

    def tell(answers: Sequence[OffsetCommitResponse], error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID) -> Fields:
        told = [(topic, _result(item["partition_index"], error)) for topic, item in unknown]
        results = (result for answer in answers for result in answer.partitions)
        told += [(named[partition.topic], _result(partition.partition, error)) for partition, error in results]
        return {"throttle_time": 0, "topics": grouped(told, "name", "partitions")}

    return Translation(
        header,
        () if unknown and not known else (request,),
        tell,
        refused=lambda error: tell([refusal(request, error)], error),
    )


def _to_commit(topic: str, item: Fields) -> OffsetToCommit:
    return OffsetToCommit(
        partition=TopicPartition(topic, item["partition_index"]),
        offset=item["committed_offset"],
        leader_epoch=item.get("committed_leader_epoch", NO_EPOCH),
        metadata=item["committed_metadata"] or "",
    )


def _result(number: int, error: ErrorCode) -> Fields:
    return {"partition_index": number, "error_code": error}


# --- OffsetFetch -------------------------------------------------------------------------------------------------


@frozen
class _Asked:
    """One group of an OffsetFetch: topics with the numbers of their partitions, None when all offsets are asked for."""

    group_id: str
    topics: tuple[tuple[Topic, tuple[int, ...]], ...] | None

    def request(self, require_stable: bool, version: int) -> OffsetFetchRequest:
        """The request that reads the offsets of this group."""
        return OffsetFetchRequest(self.group_id, self._partitions(), require_stable, version)

    def unknown(self) -> Iterator[tuple[Topic, int]]:
        """The partitions of topics whose id is nobody's."""
        return ((topic, number) for topic, numbers in self.topics or () if topic.name is None for number in numbers)

    def named(self, name: str, directory: Directory) -> Topic:
        """A topic as this group's part of the request names it; by both names when all offsets were asked for."""
        asked = (topic for topic, _ in self.topics or () if topic.name == name)
        return next(asked, None) or Topic(name, directory.topic_id(name))

    def _partitions(self) -> tuple[TopicPartition, ...] | None:
        if self.topics is None:
            return None
        named = ((topic.name, number) for topic, numbers in self.topics for number in numbers)
        return tuple(TopicPartition(name, number) for name, number in named if name is not None)


def _fetch(fields: Fields, header: Header, directory: Directory) -> Exchange:
    groups = fields["groups"] if header.version >= _SEVERAL_GROUPS else [fields]
    asked = [_asked(group, directory) for group in groups]
    # before version 7 nobody could say whether offsets of open transactions matter
    stable = fields.get("require_stable", False)
    requests = tuple(group.request(stable, header.version) for group in asked)

    def tell(answers: Sequence[OffsetFetchResponse]) -> Fields:
        told = [_tell_group(*pair, directory, header.version) for pair in zip(asked, answers, strict=True)]
        top = {"groups": told} if header.version >= _SEVERAL_GROUPS else told[0]
        return {"throttle_time": 0, **top}

    return Translation(header, requests, tell)


def _asked(group: Fields, directory: Directory) -> _Asked:
    topics = group["topics"]
    if topics is None:
        return _Asked(group["group_id"], None)
    named = ((asked_topic(topic, directory, "name"), tuple(topic["partition_indexes"])) for topic in topics)
    return _Asked(group["group_id"], tuple(named))


def _tell_group(asked: _Asked, answer: OffsetFetchResponse, directory: Directory, version: int) -> Fields:
    topics = [] if answer.error and version >= _GROUP_ERROR else _told_topics(asked, answer, directory, version)
    return {"group_id": asked.group_id, "topics": topics, "error_code": answer.error}


def _told_topics(asked: _Asked, answer: OffsetFetchResponse, directory: Directory, version: int) -> list[Fields]:
    error = ErrorCode.UNKNOWN_TOPIC_ID
    told = [(topic, _offset(FetchedOffset(TopicPartition("", n), error=error))) for topic, n in asked.unknown()]
    topics = {fetched.partition.topic: Topic(fetched.partition.topic) for fetched in answer.offsets}
    if version >= _TOPIC_IDS:
        topics = {name: asked.named(name, directory) for name in topics}
    for fetched in answer.offsets:
        topic = topics[fetched.partition.topic]
        if topic.topic_id or version < _TOPIC_IDS:  # a topic that is gone has no id to be told under
            told.append((topic, _offset(fetched)))
    empty = [topic for topic, numbers in asked.topics or () if not numbers]  # asked for, with no partition
    return [*grouped(told, "name", "partitions"), *({**topic.fields("name"), "partitions": ()} for topic in empty)]


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
    topics = fields["topics"]
    partitions = [
        TopicPartition(topic["name"], part["partition_index"]) for topic in topics for part in topic["partitions"]
    ]
    request = OffsetDeleteRequest(fields["group_id"], tuple(partitions), header.version)
    return one(header, request, _tell_delete)


def _tell_delete(answer: OffsetDeleteResponse) -> Fields:
    return {"error_code": answer.error, "throttle_time": 0, "topics": errors_by_name(answer.partitions, "partitions")}


READERS: Mapping[Api, Callable[[Fields, Header, Directory], Exchange]] = {
    Api.OFFSET_COMMIT: _commit,
    Api.OFFSET_FETCH: _fetch,
    Api.OFFSET_DELETE: _delete,
}
"""API → what makes an exchange of a request's fields."""
