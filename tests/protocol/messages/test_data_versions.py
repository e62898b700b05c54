"""What each version carries of messages that move records, end transactions, administer: against kio's schemas."""

from __future__ import annotations

import pytest

from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.messages import admin, consumer_group, data, group, transactions
from groupsim.protocol.messages.admin import ConfigEntry, CreatedTopic, CreateTopicsResponse
from groupsim.protocol.messages.data import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIs,
    PartitionData,
    Produced,
    ProduceRequest,
    ProduceResponse,
)
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.messages.transactions import OffsetInTxn, TxnOffsetCommitRequest
from groupsim.protocol.messages.versions import CARRIED, normalise_request, normalise_response
from tests.helpers.kafka_schema import Place, at

T0 = TopicPartition("t", 0)

# Our class → its place in the schemas, with those fields that are named otherwise there.
SCHEMA: dict[str, Place] = {
    "PartitionInfo": at("metadata.response", "MetadataResponsePartition", offline="offline_replicas"),
    "FindCoordinatorRequest": at("find_coordinator.request", "FindCoordinatorRequest"),
    "Produced": at(
        "produce.response", "PartitionProduceResponse", log_append_time_ms="log_append_time", message="error_message"
    ),
    "FetchRequest": at("fetch.request", "FetchRequest", replica_epoch="replica_state"),
    "FetchPartition": at("fetch.request", "FetchPartition"),
    "FetchResponse": at("fetch.response", "FetchResponse", error="error_code"),
    "PartitionData": at("fetch.response", "PartitionData", aborted="aborted_transactions", diverging="diverging_epoch"),
    "ListOffsetsRequest": at("list_offsets.request", "ListOffsetsRequest"),
    "OffsetAsked": at("list_offsets.request", "ListOffsetsPartition"),
    "OffsetListed": at("list_offsets.response", "ListOffsetsPartitionResponse"),
    "OffsetForLeaderEpochRequest": at("offset_for_leader_epoch.request", "OffsetForLeaderEpochRequest"),
    "EpochAsked": at("offset_for_leader_epoch.request", "OffsetForLeaderPartition"),
    "EpochEndOffset": at("offset_for_leader_epoch.response", "EpochEndOffset"),
    "InitProducerIdRequest": at("init_producer_id.request", "InitProducerIdRequest"),
    "OffsetInTxn": at(
        "txn_offset_commit.request", "TxnOffsetCommitRequestPartition", leader_epoch="committed_leader_epoch"
    ),
    "TxnOffsetCommitRequest": at("txn_offset_commit.request", "TxnOffsetCommitRequest"),
    "EndTxnResponse": at("end_txn.response", "EndTxnResponse"),
    "ConsumerGroupHeartbeatRequest": at("consumer_group_heartbeat.request", "ConsumerGroupHeartbeatRequest"),
    "DescribedConsumer": at("consumer_group_describe.response", "Member"),
    "CreateTopicsRequest": at("create_topics.request", "CreateTopicsRequest"),
    "CreatedTopic": at(
        "create_topics.response",
        "CreatableTopicResult",
        message="error_message",
        partitions="num_partitions",
        replication="replication_factor",
        config="configs",
        config_error="topic_config_error_code",
    ),
    "DeletedTopic": at("delete_topics.response", "DeletableTopicResult", message="error_message"),
    "DescribeConfigsRequest": at(
        "describe_configs.request",
        "DescribeConfigsRequest",
        synonyms="include_synonyms",
        documentation="include_documentation",
    ),
    "ConfigEntry": at(
        "describe_configs.response", "DescribeConfigsResourceResult", source="config_source", type="config_type"
    ),
    "DescribeClusterRequest": at(
        "describe_cluster.request", "DescribeClusterRequest", include_fenced="include_fenced_brokers"
    ),
}
_HOMES = (group, consumer_group, data, transactions, admin)


def ours(name: str) -> type:
    """Our class of that name."""
    return next(getattr(home, name) for home in _HOMES if hasattr(home, name))


CASES = [(name, n) for name, place in SCHEMA.items() for n in range(20) if place.fields(n) is not None]


@pytest.mark.parametrize(("name", "version"), CASES)
def test_fields_come_in_the_version_the_schema_says(name: str, version: int) -> None:
    """A listed field is carried by just those versions whose schema has it."""
    place = SCHEMA[name]
    there = place.fields(version)
    assert there is not None
    for field, versions in CARRIED[ours(name)].items():
        if field != "racks":  # Metadata keeps them with the brokers
            assert versions.by(version) == (place.theirs(field) in there), field


def test_every_class_of_these_messages_is_compared() -> None:
    """No class of the table escapes the comparison; a field that is said to be named otherwise has a row there."""
    listed = {table.__name__ for table in CARRIED if table.__module__ != group.__name__}
    assert listed | {"PartitionInfo", "FindCoordinatorRequest"} == set(SCHEMA)
    for name, place in SCHEMA.items():
        assert set(place.renamed) <= set(CARRIED[ours(name)]), name


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
