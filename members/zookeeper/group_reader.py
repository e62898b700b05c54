"""What one consumer reads before it decides, and what it concludes.

It reads node by node while others go on writing, so no two consumers need see the same. Who reads a consumer's
registration that goes away in between has read in vain, and tries again.

Source: Kafka 0.8.2, `AssignmentContext`, `ZkUtils.getConsumersPerTopic`, `getPartitionsForTopics`, `getCluster`.
"""

from __future__ import annotations

from groupsim.members.zookeeper.assignors import SHARES, CannotDecide, View
from groupsim.members.zookeeper.nodes import read
from groupsim.members.zookeeper.paths import BROKER_IDS, TOPICS, GroupPaths, Registration, partitions_in, stream_of
from groupsim.members.zookeeper.session import ZooKeeperSession
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.messages.zookeeper import GetChildren


class GroupReader:
    """Reads what a consumer has to know."""

    def __init__(self, session: ZooKeeperSession, paths: GroupPaths, consumer: str) -> None:
        self._session = session
        self._paths = paths
        self._consumer = consumer

    async def brokers(self) -> int:
        """How many brokers there are; each one's node is read, as 0.8 does."""
        names = await self.children(BROKER_IDS)
        for name in names:
            await read(self._session, f"{BROKER_IDS}/{name}")
        return len(names)

    async def children(self, path: str) -> tuple[str, ...]:
        """The names of a node's children; none where there is no node."""
        watch = self._session.watches.is_subscribed(path)
        return (await self._session.ask(GetChildren(path, watch))).children

    async def registration(self, consumer: str) -> Registration:
        """What a consumer has registered. Raises CannotDecide when it is gone."""
        text = await read(self._session, self._paths.consumer(consumer))
        if text is None:
            raise CannotDecide(f"the node of consumer {consumer} is gone")
        return Registration.read(text)

    async def view(self) -> View:
        """Everything the share depends on. Raises CannotDecide."""
        known = await self.children(TOPICS)
        topics = (await self.registration(self._consumer)).resolved(known)
        partitions: dict[str, tuple[int, ...]] = {}
        for topic in topics:
            text = await read(self._session, f"{TOPICS}/{topic}")
            partitions[topic] = () if text is None else partitions_in(text)
        streams: dict[str, list[str]] = {}
        for consumer in await self.children(self._paths.ids):
            for topic in (await self.registration(consumer)).resolved(known):
                streams.setdefault(topic, []).append(stream_of(consumer))
        sorted_streams = {name: tuple(sorted(found)) for name, found in streams.items()}
        return View(stream_of(self._consumer), topics, partitions, sorted_streams)

    async def share(self, strategy: str) -> tuple[TopicPartition, ...]:
        """This consumer's partitions, as it sees it. Raises CannotDecide."""
        return SHARES[strategy](await self.view())
