"""OffsetForLeaderEpoch: the end offsets of leaders' epochs, for consumers that check for lost records.

Sources: `KafkaApis.handleOffsetForLeaderEpochRequest`, `OffsetForLeaderEpochRequest.json`; KIP-320.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.messages.data import (
    NO_LEADER_EPOCH,
    EpochAsked,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from groupsim.protocol.wire.by_topic import Topic, grouped
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, parts

_DEBUGGING = -2  # the sender in a version without replica ids


def _epoch_ends(fields: Fields, header: Header, directory: Directory) -> Exchange:
    asked = [
        EpochAsked(
            TopicPartition(topic["topic"], part["partition"]),
            part["leader_epoch"],
            part.get("current_leader_epoch", NO_LEADER_EPOCH),
        )
        for topic in fields["topics"]
        for part in topic["partitions"]
    ]
    replica = fields.get("replica_id", _DEBUGGING)
    requests = [OffsetForLeaderEpochRequest(tuple(part), replica, header.version) for part in parts(asked)]
    return Translation(header, tuple(requests), _response)


def _response(answers: Sequence[OffsetForLeaderEpochResponse]) -> Fields:
    pairs = (
        (
            Topic(end.partition.topic),
            {
                "error_code": end.error,
                "partition": end.partition.partition,
                "leader_epoch": end.leader_epoch,
                "end_offset": end.end_offset,
            },
        )
        for answer in answers
        for end in answer.partitions
    )
    return {"throttle_time": 0, "topics": grouped(pairs, "topic", "partitions")}


READERS = {Api.OFFSET_FOR_LEADER_EPOCH: _epoch_ends}
"""API → the function that makes an exchange from a request's fields."""
