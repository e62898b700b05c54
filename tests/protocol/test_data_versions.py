"""What each version carries of messages that move records, end transactions, administer: against kio's schemas."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import pytest

from groupsim.protocol import admin_messages, data_messages, messages, txn_messages
from groupsim.protocol.admin_messages import ConfigEntry, CreatedTopic, CreateTopicsResponse
from groupsim.protocol.batch import Batch
from groupsim.protocol.data_messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIs,
    PartitionData,
    Produced,
    ProduceRequest,
    ProduceResponse,
)
from groupsim.protocol.messages import TopicPartition
from groupsim.protocol.txn_messages import OffsetInTxn, TxnOffsetCommitRequest
from groupsim.protocol.versions import CARRIED, normalise_request, normalise_response

T0 = TopicPartition("t", 0)

# Our class → schema file and class, and the fields that come and go: ours → theirs.
SCHEMA: dict[str, tuple[str, str, dict[str, str]]] = {
    "PartitionInfo": (
        "metadata.response",
        "MetadataResponsePartition",
        {"offline": "offline_replicas", "leader_epoch": "leader_epoch"},
    ),
    "FindCoordinatorRequest": ("find_coordinator.request", "FindCoordinatorRequest", {"key_type": "key_type"}),
    "Produced": (
        "produce.response",
        "PartitionProduceResponse",
        {
            "log_append_time_ms": "log_append_time",
            "log_start_offset": "log_start_offset",
            "message": "error_message",
            "current_leader": "current_leader",
        },
    ),
    "FetchRequest": (
        "fetch.request",
        "FetchRequest",
        {
            "max_bytes": "max_bytes",
            "isolation_level": "isolation_level",
            "rack_id": "rack_id",
            "replica_epoch": "replica_state",
        },
    ),
    "FetchPartition": (
        "fetch.request",
        "FetchPartition",
        {
            "log_start_offset": "log_start_offset",
            "current_leader_epoch": "current_leader_epoch",
            "last_fetched_epoch": "last_fetched_epoch",
        },
    ),
    "FetchResponse": ("fetch.response", "FetchResponse", {"error": "error_code"}),
    "PartitionData": (
        "fetch.response",
        "PartitionData",
        {
            "last_stable_offset": "last_stable_offset",
            "aborted": "aborted_transactions",
            "log_start_offset": "log_start_offset",
            "preferred_read_replica": "preferred_read_replica",
            "diverging": "diverging_epoch",
            "current_leader": "current_leader",
        },
    ),
    "ListOffsetsRequest": ("list_offsets.request", "ListOffsetsRequest", {"isolation_level": "isolation_level"}),
    "OffsetAsked": (
        "list_offsets.request",
        "ListOffsetsPartition",
        {"current_leader_epoch": "current_leader_epoch"},
    ),
    "OffsetListed": ("list_offsets.response", "ListOffsetsPartitionResponse", {"leader_epoch": "leader_epoch"}),
    "OffsetForLeaderEpochRequest": (
        "offset_for_leader_epoch.request",
        "OffsetForLeaderEpochRequest",
        {"replica_id": "replica_id"},
    ),
    "EpochAsked": (
        "offset_for_leader_epoch.request",
        "OffsetForLeaderPartition",
        {"current_leader_epoch": "current_leader_epoch"},
    ),
    "EpochEndOffset": ("offset_for_leader_epoch.response", "EpochEndOffset", {"leader_epoch": "leader_epoch"}),
    "InitProducerIdRequest": (
        "init_producer_id.request",
        "InitProducerIdRequest",
        {"producer_id": "producer_id", "producer_epoch": "producer_epoch"},
    ),
    "OffsetInTxn": (
        "txn_offset_commit.request",
        "TxnOffsetCommitRequestPartition",
        {"leader_epoch": "committed_leader_epoch"},
    ),
    "TxnOffsetCommitRequest": (
        "txn_offset_commit.request",
        "TxnOffsetCommitRequest",
        {"generation_id": "generation_id", "member_id": "member_id", "group_instance_id": "group_instance_id"},
    ),
    "EndTxnResponse": (
        "end_txn.response",
        "EndTxnResponse",
        {"producer_id": "producer_id", "producer_epoch": "producer_epoch"},
    ),
    "CreateTopicsRequest": ("create_topics.request", "CreateTopicsRequest", {"validate_only": "validate_only"}),
    "CreatedTopic": (
        "create_topics.response",
        "CreatableTopicResult",
        {
            "message": "error_message",
            "topic_id": "topic_id",
            "partitions": "num_partitions",
            "replication": "replication_factor",
            "config": "configs",
            "config_error": "topic_config_error_code",
        },
    ),
    "DeletedTopic": (
        "delete_topics.response",
        "DeletableTopicResult",
        {"message": "error_message", "topic_id": "topic_id"},
    ),
    "DescribeConfigsRequest": (
        "describe_configs.request",
        "DescribeConfigsRequest",
        {"synonyms": "include_synonyms", "documentation": "include_documentation"},
    ),
    "ConfigEntry": (
        "describe_configs.response",
        "DescribeConfigsResourceResult",
        {
            "source": "config_source",
            "synonyms": "synonyms",
            "type": "config_type",
            "documentation": "documentation",
        },
    ),
    "DescribeClusterRequest": (
        "describe_cluster.request",
        "DescribeClusterRequest",
        {"include_fenced": "include_fenced_brokers"},
    ),
}
_HOMES = (messages, data_messages, txn_messages, admin_messages)


def ours(name: str) -> type:
    """Our class of that name."""
    return next(getattr(home, name) for home in _HOMES if hasattr(home, name))


def theirs(name: str, version: int) -> set[str] | None:
    """The schema's fields in a version; None for a version that the schema has no longer."""
    file, class_name, _ = SCHEMA[name]
    api, kind = file.split(".")
    try:
        module: Any = importlib.import_module(f"kio.schema.{api}.v{version}.{kind}")
    except ModuleNotFoundError:
        return None
    return {field.name for field in dataclasses.fields(getattr(module, class_name))}


CASES = [(name, version) for name in SCHEMA for version in range(20) if theirs(name, version) is not None]


@pytest.mark.parametrize(("name", "version"), CASES)
def test_fields_come_in_the_version_the_schema_says(name: str, version: int) -> None:
    """A listed field is carried by just those versions whose schema has it."""
    there = theirs(name, version)
    assert there is not None
    table = CARRIED[ours(name)]
    for field, their_name in SCHEMA[name][2].items():
        assert table[field].by(version) == (their_name in there), field


def test_every_listed_field_of_these_messages_is_compared() -> None:
    """No row of the table escapes the comparison, except racks, which Metadata keeps with the brokers."""
    listed = {table.__name__ for table in CARRIED if table.__module__ != messages.__name__}
    assert listed | {"PartitionInfo", "FindCoordinatorRequest"} == set(SCHEMA)
    for name, (_, _, fields) in SCHEMA.items():
        assert set(CARRIED[ours(name)]) - {"racks"} == set(fields), name


def test_what_an_old_fetch_cannot_say_is_not_seen() -> None:
    """A follower of old names neither its epoch nor the leader's; the leader sees -1, in every partition."""
    asked = FetchPartition(T0, 5, 100, current_leader_epoch=3, last_fetched_epoch=2, log_start_offset=1)
    request = FetchRequest(500, 1, (asked,), isolation_level=1, rack_id="a", version=11)
    seen = normalise_request(request)
    assert seen == FetchRequest(
        500, 1, (FetchPartition(T0, 5, 100, 3, -1, 1),), isolation_level=1, rack_id="a", version=11
    )
    assert normalise_request(FetchRequest(500, 1, (asked,), isolation_level=1, version=3)) == FetchRequest(
        500, 1, (FetchPartition(T0, 5, 100),), version=3
    )


def test_an_old_answer_names_no_new_leader() -> None:
    """Who leads now came into the answers with KIP-951 (Produce) and with Fetch 12."""
    leader = LeaderIs(2, 7)
    produced = ProduceResponse((Produced(T0, current_leader=leader, log_start_offset=4),))
    assert normalise_response(produced, 9) == ProduceResponse((Produced(T0, log_start_offset=4),))
    fetched = FetchResponse(partitions=(PartitionData(T0, current_leader=leader, preferred_read_replica=1),))
    assert normalise_response(fetched, 11) == FetchResponse(partitions=(PartitionData(T0, preferred_read_replica=1),))


def test_an_old_transactional_commit_is_not_fenced_by_generation() -> None:
    """Before KIP-447 (version 3) a TxnOffsetCommit says nothing of the group's membership."""
    offset = OffsetInTxn(T0, 9, leader_epoch=1)
    request = TxnOffsetCommitRequest("x", "g", 1, 0, (offset,), 4, "m", "i", version=2)
    assert normalise_request(request) == TxnOffsetCommitRequest("x", "g", 1, 0, (offset,), version=2)


def test_an_old_answer_tells_little_of_a_new_topic() -> None:
    """Before CreateTopics 5 an administrator learns neither counts nor settings, before 7 no id."""
    entry = ConfigEntry("retention.ms", "1", synonyms=(("log.retention.ms", "1", 5),))
    made = CreateTopicsResponse((CreatedTopic("t", topic_id="A" * 22, partitions=3, replication=1, config=(entry,)),))
    assert normalise_response(made, 4) == CreateTopicsResponse((CreatedTopic("t"),))
    assert normalise_response(made, 6) == CreateTopicsResponse(
        (CreatedTopic("t", partitions=3, replication=1, config=(entry,)),)
    )
    assert normalise_response(made, 7) is made


@pytest.mark.parametrize("version", [17, 18])
def test_the_newest_messages_pass_untouched(version: int) -> None:
    """Nothing is copied of a Fetch or Produce in its newest version, whatever it holds."""
    fetch = FetchRequest(500, 1, (FetchPartition(T0, 5),) * 3, version=version)
    produce = ProduceRequest(1, 1_000, ((T0, Batch(0, 1, 70, 0, 0)),), version=version - 5)
    assert normalise_request(fetch) is fetch
    assert normalise_request(produce) is produce
    response = FetchResponse(partitions=(PartitionData(T0, diverging=None),))
    assert normalise_response(response, version) is response
