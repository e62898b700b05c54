"""What scripts of the consumer protocol often begin with: groups whose members own their targets."""

from __future__ import annotations

from tests.conformance.basics import Topic
from tests.conformance.consumer.member import Member
from tests.conformance.script import Script


async def alone(s: Script, partitions: int = 3, *, instance: str | None = None) -> tuple[Member, Topic]:
    """One member that owns every partition of a topic, at epoch 2."""
    a = await s.member("a", instance=instance)
    t = await s.topic(partitions=partitions)
    await a.enroll(t, now=2, gives={t: range(partitions)})
    return a, t


async def two(s: Script, partitions: int = 4, *, instance: str | None = None) -> tuple[Member, Member, Topic]:
    """Two members that own half of a topic each, at epoch 3; `instance` is that of the first."""
    a, t = await alone(s, partitions, instance=instance)
    b = await joining(s, a, t)
    await a.acknowledge(now=3)
    await b.beat(now=3, gives={t: range(partitions // 2, partitions)})
    return a, b, t


async def joining(s: Script, a: Member, t: Topic, name: str = "b") -> Member:
    """A second member has joined; the first has heard that it has to revoke half, and has not answered yet."""
    b = await s.member(name)
    await b.enroll(t, now=3, gives={})
    await a.beat(now=2)
    return b


async def full(s: Script) -> tuple[list[Member], Topic]:
    """Four members, which is as many as a group may have."""
    members = await s.members(4)
    t = await s.topic(partitions=4)
    for member in members:
        await member.enroll(t)
    return members, t


async def swept(s: Script, *members: Member, rounds: int = 3) -> None:
    """Every member acknowledges in turn, so many times over: then all own their targets."""
    for _ in range(rounds):
        for member in members:
            await member.acknowledge()
