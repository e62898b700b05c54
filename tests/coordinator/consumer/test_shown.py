"""Consumer groups in the answers to administrators, and across a change of the leader."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.coordinator.testing import GROUP, Bench
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import DescribedPartitions
from groupsim.protocol.messages.group import DescribeGroupsRequest, ListedGroup, ListGroupsRequest
from tests.helpers.heartbeat_bench import A, B, HeartbeatBench, error, given, settings


def moving(release: str = "4.4") -> HeartbeatBench:
    """Return a group whose first member has to revoke three of its six partitions."""
    bench = HeartbeatBench(settings(release))
    bench.enroll("m", instance="i", rack="r", assignor="range")
    bench.enroll("n")
    bench.beat("m", bench.member("m").member_epoch)
    return bench


def test_a_group_is_described_whole() -> None:
    """State, epochs, preferred assignor; of each member its identity, subscription, current and target assignment."""
    group = moving().described()
    assert (group.error, group.state, group.group_epoch, group.assignment_epoch) == (
        ErrorCode.NONE,
        "Reconciling",
        3,
        3,
    )
    assert group.assignor == "range"
    member = next(one for one in group.members if one.member_id == "m")
    assert (member.instance_id, member.rack_id, member.member_epoch, member.member_type) == ("i", "r", 2, 1)
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (("a",), "")
    assert member.assignment == (DescribedPartitions(A, "a", (0, 1, 2, 3, 4, 5)),)
    assert member.target_assignment == (DescribedPartitions(A, "a", (0, 1, 2)),)


def test_a_snapshot_has_the_epochs_and_partitions_of_each_member() -> None:
    """What a member owns, has to revoke and shall own, by the names of the topics, beside the group's epochs."""
    bench = moving()
    seen = bench.shard.snapshot(GROUP)
    assert seen is not None
    assert seen.epochs is not None
    assert (seen.kind, seen.epochs.group_epoch, seen.epochs.assignment_epoch, seen.epochs.assignor) == (
        "consumer",
        3,
        3,
        "range",
    )
    epoch = seen.member("m").epoch
    assert epoch is not None
    assert (epoch.member_epoch, epoch.state) == (2, "UNREVOKED_PARTITIONS")
    assert [str(one) for one in epoch.assigned] == ["a-0", "a-1", "a-2"]
    assert [str(one) for one in epoch.pending] == ["a-3", "a-4", "a-5"]
    assert epoch.target == epoch.assigned


def test_before_4_3_pending_partitions_are_not_shown() -> None:
    """The current assignment ends with the revocation's begin (KAFKA-20431)."""
    shown = {}
    for release in ("4.2", "4.3"):
        members = moving(release).described().members
        shown[release] = len(next(one for one in members if one.member_id == "m").assignment[0].partitions)
    assert shown == {"4.2": 3, "4.3": 6}


def test_topics_that_are_gone_are_left_out() -> None:
    """A deleted topic has no name, so it is not shown."""
    bench = HeartbeatBench()
    bench.enroll("m", "a", "b")
    bench.grow((B, "b", 3))
    (member,) = bench.described().members
    assert [one.topic_name for one in member.assignment] == ["b"]
    assert [one.topic_name for one in member.target_assignment] == ["b"]


def test_the_description_is_that_of_the_last_committed_append() -> None:
    """A join under way is not shown, nor is a group before its first record is committed."""
    bench = HeartbeatBench(auto_commit=False)
    bench.enroll("m")
    assert bench.described().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert bench.shard.list_groups(ListGroupsRequest()) == []
    bench.commit()
    bench.enroll("n")
    assert (bench.described().group_epoch, len(bench.described().members)) == (2, 1)
    bench.commit()
    assert (bench.described().group_epoch, len(bench.described().members)) == (3, 2)


def test_groups_of_another_kind_are_not_found() -> None:
    """Each of the two requests has groups of its kind only, and says what the other one is."""
    bench = HeartbeatBench(settings(initial_rebalance_delay_ms=0))
    bench.stable("c")
    absent, classic = bench.described("absent"), bench.described()
    assert (absent.error, absent.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group absent not found.")
    assert (classic.error, classic.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a consumer group.")
    bench.enroll("m", group="h")
    newest = bench.shard.describe("h", DescribeGroupsRequest(("h",), version=6))
    assert (newest.error, newest.error_message, newest.state) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group h is not a classic group.",
        "Dead",
    )
    older = bench.shard.describe("h", DescribeGroupsRequest(("h",), version=5))
    assert (older.error, older.state) == (ErrorCode.NONE, "Dead")


@pytest.mark.parametrize(
    ("filters", "found"),
    [({}, True), ({"states": ("stable",)}, True), ({"states": ("Empty",)}, False), ({"types": ("Consumer",)}, True)],
)
def test_a_group_is_listed_with_its_kind_and_state(filters: dict[str, Any], found: bool) -> None:
    """Protocol type and type are `consumer`; filters ignore the case."""
    bench = HeartbeatBench()
    bench.enroll("m")
    listed = bench.shard.list_groups(ListGroupsRequest(**filters))
    assert listed == ([ListedGroup(GROUP, "consumer", "Stable", "consumer")] if found else [])


def test_a_group_lives_on_under_another_leader() -> None:
    """Epochs and assignments are those of the log; every session starts again, and no epoch is bumped."""
    bench = moving()
    bench.advance_ms(20_000)
    after = again(bench)
    assert after.timers_of("m") == {"session-timeout-g-m": 45_000, "rebalance-timeout-g-m": 300_000}
    assert after.timers_of("n") == {"session-timeout-g-n": 45_000}
    assert after.described() == bench.described()
    kept = sorted(after.member("m").assigned[A])
    assert given(after.beat("m", 2, owned={A: kept}, instance="i")) == (3, None)
    assert after.epochs()[1:] == (3, 3)
    assert after.emitted[0].kind is Kind.GROUP_LOADED


def again(bench: Bench) -> HeartbeatBench:
    """Return a bench that has loaded the log of this one."""
    bench.carry_out(bench.shard.unload(bench.now_us))
    return HeartbeatBench(bench.config, records=list(bench.log), now_us=bench.now_us)


def test_a_response_that_was_lost_with_the_leader_is_repaired() -> None:
    """The member is at the newer epoch in the log; its retry with the previous one and its partitions is accepted."""
    bench = moving()
    kept = sorted(bench.member("m").assigned[A])
    bench.beat("m", 2, owned={A: kept}, instance="i")
    after = again(bench)
    assert given(after.beat("m", 2, owned={A: kept}, instance="i", names=("a",), rebalance_ms=1)) == (3, {A: kept})


def test_a_classic_join_takes_an_empty_group_over() -> None:
    """It becomes a classic group with the first JoinGroup, also with one that is only given an id."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.leave_group("m")
    assert bench.join("c", version=9).error is ErrorCode.MEMBER_ID_REQUIRED
    assert (bench.snapshot().kind, bench.state) == ("classic", "Empty")
    assert error(bench.beat("m", 3))[1] == "Group g is not a consumer group."
    after = again(bench)
    assert after.snapshot().kind == "classic"


def test_a_classic_join_with_a_member_id_loses_an_empty_group() -> None:
    """UNKNOWN_MEMBER_ID, and the group is gone without a record, until the next load (defect of 4.x).

    Describe shows it until the partition has committed another append.
    """
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.leave_group("m")
    since = len(bench.log)
    joined = bench.join("c", member_id="c-1")
    assert (joined.error, joined.joined.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "c-1")
    assert bench.records(since) == []
    assert bench.described().state == "Empty"
    bench.enroll("x", group="other")
    assert bench.described().error_message == "Group g not found."
    assert again(bench).epochs() == ("Empty", 3, 3)


def test_after_a_failed_append_a_restored_member_is_described_twice() -> None:
    """As in Kafka's timeline map, until the partition has committed the next append."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.enroll("n")
    bench.auto_commit = False
    bench.leave_group("m")
    bench.fail_append()
    assert sorted(member.member_id for member in bench.described().members) == ["m", "m", "n"]
    assert sorted(bench.group().data.members) == ["m", "n"]
    bench.auto_commit = True
    bench.enroll("x", group="other")
    assert sorted(member.member_id for member in bench.described().members) == ["m", "n"]


def test_a_failed_append_gives_an_empty_group_back() -> None:
    """The consumer group exists again; a JoinGroup that was answered already stays answered."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.leave_group("m")
    bench.auto_commit = False
    bench.join("c", version=9)
    bench.fail_append()
    assert bench.snapshot().kind == "consumer"
