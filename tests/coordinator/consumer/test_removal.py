"""Members that leave, expire or do not revoke in time."""

from __future__ import annotations

from groupsim.coordinator.base.consumer_records import (
    CurrentRecord,
    EpochRecord,
    MemberRecord,
    TargetEpochRecord,
    TargetRecord,
)
from groupsim.coordinator.testing import left
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import HeartbeatRequest, LeaveGroupRequest, LeavingMember, SyncGroupRequest
from tests.helpers.heartbeat_bench import A, HeartbeatBench, given, settings

ALL_A = {A: [0, 1, 2, 3, 4, 5]}


def two(**changed: object) -> HeartbeatBench:
    """Return a group of two members that have half of the partitions each, at epoch 3."""
    bench = HeartbeatBench(settings(**changed))
    bench.enroll("m")
    bench.enroll("n")
    kept = (given(bench.beat("m", 2))[1] or {})[A]
    bench.beat("m", 2, owned={A: kept})
    bench.beat("n", 3)
    assert bench.epochs() == ("Stable", 3, 3)
    return bench


def test_a_leave_bumps_and_computes_no_target() -> None:
    """The group is Assigning until the next heartbeat of any member, which then gets what was left."""
    bench = two()
    since = len(bench.log)
    assert given(bench.leave_group("n")) == (-1, None)
    assert [type(one) for one in bench.records(since)] == [CurrentRecord, TargetRecord, MemberRecord, EpochRecord]
    assert bench.epochs() == ("Assigning", 4, 3)
    assert given(bench.beat("m", 3)) == (4, ALL_A)
    assert bench.epochs() == ("Stable", 4, 4)


def test_the_last_leave_takes_the_target_along() -> None:
    """Empty at the new epoch, without a time: the next join does not wait. Before 4.4 the target stays behind."""
    epochs = {}
    for release in ("4.3", "4.4"):
        bench = HeartbeatBench(settings(release))
        bench.enroll("m")
        bench.leave_group("m")
        epochs[release] = bench.epochs()
    assert epochs == {"4.3": ("Empty", 3, 2), "4.4": ("Empty", 3, 3)}
    assert isinstance(bench.log[-1], TargetEpochRecord)
    assert bench.group().data.target_us is None


def test_a_join_after_the_last_leave_does_not_wait() -> None:
    """The interval counts from the last target of a group that has members."""
    bench = HeartbeatBench(settings(consumer_assignment_interval_ms=15_000))
    bench.advance_ms(1)
    bench.enroll("m")
    bench.leave_group("m")
    assert given(bench.enroll("n")) == (4, ALL_A)


def test_a_silent_member_is_removed() -> None:
    """After the session timeout of the broker, counted from the last accepted heartbeat."""
    bench = two()
    bench.advance_ms(44_000)
    bench.beat("m", 3)
    bench.advance_ms(1_000)
    assert list(bench.group().data.members) == ["m"]
    assert bench.epochs() == ("Assigning", 4, 3)
    removed = bench.of_kind(Kind.MEMBER_REMOVED)[-1]
    assert (removed.member_id, removed.reason) == ("n", "session-expired")
    assert bench.of_kind(Kind.EPOCH_BUMPED)[-1].payload == {"epoch": 4, "triggers": ["session-expired"]}
    assert bench.of_kind(Kind.GROUP_STATE)[-1].reason == (
        "Member n fenced from the group because the member session expired."
    )


def test_who_does_not_revoke_in_time_is_removed() -> None:
    """The rebalance timeout counts from the step that took partitions away, heartbeats or not."""
    bench = HeartbeatBench()
    bench.enroll("m", rebalance_ms=20_000)
    bench.enroll("n")
    bench.beat("m", 2)
    for _ in range(2):
        bench.advance_ms(9_000)
        bench.beat("m", 2)
        bench.beat("n", 3)
    bench.advance_ms(2_000)
    assert list(bench.group().data.members) == ["n"]
    assert bench.of_kind(Kind.MEMBER_REMOVED)[-1].reason == "rebalance-timeout"
    assert given(bench.beat("n", 3)) == (4, ALL_A)


def test_a_rebalance_timer_counts_for_its_epoch_only() -> None:
    """A timer of an operation that was taken back fires, and removes only a member that is at that epoch."""
    bench = HeartbeatBench()
    bench.enroll("m", rebalance_ms=20_000)
    bench.enroll("n")
    bench.auto_commit = False
    bench.beat("m", 2)
    bench.fail_append()
    bench.auto_commit = True
    assert bench.timers()["rebalance-timeout-g-m"] == 20_000
    bench.advance_ms(20_000)
    assert list(bench.group().data.members) == ["n"]


def test_leave_group_removes_members_of_both_protocols_as_one_change() -> None:
    """An administrator names them; each has its result, and all of them bump once."""
    bench = two()
    bench.enroll("o", instance="i")
    entries = (LeavingMember("m"), LeavingMember("x"), LeavingMember("", "i"), LeavingMember("m", "i"))
    assert left(bench.send(LeaveGroupRequest("g", entries))) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
        ErrorCode.FENCED_INSTANCE_ID,
    ]
    assert list(bench.group().data.members) == ["n"]
    assert bench.group().data.group_epoch == 5


def test_leave_group_without_a_member_bumps_nothing() -> None:
    """All entries unknown: the group stays as it is."""
    bench = two()
    assert left(bench.send(LeaveGroupRequest("g", (LeavingMember("x"),)))) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert bench.epochs() == ("Stable", 3, 3)


def test_a_member_of_the_new_protocol_is_unknown_to_requests_of_the_old_one() -> None:
    """SyncGroup and Heartbeat are answered UNKNOWN_MEMBER_ID, a foreign instance id FENCED_INSTANCE_ID."""
    bench = two()
    bench.enroll("o", instance="i")
    for instance, expected in ((None, ErrorCode.UNKNOWN_MEMBER_ID), ("i", ErrorCode.FENCED_INSTANCE_ID)):
        assert bench.send(HeartbeatRequest("g", 3, "m", instance)).error is expected
        assert bench.send(SyncGroupRequest("g", 3, "m", instance)).error is expected
