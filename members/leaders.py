"""Who leads which partition, as far as this client has heard: from metadata, and from brokers that refuse.

What is older than what is known is not believed: a broker that lags behind may still name the leader before (KIP-320).
A broker that refuses a fetch may name the present leader itself (KIP-951).

Source: `Metadata.updateLatestMetadata`, `updatePartitionLeadership`, `updateLastSeenEpochIfNewer`.
"""

from __future__ import annotations

from typing import Final

from groupsim.protocol.messages.data import LeaderIs
from groupsim.protocol.messages.group import NO_EPOCH, MetadataResponse, PartitionInfo, TopicInfo, TopicPartition

NOBODY: Final = LeaderIs(-1, NO_EPOCH)


class Leaders:
    """Leader and leader epoch per partition, and the brokers that are up.

    Brokers hand the same description of a topic to all clients, so it is kept as it came, and only what this client
    knows better is its own: hundreds of members of a topic with thousands of partitions do not each have a table of it.
    """

    __slots__ = ("_asked", "_better", "_topics", "brokers", "version")

    def __init__(self) -> None:
        self._topics: dict[str, TopicInfo] = {}
        self._better: dict[TopicPartition, LeaderIs] = {}  # of newer epochs than metadata say
        self._asked: dict[TopicPartition, LeaderIs] = {}  # what was looked up since the last metadata
        #: Node ids of the brokers that the last metadata named.
        self.brokers: frozenset[int] = frozenset()
        #: Goes up with everything that is learnt.
        self.version = 0

    def of(self, partition: TopicPartition) -> LeaderIs:
        """The leader (-1: nobody, as far as is known) and its epoch."""
        known = self._asked.get(partition)
        if known is None:
            known = self._asked[partition] = self._known(partition) or NOBODY
        return known

    def learn(self, response: MetadataResponse) -> bool:
        """Take over a metadata response; False when some partition of it has no leader to speak to."""
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
        self._topics = {topic.name: topic for topic in response.topics}  # a topic that is made again begins at epoch 0
        self._better = better
        self._asked.clear()
        return all(one.leader in self.brokers for one in better.values()) and all(
            info.leader in self.brokers
            for topic in response.topics
            for info in topic.partitions
            if not better or TopicPartition(topic.name, info.partition) not in better
        )

    def _known(self, partition: TopicPartition) -> LeaderIs | None:
        """What is known of a partition; None for one that the last metadata do not name."""
        known = self._better.get(partition)
        topic = self._topics.get(partition.topic) if known is None else None
        info = _info(topic, partition.partition) if topic is not None else None
        if info is None:
            return known
        return LeaderIs(info.leader if info.leader in self.brokers else -1, info.leader_epoch)

    def hint(self, partition: TopicPartition, leader: LeaderIs) -> bool:
        """Take over what a refusing broker says; False when that is nothing new, or names an unknown broker."""
        known = self._known(partition)
        if known is None or leader.epoch <= known.epoch or leader.leader not in self.brokers:
            return False
        self._better[partition] = self._asked[partition] = leader
        self.version += 1
        return True

    def is_outdated(self, partition: TopicPartition, epoch: int) -> bool:
        """An epoch was met elsewhere (with a committed offset): does it show that metadata is behind?

        From then on metadata with an older epoch is not believed any more.
        """
        known = self._known(partition)
        if known is None or epoch <= known.epoch:
            return False
        self._better[partition] = self._asked[partition] = LeaderIs(-1, epoch)
        return True


def _info(topic: TopicInfo, number: int) -> PartitionInfo | None:
    """What a topic's description says of one partition: mostly they are all there, in order."""
    partitions = topic.partitions
    if number < len(partitions) and partitions[number].partition == number:
        return partitions[number]
    return next((info for info in partitions if info.partition == number), None)
