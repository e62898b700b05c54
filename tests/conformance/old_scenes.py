"""The scenes of old brokers' defects: what is asked, and what a release with the defect and one with its fix answer.

Each goes on one node. `bad` says which of the two releases plays; what it answers stands in the scene, so that a scene
is a claim about Kafka already while it is recorded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from groupsim.coordinator.base.placement import partition_for
from tests.conformance.actor import Actor
from tests.conformance.basics import ScriptFailed, subscription
from tests.conformance.bodies import Body
from tests.conformance.nodes import Hands
from tests.conformance.script import OFFSETS_PARTITIONS, Script, Topic, asked_of

RANGE = {"range": subscription("orders")}
NEW_MEMBER_MS = 300_000
_PRODUCE = 5
"""A version of Produce that every release here takes whose node has to load."""


class Node:
    """The one node that a scene is played on. `serves` returns when a node that was started serves groups."""

    def __init__(self, hands: Hands, serves: Callable[[], Awaitable[None]]) -> None:
        self._hands = hands
        self._serves = serves

    async def restart(self) -> None:
        """Stop it in good order and start it on its data; returns when it serves."""
        await self._hands.restart({})
        await self._serves()

    async def restart_into_load(self, partition: int) -> None:
        """The same with so much on that partition of the offsets topic that a load takes seconds.

        Returns as soon as the node takes connections.
        """
        await self._hands.lengthen(partition, _PRODUCE)
        await self._hands.restart({})


Scene = Callable[[Script, bool, Node], Awaitable[None]]


async def _formed(a: Actor, v: int, sync: int, **others: Any) -> None:
    """Make the actor the only member of a Stable group."""
    await a.enter(v, **{"protocols": RANGE, **others})
    await a.answer()
    await a.sync(sync, give={a: "assignment"})


def expect(s: Script, told: object, stated: object) -> None:
    """Raise ScriptFailed where the two are not equal."""
    if told != stated:
        raise ScriptFailed(f"{s.id}: expected {stated}, got {told}")


async def dead_newcomer_in_an_open_round(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-7610: a newcomer hangs up in a round that a slow member holds open for longer than five minutes."""
    a, b = await s.pair()
    await _formed(a, 3, 2, session=600_000, rebalance=600_000)
    await b.park_join(3, protocols=RANGE, session=10_000, rebalance=600_000)
    await s.settle()
    await b.hang_up()
    await s.sleep(NEW_MEMBER_MS + 5_000)
    (told,) = (await a.describe(2))["groups"]
    expect(s, len(told["members"]), 2 if bad else 1)


async def two_restarts_in_a_stable_group(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-8715: an instance restarts twice while its group is Stable."""
    a = await s.actor("a", instance="one")
    await _formed(a, 5, 3)
    b, c = await s.actor("b", instance="one"), await s.actor("c", instance="one")
    for back in (b, c):
        await s.sleep(1_000)
        await back.join(5, protocols=RANGE)
    await b.heartbeat(3, error="NONE" if bad else "FENCED_INSTANCE_ID")
    await c.heartbeat(3)


async def death_before_the_first_sync(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-9752: a new member hangs up when its JoinGroup was answered, and sends no SyncGroup."""
    a = await s.actor("a")
    await a.enter(5, protocols=RANGE, session=1_000)
    await a.answer()
    await a.hang_up()
    await s.sleep(3_000)
    (told,) = (await (await s.actor("b")).describe(3))["groups"]
    expect(s, told["group_state"], "CompletingRebalance" if bad else "Empty")


async def three_ids_in_a_group_of_two(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-9885: three clients are given ids in a group of two, and come back with them."""
    every = [await s.actor(name) for name in "abc"]
    for one in every:
        await one.join(4, protocols=RANGE, error="MEMBER_ID_REQUIRED")
    for one in every:
        await one.park_join(4, protocols=RANGE)
        await s.settle()
    for one in every:
        await one.answer(error="NONE" if bad or one is not every[2] else "GROUP_MAX_SIZE_REACHED")


async def restart_of_member_and_broker(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-10284: a static member restarts in a Stable group, then its broker does."""
    a, b = await s.actor("a", instance="one"), await s.actor("b", instance="one")
    await _formed(a, 5, 3)
    await b.join(5, protocols=RANGE)
    await b.heartbeat(3)
    await a.heartbeat(3, error="FENCED_INSTANCE_ID")
    await node.restart()
    await s.follow(a, b)
    await b.heartbeat(3, error="FENCED_INSTANCE_ID" if bad else "NONE")
    await a.heartbeat(3, error="NONE" if bad else "FENCED_INSTANCE_ID")


async def leader_without_an_assignment(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-12890: the only member keeps its session and sends no SyncGroup for longer than its rebalance timeout."""
    a = await s.actor("a")
    await a.enter(5, protocols=RANGE, rebalance=1_000)
    await a.answer()
    await s.sleep(3_000)
    await a.heartbeat(3, error="NONE" if bad else "UNKNOWN_MEMBER_ID")


async def shorter_session_on_the_second_join(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-14009: a member joins again with a session of one second in place of a minute, and is silent for three."""
    a = await s.actor("a")
    await _formed(a, 5, 3)
    await a.join(5, protocols=RANGE, session=1_000)
    await a.sync(3, give={a: "assignment"})
    await s.sleep(3_000)
    await a.heartbeat(3, error="NONE" if bad else "UNKNOWN_MEMBER_ID")


# --- offsets --------------------------------------------------------------------------------------------------------


async def _committing(s: Script, v: int, sync: int) -> tuple[Actor, Topic]:
    """The only member of a Stable group that consumes a topic of the play; it has committed offset 5 of it."""
    topic = await s.topic()
    a = await s.actor("a")
    await _formed(a, v, sync, protocols=consuming(topic), session=600_000)
    await a.commit(3, {topic: {0: 5}})
    return a, topic


def consuming(topic: Topic) -> Mapping[str, str]:
    """The protocols of a consumer of that topic."""
    return {"range": subscription(topic.name)}


async def _offset(s: Script, by: Actor, topic: Topic, stated: int) -> None:
    """Fetch the committed offset. Raises ScriptFailed where it is not the stated one."""
    told = await by.fetch(3, {topic: [0]})
    expect(s, told["topics"][0]["partitions"][0]["committed_offset"], stated)


async def quiet_topic_of_a_live_group(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-4682: a member is alive, and has nothing to commit for longer than the retention of one minute."""
    a, topic = await _committing(s, 3, 2)
    committed = a.mark
    await s.after(50_000, committed)
    await _offset(s, a, topic, 5)
    await s.after(65_000, committed)
    await a.heartbeat(2)
    await _offset(s, a, topic, -1 if bad else 5)


async def restart_with_an_empty_group(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-10401: a group is empty 40 s after its last commit; the broker restarts; retention is one minute."""
    a, topic = await _committing(s, 5, 3)
    committed = a.mark
    await s.after(40_000, committed)
    await a.leave(3)
    emptied = a.mark
    await node.restart()
    await s.follow(a)
    await s.after(70_000, committed)
    await _offset(s, a, topic, -1 if bad else 5)
    await s.after(70_000, emptied)
    await _offset(s, a, topic, -1)


async def look_in_the_first_round(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-13636: a group has been empty for some time when a member joins, a minute after the last commit."""
    a, topic = await _committing(s, 5, 3)
    committed = a.mark
    await s.after(30_000, committed)
    await a.leave(3)
    await s.after(65_000, committed)
    await _offset(s, a, topic, 5)
    b = await s.actor("b")
    await b.enter(5, protocols=consuming(topic))
    await b.answer()
    await b.sync(3, give={b: "assignment"})
    await _offset(s, b, topic, -1 if bad else 5)


async def refused_beside_a_good_one(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-16371: one of two offsets of a commit has too much metadata; stable fetches ask for both."""
    topic = await s.topic(partitions=2)
    a = await s.actor("a")
    both = [_commit_of(0, 5, ""), _commit_of(1, 5, "x" * 5_000)]
    outside = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    body: Body = {"group_id": s.group, **outside, "topics": [{"name": topic.name, "partitions": both}]}
    await a.ask("OffsetCommit", 8, body, error="OFFSET_METADATA_TOO_LARGE")
    await a.fetch(7, {topic: [0]}, stable=True)
    await a.fetch(7, {topic: [1]}, stable=True, error="UNSTABLE_OFFSET_COMMIT" if bad else "NONE")
    await a.fetch(7, {topic: [0, 1]})
    await a.commit(8, {topic: {1: 6}})
    await a.fetch(7, {topic: [0, 1]}, stable=True)


def _commit_of(partition: int, offset: int, metadata: str) -> Body:
    """What an OffsetCommit v8 says of one partition."""
    said = {"committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": metadata}
    return {"partition_index": partition, **said}


# --- old JoinGroups, and a load -------------------------------------------------------------------------------------


async def first_member_without_a_protocol(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-6005: a client without assignors is the first to join; an ordinary one comes after it."""
    odd, b = await s.actor("odd"), await s.actor("b")
    if bad:
        await odd.park_join(2, protocols={}, session=2_000)
        await s.settle()
        await b.join(2, protocols=RANGE, error="INCONSISTENT_GROUP_PROTOCOL")
        await odd.silence(3_000)
        await odd.hang_up()
        await s.sleep(3_000)
        (told,) = (await b.describe(1))["groups"]
        expect(s, told["group_state"], "PreparingRebalance")
        await b.join(2, protocols=RANGE, error="INCONSISTENT_GROUP_PROTOCOL")
    else:
        await odd.join(2, protocols={}, session=2_000, error="INCONSISTENT_GROUP_PROTOCOL")
        await b.join(2, protocols=RANGE)


async def second_member_of_version_0(s: Script, bad: bool, node: Node) -> None:
    """KAFKA-8653: a second member joins a Stable group with JoinGroup v0."""
    a, b = await s.pair()
    await _formed(a, 0, 0)
    await b.park_join(0, protocols=RANGE)
    await s.settle()
    if bad:
        await b.answer()
        await a.heartbeat(0, error="UNKNOWN_MEMBER_ID")
    else:
        await a.heartbeat(0, error="REBALANCE_IN_PROGRESS")
        await a.park_join(0, protocols=RANGE)
        await b.answer()
        await a.answer()


async def everything_during_a_load(s: Script, bad: bool, node: Node) -> None:
    """8662a022: a broker with a long log restarts, and is asked while it loads; ListGroups says when that is."""
    loading = "NOT_COORDINATOR" if bad else "COORDINATOR_LOAD_IN_PROGRESS"
    topic = await s.topic()
    a, b = await s.pair()
    await _formed(a, 2, 1)
    await a.commit(3, {topic: {0: 5}})
    await node.restart_into_load(partition_for(s.group, OFFSETS_PARTITIONS))
    every: Body = {"states_filter": [], "types_filter": []}
    await s.awaited("ListGroups", 1, every, lambda told: told["error_code"] == "COORDINATOR_LOAD_IN_PROGRESS")
    await s.follow(a, b)
    await a.heartbeat(1, error="NOT_COORDINATOR" if bad else "NONE")
    await b.join(2, protocols=RANGE, error=loading)
    await a.join(2, protocols=RANGE, error=loading)
    await a.sync(1, error="NOT_COORDINATOR" if bad else "REBALANCE_IN_PROGRESS")
    await a.leave(1, error=loading)
    await a.commit(3, {topic: {0: 6}}, error=loading)
    await a.fetch(3, {topic: [0]}, error=loading)
    await a.describe(1, error=loading)
    await a.find(1)
    await a.ask("ListGroups", 1, every, error="COORDINATOR_LOAD_IN_PROGRESS")
    await s.awaited("ListGroups", 1, every, lambda told: told["error_code"] == "NONE")
    await a.heartbeat(1)
    await _offset(s, a, topic, 5)


# --- words of a release ---------------------------------------------------------------------------------------------


async def joins_that_are_refused(s: Script, bad: bool, node: Node) -> None:
    """Before 2.2 the answer to a refused JoinGroup has generation 0."""
    a = await s.actor("a")
    for refused in (
        await a.join(2, protocols=RANGE, session=1, error="INVALID_SESSION_TIMEOUT"),
        await a.join(2, protocols=RANGE, member="ghost", error="UNKNOWN_MEMBER_ID"),
    ):
        expect(s, refused["generation_id"], 0 if bad else -1)


async def coordinator_that_is_found(s: Script, bad: bool, node: Node) -> None:
    """Before 2.3 FindCoordinator v1 has no message beside its error code."""
    told = await (await s.actor("a")).find(1)
    expect(s, told["error_message"], None if bad else "NONE")


async def operations_that_were_not_asked(s: Script, bad: bool, node: Node) -> None:
    """Before 2.5 operations that were not asked for are 0."""
    topic = await s.topic()
    a = await s.actor("a")
    await _formed(a, 5, 3)
    nothing = 0 if bad else -(2**31)
    expect(s, (await a.describe(3))["groups"][0]["authorized_operations"], nothing)
    metadata = await a.ask("Metadata", 8, asked_of(topic.name))
    expect(s, metadata["cluster_authorized_operations"], nothing)
    expect(s, metadata["topics"][0]["topic_authorized_operations"], nothing)
