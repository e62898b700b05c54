"""A producer against a real cluster of simulated brokers, whose leaders die."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual
from groupsim.members.producer.load import Load
from groupsim.members.producer.producer import Producer
from groupsim.members.producer.settings import producer_settings_from
from groupsim.members.producer.traffic import as_rate

SECOND = 1_000_000
EVENTS = list[TraceEvent]


def run(
    trouble: Callable[[Cluster], None], properties: dict[str, object], *, seed: int = 1, rate: int = 200
) -> tuple[Cluster, Producer, EVENTS]:
    """Produce for 20 s to 6 partitions on 3 replicas, with a fault after 5 s; close, and wait for the followers."""
    made: list[Any] = []
    events: EVENTS = []

    async def main(loop: Any) -> None:
        loop.trace.subscribe(events.append)
        cluster = Cluster(loop, ClusterConfig())
        cluster.create_topic("t", 6, replication=3, config={"min.insync.replicas": "2"})
        settings, _ = producer_settings_from(properties)
        load = Load("t", as_rate(rate), weights=(1,) * 6)
        producer = Producer(loop, "p1", settings, cluster.network, [load])
        producer.start()
        await loop.sleep(5 * SECOND)
        trouble(cluster)
        await loop.sleep(15 * SECOND)
        await producer.close()
        await loop.sleep(2 * SECOND)
        made.extend((cluster, producer))

    run_virtual(main, seed=seed, trace=Trace(NORMAL))
    return made[0], made[1], events


def in_the_logs(cluster: Cluster) -> int:
    """Return the number of records in the leaders' logs."""
    return sum(cluster.log("t", number).high_watermark for number in range(6))


def test_without_trouble_everything_arrives_once() -> None:
    """4,000 records (20 s at 200/s) are acknowledged and replicated."""
    cluster, producer, _ = run(lambda cluster: None, {})
    assert in_the_logs(cluster) == producer.counts["acknowledged"] == 4_000
    assert producer.counts["failed"] == 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_idempotent_producer_survives_a_dead_leader(seed: int) -> None:
    """With acks=all and idempotence a dead broker loses and duplicates no record, and none fails."""
    cluster, producer, events = run(lambda cluster: cluster.crash_broker(1), {}, seed=seed)
    assert any(event.kind is Kind.PARTITION_LEADER and event.t_us > 5 * SECOND for event in events)
    assert producer.counts["failed"] == 0
    assert in_the_logs(cluster) == producer.counts["acknowledged"] == 4_000


def test_the_same_seed_gives_the_same_trace_with_trouble() -> None:
    """Two runs of one seed with a crash emit the same events."""
    runs = [run(lambda cluster: cluster.crash_broker(2), {}, seed=5)[2] for _ in range(2)]
    assert runs[0] == runs[1]


def test_acks_1_loses_what_only_the_leader_had() -> None:
    """With acks=1 a lost machine may lose acknowledged records, but nothing hangs."""

    def lose(cluster: Cluster) -> None:
        cluster.crash_broker(1, machine=True)

    cluster, producer, _ = run(lose, {"acks": "1"}, rate=3_000)
    assert producer.counts["acknowledged"] + producer.counts["failed"] == 60_000
    assert in_the_logs(cluster) > 59_000


def test_acks_0_goes_on() -> None:
    """acks=0 waits for no answer, and connections stay usable."""
    cluster, producer, _ = run(lambda cluster: None, {"acks": "0"})
    assert producer.counts["acknowledged"] == in_the_logs(cluster) == 4_000
