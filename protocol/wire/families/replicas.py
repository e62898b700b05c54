"""Present and planned leaders and replicas: elections, reassignments, topics in pages.

Sources: `ElectLeadersRequest.json`, `AlterPartitionReassignmentsRequest.json`,
`ListPartitionReassignmentsRequest.json`, `DescribeTopicPartitionsRequest.json`; KIP-183, KIP-460, KIP-455, KIP-860,
KIP-966.
"""

from __future__ import annotations

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.messages.operator import (
    PREFERRED_ELECTION,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    DescribedPartition,
    DescribedTopic,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from groupsim.protocol.wire.by_topic import Topic, grouped
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import one


def _partitions(topics: list[Fields] | None, name: str, numbers: str) -> tuple[TopicPartition, ...] | None:
    """Return the partitions of a request that lists numbers under names; None for all."""
    if topics is None:
        return None
    return tuple([TopicPartition(topic[name], number) for topic in topics for number in topic[numbers]])


# --- ElectLeaders --------------------------------------------------------------------------------------------------


def _elect(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = ElectLeadersRequest(
        _partitions(fields["topic_partitions"], "topic", "partitions"),
        fields.get("election_type", PREFERRED_ELECTION),
        fields["timeout"],
        header.version,
    )
    return one(header, request, _encode_elected)


def _encode_elected(answer: ElectLeadersResponse) -> Fields:
    results = [
        {
            "topic": topic,
            "partition_result": [
                {"partition_id": number, "error_code": error, "error_message": message}
                for number, error, message in partitions
            ],
        }
        for topic, partitions in answer.topics
    ]
    return {"throttle_time": 0, "error_code": answer.error, "replica_election_results": results}


# --- reassignments -------------------------------------------------------------------------------------------------


def _reassign(fields: Fields, header: Header, directory: Directory) -> Exchange:
    targets = [
        (TopicPartition(topic["name"], part["partition_index"]), part["replicas"])
        for topic in fields["topics"]
        for part in topic["partitions"]
    ]
    request = AlterPartitionReassignmentsRequest(
        tuple([(partition, None if replicas is None else tuple(replicas)) for partition, replicas in targets]),
        fields["timeout"],
        fields.get("allow_replication_factor_change", True),
        header.version,
    )
    return one(header, request, _encode_reassigned)


def _encode_reassigned(answer: AlterPartitionReassignmentsResponse) -> Fields:
    pairs = (
        (
            Topic(partition.topic),
            {"partition_index": partition.partition, "error_code": error, "error_message": message},
        )
        for partition, error, message in answer.results
    )
    return {
        "throttle_time": 0,
        "allow_replication_factor_change": answer.other_factor,
        "error_code": answer.error,
        "error_message": answer.message,
        "responses": grouped(pairs, "name", "partitions"),
    }


def _list(fields: Fields, header: Header, directory: Directory) -> Exchange:
    partitions = _partitions(fields["topics"], "name", "partition_indexes")
    return one(header, ListPartitionReassignmentsRequest(partitions, fields["timeout"], header.version), _encode_moves)


def _encode_moves(answer: ListPartitionReassignmentsResponse) -> Fields:
    pairs = (
        (
            Topic(move.partition.topic),
            {
                "partition_index": move.partition.partition,
                "replicas": move.replicas,
                "adding_replicas": move.adding,
                "removing_replicas": move.removing,
            },
        )
        for move in answer.moves
    )
    return {
        "throttle_time": 0,
        "error_code": answer.error,
        "error_message": answer.message,
        "topics": grouped(pairs, "name", "partitions"),
    }


# --- DescribeTopicPartitions ---------------------------------------------------------------------------------------


def _describe(fields: Fields, header: Header, directory: Directory) -> Exchange:
    cursor = fields["cursor"]
    request = DescribeTopicPartitionsRequest(
        tuple([topic["name"] for topic in fields["topics"]]),
        fields["response_partition_limit"],
        None if cursor is None else (cursor["topic_name"], cursor["partition_index"]),
        header.version,
    )

    def encode(answer: DescribeTopicPartitionsResponse) -> Fields:
        after = None if answer.next is None else {"topic_name": answer.next[0], "partition_index": answer.next[1]}
        topics = [_topic(topic, directory) for topic in answer.topics]
        return {"throttle_time": 0, "topics": topics, "next_cursor": after}

    return one(header, request, encode)


def _topic(topic: DescribedTopic, directory: Directory) -> Fields:
    return {
        "error_code": topic.error,
        "name": topic.name,
        "topic_id": None if topic.error else directory.topic_id(topic.name),
        "is_internal": topic.internal,
        "partitions": [_partition(one) for one in topic.partitions],
        "topic_authorized_operations": topic.operations,
    }


def _partition(one: DescribedPartition) -> Fields:
    return {
        "error_code": 0,
        "partition_index": one.number,
        "leader_id": one.leader,
        "leader_epoch": one.leader_epoch,
        "replica_nodes": one.replicas,
        "isr_nodes": one.isr,
        "eligible_leader_replicas": one.elr,
        "last_known_elr": one.last_known_elr,
        "offline_replicas": one.offline,
    }


READERS = {
    Api.ELECT_LEADERS: _elect,
    Api.ALTER_PARTITION_REASSIGNMENTS: _reassign,
    Api.LIST_PARTITION_REASSIGNMENTS: _list,
    Api.DESCRIBE_TOPIC_PARTITIONS: _describe,
}
"""API → the function that makes an exchange from a request's fields."""
