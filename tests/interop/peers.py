"""What the clients talk to: `groupsim serve`, or a real broker beside it to show that the cases are right."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from confluent_kafka.admin import AdminClient, ConsumerGroupDescription
from kafka_broker import KafkaBroker

SETTINGS = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": 500,
    "group.min.session.timeout.ms": 1000,
    "offsets.topic.num.partitions": 6,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.session.timeout.ms": 8000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 300,
}
"""The settings of both peers' brokers; the rest are defaults."""
NOTHING_MORE: Mapping[str, object] = {}
GUARDED: Mapping[str, object] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""What a peer with Kafka's authorizer has besides."""


class CannotHere(Exception):
    """This peer cannot do what a case asks for; says why."""


class Peer(Protocol):
    """A cluster, of three brokers where nothing else is asked for."""

    name: str
    bootstrap: str

    def move_coordinator(self, group: str, admin: AdminClient) -> None:
        """Make another broker the coordinator of a group."""

    def settle(self) -> None:
        """Undo what the last case did to the cluster."""

    def told(self) -> str:
        """The last of what the cluster logged, for the story of a failure."""


class Kafka:
    """Three combined nodes of Apache Kafka."""

    name = "kafka"

    def __init__(self, broker: KafkaBroker) -> None:
        self._broker = broker
        self.bootstrap = broker.bootstrap

    def move_coordinator(self, group: str, admin: AdminClient) -> None:
        """Stop the coordinator, in a controlled way: its partitions of the offsets topic get other leaders."""
        self._broker.stop(describe(admin, group).coordinator.id)

    def settle(self) -> None:
        for node in self._broker.nodes:
            if not self._broker.running(node):
                self._broker.start(node)

    def told(self) -> str:
        return ""


def describe(admin: AdminClient, group: str) -> ConsumerGroupDescription:
    """What DescribeGroups says of a group. Raises KafkaException."""
    found: ConsumerGroupDescription = admin.describe_consumer_groups([group], request_timeout=8)[group].result()
    return found


@contextmanager
def started(name: str, more: Mapping[str, object] = NOTHING_MORE, brokers: int = 3) -> Iterator[Peer]:
    """The peer of a name, while the block lasts; `more` are further settings of its `brokers`.

    Raises `kafka_jars.Unavailable` where it cannot be had.
    """
    if name == "kafka" and more is GUARDED:
        with KafkaBroker(1, {**SETTINGS, **more}) as broker:
            yield Kafka(broker)  # alone: several nodes would need principals to be let in by each other
    elif name == "kafka":
        several = {"default.replication.factor": brokers, "broker.session.timeout.ms": 6000}
        with KafkaBroker(brokers, {**SETTINGS, **several, **more}) as broker:
            yield Kafka(broker)
    elif name == "groupsim":
        from tests.interop.served import served

        with served({**SETTINGS, **more}, brokers) as peer:
            yield peer
    else:
        raise ValueError(f"GROUPSIM_INTEROP_PEER={name}: it is groupsim or kafka")


def chosen() -> str:
    """Which peer this run is against."""
    return os.environ.get("GROUPSIM_INTEROP_PEER", "groupsim")
