"""What a heartbeat finds under a group's name: nothing, a classic group, a full one.

Source: `GroupMetadataManager.getOrMaybeCreateConsumerGroup`, `throwIfConsumerGroupIsFull`.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.rounds import alone, full
from tests.conformance.script import Script

NOT_FOUND = "GROUP_ID_NOT_FOUND"


@claims("2.2-absent-join", "2.2-created-soft")
async def a_group_is_created_by_a_join(s: Script) -> None:
    a = await s.member()
    t = await s.topic(partitions=2)
    await a.look(error=NOT_FOUND)
    await a.enroll(t, now=2, gives={t: [0, 1]})
    await a.look()
    await a.list()
    await s.on_log()


@claims("2.2-absent-join", "0-new-group-is-no-trigger")
async def a_group_of_no_topics(s: Script) -> None:
    a = await s.member()
    await a.enroll(now=1, gives={})
    await a.look()
    await a.beat(now=1)
    await s.on_log()


@claims("2.2-absent-join", "2.5-names")
async def a_group_of_a_topic_that_is_not_there(s: Script) -> None:
    a = await s.member()
    await a.enroll(s.no_topic(), now=2, gives={})
    await a.look()
    await s.on_log()


@claims("2.2-absent-beat", versions=(0, 1))
async def a_heartbeat_to_no_group(s: Script) -> None:
    a = await s.member(instance="i")
    for epoch in (1, 5, 2**31 - 1):
        await a.beat(epoch, v=s.v, error=NOT_FOUND)
        await a.beat(epoch, v=s.v, instance=None, error=NOT_FOUND)
    await a.look(error=NOT_FOUND)


@claims("2.2-absent-leave", versions=(0, 1))
async def a_leave_of_no_group(s: Script) -> None:
    a = await s.member(instance="i")
    await a.retire(v=s.v, error=NOT_FOUND)
    await a.retire(-2, v=s.v, error=NOT_FOUND)
    await a.retire(v=s.v, instance=None, error=NOT_FOUND)


@claims("2.2-created-soft", "2.5-invalid-regex")
async def a_refused_join_creates_no_group(s: Script) -> None:
    a = await s.member()
    await a.enroll(names=None, regex="(", error="INVALID_REGULAR_EXPRESSION")
    await a.look(error=NOT_FOUND)
    await a.beat(1, error=NOT_FOUND)
    await s.on_log()


@claims("2.2-classic-empty-join")
async def an_empty_classic_group_becomes_a_consumer_group(s: Script) -> None:
    old = await s.actor("old")
    await s.emptied(old)
    a = await s.member()
    t = await s.topic(partitions=2)
    await a.enroll(t, now=2, gives={t: [0, 1]})
    await a.look()
    await a.list()
    await s.on_log()


@claims("2.2-classic-empty-join", "2.2-offsets-stay")
async def offsets_of_an_empty_classic_group_stay(s: Script) -> None:
    old = await s.actor("old")
    t = await s.topic(partitions=2)
    await s.form(old)
    await old.commit(offsets={t: {0: 5}})
    await old.leave()
    await s.until("Empty", 0)
    a = await s.member()
    await a.enroll(t, now=2, gives={t: [0, 1]})
    await a.fetch(topics={t: [0, 1]})
    await s.on_log()


@claims("2.2-classic-empty-join", "2.2-offsets-stay")
async def a_simple_group_becomes_a_consumer_group(s: Script) -> None:
    a = await s.member()
    t = await s.topic(partitions=2)
    await a.commit(offsets={t: {0: 5}}, generation=-1, member="")
    await a.list()
    await a.enroll(t, now=2, gives={t: [0, 1]})
    await a.fetch(topics={t: [0, 1]})
    await a.look()
    await s.on_log()


@claims("2.2-classic-empty-beat", "2.2-classic-empty-leave")
async def a_heartbeat_to_an_empty_classic_group(s: Script) -> None:
    old = await s.actor("old")
    await s.emptied(old)
    a = await s.member(instance="i")
    await a.beat(3, error=NOT_FOUND)
    await a.retire(error=NOT_FOUND)
    await a.retire(-2, error=NOT_FOUND)
    await a.describe()
    await s.on_log()


@claims("2.2-classic-beat", "2.2-classic-leave")
async def a_heartbeat_to_a_classic_group(s: Script) -> None:
    old = await s.actor("old")
    await s.form(old)
    a = await s.member(instance="i")
    await a.beat(1, error=NOT_FOUND)
    await a.beat(1, member=old.member_id, instance=None, error=NOT_FOUND)
    await a.retire(error=NOT_FOUND)
    await a.retire(-2, error=NOT_FOUND)
    await old.heartbeat()


@claims("2.2-simple-beat")
async def a_heartbeat_to_a_simple_group(s: Script) -> None:
    a = await s.member(instance="i")
    t = await s.topic()
    await a.commit(offsets={t: {0: 5}}, generation=-1, member="")
    await a.beat(1, error=NOT_FOUND)
    await a.retire(error=NOT_FOUND)
    await a.retire(-2, error=NOT_FOUND)
    await a.fetch(topics={t: [0]})


@claims("2.2-full")
async def a_full_group(s: Script) -> None:
    members, t = await full(s)
    e = await s.member("e")
    await e.enroll(t, error="GROUP_MAX_SIZE_REACHED")
    await e.beat(3, error="GROUP_MAX_SIZE_REACHED")
    await e.retire(error="UNKNOWN_MEMBER_ID")
    await members[0].enroll(t)
    await members[0].look()


@claims("2.2-full")
async def an_invalid_request_to_a_full_group(s: Script) -> None:
    await full(s)
    e = await s.member("e")
    await e.enroll(rebalance_ms=-1, error="INVALID_REQUEST")
    await e.enroll(assignor="x", error="UNSUPPORTED_ASSIGNOR")
    await e.enroll(names=None, regex="(", error="GROUP_MAX_SIZE_REACHED")


@claims("2.2-full", versions=(0,))
async def an_id_is_made_after_the_size_is_checked(s: Script) -> None:
    await full(s)
    e = await s.member("e", known_as="")
    await e.enroll("x", v=0, error="GROUP_MAX_SIZE_REACHED")


@claims("2.2-full-known-instance")
async def a_known_instance_of_a_full_group(s: Script) -> None:
    a, t = await alone(s, 4, instance="i")
    for name in "bcd":
        await (await s.member(name)).enroll(t)
    await a.retire(-2, now=-2)
    again = await s.member("again", instance="i")
    await again.enroll(t)
    other = await s.member("other", instance="j")
    await other.enroll(t, error="GROUP_MAX_SIZE_REACHED")
    await other.beat(5, error="GROUP_MAX_SIZE_REACHED")
    await again.look()


@claims("2.2-full")
async def a_place_becomes_free_in_a_full_group(s: Script) -> None:
    members, t = await full(s)
    e = await s.member("e")
    await e.enroll(t, error="GROUP_MAX_SIZE_REACHED")
    await members[1].retire(now=-1)
    await e.enroll(t)
    await e.look()


@claims("2.2-full", "6.1-size")
async def an_empty_consumer_group_is_joined_again(s: Script) -> None:
    a, t = await alone(s)
    await a.retire(now=-1)
    await a.look()
    await a.beat(2, error="UNKNOWN_MEMBER_ID")
    await a.enroll(t)
    await a.look()
    await s.on_log()


@claims("3.2-DeleteGroups")
async def a_consumer_group_is_deleted_and_created_again(s: Script) -> None:
    a, t = await alone(s)
    await a.delete(error="NON_EMPTY_GROUP")
    await a.retire()
    await a.delete()
    await a.look(error=NOT_FOUND)
    await a.beat(2, error=NOT_FOUND)
    await a.enroll(t, now=2)
    await a.look()
    await s.on_log()
