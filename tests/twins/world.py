"""The cluster that a consumer meets: two brokers, the story's topics and records, and a partner when there is one.

One broker coordinates all groups and leads all topics; the other is there to be asked who coordinates and which topics
there are. It is the same in virtual and in real time. What a story does (`Deed.what`):

    close [leave]        the application ends; `leave` as `Consumer.close` has it
    block ms             it stays away from poll for so long
    pause ms             its whole process stands still for so long (SIGSTOP)
    unsubscribe, subscribe topics, enforce
    cut                  the connection over which the group's requests go breaks
    away ms              all connections break, and all brokers refuse new ones for so long; their groups live on
    partitions total     the first topic gets more partitions
    topic name           a topic is made
    partner, partner-ends    another consumer joins the group; it closes
    records count        so many more are written into the first partition
    broker-ends, broker-begins    the broker that does not coordinate is stopped; it comes back

The group of a story of the consumer protocol is that of a scripted coordinator, with deeds of its own
(`consumer/coordinator.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.network.link_faults import CLIENTS, Condition
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.interface import EventLoop
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import HEADER_BYTES, Batch, LogRecord
from groupsim.protocol.batch.sizes import record_size
from groupsim.protocol.messages.data import ProduceRequest
from groupsim.protocol.messages.releases import BASELINE
from tests.twins.consumer.coordinator import ScriptedGroup
from tests.twins.consumer.story import OF_THE_BROKER, ConsumerStory
from tests.twins.story import Deed, Story
from tests.twins.tap import Play, Tap

_BROKER = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "auto.create.topics.enable": "false",
}
_OF_CONSUMER_GROUPS = {  # since 4.0
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "400",
}
_IN_CONSUMER = {"group.protocol": "consumer"}
_QUICK = {"latency": parse_distribution("100us"), "processing": parse_distribution("0us")}
_RACKS = ("east", "west")
_PATIENCE_US = 30_000_000
_SETTLES_US = 100_000  # until every broker knows a new topic
_OF_THE_CLUSTER = frozenset(
    {"cut", "away", "partitions", "topic", "partner", "partner-ends", "records", "broker-ends", "broker-begins"}
)


class World:
    """A cluster of two brokers of a release, with the tap in it."""

    def __init__(self, loop: EventLoop, version: str = BASELINE) -> None:
        self.loop = loop
        of_groups = _OF_CONSUMER_GROUPS if int(version.split(".")[0]) >= 4 else {}
        properties = {**_BROKER, **of_groups, "broker.version": version}
        config = ClusterConfig.from_properties(properties, brokers=2, racks=_RACKS, **_QUICK)
        self.cluster = Cluster(loop, config)
        self.tap = Tap(self.cluster.network)
        self.partners: dict[str, Consumer] = {}  #: by story

    async def make(self, stories: Sequence[Story]) -> None:
        """Make the stories' topics with their records."""
        for story in stories:
            for name in story.topics:
                self._create(story.topic(name), story.partitions, story.replicas)
        await self.loop.sleep(_SETTLES_US)
        for story in stories:
            if story.records:
                await self.write(TopicPartition(story.topic(story.topics[0]), 0), story.records)

    async def begin(self, story: Story) -> None:
        """Bring the partner in that was there before."""
        if story.partner:
            partner = self.partners[story.slug] = self.join(story)
            await self.loop.until(lambda: partner.settled, _PATIENCE_US)

    def _create(self, name: str, partitions: int, replicas: int = 1) -> None:
        self.cluster.create_topic(name, partitions, assignment=[[self.node, self.other][:replicas]] * partitions)

    @property
    def node(self) -> int:
        """The broker that does it all."""
        return self.cluster.coordinator_of("any")[0]

    @property
    def other(self) -> int:
        """The broker that is there to be asked."""
        return next(node for node in self.cluster.brokers if node != self.node)

    def topics(self) -> Mapping[str, tuple[str, int]]:
        """Id and number of partitions of each topic, by its name."""
        topics = self.cluster.brokers[self.node].metadata.image.topics
        return {name: (topic.topic_id, len(topic.partitions)) for name, topic in topics.items()}

    def host(self, node: int) -> str:
        """The host of a broker."""
        return self.cluster.brokers[node].host.name

    def coordinator(self, story: Story) -> ScriptedGroup | None:
        """The scripted coordinator of a story of the consumer protocol; None for others."""
        return ScriptedGroup(self, story) if isinstance(story, ConsumerStory) else None

    def _reachable(self, reachable: bool) -> None:
        """Whether clients reach any broker from now on; what goes on between brokers is left alone."""
        for broker in self.cluster.brokers.values():
            broker.take_connections(reachable)
        if not reachable:
            for connection in self.cluster.network.affected(Condition("broker-*", purpose=CLIENTS)):
                connection.cut("connection reset")

    async def write(self, where: TopicPartition, count: int) -> None:
        """Append records to a partition, one by one."""
        got: list[Any] = []
        connection = self.cluster.network.connect("writer", "writer", self.node, "data")
        for _ in range(count):
            record = LogRecord(0, None, b"v")
            batch = Batch(0, 1, HEADER_BYTES + record_size(record), 0, 0, records=(record,))
            connection.send(ProduceRequest(1, 10_000, ((where, batch),)), got.append, _PATIENCE_US)
        await self.loop.until(lambda: len(got) == count, _PATIENCE_US)
        connection.close()

    def join(self, story: Story) -> Consumer:
        """Another consumer, a simulated one in either half, joins the story's group."""
        name = story.partner_id or f"{story.slug}-partner"
        given = {**story.properties, "client.id": name}
        given.pop("group.instance.id", None)
        if story.partner_protocol == "consumer":
            given = {**{key: value for key, value in given.items() if key not in OF_THE_BROKER}, **_IN_CONSUMER}
        settings, _ = settings_from(PROFILES["java-4.x"], given)
        consumer = Consumer(self.loop, name, settings, self.cluster.transport, None, None, PROFILES["java-4.x"])
        consumer.subscribe([story.topic(topic) for topic in story.subscribes])
        consumer.start()
        return consumer

    def does(self, play: Play, deed: Deed) -> bool:
        """Carry out what concerns the cluster; False for what is the application's."""
        story = play.story
        if deed.what not in _OF_THE_CLUSTER:
            return False
        if deed.what == "cut":
            if play.connection is not None:
                play.connection.cut("connection reset")
        elif deed.what == "away":
            self._reachable(False)
            self.loop.call_at(self.loop.now_us + deed.given["ms"] * 1_000, self._reachable, True)
        elif deed.what == "partitions":
            self.cluster.add_partitions(story.topic(story.topics[0]), deed.given["total"])
        elif deed.what == "topic":
            self._create(story.topic(deed.given["name"]), 1)
        elif deed.what == "partner":
            self.partners[story.slug] = self.join(story)
        elif deed.what == "records":
            where = TopicPartition(story.topic(story.topics[0]), 0)
            self.loop.start_soon(self.write, where, deed.given["count"], name="writer")
        elif deed.what == "broker-ends":
            self.cluster.stop_broker(self.other)
        elif deed.what == "broker-begins":
            self.cluster.restart_broker(self.other)
        else:
            self.partners[story.slug].begin_close()
        return True
