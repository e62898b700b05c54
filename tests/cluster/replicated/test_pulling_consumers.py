"""Consumers that pull from a replicated cluster, through crashes and pauses, with and without quiet long polls."""

from __future__ import annotations

from collections import Counter

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.network.connection import Connection
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.units import SECOND_US
from groupsim.eventloop.virtual import run_virtual
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from
from groupsim.protocol.basics import TopicPartition

PARTITIONS = 6


def pull(story, *, rate=40, properties=None, config=None):
    """Run an async function with a cluster of three brokers and two consumers of a topic; return the trace."""
    events = []

    async def main(loop):
        loop.trace.subscribe(events.append)
        cluster = Cluster(loop, ClusterConfig(default_replication_factor=3) if config is None else config)
        cluster.create_topic("t", PARTITIONS, rate=rate)
        wanted = {"group.id": "g", "auto.offset.reset": "earliest", **(properties or {})}
        settings, _ = settings_from(PROFILES["java"], wanted, pulls=True)
        consumers = []
        for number in range(2):
            behaviour = Behaviour(processing=parse_distribution("1ms"))
            consumer = Consumer(loop, f"c{number}", settings, cluster.transport, cluster.data, behaviour)
            consumer.subscribe(["t"])
            consumer.start()
            consumers.append(consumer)
        await loop.sleep(10 * SECOND_US)
        await story(loop, cluster, consumers)

    run_virtual(main, trace=Trace())
    return events


def delivered(events):
    """How often poll returned each record."""
    counts = Counter()
    for event in events:
        if event.kind is Kind.RECORDS_DELIVERED:
            base = event.payload["base"]
            counts.update((event.partition, base + step) for step in range(event.payload["count"]))
    return counts


def longest_silence_us(events):
    """The longest time without a record of one partition."""
    last, longest = {}, 0
    for event in events:
        if event.kind is Kind.RECORDS_DELIVERED:
            longest = max(longest, event.t_us - last.get(event.partition, event.t_us))
            last[event.partition] = event.t_us
    return longest


def assert_each_once(events):
    """No record is delivered twice, and none is left out."""
    counts = delivered(events)
    assert set(counts.values()) == {1}
    for number in range(PARTITIONS):
        offsets = sorted(offset for partition, offset in counts if partition == number)
        assert offsets == list(range(len(offsets)))
        assert len(offsets) > 20


@pytest.fixture(params=["renewed", "long-polls"])
def quiet(request, monkeypatch):
    """Both kinds of waiting: one parked fetch without a timer, or consecutive long polls."""
    if request.param == "long-polls":
        monkeypatch.setattr(Connection, "renew", None)
    return request.param


def test_records_are_delivered_once_through_a_brokers_death(quiet):
    """The partitions of a dead broker go on at their new leaders; nothing is lost or delivered again."""

    async def story(loop, cluster, consumers):
        cluster.crash_broker(1)
        await loop.sleep(30 * SECOND_US)
        assert sum(len(consumer.positions) for consumer in consumers) == PARTITIONS

    assert_each_once(pull(story))


def test_a_paused_leader_is_given_up_after_the_request_timeout(quiet):
    """After a broker's pause of request.timeout.ms its consumers look for another leader."""

    async def story(loop, cluster, consumers):
        cluster.pause_broker(2)
        await loop.sleep(50 * SECOND_US)
        cluster.resume_broker(2)
        await loop.sleep(5 * SECOND_US)

    events = pull(story)
    assert_each_once(events)
    assert 29 * SECOND_US < longest_silence_us(events) < 32 * SECOND_US


def test_a_quiet_consumer_costs_no_events(quiet):
    """Without records and faults, only consecutive long polls cause events."""
    answered = []

    async def story(loop, cluster, consumers):
        partition = TopicPartition("t", 0)
        node = int(cluster.controller.image.partition(partition).leader)
        replicas = cluster.brokers[node].replicas
        fetch = replicas.fetch

        def counted(request, answer):
            answered.append(request)
            return fetch(request, answer)

        replicas.fetch = counted
        await loop.sleep(20 * SECOND_US)

    pull(story, rate=0)
    consumers_own = [request for request in answered if request.replica_id < 0]
    assert (not consumers_own) == (quiet == "renewed")


def test_consumers_read_from_the_replica_in_their_rack():
    """client.rack and a rack-aware selector: a leader in another rack sends them to the nearer replica (KIP-392)."""
    config = ClusterConfig.from_properties(
        {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"},
        brokers=3,
        racks=("a", "b", "c"),
        default_replication_factor=3,
    )
    nearer = []

    async def story(loop, cluster, consumers):
        await loop.sleep(5 * SECOND_US)
        for consumer in consumers:
            nearer.extend(state.preferred for state in consumer._member.fetcher._states.values())

    events = pull(story, config=config, properties={"client.rack": "b"})
    assert_each_once(events)
    assert sorted(set(nearer)) == [-1, 1]  # -1: led from the consumers' own rack


def test_pulling_is_deterministic():
    """The same seed gives the same trace."""

    async def story(loop, cluster, consumers):
        cluster.crash_broker(0)
        await loop.sleep(15 * SECOND_US)

    assert pull(story) == pull(story)
