"""Each invariant of a coordinator finds its violation: records no operation would write, or code that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from groupsim.coordinator.base.consumer_records import (
    CurrentRecord,
    EpochRecord,
    EpochValue,
    MemberState,
    TargetEpochRecord,
    TargetEpochValue,
    TargetRecord,
)
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.records import GroupRecord, GroupValue, StoredMember
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.consumer import heartbeat, joining, member_update
from groupsim.coordinator.consumer.assignment.reconciliation import _advance
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.consumer.member_records import current_record, removal
from groupsim.coordinator.consumer.state import ConsumerGroupState, GroupState
from groupsim.coordinator.consumer.timers import set_session
from groupsim.coordinator.offsets import requests
from groupsim.coordinator.testing import GROUP
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import TopicPartitions
from groupsim.protocol.messages.group import OffsetFetchRequest, TopicPartition
from groupsim.scenarios.invariants.table import INVARIANTS
from tests.helpers.heartbeat_bench import A, settings
from tests.helpers.invariant_bench import WatchedBench

Patch = pytest.MonkeyPatch


def stable(*members: str, **kwargs: Any) -> WatchedBench:
    """Return a bench with a Stable group of these members."""
    bench = WatchedBench(**kwargs)
    for member in members:
        bench.enroll(member, instance=f"i-{member}" if member.startswith("s") else None)
    for _ in range(4):
        for member in members:
            settle(bench, member)
    assert bench.epochs()[0] == "Stable"
    return bench


def settle(bench: WatchedBench, member: str, **fields: Any) -> Any:
    """Send a heartbeat of a member that has revoked all that it has to."""
    known = bench.member(member)
    return bench.beat(member, known.member_epoch, owned={one: [*has] for one, has in known.assigned.items()}, **fields)


def current(bench: WatchedBench, member: str, **changed: Any) -> CurrentRecord:
    """Return a record of a member's present assignment with other fields."""
    return current_record(GROUP, evolve(bench.member(member), **changed), bench.shard.op.differences)


# --- epochs ------------------------------------------------------------------------------------------------------


def group_epoch_jumps(_: Patch) -> WatchedBench:
    """The group epoch rises by two."""
    bench = stable("m1")
    epoch = bench.epochs()[1]
    bench.tamper(EpochRecord(GROUP, EpochValue(epoch + 2, 0)))
    return bench


def target_before_its_epoch(_: Patch) -> WatchedBench:
    """A target has an epoch that the group does not have yet."""
    bench = stable("m1")
    bench.tamper(TargetEpochRecord(GROUP, TargetEpochValue(bench.epochs()[1] + 1)))
    return bench


def member_ahead(_: Patch) -> WatchedBench:
    """A member is at an epoch without a target."""
    bench = stable("m1")
    bench.tamper(current(bench, "m1", member_epoch=9))
    return bench


def member_falls_back(_: Patch) -> WatchedBench:
    """A member goes to a lower epoch."""
    bench = stable("m1", "m2")
    bench.tamper(current(bench, "m1", member_epoch=1))
    return bench


def state_is_wrong(patch: Patch) -> WatchedBench:
    """A group shows another state than follows from its epochs."""
    bench = stable("m1")
    patch.setattr(GroupState, "state", property(lambda self: ConsumerGroupState.RECONCILING))
    settle(bench, "m1", names=("a", "b"))
    return bench


def stable_with_less(_: Patch) -> WatchedBench:
    """A member of a Stable group lacks most of its target."""
    bench = stable("m1")
    bench.tamper(current(bench, "m1", assigned={A: {0: 2}}))
    return bench


def bounce_bumps(patch: Patch) -> WatchedBench:
    """The return of a static member bumps the group epoch."""
    bench = stable("s1", "m2")
    bench.leave_group("s1", epoch=-2, instance="i-s1")
    change = joining.replacement

    def mutant(state: GroupState, old: Any, member_id: str, records: list[Any], rules: Any) -> Any:
        new = change(state, old, member_id, records, rules)
        records.append(EpochRecord(GROUP, EpochValue(state.group_epoch + 1, state.metadata_hash)))
        return new

    patch.setattr(joining, "replacement", mutant)
    bench.enroll("s2", instance="i-s1")
    return bench


def group_too_large(patch: Patch) -> WatchedBench:
    """A join to a full group is accepted."""
    patch.setattr(heartbeat, "check_capacity", lambda *_: None)
    bench = stable("m1", config=settings(consumer_max_size=1))
    bench.enroll("m2")
    return bench


def removal_without_bump(_: Patch) -> WatchedBench:
    """A member is removed without a bump."""
    bench = stable("m1", "m2")
    bench.tamper(*removal(GROUP, "m2"))
    return bench


# --- owners ------------------------------------------------------------------------------------------------------


def two_owners(_: Patch) -> WatchedBench:
    """A partition is assigned to a member while another one has it."""
    bench = stable("m1", "m2")
    assigned = {A: dict.fromkeys(range(6), 4)}
    epoch = bench.epochs()[1]
    bench.tamper(EpochRecord(GROUP, EpochValue(epoch + 1, 0)), TargetEpochRecord(GROUP, TargetEpochValue(epoch + 1)))
    bench.tamper(current(bench, "m1", member_epoch=epoch + 1, assigned=assigned))
    return bench


def pending_while_stable(_: Patch) -> WatchedBench:
    """A member that is STABLE has to revoke."""
    bench = stable("m1")
    assigned = bench.member("m1").assigned[A]
    kept, rest = {0: assigned[0]}, {number: assigned[number] for number in range(1, 6)}
    bench.tamper(current(bench, "m1", assigned={A: rest}, pending={A: kept}))
    return bench


def same_epoch_twice(patch: Patch) -> WatchedBench:
    """Two members are answered with the same partitions."""
    bench = stable("m1", "m2")
    patch.setattr(heartbeat, "in_response", lambda _: heartbeat_of(bench, "m1"))
    bench.beat("m1", 3, owned={}, names=("a",), rebalance_ms=1_000)
    bench.beat("m2", 3, owned={}, names=("a",), rebalance_ms=1_000)
    return bench


def heartbeat_of(bench: WatchedBench, member: str) -> Any:
    """Return the assignment of a member, as in a response."""
    return tuple(TopicPartitions(one, tuple(has)) for one, has in bench.member(member).assigned.items())


def epoch_map_is_wrong(patch: Patch) -> WatchedBench:
    """Partitions that a member gives up stay in the map of partition epochs."""
    bench = stable("m1")
    patch.setattr(GroupState, "_release", lambda *_: None)
    bench.tamper(
        EpochRecord(GROUP, EpochValue(3, 0)),
        TargetEpochRecord(GROUP, TargetEpochValue(3)),
        current(bench, "m1", member_epoch=3, assigned={A: {0: 2}}),
    )
    return bench


def described_without(patch: Patch) -> WatchedBench:
    """A group is described without the partitions of its members."""
    bench = stable("m1")
    described = bench.shard.describe_consumer_group

    def mutant(group_id: str) -> Any:
        found = described(group_id)
        return evolve(found, members=tuple(evolve(member, assignment=()) for member in found.members))

    patch.setattr(bench.shard, "describe_consumer_group", mutant)
    settle(bench, "m1", names=("a", "b"))
    settle(bench, "m1")
    return bench


# --- targets -----------------------------------------------------------------------------------------------------


def retarget(bench: WatchedBench, assignor: str, **targets: Any) -> WatchedBench:
    """Compute these targets, member by member, with an assignor."""
    epoch = bench.epochs()[1] + 1
    records = [TargetRecord(GROUP, one, {A: frozenset(has)} if has else {}) for one, has in targets.items()]
    hashed = bench.group().data.metadata_hash
    bench.tamper(
        EpochRecord(GROUP, EpochValue(epoch, hashed)),
        *records,
        TargetEpochRecord(GROUP, TargetEpochValue(epoch)),
        event=Kind.TARGET_COMPUTED,
        assignor=assignor,
    )
    return bench


def target_misses_one(_: Patch) -> WatchedBench:
    """A target lacks a partition."""
    return retarget(stable("m1", "m2"), "uniform", m1=(0, 1, 2), m2=(3, 4))


def target_is_uneven(_: Patch) -> WatchedBench:
    """A target gives four partitions and two."""
    return retarget(stable("m1", "m2"), "uniform", m1=(0, 1, 2, 3), m2=(4, 5))


def range_has_gaps(_: Patch) -> WatchedBench:
    """A target of `range` gives every second partition."""
    return retarget(stable("m1", "m2"), "range", m1=(0, 2, 4), m2=(1, 3, 5))


def target_shuffles(_: Patch) -> WatchedBench:
    """A target exchanges the partitions of two members."""
    bench = stable("m1", "m2")
    had = {one: sorted(bench.group().data.target(one)[A]) for one in ("m1", "m2")}
    return retarget(bench, "uniform", m1=had["m2"], m2=had["m1"])


# --- the steps of a member ---------------------------------------------------------------------------------------


def moves_on_before_revoking(patch: Patch) -> WatchedBench:
    """A member that has to revoke moves on at its next heartbeat."""
    reconcile = member_update.reconcile

    def mutant(member: Any, goal: Any, owned: Any, rules: Any) -> Any:
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            return _advance(member, goal, (), member.member_epoch, rules)
        return reconcile(member, goal, owned, rules)

    bench = stable("m1")
    bench.enroll("m2")
    bench.beat("m1", 2)
    patch.setattr(member_update, "reconcile", mutant)
    bench.beat("m1", 2)
    return bench


def granted_while_taken(_: Patch) -> WatchedBench:
    """A partition is assigned to the second member before the first has revoked it."""
    bench = stable("m1")
    bench.enroll("m2")
    bench.beat("m1", 2)
    bench.tamper(current(bench, "m2", member_epoch=3, state=MemberState.STABLE, assigned={A: {5: 3}}))
    return bench


# --- answers -----------------------------------------------------------------------------------------------------


def answers_what_was_not_asked(patch: Patch) -> WatchedBench:
    """A request that reports partitions is answered with the assignment."""
    patch.setattr(heartbeat, "_is_full", lambda request: request.topic_partitions is not None)
    return stable("m1")


def accepts_any_epoch(patch: Patch) -> WatchedBench:
    """A heartbeat with an old epoch is accepted."""
    bench = stable("m1", "m2")
    patch.setattr(joining, "check_epoch", lambda *_: None)
    bench.beat("m1", 1)
    return bench


def refusal_prolongs(patch: Patch) -> WatchedBench:
    """A refused heartbeat begins the session again."""
    bench = stable("m1")
    refused = heartbeat.find_member

    def mutant(state: Any, request: Any, member_id: str, *others: Any) -> Any:
        set_session(bench.group(), bench.shard.op, member_id, 45_000)
        return refused(state, request, member_id, *others)

    patch.setattr(heartbeat, "find_member", mutant)
    bench.advance_ms(1_000)
    bench.beat("m1", 7)
    return bench


def answers_at_once(patch: Patch) -> WatchedBench:
    """A heartbeat is answered while its append is under way."""
    patch.setattr(Operation, "reply_when_written", lambda self, call, request, response: self.reply(call, response))
    bench = WatchedBench(auto_commit=False)
    bench.enroll("m1")
    return bench


# --- offsets -----------------------------------------------------------------------------------------------------


def commits_at_any_epoch(patch: Patch) -> WatchedBench:
    """A commit with another epoch is accepted."""
    bench = stable("m1")
    patch.setattr(ConsumerGroup, "commit_error", lambda *_: None)
    bench.commit_offset(1, member_id="m1", generation=1, topic="a")
    return bench


def commits_after_removal(patch: Patch) -> WatchedBench:
    """A commit of a removed member is accepted."""
    bench = stable("m1", "m2")
    bench.leave_group("m2")
    patch.setattr(ConsumerGroup, "commit_error", lambda *_: None)
    bench.commit_offset(1, member_id="m2", generation=3, topic="a")
    return bench


def commit_of_other_refused(patch: Patch) -> WatchedBench:
    """A commit at the epoch of its member is refused."""
    bench = stable("m1", "m2")
    patch.setattr(ConsumerGroup, "commit_error", lambda *_: ErrorCode.STALE_MEMBER_EPOCH)
    bench.commit_offset(1, member_id="m1", generation=3, topic="a", partition=5)
    return bench


def commit_after_hand_over(patch: Patch) -> WatchedBench:
    """A commit for a partition that another member has is accepted at an old epoch."""
    bench = stable("m1", "m2")
    given = next(iter(bench.member("m2").assigned[A]))
    patch.setattr(ConsumerGroup, "commit_error", lambda *_: None)
    bench.commit_offset(1, member_id="m1", generation=2, topic="a", partition=given)
    return bench


def fetches_at_any_epoch(patch: Patch) -> WatchedBench:
    """A fetch with another epoch is answered."""
    bench = stable("m1")
    patch.setattr(ConsumerGroup, "fetch_error", lambda *_, **__: None)
    bench.send(OffsetFetchRequest(GROUP, (TopicPartition("a", 0),), member_id="m1", member_epoch=1))
    return bench


def fetches_old_offsets(patch: Patch) -> WatchedBench:
    """A fetch returns less than was committed."""
    bench = stable("m1")
    bench.commit_offset(5, member_id="m1", generation=2, topic="a")
    where = TopicPartition("a", 0)
    answer = requests.OffsetFetchResponse

    def mutant(error: Any = ErrorCode.NONE, offsets: Any = ()) -> Any:
        return answer(error, tuple(evolve(one, offset=3) for one in offsets))

    patch.setattr(requests, "OffsetFetchResponse", mutant)
    bench.send(OffsetFetchRequest(GROUP, (where,), member_id="m1", member_epoch=2))
    return bench


# --- time, and other coordinators --------------------------------------------------------------------------------


def session_too_short(patch: Patch) -> WatchedBench:
    """A heartbeat begins half a session."""
    patch.setattr(heartbeat, "set_session", lambda group, op, one, ms: set_session(group, op, one, ms // 2))
    bench = WatchedBench()
    bench.enroll("m1")
    return bench


def session_ends_early(_: Patch) -> WatchedBench:
    """A session ends before its time."""
    bench = stable("m1", "m2")
    timer = next(one for one in bench.shard.op.timers.of_group(GROUP) if one.member_id == "m1")
    bench.shard.fire(timer, bench.now_us)
    return bench


def revocation_ends_early(patch: Patch) -> WatchedBench:
    """A member has half its time to revoke."""
    set_rebalance = member_update.set_rebalance

    def mutant(group: Any, op: Any, member: Any) -> None:
        set_rebalance(group, op, evolve(member, rebalance_timeout_ms=member.rebalance_timeout_ms // 2))

    bench = WatchedBench()
    bench.enroll("m1", rebalance_ms=2_000)
    bench.enroll("m2")
    patch.setattr(member_update, "set_rebalance", mutant)
    bench.beat("m1", 2)
    bench.advance_ms(1_000)
    return bench


def never_removed(patch: Patch) -> WatchedBench:
    """A member that does not revoke is not removed."""
    patch.setattr(member_update, "set_rebalance", lambda *_: None)
    bench = WatchedBench()
    bench.enroll("m1", rebalance_ms=2_000)
    bench.enroll("m2")
    bench.beat("m1", 2)
    bench.advance_ms(4_000)
    bench.enroll("m3")
    return bench


def converted_without_a_member(_: Patch) -> WatchedBench:
    """A group becomes a classic one with a member that it did not have, at an older generation."""
    bench = stable("m1")
    stranger = StoredMember("m9", None, "c", "/h", 1_000, 1_000, b"", b"")
    value = GroupValue("consumer", 1, "range", "m9", 0, (stranger,))
    group = ClassicGroup(GROUP)
    bench.shard.partition.replace((*bench.group().tombstones(), GroupRecord(GROUP, value)), group)
    bench.watched.inspect("broker-0", bench.shard, (), bench.shard.op.take())
    return bench


def load_loses_a_record(_: Patch) -> WatchedBench:
    """A load lacks the last assignment of a member."""
    bench = stable("m1", "m2")
    last = max(at for at, one in enumerate(bench.log) if isinstance(one, CurrentRecord))
    return bench.after_failover([*bench.log[:last], *bench.log[last + 1 :]])


def load_loses_a_group(_: Patch) -> WatchedBench:
    """A load lacks the group."""
    return stable("m1").after_failover([])


CASES: dict[str, tuple[Callable[[Patch], WatchedBench], ...]] = {
    "N1": (group_epoch_jumps,),
    "N2": (target_before_its_epoch,),
    "N3": (member_ahead,),
    "N4": (member_falls_back,),
    "N5": (two_owners,),
    "N6": (pending_while_stable,),
    "N7": (same_epoch_twice,),
    "N8": (epoch_map_is_wrong,),
    "N9": (target_misses_one,),
    "N10": (target_is_uneven, range_has_gaps),
    "N11": (target_shuffles,),
    "N12": (state_is_wrong,),
    "N13": (stable_with_less,),
    "N14": (moves_on_before_revoking,),
    "N15": (moves_on_before_revoking,),
    "N16": (granted_while_taken,),
    "N17": (answers_what_was_not_asked, same_epoch_twice),
    "N18": (accepts_any_epoch, refusal_prolongs),
    "N19": (commits_at_any_epoch,),
    "N20": (commits_after_removal,),
    "N21": (commit_of_other_refused,),
    "N22": (commit_after_hand_over,),
    "N23": (session_too_short, session_ends_early),
    "N24": (revocation_ends_early,),
    "N25": (bounce_bumps,),
    "N26": (group_too_large,),
    "N27": (load_loses_a_record, load_loses_a_group),
    "N28": (answers_at_once,),
    "N29": (fetches_at_any_epoch, fetches_old_offsets),
    "N30": (removal_without_bump,),
    "N31": (described_without,),
    "O8": (converted_without_a_member,),
    "L6": (never_removed,),
}
"""The stories with a violation, by the code of the invariant."""
_NAMES = {one.code: one.name for one in INVARIANTS}


@pytest.mark.parametrize(
    ("code", "story"),
    [pytest.param(code, story, id=f"{code}-{story.__name__}") for code, stories in CASES.items() for story in stories],
)
def test_an_invariant_finds_its_violation(code: str, story: Any, monkeypatch: Patch) -> None:
    """The invariant is violated, and the violation names the instant, the group, who is concerned, and the seed."""
    found = story(monkeypatch).found()
    assert _NAMES[code] in found, sorted(found)
    violation = found[_NAMES[code]]
    assert violation.group == GROUP
    assert violation.members or violation.partitions or violation.epochs
    assert "seed 7" in str(violation)
