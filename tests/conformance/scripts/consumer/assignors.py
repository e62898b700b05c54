"""What `uniform` and `range` make of members and topics, with member ids whose hashes are in another order.

Topics have the ids of the recorded play in the core: both assignors go through maps that are keyed by them. Source:
`UniformHomogeneousAssignmentBuilder`, `UniformHeterogeneousAssignmentBuilder`, `RangeAssignor`.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import subscription
from tests.conformance.consumer.member import Member
from tests.conformance.consumer.rounds import swept
from tests.conformance.script import Script

IDS = ("yKyyvlq8TPS4Lb0nGMC9cQ", "consumer-7", "Zz", "0_WPMxYMSHmyUY0i2EmBAw")
"""Ids of members: `Uuid`s as Java's client makes them, a long one, and a short one."""


@frozen
class Setting:
    """Topics by their partitions, and which of them each member names, in the order of their joins."""

    name: str
    partitions: Sequence[int]
    names: Sequence[Sequence[int]]
    leaves: int = 0  #: who leaves at last


SETTINGS = (
    Setting("one-topic-of-seven-for-three", (7,), ((0,), (0,), (0,))),
    Setting("three-topics-for-two", (3, 1, 4), ((0, 1, 2), (0, 1, 2))),
    Setting("three-topics-for-four", (3, 1, 4), ((0, 1, 2),) * 4, 2),
    Setting("fewer-partitions-than-members", (1, 1), ((0, 1),) * 4),
    Setting("different-topics", (4, 4), ((0,), (1,), (0, 1))),
    Setting("a-topic-of-one-member", (6, 2), ((0, 1), (0,), (0,)), 1),
    Setting("a-member-without-topics", (5,), ((0,), (), (0,))),
    Setting("nobody-names-the-same", (2, 3, 4, 2), ((0,), (1,), (2,), (3,))),
    Setting("topics-in-a-chain", (3, 3, 3), ((0, 1), (1, 2), (2,))),
)


def _enter(setting: Setting, assignor: str) -> None:
    @claims(f"7-{assignor}", hash_order=True, name=f"{assignor}-of-{setting.name}")
    async def play(s: Script) -> None:
        topics = [await s.topic("abcd"[number], count) for number, count in enumerate(setting.partitions)]
        members: list[Member] = []
        for number, wanted in enumerate(setting.names):
            member = await s.member("mnop"[number], known_as=IDS[number])
            members.append(member)
            await member.enroll(*(topics[one] for one in wanted), assignor=assignor)
            await swept(s, *members, rounds=2)
            await members[0].look()
        await members[setting.leaves].retire()
        rest = [member for member in members if member is not members[setting.leaves]]
        await swept(s, *rest, rounds=2)
        await rest[0].look()
        await s.on_log()


for _setting in SETTINGS:
    for _assignor in ("uniform", "range"):
        _enter(_setting, _assignor)


@claims("7-range-instances", hash_order=True)
async def instances_come_first_in_a_range(s: Script) -> None:
    t = await s.topic("", 5)
    a = await s.member("a", known_as="a")
    b = await s.member("b", known_as="b", instance="zz")
    c = await s.member("c", known_as="c", instance="aa")
    for member in (a, b, c):
        await member.enroll(t, assignor="range")
    await swept(s, a, b, c)
    await a.look()
    await s.on_log()


@claims("7-change", hash_order=True)
async def from_one_assignor_to_the_other(s: Script) -> None:
    t, u = await s.topic("a", 3), await s.topic("b", 3)
    a, b = await s.members(2)
    for member in (a, b):
        await member.enroll(t, u, assignor="range")
    await swept(s, a, b)
    await a.look()
    for member in (a, b):
        await member.beat(assignor="uniform")
    await swept(s, a, b)
    await a.look()
    await s.on_log()


@claims("7-racks", hash_order=True)
async def racks_of_members_do_not_matter(s: Script) -> None:
    t = await s.topic("", 4)
    a, b = await s.members(2)
    await a.enroll(t, rack="r1")
    await b.enroll(t, rack="r2")
    await swept(s, a, b)
    await a.look()


@claims("7-no-vote-in-a-join")
async def an_instance_that_voted_comes_back_as_a_classic_member(s: Script) -> None:
    a, b = await s.member("a", instance="i"), await s.member("b")
    t = await s.topic(partitions=4)
    await a.enroll(t, assignor="range")
    await b.enroll(t, assignor="uniform")
    m = await s.actor("m", instance="i")
    await m.join(protocols={"range": subscription(t)})
    await m.sync()
    await b.look()
    await s.on_log()
