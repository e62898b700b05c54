"""Static members of consumer groups: instance ids, replacement, and the leave with epoch -2."""

from __future__ import annotations

from groupsim.coordinator.base.consumer_records import CurrentRecord, EpochRecord, MemberRecord, TargetRecord
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from tests.helpers.heartbeat_bench import A, HeartbeatBench, answer, error, given, settings

ALL_A = {A: [0, 1, 2, 3, 4, 5]}


def static(**changed: object) -> HeartbeatBench:
    """Return a group with one static member `m` of the instance `i`."""
    bench = HeartbeatBench(settings(**changed))
    bench.enroll("m", instance="i")
    return bench


def test_a_bounce_moves_nothing() -> None:
    """Epoch -2, then epoch 0 under another id: all partitions with the first response, and no bump."""
    bench = static()
    assert given(bench.leave_group("m", epoch=-2, instance="i")) == (-2, None)
    assert bench.epochs() == ("Reconciling", 2, 2)
    assert given(bench.enroll("n", instance="i")) == (2, ALL_A)
    assert bench.epochs() == ("Stable", 2, 2)
    assert list(bench.group().data.members) == ["n"]


def test_a_replacement_writes_its_records_in_kafkas_order() -> None:
    """The old id is removed, the new one has copies; the current assignment at epoch 0, then at the target's."""
    bench = static()
    bench.leave_group("m", epoch=-2, instance="i")
    since = len(bench.log)
    bench.enroll("n", instance="i")
    written = [
        (type(one), one.member_id, one.value is None) for one in bench.records(since) if hasattr(one, "member_id")
    ]
    assert written == [
        (CurrentRecord, "m", True),
        (TargetRecord, "m", True),
        (MemberRecord, "m", True),
        (MemberRecord, "n", False),
        (TargetRecord, "n", False),
        (CurrentRecord, "n", False),
        (CurrentRecord, "n", False),
    ]
    assert not any(isinstance(record, EpochRecord) for record in bench.records(since))
    assert bench.of_kind(Kind.MEMBER_REPLACED)[0].payload == {"old": "m", "instance_id": "i", "rebalance": False}


def test_a_replacement_with_other_topics_bumps() -> None:
    """A changed subscription is a reason, whichever member has it now."""
    bench = static()
    bench.leave_group("m", epoch=-2, instance="i")
    bench.enroll("n", "b", instance="i")
    assert bench.group().data.group_epoch == 3


def test_an_instance_id_that_is_in_use_is_not_given_away() -> None:
    """UNRELEASED_INSTANCE_ID, also for the same member id: a crashed member blocks its successor."""
    bench = static()
    for member in ("m", "n"):
        assert error(bench.enroll(member, instance="i")) == (
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member} with instance id i cannot join the group because the instance id is owned by m "
            "member.",
        )


def test_an_instance_id_is_checked_with_every_heartbeat() -> None:
    """UNKNOWN_MEMBER_ID for an unknown instance, FENCED_INSTANCE_ID for another member; without one it passes."""
    bench = static()
    unknown = (ErrorCode.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")
    fenced = (ErrorCode.FENCED_INSTANCE_ID, "Static member n with instance id i was fenced by member m.")
    for epoch in (2, -1, -2):
        assert error(bench.beat("m", epoch, instance="j")) == unknown
        assert error(bench.beat("n", epoch, instance="i")) == fenced
    assert given(bench.beat("m", 2)) == (2, None)


def test_a_member_may_get_an_instance_id() -> None:
    """A known member that names an instance id no member has gets it, and gives its former one up."""
    bench = HeartbeatBench()
    bench.enroll("m")
    assert given(bench.enroll("m", instance="i")) == (2, ALL_A)
    assert given(bench.enroll("m", instance="j")) == (2, ALL_A)
    assert dict(bench.group().data.static_members) == {"j": "m"}


def test_who_left_for_now_keeps_its_partitions_but_not_those_it_had_to_revoke() -> None:
    """What was pending is free at once, what is assigned stays blocked; epochs of partitions start again."""
    bench = static()
    bench.enroll("n")
    kept = (given(bench.beat("m", 2, instance="i"))[1] or {})[A]
    bench.leave_group("m", epoch=-2, instance="i")
    away = bench.member("m")
    assert (away.member_epoch, dict(away.pending), dict(away.assigned)) == (-2, {}, {A: dict.fromkeys(kept, 0)})
    rest = [one for one in range(6) if one not in kept]
    assert given(bench.beat("n", 3)) == (3, {A: rest})
    assert error(bench.beat("m", 2, instance="i"))[0] is ErrorCode.FENCED_MEMBER_EPOCH


def test_who_does_not_come_back_is_removed() -> None:
    """The session goes on from the last heartbeat before the leave, which does not prolong it."""
    bench = static()
    bench.advance_ms(10_000)
    bench.leave_group("m", epoch=-2, instance="i")
    assert bench.timers_of("m") == {"session-timeout-g-m": 35_000}
    bench.advance_ms(35_000)
    assert bench.epochs() == ("Empty", 3, 3)


def test_a_static_member_that_leaves_for_good_is_removed_at_once() -> None:
    """Epoch -1 works with the instance id and without."""
    for instance in ("i", None):
        bench = static()
        left = bench.leave_group("m", instance=instance)
        assert (answer(left).member_id, answer(left).member_epoch) == ("m", -1)
        assert bench.epochs() == ("Empty", 3, 3)


def renamed(release: str) -> HeartbeatBench:
    """Return a group whose member `m` was the instance `i`, and is `j` now."""
    bench = HeartbeatBench(settings(release))
    bench.enroll("m", instance="i")
    bench.enroll("m", instance="j")
    return bench


def test_a_former_instance_id_is_free_since_4_4() -> None:
    """Before 4.4 it names the member as well: no other member gets it (KAFKA-20747)."""
    assert answer(renamed("4.4").enroll("n", instance="i")).error is ErrorCode.NONE
    assert answer(renamed("4.3").enroll("n", instance="i")).error is ErrorCode.UNRELEASED_INSTANCE_ID


def test_before_4_4_a_former_instance_id_outlives_its_member() -> None:
    """No member gets it any more, also after a load: UNKNOWN_MEMBER_ID for joins, heartbeats and leaves."""
    bench = renamed("4.3")
    bench.leave_group("m", instance="j")
    unknown = (ErrorCode.UNKNOWN_MEMBER_ID, "Member m is not a member of group g.")
    bench.enroll("o")
    for one in (bench, HeartbeatBench(settings("4.3"), records=bench.log)):
        assert error(one.enroll("n", instance="i")) == unknown
        assert error(one.beat("n", 2, instance="i")) == error(one.beat("m", -1, instance="i")) == unknown
        assert answer(one.enroll("p", instance="j")).error is ErrorCode.NONE
        one.leave_group("p")


def test_a_log_without_the_former_instance_id_frees_it() -> None:
    """The cleaner removes the record of a member as the former instance: a load before 4.4 does not know of it."""
    bench = renamed("4.3")
    records = bench.records()
    first = next(one for one in records if isinstance(one, MemberRecord))
    loaded = HeartbeatBench(settings("4.3"), records=[one for one in records if one is not first])
    assert dict(loaded.group().data.static_members) == {"j": "m"}


def test_before_4_4_who_returns_under_the_former_instance_id_replaces_the_member() -> None:
    """It is the absent member that the id names; the later id names the new member, too."""
    bench = renamed("4.3")
    bench.leave_group("m", epoch=-2, instance="j")
    assert given(bench.enroll("n", instance="i")) == (2, ALL_A)
    assert dict(bench.group().data.static_members) == {"i": "n", "j": "n"}


def test_a_failed_append_takes_back_a_change_of_the_instance_id() -> None:
    """The member is named as before, whether or not the release frees former ids."""
    for release in ("4.3", "4.4"):
        bench = HeartbeatBench(settings(release), auto_commit=False)
        bench.enroll("m", instance="i")
        bench.commit(1)
        bench.enroll("m", instance="j")
        assert ("i" in bench.group().data.static_members) is (release == "4.3")
        bench.fail_append()
        assert dict(bench.group().data.static_members) == {"i": "m"}
