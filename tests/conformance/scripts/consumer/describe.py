"""ConsumerGroupDescribe, and what classic administration says of consumer groups.

Source: `KafkaApis.handleConsumerGroupDescribe`, `ConsumerGroup.asDescribedGroup`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone, joining, two
from tests.conformance.consumer.verbs import deleted
from tests.conformance.script import Script

NOT_FOUND = "GROUP_ID_NOT_FOUND"


@claims("4.2-absent", versions=(0, 1))
async def groups_that_cannot_be_described(s: Script) -> None:
    a = await s.actor("old")
    await s.form(a)
    m = await s.member("m")
    t = await s.topic()
    await m.commit(offsets={t: {0: 1}}, generation=-1, member="", group=s.named(".simple"))
    await m.look(v=s.v, groups=[s.named(".none"), s.group, s.named(".simple")], error=NOT_FOUND)
    await m.look(v=s.v, groups=[])


@claims("4.2-empty-group-id", versions=(0, 1))
async def a_group_without_a_name_is_described(s: Script) -> None:
    m = await s.member("m")
    await m.look(v=s.v, groups=[""], error="INVALID_GROUP_ID")


@claims("4.2-fields", "4.2-member-type", versions=(0, 1))
async def a_group_is_described(s: Script) -> None:
    a, t = await alone(s, 4, instance="i")
    b = await joining(s, a, t)
    await b.beat(rack="r", assignor="range")
    await a.look(v=s.v)
    await a.look(v=s.v, groups=[s.named(".none"), s.group], error=NOT_FOUND)
    await a.look(v=s.v, groups=[s.group, s.group])


@claims("4.2-operations", versions=(0, 1))
async def a_group_is_described_with_operations(s: Script) -> None:
    a, _t = await alone(s)
    await a.look(v=s.v, operations=True)
    await a.look(v=s.v, groups=[s.named(".none")], operations=True, error=NOT_FOUND)


@claims("4.2-current-is-assigned-and-pending")
async def what_a_member_has_to_revoke_is_described(s: Script) -> None:
    a, t = await alone(s, 4)
    await joining(s, a, t)
    await a.look()
    await a.acknowledge()
    await a.look()


@claims("4.2-deleted-topics")
async def a_deleted_topic_is_not_described(s: Script) -> None:
    a = await s.member()
    t, u = await s.topic(), await s.topic("u")
    await a.enroll(t, u)
    await deleted(s, u)
    await a.look()
    await a.beat()
    await a.look()


@claims("4.2-empty")
async def an_empty_group_is_described(s: Script) -> None:
    a, _t = await alone(s)
    await a.retire()
    await a.look()
    await a.describe(error=NOT_FOUND)


@claims("3.2-DescribeGroups", versions=(0, 5, 6))
async def a_consumer_group_is_described_as_a_classic_one(s: Script) -> None:
    a, _t = await alone(s)
    await a.describe(v=s.v, error=NOT_FOUND if s.v >= 6 else "NONE")


@claims("3.2-ListGroups", versions=(0, 2, 4, 5))
async def consumer_groups_are_listed(s: Script) -> None:
    a, t = await alone(s, 4)
    old = await s.actor("old")
    await old.park_join(group=s.named(".classic"), protocols={"range": ""}, member="")
    await old.answer(error="MEMBER_ID_REQUIRED")
    await a.list(v=s.v)
    await joining(s, a, t)
    await a.list(v=s.v)
    await a.retire()
    await a.list(v=s.v)


@claims("3.2-ListGroups")
async def consumer_groups_are_listed_by_state_and_type(s: Script) -> None:
    a, t = await alone(s, 4)
    b = await s.member("b")
    for states, types in (
        (["Stable"], []),
        (["stable"], ["consumer"]),
        (["STABLE"], ["Consumer"]),
        ([], ["classic"]),
        ([], ["consumer", "classic"]),
        ([], ["share"]),
        (["Assigning"], []),
        (["Empty"], []),
        ([" stable "], []),
    ):
        await a.list(states=states, types=types)
    await b.enroll(t)
    for state in ("Reconciling", "reconciling", "Assigning", "Stable", "PreparingRebalance"):
        await a.list(states=[state])
    await a.retire()
    await a.list(states=["Assigning"])
    await a.list(states=["assigning", "Reconciling"])
    await b.retire()
    await a.list(states=["Empty"])
    await a.list(states=["empty"], types=["consumer"])


@claims("3.2-DeleteGroups")
async def a_consumer_group_is_deleted(s: Script) -> None:
    a, b, t = await two(s)
    await a.commit(offsets={t: {0: 7}}, generation=3)
    await a.delete(error="NON_EMPTY_GROUP")
    await a.retire()
    await a.delete(error="NON_EMPTY_GROUP")
    await b.retire()
    await a.delete()
    await a.delete(error=NOT_FOUND)
    await a.fetch(topics={t: [0]})
    await s.on_log()


@claims("3.2-DeleteGroups")
async def an_absent_instance_keeps_its_group(s: Script) -> None:
    a, _t = await alone(s, instance="i")
    await a.retire(-2)
    await a.delete(error="NON_EMPTY_GROUP")
    await a.look()


@claims("4.2-find")
async def the_coordinator_of_a_consumer_group(s: Script) -> None:
    a, _t = await alone(s)
    await a.find()
    await a.find(v=0)
