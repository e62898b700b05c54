"""Settings of a replicated cluster under Kafka's names, and the model of loading."""

from __future__ import annotations

import pytest

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.loading_cost import LoadingCost


def test_every_part_gets_its_settings() -> None:
    """One mapping, as of a server.properties, reaches coordinator, controller, replicas, logs and the cluster."""
    config = ClusterConfig.from_properties(
        {
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.num.partitions": 10,
            "broker.version": "3.9",
            "broker.session.timeout.ms": "6000",
            "auto.leader.rebalance.enable": "true",
            "replica.lag.time.max.ms": 10_000,
            "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
            "log.segment.bytes": 2_000_000,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.segment.bytes": "1048576",
            "offsets.load.buffer.size": 1_000_000,
            "default.replication.factor": 3,
            "transaction.state.log.num.partitions": "20",
            "transaction.state.log.min.isr": 1,
            "transaction.max.timeout.ms": 60_000,
        },
        brokers=5,
    )
    assert config.brokers == 5
    assert (config.coordinator.initial_rebalance_delay_ms, config.offsets_partitions) == (0, 10)
    assert config.coordinator.broker_version == "3.9"
    assert config.controller.broker_session_timeout_ms == 6_000
    assert config.controller.auto_leader_rebalance_enable is True
    assert config.replica.replica_lag_time_max_ms == 10_000
    assert config.replica.replica_selector_class is not None
    assert config.replica.log.segment_bytes == 2_000_000
    assert (config.offsets_replication_factor, config.offsets_segment_bytes) == (1, 1_048_576)
    assert config.loading.buffer_bytes == 1_000_000
    assert config.default_replication_factor == 3
    transactions = config.transactions
    assert (transactions.num_partitions, transactions.min_isr, transactions.max_timeout_ms) == (20, 1, 60_000)


def test_a_setting_that_several_go_by_reaches_all_of_them() -> None:
    """min.insync.replicas is the controller's and the logs'; so is unclean.leader.election.enable."""
    config = ClusterConfig.from_properties({"min.insync.replicas": 2, "unclean.leader.election.enable": "true"})
    assert config.controller.min_insync_replicas == 2
    assert config.replica.log.min_insync_replicas == 2
    assert config.controller.unclean_leader_election_enable is True
    assert config.replica.log.unclean_leader_election_enable is True


def test_defaults_are_kafka_s() -> None:
    """What is not given is as in a broker of the baseline."""
    config = ClusterConfig()
    assert (config.offsets_partitions, config.offsets_replication_factor) == (50, 3)
    assert config.offsets_segment_bytes == 100 * 1024 * 1024
    assert config.controller.broker_session_timeout_ms == 9_000
    assert config.replica.replica_lag_time_max_ms == 30_000
    assert config.loading.buffer_bytes == 5 * 1024 * 1024
    transactions = config.transactions
    assert (transactions.num_partitions, transactions.replication_factor, transactions.min_isr) == (50, 3, 2)
    assert ClusterConfig.from_properties({}) == config


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"replica.lag.time.max": 1}, r"unknown broker setting 'replica\.lag\.time\.max'; did you mean replica\.lag"),
        ({"broker.session.timeout.ms": "soon"}, r"broker\.session\.timeout\.ms must be a whole number, not 'soon'"),
        ({"broker.session.timeout.ms": 0}, r"broker\.session\.timeout\.ms cannot be 0"),
        ({"auto.leader.rebalance.enable": 1}, r"auto\.leader\.rebalance\.enable must be true or false"),
        ({"offsets.topic.replication.factor": 0}, r"offsets\.topic\.replication\.factor cannot be 0"),
        ({"log.segment.bytes": -5}, r"log\.segment\.bytes"),
        (
            {"offsets.topic.segment.bytes": 2000},
            r"offsets\.topic\.segment\.bytes: .*__consumer_offsets could not be created",
        ),
        (
            {"transaction.state.log.segment.bytes": "99"},
            "expected a number from 1048576 .*; __transaction_state could not",
        ),
        ({"placement": "striped"}, "unknown broker setting 'placement'"),
    ],
)
def test_mistakes_name_the_key_and_the_remedy(properties: dict[str, object], words: str) -> None:
    """The error names an unknown key or an invalid value, and the remedy."""
    with pytest.raises(ValueError, match=words):
        ClusterConfig.from_properties(properties)


def test_loading_costs_reads_bytes_and_records() -> None:
    """An empty partition costs nothing; else each read of the buffer, each byte, and each record costs its share."""
    cost = LoadingCost(buffer_bytes=1_000, read_us=10, bytes_per_second=1_000_000, records_per_second=100)
    assert cost.us(0, 0) == 0
    assert cost.us(1, 0) == 10 + 1
    assert cost.us(2_500, 3) == 3 * 10 + 2_500 + 30_000


def test_the_transaction_topic_asks_for_no_more_replicas_than_there_are_brokers() -> None:
    """Its min.insync.replicas is held to its replication factor and to the number of brokers."""
    settings = [ClusterConfig().transactions.topic_settings(brokers) for brokers in (1, 2, 5)]
    assert [found["min.insync.replicas"] for found in settings] == ["1", "2", "2"]
