"""A member of the consumer protocol joins a classic group with members: the group is converted, or it is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from groupsim.coordinator.base.consumer_records import (
    ClassicMetadata,
    CurrentRecord,
    EpochRecord,
    MemberRecord,
    MemberState,
    TargetEpochRecord,
    TargetEpochValue,
    TargetRecord,
)
from groupsim.coordinator.base.group_kind import GroupKind
from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.base.records import GroupRecord
from groupsim.coordinator.base.serde import decode, encode
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.testing import committed
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.embedded.consumer_protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinProtocol
from tests.helpers.heartbeat_bench import A, HeartbeatBench, answer, error, given, settings

AGAIN = ErrorCode.REBALANCE_IN_PROGRESS
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND
CANNOT = "Cannot upgrade classic group g to consumer group because "
CUSTOM = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor "
    "before re-attempting the upgrade."
)


def offer(*topics: str, name: str = "range", **fields: Any) -> tuple[JoinProtocol, ...]:
    """The one protocol of a member with these topics."""
    return (JoinProtocol(name, encode_subscription(Subscription(topics or ("a",), **fields))),)


def parts(numbers: Sequence[int], *, topic: str = "a", user_data: bytes | None = None) -> bytes:
    """An assignment of partitions of one topic."""
    return encode_assignment(Assignment(tuple(TopicPartition(topic, one) for one in numbers), user_data))


def bench(**changed: Any) -> HeartbeatBench:
    """A partition whose rounds close at once."""
    return HeartbeatBench(settings(initial_rebalance_delay_ms=0, **changed))


def classic(made: HeartbeatBench, gives: Mapping[str, bytes | None], **join: Any) -> list[str]:
    """Form a classic group of these clients with these assignments; return their ids in the order of the clients.

    A client that is given None never sends SyncGroup.
    """
    sent = [made.join(client, **{"protocols": offer(), **join}) for client in gives]
    made.finish_round()
    ids = [one.joined.member_id for one in sent]
    plan = {member: data for member, data in zip(ids, gives.values()) if data is not None}
    if plan:
        leader = made.snapshot().leader
        for member in sorted(plan, key=lambda member: member != leader):
            made.sync(member, 1, plan if member == leader else None)
    return ids


def two(made: HeartbeatBench) -> list[str]:
    """A Stable classic group: `c` has the partitions 0 to 2 of `a`, `d` has 3 to 5."""
    return classic(made, {"c": parts([0, 1, 2]), "d": parts([3, 4, 5])})


# --- the group that it becomes ---------------------------------------------------------------------------------------


def test_members_keep_what_they_have() -> None:
    """Every epoch is the generation, and each member is STABLE with its assignment as its target, before the join."""
    made = bench()
    c, d = two(made)
    assert given(made.enroll("m")) == (2, {})
    data = made.group().data
    for member_id, numbers in ((c, [0, 1, 2]), (d, [3, 4, 5])):
        member = data.members[member_id]
        assert (member.member_epoch, member.previous_epoch, member.state) == (1, 1, MemberState.STABLE)
        assert member.assigned == {A: dict.fromkeys(numbers, 1)}
        assert (member.names, member.regex, member.assignor) == (("a",), "", None)
        assert member.classic == ClassicMetadata(45_000, offer())
        assert len(data.target(member_id)[A]) == 2
    assert made.epochs() == ("Reconciling", 2, 2)
    assert (data.classic_members, len(data.members)) == (2, 3)


def test_records_of_an_upgrade() -> None:
    """One append: the classic tombstone, the members, the epoch, the targets, their epoch, the current assignments.

    The records of the join follow. As bytes they are the same records.
    """
    made = bench()
    c, d = two(made)
    since = len(made.log)
    made.enroll("m")
    found: list[Any] = made.log[since:]
    assert [type(one) for one in found[:9]] == [
        GroupRecord, MemberRecord, MemberRecord, EpochRecord, TargetRecord, TargetRecord, TargetEpochRecord,
        CurrentRecord, CurrentRecord,
    ]  # fmt: skip
    assert found[0] == GroupRecord("g", None)
    assert {found[1].member_id, found[2].member_id} == {c, d}
    assert found[3].value.epoch == 1
    assert found[3].value.metadata_hash != 0
    assert found[6] == TargetEpochRecord("g", TargetEpochValue(1, None))
    assert [type(one) for one in found[9:]] == [
        MemberRecord, EpochRecord, TargetRecord, TargetRecord, TargetRecord, TargetEpochRecord, CurrentRecord,
    ]  # fmt: skip
    assert [decode(*encode(one)) for one in found] == found


def test_members_and_topics_of_an_upgrade_are_in_the_order_of_kafkas_maps() -> None:
    """Each member is put once, into two slots; its topics are in a `HashMap`. Expected are Kafka's records."""
    late, early = "NmGtsJA6RMuwJRo4lzRHIg", "oLoNnrSNT7u7ATaZ9eEzTg"
    made = HeartbeatBench(
        settings(initial_rebalance_delay_ms=0), topics=(TopicView(late, "a", 1), TopicView(early, "b", 1))
    )
    both = encode_assignment(Assignment((TopicPartition("a", 0), TopicPartition("b", 0))))
    for member in ("member-id-1", "member-id-2"):
        made.join(member, fresh_id=member, protocols=offer("a", "b"))
    made.finish_round()
    leader = made.snapshot().leader
    assert leader is not None
    made.sync(leader, made.snapshot().generation, {"member-id-1": both})
    mark = len(made.log)
    made.beat("m", 0, owned={}, names=("a", "b"), rebalance_ms=5_000)
    records = [record for record in made.log[mark:] if isinstance(record, CurrentRecord)]
    assert [record.member_id for record in records[:2]] == ["member-id-1", "member-id-2"]
    assert records[0].value is not None
    assert list(records[0].value.assigned) == [early, late]


@pytest.mark.parametrize(("release", "epoch"), [("4.2", 1), ("4.3", 0)])
def test_a_group_without_a_generation_stays_at_epoch_0_for_a_joiner_without_topics(release: str, epoch: int) -> None:
    """All members left before their first round closed; before 4.3 an epoch of 0 was a reason for a bump."""
    made = HeartbeatBench(settings(release, initial_rebalance_delay_ms=3_000))
    gone = made.join("c", protocols=offer())
    made.leave(made.shard.snapshot("g").members[0].member_id)  # type: ignore[union-attr]
    assert (gone.answered, made.state) == (True, "PreparingRebalance")
    assert given(made.beat("m", 0, owned={}, names=(), rebalance_ms=5_000)) == (epoch, {})
    assert made.group().data.group_epoch == epoch


def test_an_upgraded_group_is_loaded() -> None:
    """A broker that reads the log has the same members and epochs."""
    made = bench()
    two(made)
    made.enroll("m")
    before = made.group().data
    loaded = made.fail_over().shard.groups.get("g")
    assert loaded is not None
    assert loaded.kind is GroupKind.CONSUMER
    assert loaded.data.members == before.members  # type: ignore[attr-defined]
    assert loaded.data.head == before.head  # type: ignore[attr-defined]


def test_sessions_begin_again() -> None:
    """Each classic member has a session of its own length; its end removes the member, and no other timer does."""
    made = bench()
    c, d = classic(made, {"c": parts([0, 1, 2]), "d": parts([3, 4, 5])}, session_ms=20_000)
    made.advance_ms(15_000)
    made.enroll("m")
    assert made.timers()[f"session-timeout-g-{c}"] == 20_000
    made.advance_ms(5_000)
    assert {c, d} <= set(made.group().data.members)
    made.advance_ms(14_999)
    assert {c, d} <= set(made.group().data.members)
    made.advance_ms(1)
    assert set(made.group().data.members) == {"m"}


def test_a_static_member_upgrades_itself() -> None:
    """It takes the place of its instance, and the only member of a group bumps no epoch."""
    made = bench()
    (old,) = classic(made, {"c": parts(range(6))}, instance="i")
    assert given(made.enroll("m", instance="i")) == (1, {A: [0, 1, 2, 3, 4, 5]})
    assert made.epochs() == ("Stable", 1, 1)
    assert set(made.group().data.members) == {"m"}
    assert old != "m"
    assert made.group().data.classic_members == 0


def test_user_data_of_a_subscription_does_not_matter() -> None:
    """`sticky` keeps its last assignment there."""
    made = bench()
    classic(made, {"c": parts(range(6))}, protocols=offer(name="sticky", user_data=b"mine"))
    assert given(made.enroll("m"))[0] == 2


def test_unknown_topics_are_left_out() -> None:
    """A partition of a topic that does not exist is not taken over; the subscription keeps its name."""
    made = bench()
    (c,) = classic(made, {"c": parts([0], topic="gone")}, protocols=offer("a", "gone"))
    made.enroll("m")
    assert made.member(c).names == ("a", "gone")
    assert made.member(c).assigned == {}


def test_a_group_without_topics() -> None:
    """A member with an empty subscription and no assignment is upgraded, too."""
    made = bench()
    protocols = (JoinProtocol("range", encode_subscription(Subscription())),)
    (c,) = classic(made, {"c": b""}, protocols=protocols)
    assert given(made.enroll("m")) == (2, {A: [0, 1, 2, 3, 4, 5]})
    assert (made.member(c).names, made.member(c).assigned) == ((), {})


def test_commits_after_an_upgrade() -> None:
    """Offsets stay; a classic member commits with its generation, also for what it has to give up."""
    made = bench()
    (c,) = classic(made, {"c": parts(range(6))})
    made.commit_offset(5, topic="a", member_id=c, generation=1)
    made.enroll("m")
    assert made.shard.committed_offsets("g") == {TopicPartition("a", 0): 5}
    sent = [made.commit_offset(6, topic="a", member_id=c, generation=epoch) for epoch in (1, 2)]
    assert [committed(one) for one in sent] == [[ErrorCode.NONE], [ErrorCode.ILLEGAL_GENERATION]]


# --- states of the classic group -------------------------------------------------------------------------------------


def test_parked_joins_are_answered() -> None:
    """In PreparingRebalance each parked JoinGroup is answered REBALANCE_IN_PROGRESS with its member id."""
    made = bench()
    (c,) = classic(made, {"c": parts(range(6))})
    parked = made.join("d", protocols=offer())
    assert made.state == "PreparingRebalance"
    assert given(made.enroll("m"))[0] == 2
    assert parked.error is AGAIN
    assert parked.joined.member_id in made.group().data.members
    assert made.member(parked.joined.member_id).assigned == {}
    assert made.member(c).member_epoch == 1


def test_parked_syncs_are_answered() -> None:
    """In CompletingRebalance each parked SyncGroup is answered so; a member that never synced owns nothing."""
    made = bench()
    c, d = classic(made, {"c": None, "d": None})
    follower = c if made.snapshot().leader == d else d
    parked = made.sync(follower, 1)
    assert made.state == "CompletingRebalance"
    assert given(made.enroll("m"))[0] == 2
    assert parked.error is AGAIN
    assert made.member(c).assigned == made.member(d).assigned == {}


def test_timers_of_the_round_do_nothing() -> None:
    """The timer of the open round fires later, and changes nothing of the consumer group."""
    made = bench()
    classic(made, {"c": parts(range(6))}, rebalance_ms=10_000)
    made.join("d", protocols=offer(), rebalance_ms=10_000)
    made.enroll("m")
    before = made.group().data.head
    assert made.timers()["join-g"] == 10_000
    made.advance_ms(10_000)
    assert made.group().data.head == before
    assert "join-g" not in made.timers()


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["upgrade", "bidirectional", "downgrade", "disabled"])
def test_each_policy(policy: str) -> None:
    """Two policies upgrade; the other two refuse with the same text."""
    made = bench(consumer_migration_policy=policy)
    two(made)
    sent = made.enroll("m")
    if policy in ("upgrade", "bidirectional"):
        assert given(sent)[0] == 2
    else:
        assert error(sent) == (NOT_FOUND, CANNOT + "online upgrade is disabled.")
        assert made.state == "Stable"


def test_a_group_of_another_protocol_type() -> None:
    """The workers of Kafka Connect are no consumers."""
    made = bench()
    classic(made, {"c": b"x"}, protocol_type="connect", protocols=(JoinProtocol("default", b"x"),))
    text = CANNOT + "the group does not use the consumer embedded protocol."
    assert error(made.enroll("m")) == (NOT_FOUND, text)


def test_a_group_that_is_too_large() -> None:
    """The classic members alone exceed `group.consumer.max.size`; at that size the join itself finds the group full."""
    made = bench(consumer_max_size=1)
    two(made)
    text = CANNOT + "the group size exceeds the consumer group maximum size."
    assert error(made.enroll("m")) == (NOT_FOUND, text)
    full = bench(consumer_max_size=2)
    two(full)
    assert error(full.enroll("m"))[0] is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert full.state == "Stable"


@pytest.mark.parametrize(
    ("protocols", "given_bytes", "text"),
    [
        ((JoinProtocol("range", b"\0"),), parts([0]), "the embedded consumer protocol is malformed."),
        (offer(), b"\0\3no", "the embedded consumer protocol is malformed."),
        (offer(), parts([0], user_data=b"mine"), CUSTOM),
    ],
)
def test_bytes_that_cannot_be_taken_over(protocols: tuple[JoinProtocol, ...], given_bytes: bytes, text: str) -> None:
    """Malformed bytes of any member, and user data of any assignment, refuse the upgrade."""
    made = bench()
    (c,) = classic(made, {"c": given_bytes}, protocols=protocols)
    since = len(made.log)
    assert error(made.enroll("m")) == (NOT_FOUND, CANNOT + text)
    assert made.records(since) == []
    assert made.heartbeat(c, 1).error is ErrorCode.NONE


def test_other_epochs_upgrade_nothing() -> None:
    """Only a join upgrades: other heartbeats, and leaves, find that the group is not a consumer group."""
    made = bench()
    two(made)
    for epoch in (1, -1):
        assert error(made.beat("m", epoch)) == (NOT_FOUND, "Group g is not a consumer group.")


def test_a_refusal_after_the_parked_requests_were_answered() -> None:
    """A join that the consumer group refuses leaves the classic group, and the members that were parked join again."""
    made = bench()
    classic(made, {"c": parts(range(6))})
    parked = made.join("d", protocols=offer())
    since = len(made.log)
    sent = made.beat("m", 0, owned={}, regex="(", rebalance_ms=1_000)
    assert error(sent)[0] is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert parked.error is AGAIN
    assert made.records(since) == []
    assert (made.state, len(made.snapshot().members)) == ("PreparingRebalance", 2)
    assert made.of_kind(Kind.GROUP_CONVERTED) == []


def test_two_owners_of_a_partition() -> None:
    """An assignor that gave a partition to two members makes a state that Kafka does not expect."""
    made = bench()
    classic(made, {"c": parts([0]), "d": parts([0])})
    assert answer(made.enroll("m")).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert made.state == "Stable"


def test_a_first_round_has_no_protocol() -> None:
    """A group that has not finished a round has no protocol: UNKNOWN_SERVER_ERROR, after the parked JoinGroups."""
    made = HeartbeatBench(settings(initial_rebalance_delay_ms=3_000))
    parked = made.join("c", protocols=offer())
    assert answer(made.enroll("m")).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert parked.error is AGAIN


# --- appends ---------------------------------------------------------------------------------------------------------


def waiting() -> HeartbeatBench:
    """A Stable classic group of one, whose further appends wait."""
    made = bench()
    classic(made, {"c": parts(range(6))})
    made.auto_commit = False
    return made


def test_a_failed_append_takes_the_upgrade_back() -> None:
    """The joiner is answered the error; the classic group has its state and its members, and answers them."""
    made = waiting()
    member = made.snapshot().members[0].member_id
    sent = made.enroll("m")
    assert not sent.answered
    assert made.epochs() == ("Reconciling", 2, 2)
    made.fail_append()
    assert answer(sent).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert made.state == "Stable"
    assert made.heartbeat(member, 1).error is ErrorCode.NONE
    converted = made.of_kind(Kind.GROUP_CONVERTED)
    assert [(event.from_, event.to) for event in converted] == [("classic", "consumer"), ("consumer", "classic")]
    made.auto_commit = True
    assert given(made.enroll("m"))[0] == 2


def test_the_append_of_an_assignment_ends_after_the_upgrade() -> None:
    """The classic group that was replaced shows no change of its state; if the upgrade fails it is Stable."""
    made = bench()
    (c,) = classic(made, {"c": None})
    made.auto_commit = False
    parked = made.sync(c, 1, {c: parts(range(6))})
    made.enroll("m")
    assert parked.error is AGAIN
    before = made.states()
    made.commit(1)
    assert made.states() == before
    made.fail_append()
    group = made.shard.groups.get("g")
    assert isinstance(group, ClassicGroup)
    assert group.state.printed == "Stable"
    last = made.of_kind(Kind.GROUP_CONVERTED)[-1]
    assert (last.to, last.payload["state"], last.payload["members"]) == ("classic", "Stable", 1)


def test_administrators_see_the_committed_group() -> None:
    """Until the append is committed the group is described as the classic one."""
    made = waiting()
    made.enroll("m")
    assert made.described().error is NOT_FOUND
    made.commit()
    assert made.described().state == "Reconciling"


# --- trace -----------------------------------------------------------------------------------------------------------


def test_events_of_an_upgrade() -> None:
    """`group.converted` comes first, with the joiner as its cause; then what the join changes."""
    made = bench()
    two(made)
    made.emitted.clear()
    made.enroll("m")
    kinds = [event.kind for event in made.emitted]
    assert kinds[:4] == [Kind.GROUP_CONVERTED, Kind.MEMBER_ADDED, Kind.EPOCH_BUMPED, Kind.TARGET_COMPUTED]
    first, last = made.emitted[0], made.emitted[-1]
    assert (first.from_, first.to, first.member_id, first.generation) == ("classic", "consumer", "m", 1)
    assert first.payload == {"members": 2, "before": "Stable", "state": "Stable"}
    assert (last.kind, last.from_, last.to) == (Kind.GROUP_STATE, "Stable", "Reconciling")
