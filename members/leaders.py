"""Who leads which partition, as far as this client has heard: from metadata, and from brokers that refuse.

What is older than what is known is not believed: a broker that lags behind may still name the leader before (KIP-320).
A broker that refuses a fetch may name the present leader itself (KIP-951).

Source: `Metadata.updateLatestMetadata`, `updatePartitionLeadership`, `updateLastSeenEpochIfNewer`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupsim.protocol.messages.data import LeaderIs
from groupsim.protocol.messages.group import NO_EPOCH, MetadataResponse, PartitionInfo, TopicInfo, TopicPartition

NOBODY: Final = LeaderIs(-1, NO_EPOCH)


class Leaders:
    """Leader and leader epoch per partition, and the brokers that are up."""

    __slots__ = ("_newest", "_of", "brokers", "version")

    def __init__(self) -> None:
        self._of: dict[TopicPartition, LeaderIs] = {}
        self._newest: dict[TopicPartition, int] = {}
        #: Node ids of the brokers that the last metadata named.
        self.brokers: frozenset[int] = frozenset()
        #: Goes up with everything that is learnt.
        self.version = 0

    def of(self, partition: TopicPartition) -> LeaderIs:
        """The leader (-1: nobody, as far as is known) and its epoch."""
        return self._of.get(partition, NOBODY)

    def learn(self, response: MetadataResponse) -> bool:
        """Take over a metadata response; False when some partition of it has no leader to speak to."""
        self.version += 1
        self.brokers = frozenset(node for node, _ in response.brokers)
        found: dict[TopicPartition, LeaderIs] = {}
        for topic in response.topics:
            found.update(self._of_topic(topic))
        self._of = found
        self._newest = {partition: self._newest[partition] for partition in found}  # a topic made anew begins at 0
        return all(leader.leader in self.brokers for leader in found.values())

    def _of_topic(self, topic: TopicInfo) -> Iterable[tuple[TopicPartition, LeaderIs]]:
        for info in topic.partitions:
            partition = TopicPartition(topic.name, info.partition)
            if info.leader_epoch >= self._newest.get(partition, NO_EPOCH):
                self._newest[partition] = info.leader_epoch
                yield partition, self._said(info)
            else:
                yield partition, self._of.get(partition, LeaderIs(-1, self._newest[partition]))

    def _said(self, info: PartitionInfo) -> LeaderIs:
        leader = info.leader if info.leader in self.brokers else -1
        return LeaderIs(leader, info.leader_epoch)

    def hint(self, partition: TopicPartition, leader: LeaderIs) -> bool:
        """Take over what a refusing broker says; False when that is nothing new, or names an unknown broker."""
        known = self._of.get(partition)
        if known is None or leader.epoch <= known.epoch or leader.leader not in self.brokers:
            return False
        self._of[partition] = leader
        self._newest[partition] = leader.epoch
        self.version += 1
        return True

    def is_outdated(self, partition: TopicPartition, epoch: int) -> bool:
        """An epoch was met elsewhere (with a committed offset): does it show that metadata is behind?

        From then on metadata with an older epoch is not believed any more.
        """
        newest = self._newest.get(partition)
        if newest is None or epoch <= newest:
            return False
        self._newest[partition] = epoch
        self._of[partition] = LeaderIs(-1, epoch)
        return True
