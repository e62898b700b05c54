"""Defects of old brokers, asked of real ones: a scene for each, played on a release with it and on one with its fix.

A scene states what each of the two releases answers. `old_record.py` asks them, the answers are kept in
`data/old/defects.json`, and `test_old.py` compares the core of the same release with them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from attrs import frozen

from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from tests.conformance.actor import Actor
from tests.conformance.basics import ScriptFailed, subscription
from tests.conformance.cases import Case
from tests.conformance.core import CorePeer
from tests.conformance.data import FOLDER
from tests.conformance.live import RELEASE
from tests.conformance.nodes import CoreNodes
from tests.conformance.peers import Peer
from tests.conformance.script import Script
from tests.conformance.transcript import Transcript, transcript_of

DATA = FOLDER / "old" / "defects.json"
SETTINGS: dict[str, object] = {
    "group.initial.rebalance.delay.ms": 500,
    "group.min.session.timeout.ms": 100,
    "group.max.session.timeout.ms": 600_000,
    "group.max.size": 2,
    "offsets.topic.num.partitions": 4,
}
"""What every release is started with; one that does not know a setting ignores it."""
RANGE = {"range": subscription("orders")}
NEW_MEMBER_MS = 300_000
Restart = Callable[[], Awaitable[None]]
Scene = Callable[[Script, bool, Restart], Awaitable[None]]


async def _formed(a: Actor, v: int, sync: int, **timeouts: int) -> None:
    """Make the actor the only member of a Stable group."""
    await a.enter(v, protocols=RANGE, **timeouts)
    await a.answer()
    await a.sync(sync, give={a: "assignment"})


def expect(s: Script, told: object, stated: object) -> None:
    """Raise ScriptFailed where the two are not equal."""
    if told != stated:
        raise ScriptFailed(f"{s.id}: expected {stated}, got {told}")


async def dead_newcomer_in_an_open_round(s: Script, bad: bool, restart: Restart) -> None:
    """KAFKA-7610: a newcomer hangs up in a round that a slow member holds open for longer than five minutes."""
    a, b = await s.pair()
    await _formed(a, 3, 2, session=600_000, rebalance=600_000)
    await b.park_join(3, protocols=RANGE, session=10_000, rebalance=600_000)
    await s.settle()
    await b.hang_up()
    await s.sleep(NEW_MEMBER_MS + 5_000)
    (told,) = (await a.describe(2))["groups"]
    expect(s, len(told["members"]), 2 if bad else 1)


async def two_restarts_in_a_stable_group(s: Script, bad: bool, restart: Restart) -> None:
    """KAFKA-8715: an instance restarts twice while its group is Stable."""
    a = await s.actor("a", instance="one")
    await _formed(a, 5, 3)
    b, c = await s.actor("b", instance="one"), await s.actor("c", instance="one")
    for back in (b, c):
        await s.sleep(1_000)
        await back.join(5, protocols=RANGE)
    await b.heartbeat(3, error="NONE" if bad else "FENCED_INSTANCE_ID")
    await c.heartbeat(3)


async def death_before_the_first_sync(s: Script, bad: bool, restart: Restart) -> None:
    """KAFKA-9752: a new member hangs up when its JoinGroup was answered, and sends no SyncGroup."""
    a = await s.actor("a")
    await a.enter(5, protocols=RANGE, session=1_000)
    await a.answer()
    await a.hang_up()
    await s.sleep(3_000)
    # Version 3 of 2.4.1 has other operations where none are asked for: `old-operations-that-were-not-asked`.
    (told,) = (await (await s.actor("b")).describe(2))["groups"]
    expect(s, told["group_state"], "CompletingRebalance" if bad else "Empty")


async def three_ids_in_a_group_of_two(s: Script, bad: bool, restart: Restart) -> None:
    """KAFKA-9885: three clients are given ids in a group of two, and come back with them."""
    every = [await s.actor(name) for name in "abc"]
    for one in every:
        await one.join(4, protocols=RANGE, error="MEMBER_ID_REQUIRED")
    for one in every:
        await one.park_join(4, protocols=RANGE)
        await s.settle()
    for one in every:
        await one.answer(error="NONE" if bad or one is not every[2] else "GROUP_MAX_SIZE_REACHED")


async def restart_of_member_and_broker(s: Script, bad: bool, restart: Restart) -> None:
    """KAFKA-10284: a static member restarts in a Stable group, then its broker does."""
    a, b = await s.actor("a", instance="one"), await s.actor("b", instance="one")
    await _formed(a, 5, 3)
    await b.join(5, protocols=RANGE)
    await b.heartbeat(3)
    await a.heartbeat(3, error="FENCED_INSTANCE_ID")
    await restart()
    await s.follow(a, b)
    await b.heartbeat(3, error="FENCED_INSTANCE_ID" if bad else "NONE")
    await a.heartbeat(3, error="NONE" if bad else "FENCED_INSTANCE_ID")


async def leader_without_an_assignment(s: Script, bad: bool, restart: Restart) -> None:
    """KAFKA-12890: the only member keeps its session and sends no SyncGroup for longer than its rebalance timeout."""
    a = await s.actor("a")
    await a.enter(5, protocols=RANGE, rebalance=1_000)
    await a.answer()
    await s.sleep(3_000)
    await a.heartbeat(3, error="NONE" if bad else "UNKNOWN_MEMBER_ID")


async def shorter_session_on_the_second_join(s: Script, bad: bool, restart: Restart) -> None:
    """KAFKA-14009: a member joins again with a session of one second in place of a minute, and is silent for three."""
    a = await s.actor("a")
    await _formed(a, 5, 3)
    await a.join(5, protocols=RANGE, session=1_000)
    await a.sync(3, give={a: "assignment"})
    await s.sleep(3_000)
    await a.heartbeat(3, error="NONE" if bad else "UNKNOWN_MEMBER_ID")


@frozen
class Fact:
    """The scene of a defect, a release that has the defect and one that has its fix."""

    scene: Scene
    bad: str
    good: str


FACTS = {
    "KAFKA-7610": Fact(dead_newcomer_in_an_open_round, "2.1.0", "2.1.1"),
    "KAFKA-8715": Fact(two_restarts_in_a_stable_group, "2.3.0", "2.3.1"),
    "KAFKA-9752": Fact(death_before_the_first_sync, "2.4.1", "2.5.0"),
    "KAFKA-9885": Fact(three_ids_in_a_group_of_two, "2.5.1", "2.6.0"),
    "KAFKA-10284": Fact(restart_of_member_and_broker, "2.6.0", "2.6.1"),
    "KAFKA-12890": Fact(leader_without_an_assignment, "2.8.0", "2.8.1"),
    "KAFKA-14009": Fact(shorter_session_on_the_second_join, "3.3.1", "3.3.2"),
}
"""By the name of the defect (`coordinator.defects`)."""
RELEASES = tuple(dict.fromkeys(release for fact in FACTS.values() for release in (fact.bad, fact.good)))


async def play(defect: str, release: str, peer: Peer, restart: Restart) -> Transcript:
    """What a peer of that release answers. Raises ScriptFailed where it is not what the scene states."""
    fact = FACTS[defect]
    case = Case("old", defect, None, lambda script: fact.scene(script, release == fact.bad, restart), ())
    script = Script(case, peer, "")
    await case.play(script)
    return transcript_of(script)


def play_on_core(
    defect: str, release: str, recorded: Transcript | None = None, version: str | None = None
) -> Transcript:
    """The same of the core of that release, or of another `version`, in virtual time. Raises ScriptFailed."""

    async def main(loop: VirtualLoop) -> Transcript:
        settings = {**SETTINGS, RELEASE: version or release}
        peer = CorePeer(loop, recorded, settings)
        nodes = CoreNodes(loop, peer.cluster, peer.config_of, settings)

        async def restart() -> None:
            await nodes.restart({})
            await peer.sleep(1_000_000)

        return await play(defect, release, peer, restart)

    return run_virtual(main)


def load() -> dict[str, dict[str, Transcript]]:
    """What was recorded: defect → release → transcript."""
    plays = json.loads(DATA.read_text("utf-8"))["plays"] if DATA.exists() else {}
    return {
        defect: {release: Transcript(one["lines"], one["ids"]) for release, one in releases.items()}
        for defect, releases in plays.items()
    }


def save(plays: dict[str, dict[str, Transcript]]) -> None:
    """Write what was recorded."""
    lines = []
    for defect in (name for name in FACTS if name in plays):
        of = {name: {"ids": one.ids, "lines": one.lines} for name, one in sorted(plays[defect].items())}
        lines.append(f"{json.dumps(defect)}: {json.dumps(of, separators=(',', ':'))}")
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(f'{{\n"settings": {json.dumps(SETTINGS)},\n"plays": {{\n' + ",\n".join(lines) + "\n}\n}\n", "utf-8")
