"""Offsets in ZooKeeper: those of delivered records, written periodically.

There is no generation to fence a consumer that has lost its partitions, so its late commit overwrites that of the new
owner. An offset counts as consumed when its record is delivered, before it is processed.

Source: Kafka 0.8.2, `ZookeeperConsumerConnector.commitOffsets`, `commitOffsetToZooKeeper`, `PartitionTopicInfo`.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.eventloop.trace.events import Kind
from groupsim.members.member import Member
from groupsim.members.zookeeper.nodes import read, write
from groupsim.members.zookeeper.paths import GroupPaths
from groupsim.members.zookeeper.session import ZooKeeperSession
from groupsim.protocol.messages.group import NO_OFFSET, TopicPartition


class Consumed:
    """Offset up to which one partition has been delivered."""

    __slots__ = ("offset",)

    def __init__(self, offset: int) -> None:
        self.offset = offset


class Offsets:
    """The commits of one consumer."""

    def __init__(self, member: Member, session: ZooKeeperSession, paths: GroupPaths) -> None:
        self._member = member
        self._session = session
        self._paths = paths
        self._written: dict[TopicPartition, int] = {}
        #: The partitions that the consumer considers its own, with their offsets.
        self.registry: dict[TopicPartition, Consumed] = {}

    async def look_up(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed offsets; -1 where there is none."""
        found: dict[TopicPartition, int] = {}
        for partition in partitions:
            text = await read(self._session, self._paths.offset(partition))
            found[partition] = NO_OFFSET if text is None else int(text)
        return found

    def begin(self, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, Consumed]:
        """Register these partitions; offsets that were just read are not written again."""
        self._written.update(offsets)
        self.registry = {partition: Consumed(offset) for partition, offset in offsets.items()}
        return self.registry

    async def commit(self, *, auto: bool) -> None:
        """Write the offsets that have changed since they were last written or read."""
        done: dict[str, int] = {}
        for partition, consumed in list(self.registry.items()):
            offset = consumed.offset
            if self._written.get(partition) != offset:
                await write(self._session, self._paths.offset(partition), str(offset))
                self._written[partition] = offset
                done[str(partition)] = offset
        if done:
            self._member.emit(Kind.OFFSETS_COMMITTED, payload={"offsets": done, "auto": auto})
