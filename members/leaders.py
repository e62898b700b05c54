"""Leader and leader epoch of each partition, from metadata and from brokers that refuse a request.

An epoch older than the known one is ignored: a broker that lags behind may still name the old leader (KIP-320). A
broker that refuses a fetch may name the new leader in its answer (KIP-951).

Source: `Metadata.updateLatestMetadata`, `updatePartitionLeadership`, `updateLastSeenEpochIfNewer`.
"""

from __future__ import annotations

from typing import Final

from groupsim.protocol.messages.data import LeaderIs
from groupsim.protocol.messages.group import NO_EPOCH, MetadataResponse, PartitionInfo, TopicInfo, TopicPartition

NO_LEADER: Final = LeaderIs(-1, NO_EPOCH)


class Leaders:
    """Leader and leader epoch by partition, and the brokers that are up.

    All clients share the topic descriptions that brokers send; only newer facts of this client are stored apart. So
    hundreds of members of a topic with thousands of partitions do not each hold a table of it.
    """

    __slots__ = ("_asked", "_better", "_topics", "brokers", "version")

    def __init__(self) -> None:
        self._topics: dict[str, TopicInfo] = {}
        self._better: dict[TopicPartition, LeaderIs] = {}  # epochs newer than those of the last metadata
        self._asked: dict[TopicPartition, LeaderIs] = {}  # cache of `of`, valid until the next metadata
        #: Node ids of the brokers that the last metadata named.
        self.brokers: frozenset[int] = frozenset()
        #: Incremented by each change.
        self.version = 0

    def of(self, partition: TopicPartition) -> LeaderIs:
        """Return the leader and its epoch; the leader is -1 where none is known."""
        known = self._asked.get(partition)
        if known is None:
            known = self._asked[partition] = self._known(partition) or NO_LEADER
        return known

    def learn(self, response: MetadataResponse) -> bool:
        """Apply a metadata response; False when some partition has no leader that can be reached."""
        self.version += 1
        better = {}
        for topic in response.topics:
            before = self._topics.get(topic.name)
            if before is None:
                continue
            if topic is before:
                newer = [one for one in self._better if one.topic == topic.name]
                infos = [info for one in newer if (info := _info(topic, one.partition)) is not None]
            else:
                infos = list(topic.partitions)
            for info in infos:
                partition = TopicPartition(topic.name, info.partition)
                known = self._known(partition)
                if known is not None and info.leader_epoch < known.epoch:
                    better[partition] = known
        self.brokers = frozenset(node for node, _ in response.brokers)
        self._topics = {topic.name: topic for topic in response.topics}  # a recreated topic starts at epoch 0
        self._better = better
        self._asked.clear()
        return all(one.leader in self.brokers for one in better.values()) and all(
            info.leader in self.brokers
            for topic in response.topics
            for info in topic.partitions
            if not better or TopicPartition(topic.name, info.partition) not in better
        )

    def _known(self, partition: TopicPartition) -> LeaderIs | None:
        """Return leader and epoch of a partition; None where the last metadata do not name it."""
        known = self._better.get(partition)
        topic = self._topics.get(partition.topic) if known is None else None
        info = _info(topic, partition.partition) if topic is not None else None
        if info is None:
            return known
        return LeaderIs(info.leader if info.leader in self.brokers else -1, info.leader_epoch)

    def hint(self, partition: TopicPartition, leader: LeaderIs) -> bool:
        """Apply the leader that a refusing broker named; False when it is not newer, or on an unknown broker."""
        known = self._known(partition)
        if known is None or leader.epoch <= known.epoch or leader.leader not in self.brokers:
            return False
        self._better[partition] = self._asked[partition] = leader
        self.version += 1
        return True

    def is_outdated(self, partition: TopicPartition, epoch: int) -> bool:
        """Whether an epoch met elsewhere (with a committed offset) shows that metadata are outdated.

        Metadata with an older epoch are ignored from then on.
        """
        known = self._known(partition)
        if known is None or epoch <= known.epoch:
            return False
        self._better[partition] = self._asked[partition] = LeaderIs(-1, epoch)
        return True


def _info(topic: TopicInfo, number: int) -> PartitionInfo | None:
    """Return the description of one partition; the list is in order as a rule, so try its index first."""
    partitions = topic.partitions
    if number < len(partitions) and partitions[number].partition == number:
        return partitions[number]
    return next((info for info in partitions if info.partition == number), None)
