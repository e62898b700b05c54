"""What a Go client does after a pause longer than its session, beside its simulated profile.

The cluster and the tap are those of the twins (docs/twins.md); the member programs are the ones of the other cases.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from functools import partial

import kafka_jars
import pytest

from groupsim.cluster.tcp import TcpListeners
from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.members.profiles import PROFILES
from tests.helpers.unavailable import unavailable
from tests.interop.clients import Client
from tests.interop.test_go import FRANZ, SARAMA
from tests.twins.simulated import play_simulated
from tests.twins.story import HEARTBEAT, Deed, Story, then
from tests.twins.tap import Play
from tests.twins.world import World
from tests.twins.writing import Told, written

_PAUSE_MS = 3900
_STORY = Story(
    "a member is paused",
    (then(HEARTBEAT, 2, 300, "pause", ms=_PAUSE_MS),),
    7000,
    {"session.timeout.ms": 2000, "fetch.max.wait.ms": 50},
)


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.parametrize(("client", "profile"), [(FRANZ, "franz-go"), (SARAMA, "sarama")])
def test_a_paused_member_learns_from_its_heartbeat_alone_that_it_was_expelled(client: Client, profile: str) -> None:
    """No look-up of the coordinator comes between the heartbeats before and after the pause: no session of its own."""
    try:
        real = _round_the_pause(_played(client))
    except kafka_jars.Unavailable as why:
        unavailable(why, client.needs)
    assert real == _round_the_pause(play_simulated(_STORY, PROFILES[profile]))
    assert real == [
        "Heartbeat NONE",
        "Heartbeat UNKNOWN_MEMBER_ID",
        "JoinGroup UNKNOWN_MEMBER_ID",  # with the old member id
        "JoinGroup MEMBER_ID_REQUIRED",
    ]


def _round_the_pause(told: Told) -> list[str]:
    """The requests next to the heartbeat that was refused, with their errors."""
    lines = [f"{line.split()[0]} {line.rpartition('-> ')[2].split(',')[0]}" for line in told.requests]
    at = lines.index("Heartbeat UNKNOWN_MEMBER_ID")
    return lines[at - 1 : at + 3]


def _played(client: Client) -> Told:
    """What the real client did. Raises `kafka_jars.Unavailable`."""
    command = client.command()
    properties = _STORY.properties

    async def main(loop: RealTimeLoop) -> Told:
        world = World(loop)
        listeners = TcpListeners(world.cluster)
        await listeners.open()
        await world.make([_STORY])
        config = {
            "role": "consumer",
            "bootstrap": listeners.bootstrap,
            "client_id": _STORY.slug,
            "group": _STORY.slug,
            "topics": [_STORY.topic("t")],
            "assignor": "range",
            "session_timeout_ms": properties["session.timeout.ms"],
            "heartbeat_interval_ms": properties["heartbeat.interval.ms"],
            "rebalance_timeout_ms": 20_000,
        }
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([*command, json.dumps(config)], **pipes)
        try:
            play = world.tap.plays[_STORY.slug] = Play(loop, _STORY, partial(_pause, loop, process.pid))
            await loop.until(lambda: play.over, 60_000_000)
            return written(play, [])
        finally:
            process.kill()
            process.wait()
            await listeners.close()

    return RealTimeLoop().run(main)


def _pause(loop: RealTimeLoop, pid: int, _: Play, deed: Deed) -> None:
    os.kill(pid, signal.SIGSTOP)
    loop.call_at(loop.now_us + deed.given["ms"] * 1_000, lambda _: os.kill(pid, signal.SIGCONT))
