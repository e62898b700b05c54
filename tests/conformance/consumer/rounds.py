"""What scripts of the consumer protocol often begin with: groups whose members own their targets."""

from __future__ import annotations

from tests.conformance.basics import Topic
from tests.conformance.consumer.member import Member
from tests.conformance.consumer.verbs import HEARD_MS
from tests.conformance.script import Script


async def topic(s: Script, partitions: int) -> Topic:
    """A topic that the group's coordinator has heard of, where that is another node than the first."""
    made = await s.topic(partitions=partitions)
    if s.case.nodes > 1:
        await s.sleep(HEARD_MS)
    return made


async def alone(s: Script, partitions: int = 3, *, instance: str | None = None) -> tuple[Member, Topic]:
    """One member that owns every partition of a topic, at epoch 2."""
    a = await s.member("a", instance=instance)
    t = await topic(s, partitions)
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
    t = await topic(s, 4)
    for member in members:
        await member.enroll(t)
    return members, t


async def swept(s: Script, *members: Member, rounds: int = 3) -> None:
    """Every member acknowledges in turn, so many times over: then all own their targets."""
    for _ in range(rounds):
        for member in members:
            await member.acknowledge()


async def written_beside(s: Script, topic: Topic) -> None:
    """Another group of the same partition of the offsets topic commits.

    What a request changed without a record of its own is seen from then on, since reads are as of the last record.
    """
    names = (s.named(f".beside{number}") for number in range(10_000))
    name = next(name for name in names if s.partition_of(name) == s.partition)
    actor = await s.actor("beside")
    await actor.commit(offsets={topic: {0: 1}}, group=name)
