"""The whole of a replicated cluster with its clients, as the random walk uses it: what runs, and what is noted of it.

Records have contents that say who sent them, so that a record is known wherever it turns up: `p1#17` is the 18th of
producer p1. Outputs of the transactional application are named after their inputs: `in-0@5`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import TraceEvent
from groupsim.members.behaviour import Behaviour, CommitPolicy
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.interfaces import Fetched
from groupsim.members.producer.eos import ExactlyOnce, Output
from groupsim.members.producer.producer import Producer
from groupsim.members.producer.settings import producer_settings_from
from groupsim.members.profiles import PROFILES
from groupsim.members.profiles.profile import OnError
from groupsim.members.settings import settings_from
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode

SECOND = 1_000_000
INPUT, OUTPUT, OTHER = "in", "out", "other"
GROUP, READERS, APP = "g", "readers", "app"
SAFE = {"min.insync.replicas": "2"}


class NamedOutputs(ExactlyOnce):
    """An application whose outputs are named after their inputs."""

    def _send(self, records: Sequence[Fetched]) -> None:
        for found in records:
            for offset in range(found.base, found.base + found.count):
                name = f"{found.partition}@{offset}".encode()
                self._producer.send(OUTPUT, len(name), partition=found.partition.partition, value=name)


class Application:
    """Something that sends a record every so often, and remembers what became of each."""

    def __init__(self, stage: WholeStage, name: str, topic: str, every_us: int, keyed: bool, **properties: Any) -> None:
        self.stage = stage
        self.name = name
        self.topic = topic
        self.every_us = every_us
        self.keyed = keyed
        settings, _ = producer_settings_from({"client.id": name, "delivery.timeout.ms": 40_000, **properties})
        self.strict = settings.acks == -1
        self.idempotent = properties.get("enable.idempotence") == "true"
        self.producer = Producer(stage.loop, name, settings, stage.cluster.network)
        self.sent = 0
        self.acknowledged: set[bytes] = set()
        self.failed: dict[bytes, ErrorCode] = {}
        self.on = True

    def start(self) -> None:
        self.producer.start()
        self.stage.loop.call_at(self.stage.loop.now_us + self.every_us, self._tick)

    def _tick(self, _: object) -> None:
        if not self.on:
            return
        if self.producer.running and not self.producer.host.paused and self.producer.state == "RUNNING":
            self._send()
        self.stage.loop.call_at(self.stage.loop.now_us + self.every_us, self._tick)

    def _send(self) -> None:
        name = f"{self.name}#{self.sent}".encode()
        key = f"k{self.sent % 7}".encode() if self.keyed else None
        self.sent += 1

        def settled(error: ErrorCode | None, _: int) -> None:
            if error is None:
                self.acknowledged.add(name)
            else:
                self.failed[name] = error

        self.producer.send(self.topic, len(name), key=key, value=name, on_settled=settled)


class WholeStage:
    """A cluster, its producers, its consumers, and what they have seen."""

    def __init__(self, loop: Any, dice: Random, events: list[TraceEvent]) -> None:
        self.loop = loop
        self.dice = dice
        self.events = events
        brokers = dice.randint(3, 5)
        self.offsets_partitions = dice.randint(1, 3)
        properties = {
            **SAFE,
            "transaction.state.log.num.partitions": 2,
            "offsets.topic.num.partitions": self.offsets_partitions,
            "group.initial.rebalance.delay.ms": dice.choice((0, 0, 3_000)),
            "replica.lag.time.max.ms": dice.choice((6_000, 30_000)),
            "broker.session.timeout.ms": dice.choice((3_000, 9_000)),
        }
        self.cluster = Cluster(loop, ClusterConfig.from_properties(properties, brokers=brokers))
        self.transactional = dice.random() < 0.6
        self.topics = {INPUT: dice.randint(1, 4), OTHER: dice.randint(1, 2)}
        if self.transactional:
            self.topics[OUTPUT] = self.topics[INPUT]
            self.cluster.replicated.make_transaction_topic()
        for name, partitions in self.topics.items():
            self.cluster.create_topic(name, partitions, replication=3, config=SAFE)
        #: Contents by group, partition and offset, as poll returned them.
        self.seen: dict[str, dict[TopicPartition, dict[int, bytes]]] = defaultdict(lambda: defaultdict(dict))
        self.apps = self._applications()
        self.app_producers: dict[Consumer, Producer] = {}
        self.consumers = self._consumers()

    # --- clients -----------------------------------------------------------------------------------------------------

    def _applications(self) -> list[Application]:
        dice, made = self.dice, []
        kinds = [
            {"acks": "all", "enable.idempotence": "true"},
            {"acks": "all", "enable.idempotence": "false", "retries": "2147483647"},
            {"acks": "1", "enable.idempotence": "false"},
        ]
        for number in range(dice.randint(1, 3)):
            properties = {**kinds[number], "linger.ms": dice.choice((0, 5, 100))}
            every_us = dice.choice((100_000, 300_000, 900_000))
            topic = INPUT if number < 2 else OTHER
            made.append(Application(self, f"p{number}", topic, every_us, dice.random() < 0.7, **properties))
        return made

    def _consumers(self) -> list[Consumer]:
        dice = self.dice
        assignor = dice.choice(("range", "roundrobin", "cooperative-sticky", "sticky"))
        made = [self._member(GROUP, n, [INPUT, OTHER], assignor) for n in range(dice.randint(1, 3))]
        if self.transactional:
            made.append(self._transformer())
            made.append(self._member(READERS, 0, [OUTPUT], "range", **{"isolation.level": "read_committed"}))
        return made

    def _settings(self, group: str, name: str, **properties: Any) -> Any:
        dice = self.dice
        given = {
            "group.id": group,
            "client.id": name,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": dice.choice((6_000, 10_000)),
            "heartbeat.interval.ms": dice.choice((500, 2_000)),
            "request.timeout.ms": dice.choice((5_000, 30_000)),
            "auto.commit.interval.ms": dice.choice((500, 5_000)),
            "max.poll.interval.ms": 60_000,
            "fetch.max.wait.ms": 500,
            **properties,
        }
        return settings_from(PROFILES["java"], given, pulls=True)[0]

    def _member(self, group: str, number: int, topics: list[str], assignor: str, **properties: Any) -> Consumer:
        dice, name = self.dice, f"{group}-{number}"
        settings = self._settings(group, name, **{"partition.assignment.strategy": assignor, **properties})
        policies = (CommitPolicy.AUTO, CommitPolicy.SYNC_AFTER_BATCH, CommitPolicy.ASYNC_AFTER_BATCH)
        work = dice.choice((None, "1ms", "uniform(1ms, 60ms)"))
        behaviour = Behaviour(
            processing=None if work is None else parse_distribution(work),
            commit=dice.choice(policies),
            poll_gap=parse_distribution(dice.choice(("20ms", "300ms"))),
            on_error=OnError.RETRY,
        )
        made = Consumer(self.loop, name, settings, self.cluster.transport, None, behaviour)
        made.on_record = self._hear(group)
        made.subscribe(topics)
        return made

    def _hear(self, group: str) -> Any:
        def hear(partition: TopicPartition, offset: int, _: Any, record: Any) -> None:
            before = self.seen[group][partition].setdefault(offset, record.value)
            assert before == record.value, f"{group}: {partition}@{offset} was {before!r}, is {record.value!r}"

        return hear

    def _transformer(self) -> Consumer:
        properties = {"transactional.id": "tx", "transaction.timeout.ms": 15_000, "client.id": "app-producer"}
        settings, _ = producer_settings_from(properties)
        producer = Producer(self.loop, "app-producer", settings, self.cluster.network)
        consuming = self._settings(APP, "app-0", **{"enable.auto.commit": False})
        output = NamedOutputs(self.loop, producer, Output(OUTPUT, same_partition=True))
        behaviour = Behaviour(exactly_once=output, on_error=OnError.RETRY, poll_gap=parse_distribution("300ms"))
        made = Consumer(self.loop, "app-0", consuming, self.cluster.transport, None, behaviour)
        made.on_record = self._hear(APP)
        made.subscribe([INPUT])
        self.app_producers[made] = producer
        return made

    def start(self, consumer: Consumer) -> None:
        """Begin a consumer's process, and the producer it has with it."""
        producer = self.app_producers.get(consumer)
        if producer is not None and not producer.running:
            producer.start()
        consumer.start()

    def kill(self, consumer: Consumer) -> None:
        """Kill a consumer's process, and the producer it has with it."""
        producer = self.app_producers.get(consumer)
        if producer is not None:
            producer.crash()
        consumer.crash()

    def partitions(self) -> list[TopicPartition]:
        """Every partition there is, internal topics too."""
        topics = self.cluster.controller.image.topics
        return [TopicPartition(name, n) for name, topic in topics.items() for n in range(len(topic.partitions))]
