"""The state of a broker's logs for operators: sizes, lags and producers.

Source: `ReplicaManager.describeLogDirs`, `ReplicaManager.activeProducerState`, `ProducerStateManager.activeProducers`.
"""

from __future__ import annotations

from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.replica.broker_replicas import BrokerReplicas
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.data import NO_LEADER_EPOCH
from groupsim.protocol.messages.operator import ActiveProducer, ProducersOf


def log_sizes(local: BrokerReplicas) -> dict[TopicPartition, tuple[int, int]]:
    """Return the bytes of each log, and its lag behind the high watermark, which only a new follower has."""
    return {name: (_size(hosted.log), _lag(hosted.log)) for name, hosted in local.partitions.items()}


def _size(log: PartitionLog) -> int:
    return sum(segment.size for segment in log.store.segments)


def _lag(log: PartitionLog) -> int:
    return max(log.high_watermark - log.end_offset, 0)


def producers_of(local: BrokerReplicas, partition: TopicPartition) -> ProducersOf:
    """Return the producers in a log of this broker, by producer id."""
    error = local.refusal(partition, NO_LEADER_EPOCH, leader_only=False)
    if error:
        return ProducersOf(partition, error)
    entries = local.partitions[partition].log.producers.entries
    active = (
        ActiveProducer(
            producer_id,
            entry.epoch,
            entry.last_sequence,
            entry.last_timestamp_ms,
            entry.coordinator_epoch,
            entry.transaction,
        )
        for producer_id, entry in sorted(entries.items())
    )
    return ProducersOf(partition, producers=tuple(active))
