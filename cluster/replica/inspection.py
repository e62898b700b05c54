"""What an operator can see of a broker's logs: how large they are, and which producers they have in mind.

Source: `ReplicaManager.describeLogDirs`, `ReplicaManager.activeProducerState`, `ProducerStateManager.activeProducers`.
"""

from __future__ import annotations

from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.replica.broker_replicas import Station
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.data import NO_LEADER_EPOCH
from groupsim.protocol.messages.operator import ActiveProducer, ProducersOf


def log_sizes(station: Station) -> dict[TopicPartition, tuple[int, int]]:
    """Of each log its bytes, and how many offsets it is behind what is committed (a follower that was just made)."""
    return {name: (_size(hosted.log), _lag(hosted.log)) for name, hosted in station.partitions.items()}


def _size(log: PartitionLog) -> int:
    return sum(segment.size for segment in log.store.segments)


def _lag(log: PartitionLog) -> int:
    return max(log.high_watermark - log.end_offset, 0)


def producers_of(station: Station, partition: TopicPartition) -> ProducersOf:
    """The producers of a log, led here or copied, by id."""
    error = station.refusal(partition, NO_LEADER_EPOCH, leader_only=False)
    if error:
        return ProducersOf(partition, error)
    entries = station.partitions[partition].log.producers.entries
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
