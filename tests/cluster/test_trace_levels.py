"""A group goes the same way whatever events the trace lists, and with eager or lazy timers.

Without a trace the coordinator moves a session in its table only, and the alarm follows when it rings; with one it
reports each move (`coordinator/base/operation.py`, `every_move`).
"""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.units import SECOND_US
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from

PROFILE = PROFILES["java-4.x"]


def consumer(loop: VirtualLoop, cluster: Cluster, name: str, protocol: str) -> Consumer:
    """A started consumer of the topic `events` that commits every five seconds."""
    settings, _ = settings_from(PROFILE, {"group.id": "g", "client.id": name, "group.protocol": protocol})
    made = Consumer(loop, name, settings, cluster.transport, cluster.data, profile=PROFILE)
    made.subscribe(["events"])
    made.start()
    return made


def seen(protocol: str, level: Level, *, counted: bool) -> list[Any]:
    """All that can be seen of a group each second, without the trace: a crash, a pause, a late member, a leave."""
    trace, shown = Trace(level), []
    trace.subscribe(MemorySink())

    async def main(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, ClusterConfig.with_counted_logs() if counted else ClusterConfig())
        cluster.create_topic("events", 6, rate=2)
        members = [consumer(loop, cluster, f"c{number}", protocol) for number in range(4)]
        steps = {10: members[1].crash, 12: members[2].host.pause, 70: members[2].host.resume, 90: members[3].close}
        for second in range(130):
            if second in steps:
                steps[second]()
            if second == 20:
                members.append(consumer(loop, cluster, "late", protocol))
            await loop.sleep(SECOND_US)
            states = [(one.state, one.member_id, one.generation, one.assignment, one.heartbeats) for one in members]
            shown.append((cluster.snapshot("g"), states, [dict(one.positions) for one in members]))
        shown.append(loop.ticket() if counted else 0)  # replicas spare events that no trace lists

    VirtualLoop(5, trace).run(main)
    return shown


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_group_goes_the_same_way_whatever_the_trace_lists(protocol: str, counted: bool) -> None:
    """Each second's members, epochs, assignments, positions and timers are the same, and the number of all events."""
    off = seen(protocol, Level.OFF, counted=counted)
    assert len({str(second[0]) for second in off[:-1]}) > 20
    for level in (Level.NORMAL, Level.FULL):
        assert seen(protocol, level, counted=counted) == off
