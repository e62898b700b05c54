"""What the usual loop of a library commits after a batch whose partition was lost and regained meanwhile.

The cluster, the tap and the other member are those of the twins (docs/twins.md). The loop polls five records of
partition 1 and processes them for six seconds. Another member joins, is given the partition, reads all of its records,
commits, and leaves; then the batch ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import kafka_jars
import pytest

from groupsim.cluster.tcp import TcpListeners
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.behaviour import Behaviour, CommitPolicy
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.group import OffsetCommitRequest, SyncGroupResponse
from tests.helpers.unavailable import unavailable
from tests.interop.go import build
from tests.twins.story import HEARTBEAT, Deed, Story, then
from tests.twins.tap import Play, Seen
from tests.twins.world import World

RECORDS, BATCH, RECORD_MS = 20, 5, 1_200
_STORY = Story(
    "a batch goes on while its partition comes back",
    (then(HEARTBEAT, 1, 100, "partner"), then(HEARTBEAT, 4, 300, "partner-ends")),
    9_000,
    {"enable.auto.commit": True, "auto.commit.interval.ms": 500, "max.poll.records": BATCH, "fetch.max.wait.ms": 50},
)
_LOST = TopicPartition(_STORY.topic("t"), 1)
_PROGRAM = Path(__file__).with_name("python") / "batches_aiokafka.py"
_LOOPS: dict[str, Callable[[], Sequence[str]]] = {
    "aiokafka": lambda: [sys.executable, str(_PROGRAM)],
    "franz-go": build.command("franz"),
}


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.parametrize("profile", _LOOPS)
def test_a_real_loop_does_not_put_back_a_partition_that_it_lost_and_regained(profile: str) -> None:
    """Nothing of the old batch is committed: aiokafka's commit() sends its position, which is what the owner in between
    committed, and franz-go sends nothing.
    """
    try:
        given, committed = _played(_LOOPS[profile]())
    except kafka_jars.Unavailable as why:
        unavailable(why, "go")
    assert given == _simulated(profile)[0] == 3
    assert committed == ({RECORDS} if profile == "aiokafka" else set())


@pytest.mark.parametrize("profile", _LOOPS)
def test_a_simulated_loop_does_not_put_back_a_partition_that_it_lost_and_regained(profile: str) -> None:
    """The partition goes and comes back while the batch goes on, and nothing of the batch is committed for it."""
    assert _simulated(profile) == (3, set())


def _told(seen: Sequence[Seen]) -> tuple[int, set[int]]:
    """How often the loop was given an assignment, and the offsets that it committed for the partition."""
    given = sum(isinstance(one.response, SyncGroupResponse) and not one.response.error for one in seen)
    commits = [one.request for one in seen if isinstance(one.request, OffsetCommitRequest)]
    return given, {entry.offset for commit in commits for entry in commit.offsets if entry.partition == _LOST}


async def _begun(world: World) -> None:
    await world.make([_STORY])
    await world.write(_LOST, RECORDS)


def _carry_out(world: World, play: Play, deed: Deed) -> None:
    assert world.does(play, deed)


def _simulated(profile: str) -> tuple[int, set[int]]:
    async def main(loop: VirtualLoop) -> tuple[int, set[int]]:
        world = World(loop)
        await loop.sleep(1_000_000)
        await _begun(world)
        settings, _ = settings_from(PROFILES[profile], _STORY.properties, pulls=True)
        slowly = Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH, processing=f"{RECORD_MS}ms")
        consumer = Consumer(loop, _STORY.slug, settings, world.cluster.transport, None, slowly, PROFILES[profile])
        play = _watched(loop, world)
        consumer.subscribe([_LOST.topic])
        consumer.start()
        await loop.until(lambda: play.over, 60_000_000)
        return _told(play.seen)

    return run_virtual(main)


def _watched(loop: EventLoop, world: World) -> Play:
    play = world.tap.plays[_STORY.slug] = Play(loop, _STORY, partial(_carry_out, world))
    return play


def _played(command: Sequence[str]) -> tuple[int, set[int]]:
    """What the real client did. Raises `kafka_jars.Unavailable`."""

    async def main(loop: RealTimeLoop) -> tuple[int, set[int]]:
        world = World(loop)
        listeners = TcpListeners(world.cluster)
        await listeners.open()
        await _begun(world)
        play = _watched(loop, world)
        config = {
            "role": "batches",
            "bootstrap": listeners.bootstrap,
            "client_id": _STORY.slug,
            "group": _STORY.slug,
            "topics": [_LOST.topic],
            "assignor": "range",
            "session_timeout_ms": _STORY.properties["session.timeout.ms"],
            "heartbeat_interval_ms": _STORY.properties["heartbeat.interval.ms"],
            "rebalance_timeout_ms": 20_000,
            "max_records": BATCH,
            "takes_ms": BATCH * RECORD_MS,
        }
        process = subprocess.Popen([*command, json.dumps(config)], stdout=subprocess.DEVNULL)
        try:
            await loop.until(lambda: play.over, 60_000_000)
            return _told(play.seen)
        finally:
            process.kill()
            process.wait()
            await listeners.close()

    return RealTimeLoop().run(main)
