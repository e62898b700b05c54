"""The shortcuts for the usual case give the same trace as the general code."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.replica import consumers
from groupsim.cluster.replica.follower_sessions import FollowerSession
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.units import SECOND_US
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from


def story(level: Level, properties: dict[str, str]) -> list[Any]:
    """Run a cluster with a crash, a restart, a paused broker and two consumers; return all events."""
    events: list[Any] = []

    async def main(loop: VirtualLoop) -> None:
        loop.trace.subscribe(events.append)
        cluster = Cluster(loop, ClusterConfig(default_replication_factor=3))
        cluster.create_topic("t", 6, rate=30)
        wanted = {"group.id": "g", "auto.offset.reset": "earliest", **properties}
        settings, _ = settings_from(PROFILES["java"], wanted, pulls=True)
        for number in range(2):
            consumer = Consumer(loop, f"c{number}", settings, cluster.transport, cluster.data)
            consumer.subscribe(["t"])
            consumer.start()
        await loop.sleep(8 * SECOND_US)
        cluster.crash_broker(1, machine=True)
        await loop.sleep(12 * SECOND_US)
        cluster.restart_broker(1)
        await loop.sleep(5 * SECOND_US)
        cluster.pause_broker(2)
        await loop.sleep(2 * SECOND_US)
        cluster.resume_broker(2)
        await loop.sleep(8 * SECOND_US)

    run_virtual(main, trace=Trace(level))
    return events


SHORT_WAYS = [
    pytest.param(FollowerSession, "_step", lambda *_: False, id="a follower's next fetch"),
    pytest.param(consumers, "_all_ended", lambda *_: [], id="a consumer at the end"),
]


@pytest.mark.parametrize(("where", "name", "never"), SHORT_WAYS)
@pytest.mark.parametrize("level", [Level.NORMAL, Level.FULL])
@pytest.mark.parametrize("properties", [{}, {"isolation.level": "read_committed", "fetch.min.bytes": "300"}])
def test_a_short_way_changes_nothing_in_the_trace(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, never: Any, level: Level, properties: dict[str, str]
) -> None:
    """Without a shortcut the general code runs, and the trace is equal event by event."""
    with_it = story(level, properties)
    closed = 0

    def shut(*given: Any) -> Any:
        nonlocal closed
        closed += 1
        return never(*given)

    monkeypatch.setattr(where, name, shut)
    assert story(level, properties) == with_it
    assert closed > 100
