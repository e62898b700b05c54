"""The nodes that one consumer reads before it computes its share.

It reads node by node while others write, so two consumers may read different states. An attempt fails when a consumer's
registration disappears meanwhile.

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
    """Reads the nodes of a group."""

    def __init__(self, session: ZooKeeperSession, paths: GroupPaths, consumer: str) -> None:
        self._session = session
        self._paths = paths
        self._consumer = consumer

    async def brokers(self) -> int:
        """Return the number of brokers; as in 0.8 each one's node is read."""
        names = await self.children(BROKER_IDS)
        for name in names:
            await read(self._session, f"{BROKER_IDS}/{name}")
        return len(names)

    async def children(self, path: str) -> tuple[str, ...]:
        """Return the names of a node's children; none without the node."""
        watch = self._session.watches.is_subscribed(path)
        return (await self._session.ask(GetChildren(path, watch))).children

    async def registration(self, consumer: str) -> Registration:
        """Return a consumer's registration. Raises CannotDecide when it is gone."""
        text = await read(self._session, self._paths.consumer(consumer))
        if text is None:
            raise CannotDecide(f"the node of consumer {consumer} is gone")
        return Registration.read(text)

    async def view(self) -> View:
        """Read everything that the share depends on. Raises CannotDecide."""
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
        """Compute this consumer's partitions from its view. Raises CannotDecide."""
        return SHARES[strategy](await self.view())
