"""What looks like a violation and is right: the rows of the reference's table of false alarms (3.8), and others."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.base.topics import KnownTopics
from groupsim.protocol.errors import ErrorCode
from tests.helpers.heartbeat_bench import A, B, error, given, settings
from tests.helpers.invariant_bench import WatchedBench
from tests.scenarios.invariants.test_coordinator_invariants import settle, stable


def quiet(bench: WatchedBench) -> None:
    """Check that no invariant was violated."""
    assert {name: str(one) for name, one in bench.found().items()} == {}


@pytest.mark.parametrize("release", ["4.0", "4.1", "4.2", "4.3", "4.4"])
def test_members_that_come_and_go_are_right(release: str) -> None:
    """Joins, hand-overs, leaves and the end of a session violate nothing, by the rules of each release."""
    bench = stable("m1", "m2", "m3", config=settings(release))
    bench.leave_group("m2")
    for _ in range(3):
        settle(bench, "m1")
        settle(bench, "m3")
    bench.advance_ms(40_000)
    settle(bench, "m1")
    bench.advance_ms(10_000)
    settle(bench, "m1")
    assert list(bench.group().data.members) == ["m1"]
    quiet(bench)


def test_a_target_with_partitions_of_another_member_is_right() -> None:
    """A member waits for partitions of its target that another one has: it has not got them."""
    bench = stable("m1")
    _, assigned = given(bench.enroll("m2"))
    assert assigned == {}
    assert bench.epochs()[0] == "Reconciling"
    assert len(bench.group().data.target("m2")[A]) == 3
    quiet(bench)


def test_a_target_that_waits_is_right() -> None:
    """A new member has an older epoch and nothing, until the assignment interval has passed."""
    bench = stable("m1", config=settings(consumer_assignment_interval_ms=3_000))
    bench.advance_ms(500)
    bench.enroll("m2")
    bench.leave_group("m2")
    bench.enroll("m2")
    assert bench.epochs()[0] == "Assigning"
    bench.advance_ms(3_000)
    bench.beat("m1", 2, owned={A: [*range(6)]})
    assert bench.epochs()[0] == "Reconciling"
    quiet(bench)


def test_a_member_that_comes_back_at_its_old_epoch_may_commit() -> None:
    """With targets that wait, a member that left and joined again may be at the epoch that it had."""
    bench = stable("m1", config=settings(consumer_assignment_interval_ms=3_000))
    bench.advance_ms(3_000)
    bench.enroll("m2")
    for _ in range(2):
        settle(bench, "m1")
        settle(bench, "m2")
    epoch = bench.member("m2").member_epoch
    bench.leave_group("m2")
    bench.enroll("m2")
    assert bench.member("m2").member_epoch == epoch
    assert bench.commit_offset(1, member_id="m2", generation=epoch, topic="a").error is ErrorCode.NONE
    quiet(bench)


def test_an_unresolved_pattern_is_right() -> None:
    """A member whose regular expression is not resolved yet has no partition of it."""
    bench = stable("m1")
    bench.beat("m2", 0, owned={}, names=(), regex="b.*", rebalance_ms=300_000)
    settle(bench, "m1")
    bench.resolve()
    for _ in range(3):
        settle(bench, "m1")
        settle(bench, "m2")
    assert set(bench.member("m2").assigned) == {B}
    quiet(bench)


def test_an_append_that_is_rolled_back_is_right() -> None:
    """Epochs that go back with a failed append were never answered, and the next ones are those again."""
    bench = stable("m1", "m2", auto_commit=True)
    bench.auto_commit = False
    joins = bench.enroll("m3")
    assert bench.epochs()[1] == 4
    bench.fail_append()
    assert joins.error is not ErrorCode.NONE
    bench.auto_commit = True
    assert bench.epochs()[1] == 3
    bench.enroll("m3")
    for _ in range(3):
        for member in ("m1", "m2", "m3"):
            settle(bench, member)
    quiet(bench)


def test_answers_before_a_description_are_right() -> None:
    """Until its append is committed a group is described as before."""
    bench = stable("m1")
    bench.auto_commit = False
    bench.enroll("m2")
    assert bench.described().group_epoch == 2
    bench.commit()
    assert bench.described().group_epoch == 3
    quiet(bench)


def test_another_group_of_the_same_id_is_right() -> None:
    """A group that is deleted and made again begins at the first epoch."""
    bench = stable("m1")
    bench.leave_group("m1")
    bench.tamper(*bench.group().tombstones())
    assert bench.shard.groups.get("g") is None
    bench.enroll("m1")
    assert bench.epochs()[1] == 2
    quiet(bench)


def test_a_static_member_that_is_away_is_right() -> None:
    """A static member keeps its partitions at epoch -2, the group is Reconciling, and its return moves nothing."""
    bench = stable("s1", "m2")
    epoch = bench.epochs()[1]
    bench.leave_group("s1", epoch=-2, instance="i-s1")
    assert bench.epochs()[0] == "Reconciling"
    settle(bench, "m2")
    bench.enroll("s9", instance="i-s1")
    assert bench.epochs() == ("Stable", epoch, epoch)
    quiet(bench)


def test_a_static_member_that_does_not_come_back_is_right() -> None:
    """A session that ends while a static member is away counts from its last heartbeat before the leave."""
    bench = stable("s1", "m2")
    bench.leave_group("s1", epoch=-2, instance="i-s1")
    bench.advance_ms(30_000)
    settle(bench, "m2")
    bench.advance_ms(20_000)
    assert list(bench.group().data.members) == ["m2"]
    settle(bench, "m2")
    quiet(bench)


def test_a_topic_that_is_deleted_and_made_again_is_right() -> None:
    """A topic of the same name with another id has other partitions; the old ones leave with the next target."""
    bench = stable("m1", "m2")
    bench.grow((B, "b", 3))
    bench.grow(("CAAAAAAAAAAAAAAAAAAAAQ", "a", 4), (B, "b", 3))
    for _ in range(4):
        settle(bench, "m1")
        settle(bench, "m2")
    assert bench.epochs()[0] == "Stable"
    quiet(bench)


def test_new_partitions_are_right() -> None:
    """Between the growth of a topic and the next target no member has the new partitions."""
    bench = stable("m1", "m2")
    bench.grow((A, "a", 9), (B, "b", 3))
    for _ in range(3):
        settle(bench, "m1")
        settle(bench, "m2")
    quiet(bench)


def test_a_commit_that_crosses_a_bump_is_right() -> None:
    """It is refused up to 4.2, and accepted since 4.3 for partitions that its member has had since then."""
    for release, expected in (("4.2", ErrorCode.STALE_MEMBER_EPOCH), ("4.4", ErrorCode.NONE)):
        bench = stable("m1", config=settings(release))
        epoch = bench.member("m1").member_epoch
        bench.enroll("m2")
        settle(bench, "m1")
        settle(bench, "m1")
        kept = next(iter(bench.member("m1").assigned[A]))
        sent = bench.commit_offset(5, member_id="m1", generation=epoch, topic="a", partition=kept)
        assert sent.error is expected
        quiet(bench)


def test_a_commit_for_a_partition_of_another_member_is_right() -> None:
    """The coordinator compares epochs, not owners."""
    bench = stable("m1", "m2")
    given_away = next(iter(bench.member("m2").assigned[A]))
    epoch = bench.member("m1").member_epoch
    assert bench.commit_offset(5, member_id="m1", generation=epoch, topic="a", partition=given_away).error is (
        ErrorCode.NONE
    )
    quiet(bench)


def test_a_removed_process_that_goes_on_is_right() -> None:
    """A process that did not hear of its removal is refused; its partitions have one new owner."""
    bench = stable("m1", "m2")
    epoch = bench.member("m1").member_epoch
    bench.advance_ms(40_000)
    settle(bench, "m2")
    bench.advance_ms(10_000)
    for _ in range(2):
        settle(bench, "m2")
    assert error(bench.beat("m1", epoch))[0] is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.commit_offset(5, member_id="m1", generation=epoch, topic="a").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert len(bench.member("m2").assigned[A]) == 6
    quiet(bench)


def test_a_removal_in_the_middle_of_a_revocation_is_right() -> None:
    """A member that does not revoke in time is removed, and its partitions go to others at once."""
    bench = stable("m1")
    bench.beat("m1", 2, rebalance_ms=1_000)
    bench.enroll("m2")
    bench.beat("m1", 2)
    bench.advance_ms(1_000)
    assert list(bench.group().data.members) == ["m2"]
    settle(bench, "m2")
    quiet(bench)


def test_another_coordinator_is_right() -> None:
    """A new coordinator has the group, begins its sessions again, and answers members at their epochs."""
    bench = stable("m1", "m2").after_failover()
    bench.advance_ms(44_000)
    for _ in range(2):
        settle(bench, "m1")
        settle(bench, "m2")
    assert bench.epochs()[0] == "Stable"
    quiet(bench)


def test_a_user_of_both_names_and_a_pattern_is_right() -> None:
    """A member with names and a regular expression has partitions of both."""
    topics = KnownTopics((TopicView(A, "a", 6), TopicView(B, "b", 3)))
    bench = stable("m1")
    assert bench.shard.op.topics.names() == topics.names()
    bench.enroll("m2", "a", regex="b.*")
    bench.resolve()
    for _ in range(4):
        settle(bench, "m1")
        settle(bench, "m2")
    assert set(bench.member("m2").assigned) == {A, B}
    quiet(bench)
