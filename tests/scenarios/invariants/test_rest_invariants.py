"""Invariants of rest, and of what clients and coordinators agree on: each finds its violation, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.coordinator.base.consumer_records import EpochRecord, EpochValue, MemberState
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.consumer.hosted import join as hosted
from groupsim.coordinator.testing import GROUP
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.scenarios.invariants.table import INVARIANTS
from tests.helpers.heartbeat_bench import A, error, settings
from tests.helpers.hosted_bench import offer
from tests.helpers.invariant_bench import WatchedBench
from tests.scenarios.invariants import test_client_invariants, test_member_invariants
from tests.scenarios.invariants.test_coordinator_invariants import CASES, current, settle, stable

Patch = pytest.MonkeyPatch


def emit(bench: WatchedBench, kind: Kind, host: str = "c1", member: str = "m1", **columns: Any) -> None:
    """Emit an event of a process of the group."""
    bench.watched.trace.emit(kind, host, GROUP, member, **columns)


def own(bench: WatchedBench, *numbers: int, host: str = "c1", member: str = "m1") -> None:
    """Let a client own partitions of the topic `a`."""
    for number in numbers:
        emit(bench, Kind.PARTITION_OWNED, host, member, topic="a", partition=number)


def names(bench: WatchedBench) -> list[str]:
    """Return the violated invariants."""
    return sorted(bench.found())


# --- what clients own, beside what the coordinator gave them -------------------------------------------------------


def test_a_client_that_owns_more() -> None:
    """A partition that the coordinator has not given is a violation."""
    bench = stable("m1", "m2", names=("C8",))
    mine = sorted(bench.member("m1").assigned[A])
    own(bench, *mine)
    assert bench.found() == {}
    bench = stable("m1", "m2", names=("C8",))
    own(bench, *sorted(bench.member("m2").assigned[A]))
    assert names(bench) == ["client-within-coordinator"]


def test_a_partition_that_is_taken_while_it_is_owned() -> None:
    """A coordinator that takes a partition from a member whose client owns it is a violation; a report frees it."""
    for reported in (True, False):
        bench = stable("m1", names=("C8",))
        own(bench, *range(6))
        if reported:
            emit(bench, Kind.PARTITION_RELEASED, topic="a", partition=5, reason="revoked")
        bench.tamper(current(bench, "m1", assigned={A: dict.fromkeys(range(5), 2)}))
        assert names(bench) == ([] if reported else ["client-within-coordinator"])


def test_a_client_that_is_removed_or_has_left_is_right() -> None:
    """What a removed client owns still is no violation, nor what one has that has left at its poll limit."""
    bench = stable("m1", "m2", names=("C8",))
    own(bench, *sorted(bench.member("m1").assigned[A]))
    bench.advance_ms(40_000)
    settle(bench, "m2")
    bench.advance_ms(10_000)
    settle(bench, "m2")
    own(bench, 0)
    assert bench.found() == {}
    bench = stable("s1", names=("C8",))
    own(bench, *range(6), member="s1")
    emit(bench, Kind.CLIENT_STATE, member="s1", from_="PREPARE_LEAVING", to="LEAVING")
    bench.leave_group("s1", epoch=-2, instance="i-s1")
    bench.tamper(current(bench, "s1", assigned={}))
    assert bench.found() == {}


def test_a_topic_that_is_made_again_keeps_its_name() -> None:
    """A partition is compared by the name of its topic, whatever id that has."""
    again = "CAAAAAAAAAAAAAAAAAAAAQ"
    bench = stable("m1", names=("C8",))
    own(bench, *range(6))
    bench.grow((again, "a", 6))
    for _ in range(3):
        settle(bench, "m1")
    assert set(bench.member("m1").assigned) == {again}
    assert bench.found() == {}


@pytest.mark.parametrize("cause", [None, Kind.REQUEST_FAILED, Kind.PROCESS_PAUSED, Kind.GROUP_LOADED])
def test_a_client_that_is_fenced(cause: Kind | None) -> None:
    """A client that is refused without a reason is a violation; a lost answer, a pause and a load are reasons."""
    bench = stable("m1", names=("C9",))
    emit(bench, Kind.CLIENT_STATE, from_="JOINING", to="STABLE")
    settle(bench, "m1")
    if cause is not None:
        emit(bench, cause)
    assert error(bench.beat("m1", 9))[0] is ErrorCode.FENCED_MEMBER_EPOCH
    assert names(bench) == ([] if cause else ["connected-client-stays"])


@pytest.mark.parametrize(
    ("reason", "in_callback", "wrong"),
    [
        ("session-expired", False, True),
        ("rebalance-timeout", False, True),
        ("rebalance-timeout", True, False),
        ("left", False, False),
    ],
)
def test_a_connected_client_that_is_removed(reason: str, in_callback: bool, wrong: bool) -> None:
    """A removal of a connected client is a violation, unless it left or was in a callback for too long."""
    bench = stable("m1", names=("C9",))
    emit(bench, Kind.CLIENT_STATE, from_="JOINING", to="STABLE")
    if in_callback:
        emit(bench, Kind.CALLBACK_BEGUN, reason="revoked", span=1, payload={"partitions": ["a-0"]})
    settle(bench, "m1")
    emit(bench, Kind.MEMBER_REMOVED, "broker-0", reason=reason)
    assert names(bench) == (["connected-client-stays"] if wrong else [])


def clients(bench: WatchedBench, owned: dict[str, list[int]]) -> None:
    """Let the clients of members own partitions, and be settled for a minute."""
    for member, numbers in owned.items():
        emit(bench, Kind.CLIENT_STATE, f"c-{member}", member, from_="ACKNOWLEDGING", to="STABLE")
        own(bench, *numbers, host=f"c-{member}", member=member)
    bench.now_us += 30_000_000


@pytest.mark.parametrize(("less", "more", "wrong"), [(0, 0, False), (1, 0, True), (0, 1, True)])
def test_partitions_without_exactly_one_owner(less: int, more: int, wrong: bool) -> None:
    """A partition of a settled group with no owner, or with two, is a violation."""
    bench = stable("m1", "m2", names=("L4",))
    had = {one: sorted(bench.member(one).assigned[A]) for one in ("m1", "m2")}
    owned = {"m1": had["m1"][less:], "m2": [*had["m2"], *had["m1"][:more]]}
    clients(bench, owned)
    assert names(bench) == (["every-partition-has-an-owner"] if wrong else [])


def test_clients_that_are_not_settled_are_right() -> None:
    """Nothing is asked of a group whose clients are on their way, or one of which is gone."""
    for to in ("RECONCILING", None):
        bench = stable("m1", names=("L4",))
        clients(bench, {"m1": []})
        emit(bench, Kind.PROCESS_CRASHED if to is None else Kind.CLIENT_STATE, "c-m1", from_="STABLE", to=to)
        assert bench.found() == {}


# --- rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "busy", "wrong"), [(50, False, False), (120, False, True), (120, True, False)])
def test_a_group_that_does_not_come_to_rest(seconds: int, busy: bool, wrong: bool) -> None:
    """A group that is not Stable long after the last disturbance is a violation, unless an application is busy."""
    bench = stable("m1", names=("L1",))
    emit(bench, Kind.RECORDS_DELIVERED, topic="a", partition=0, payload={"base": 0, "count": 2})
    done = 1 if busy else 2
    emit(bench, Kind.RECORDS_PROCESSED, topic="a", partition=0, payload={"base": 0, "count": done})
    bench.enroll("m2")
    bench.now_us += seconds * 1_000_000
    assert names(bench) == (["group-comes-to-rest"] if wrong else [])


def test_a_wait_for_a_settled_member() -> None:
    """A member that waits for one which is at the target's epoch and has nothing to revoke is a violation."""
    bench = stable("m1", names=("L2",))
    bench.enroll("m2")
    settle(bench, "m2")
    assert bench.found() == {}
    bench = stable("m1", names=("L2",))
    bench.enroll("m2")
    epoch = bench.epochs()[1]
    bench.tamper(current(bench, "m1", member_epoch=epoch, state=MemberState.STABLE))
    bench.beat("m2", epoch)
    assert names(bench) == ["waits-are-short"]


def test_a_partition_that_is_free_and_not_granted() -> None:
    """A member that lacks a partition which no member has is a violation."""
    bench = stable("m1", names=("L2",))
    bench.tamper(current(bench, "m1", assigned={A: {0: 2}}))
    bench.beat("m1", 2)
    assert names(bench) == ["waits-are-short"]


def test_waits_for_a_member_that_is_away_are_right() -> None:
    """A member waits for one that is revoking, and for a static one that is away."""
    bench = stable("m1", names=("L2",))
    bench.enroll("m2")
    bench.beat("m1", 2)
    settle(bench, "m2")
    assert bench.member("m1").state is MemberState.UNREVOKED_PARTITIONS
    assert bench.found() == {}
    bench = stable("s1", names=("L2",))
    bench.leave_group("s1", epoch=-2, instance="i-s1")
    bench.enroll("m2")
    settle(bench, "m2")
    assert bench.member("m2").state is MemberState.UNRELEASED_PARTITIONS
    assert bench.found() == {}


def test_a_bump_without_a_cause() -> None:
    """A bump by an input that changes nothing is a violation; joins, leaves, new topics and patterns are causes."""
    bench = stable("m1", "s2", names=("L5",))
    bench.beat("m1", bench.member("m1").member_epoch, names=("a", "b"))
    bench.grow((A, "a", 9))
    for member in ("m1", "s2"):
        settle(bench, member)
    bench.beat("m3", 0, owned={}, names=(), regex="a.*", rebalance_ms=300_000)
    bench.resolve()
    settle(bench, "m1")
    bench.leave_group("m1")
    assert bench.found() == {}
    epoch, known = bench.epochs()[1], bench.group().data.metadata_hash
    bench.tamper(EpochRecord(GROUP, EpochValue(epoch + 1, known)))
    assert names(bench) == ["bumps-have-causes"]


def test_votes_that_draw_bump_for_ever() -> None:
    """One vote for `range` against one for `uniform` is a defect of Kafka 4.4: each heartbeat of one bumps."""
    bench = WatchedBench(names=("L5",))
    bench.enroll("m1", assignor="range")
    bench.enroll("m2", assignor="uniform")
    before = bench.epochs()[1]
    for _ in range(3):
        settle(bench, "m1")
        settle(bench, "m2")
    assert bench.epochs()[1] > before
    assert names(bench) == ["bumps-have-causes"]


def test_a_request_without_an_answer(monkeypatch: Patch) -> None:
    """A heartbeat that is never answered is a violation; one that waits for its append is none so soon."""
    bench = stable("m1", names=("L7",), auto_commit=True)
    bench.auto_commit = False
    bench.enroll("m2")
    bench.advance_ms(4_000)
    bench.beat("m1", 2)
    assert bench.found() == {}
    monkeypatch.setattr(Operation, "reply_when_written", lambda *_: None)
    bench = WatchedBench(names=("L7",))
    bench.enroll("m1")
    bench.advance_ms(7_000)
    bench.enroll("m2")
    assert names(bench) == ["requests-are-answered"]


def test_a_request_to_a_coordinator_that_crashed_is_right() -> None:
    """A crash answers nothing: a request that waited there is no violation when the next coordinator works."""
    crashed = stable("m1", names=("L7",), auto_commit=True)
    log, crashed.auto_commit = [*crashed.log], False
    crashed.enroll("m2")
    later_us = crashed.now_us + 12_000_000
    bench = WatchedBench(crashed.config, watch=crashed.watched, records=log, now_us=later_us)
    settle(bench, "m1")
    assert bench.found() == {}


@pytest.mark.parametrize("wrong", [True, False])
def test_a_classic_member_that_is_refused(wrong: bool, monkeypatch: Patch) -> None:
    """A refused JoinGroup with a protocol of all classic members is a violation; one without is none."""
    bench = stable("m1", names=("L12",))
    bench.join("c1", protocols=(offer("a"),))
    assert len(bench.group().data.members) == 2
    if wrong:
        monkeypatch.setattr(hosted, "_supports", lambda *_: False)
    refused = bench.join("c2", protocols=(offer("a", protocol="range" if wrong else "sticky"),))
    assert refused.response.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert names(bench) == (["classic-members-welcome"] if wrong else [])


def test_the_policy_that_refuses_classic_members_is_right() -> None:
    """With the policy `disabled` a classic member is refused."""
    bench = stable("m1", names=("L12",), config=settings(consumer_migration_policy="disabled"))
    refused = bench.join("c1", protocols=(offer("a"),))
    assert refused.response.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.found() == {}


CODES = ("C8", "C9", "L1", "L2", "L4", "L5", "L7", "L12")
"""The invariants of which this module shows a violation."""


def test_every_invariant_has_a_violation() -> None:
    """No row of the table is without a test in which it is violated."""
    shown = {*CASES, *CODES, *test_member_invariants.CODES, *test_client_invariants.CODES}
    assert {one.code for one in INVARIANTS} == shown
