"""kafka-python up to 1.4.6: heartbeats and fetches go over one connection to the coordinator's broker."""

from __future__ import annotations

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from

_BROKER = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.replication.factor": "1"}
_PROPERTIES = {"group.id": "g", "fetch.max.wait.ms": 5000, "heartbeat.interval.ms": 1000, "enable.auto.commit": False}
SECOND = 1_000_000


@pytest.mark.parametrize(("shared", "least_us", "most_us"), [(True, 3 * SECOND, 5 * SECOND), (False, 0, 50_000)])
def test_a_heartbeat_on_a_shared_connection_waits_behind_a_fetch(shared: bool, least_us: int, most_us: int) -> None:
    """The broker answers a connection's requests in order, so the parked Fetch delays the heartbeat."""
    trace, sink = Trace(Level.FULL), MemorySink()
    trace.subscribe(sink)
    profile = PROFILES["kafka-python-2.x"].but(coordinator={"shared_connection": shared})
    settings, _ = settings_from(profile, _PROPERTIES, pulls=True)

    async def main(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, ClusterConfig.from_properties(_BROKER, brokers=1))
        cluster.create_topic("t", 1)
        consumer = Consumer(loop, "c", settings, cluster.transport, None, None, profile)
        consumer.subscribe(["t"])
        consumer.start()
        await loop.sleep(30 * SECOND)

    run_virtual(main, trace=trace)
    beats = [event for event in sink.events if event.kind is Kind.RESPONSE_RECEIVED and event.api == "Heartbeat"]
    longest_us = max((event.payload or {})["took_us"] for event in beats)
    assert least_us <= longest_us <= most_us
