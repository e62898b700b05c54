"""ConsumerGroupHeartbeat: what joins, what is refused, what bumps, what is answered; row by row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from groupsim.coordinator.base.consumer_records import (
    CurrentRecord,
    EpochRecord,
    MemberRecord,
    TargetEpochRecord,
    TargetRecord,
)
from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.consumer.member import MemberState
from groupsim.coordinator.testing import GROUP
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatResponse, TopicPartitions
from tests.helpers.heartbeat_bench import TOPICS, A, B, HeartbeatBench, answer, error, given, settings

ALL_A = {A: [0, 1, 2, 3, 4, 5]}


# --- joining ---------------------------------------------------------------------------------------------------------


def test_the_first_member_gets_all_with_its_first_response() -> None:
    """A new group is at epoch 1; the first join with a topic bumps to 2, and the group is Stable at once."""
    bench = HeartbeatBench()
    joined = bench.enroll("m")
    assert given(joined) == (2, ALL_A)
    assert answer(joined).heartbeat_interval_ms == 5_000
    assert bench.epochs() == ("Stable", 2, 2)


def test_a_join_writes_its_records_in_kafkas_order() -> None:
    """Member, group epoch, target of each member whose target changes, target epoch, current assignment."""
    bench = HeartbeatBench()
    bench.enroll("m")
    assert [type(record) for record in bench.records()] == [
        *(MemberRecord, EpochRecord, TargetRecord, TargetEpochRecord, CurrentRecord)
    ]


@pytest.mark.parametrize("names", [(), ("unknown",)])
def test_a_join_without_topics_that_exist(names: tuple[str, ...]) -> None:
    """An empty subscription bumps nothing, and the group is Stable at 1. A name that does not exist bumps."""
    bench = HeartbeatBench()
    epoch = 2 if names else 1
    assert given(bench.beat("m", 0, owned={}, names=names, rebalance_ms=1)) == (epoch, {})
    assert bench.epochs() == ("Stable", epoch, epoch)


def test_before_4_3_the_creation_of_a_group_is_a_bump() -> None:
    """The first target has epoch 1, also without topics (KAFKA-20268)."""
    bench = HeartbeatBench(settings("4.2"))
    assert given(bench.beat("m", 0, owned={}, names=(), rebalance_ms=1)) == (1, {})
    assert bench.epochs() == ("Stable", 1, 1)
    assert given(HeartbeatBench(settings("4.2")).enroll("m")) == (1, ALL_A)


def test_the_broker_makes_an_id_for_a_client_of_version_0() -> None:
    """An empty member id at epoch 0 is replaced by a fresh one, which the answer names."""
    bench = HeartbeatBench()
    joined = bench.enroll("", version=0, fresh_id="fresh")
    assert answer(joined).member_id == "fresh"
    assert list(bench.group().data.members) == ["fresh"]


def test_a_known_member_may_join_again() -> None:
    """Epoch 0 of a member that is there keeps its epoch and its partitions, and is answered with all of them."""
    bench = HeartbeatBench()
    bench.enroll("m")
    since = len(bench.log)
    assert given(bench.enroll("m")) == (2, ALL_A)
    assert bench.records(since) == []


NOT_FOUND: list[tuple[int, str | None, str]] = [
    (1, None, "Consumer group g not found."),
    (-1, None, "Group g not found."),
    (-2, "i", "Group g not found."),
]


@pytest.mark.parametrize(("epoch", "instance", "message"), NOT_FOUND)
def test_only_a_join_makes_a_group(epoch: int, instance: str | None, message: str) -> None:
    """GROUP_ID_NOT_FOUND for any other epoch, and no group."""
    bench = HeartbeatBench()
    assert error(bench.beat("m", epoch, instance=instance)) == (ErrorCode.GROUP_ID_NOT_FOUND, message)
    assert bench.shard.groups.get(GROUP) is None


def test_an_unknown_member_is_refused() -> None:
    """UNKNOWN_MEMBER_ID, also for a leave."""
    bench = HeartbeatBench()
    bench.enroll("m")
    refused = (ErrorCode.UNKNOWN_MEMBER_ID, "Member x is not a member of group g.")
    assert error(bench.beat("x", 1)) == error(bench.beat("x", -1)) == refused


def test_a_full_group_refuses_every_heartbeat_of_a_stranger() -> None:
    """GROUP_MAX_SIZE_REACHED comes before UNKNOWN_MEMBER_ID; leaves are not checked, and members go on."""
    bench = HeartbeatBench(settings(consumer_max_size=1))
    bench.enroll("m")
    full = (ErrorCode.GROUP_MAX_SIZE_REACHED, "The consumer group has reached its maximum capacity of 1 members.")
    assert error(bench.enroll("x")) == error(bench.beat("x", 7)) == full
    assert error(bench.beat("x", -1))[0] is ErrorCode.UNKNOWN_MEMBER_ID
    assert given(bench.beat("m", 2)) == (2, None)


def test_a_full_group_lets_a_static_member_come_back() -> None:
    """An instance id of the group passes the check; before 4.4 only a member id did (KAFKA-20601)."""
    for release, expected in (("4.3", ErrorCode.GROUP_MAX_SIZE_REACHED), ("4.4", ErrorCode.NONE)):
        bench = HeartbeatBench(settings(release, consumer_max_size=1))
        bench.enroll("m", instance="i")
        bench.leave_group("m", epoch=-2, instance="i")
        assert answer(bench.enroll("n", instance="i")).error is expected


# --- empty classic groups --------------------------------------------------------------------------------------------


def test_an_empty_classic_group_becomes_a_consumer_group() -> None:
    """It is deleted with the same append, and its offsets stay."""
    bench = HeartbeatBench()
    bench.commit_offset(5)
    assert given(bench.enroll("m")) == (2, ALL_A)
    assert bench.epochs() == ("Stable", 2, 2)
    assert list(bench.shard.committed_offsets(GROUP).values()) == [5]


def test_a_classic_group_is_no_consumer_group() -> None:
    """GROUP_ID_NOT_FOUND for members and leaves; a join finds that the group cannot be converted."""
    bench = HeartbeatBench(settings(initial_rebalance_delay_ms=0, consumer_migration_policy="disabled"))
    bench.stable("c")
    refused = (ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a consumer group.")
    assert error(bench.beat("m", 1)) == error(bench.beat("m", -1)) == refused
    assert error(bench.enroll("m")) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Cannot upgrade classic group g to consumer group because online upgrade is disabled.",
    )
    assert bench.state == "Stable"


# --- epochs ----------------------------------------------------------------------------------------------------------


def second_member(release: str = "4.4", **changed: Any) -> HeartbeatBench:
    """Return a group of two, of which the second waits for three partitions that the first has."""
    bench = HeartbeatBench(settings(release, **changed))
    bench.enroll("m")
    bench.enroll("n")
    return bench


def test_a_refused_epoch_changes_nothing() -> None:
    """FENCED_MEMBER_EPOCH: the member stays, and its session is not prolonged."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.advance_ms(10_000)
    since = len(bench.log)
    assert error(bench.beat("m", 3))[0] is ErrorCode.FENCED_MEMBER_EPOCH
    assert error(bench.beat("m", 1))[0] is ErrorCode.FENCED_MEMBER_EPOCH
    assert bench.records(since) == []
    assert bench.timers_of("m") == {"session-timeout-g-m": 35_000}


def test_a_lost_response_is_repaired() -> None:
    """The previous epoch with assigned partitions is accepted, writes nothing, and is answered with the newer epoch."""
    bench = second_member()
    before = list(bench.member("m").assigned[A])
    assert before == [0, 1, 2, 3, 4, 5]
    answered = given(bench.beat("m", 2))
    assert answered[0] == 2
    kept = (answered[1] or {})[A]
    assert given(bench.beat("m", 2, owned={A: kept})) == (3, None)
    since = len(bench.log)
    assert given(bench.beat("m", 2, owned={A: kept})) == (3, None)
    assert bench.records(since) == []
    assert given(bench.beat("m", 2, owned={A: kept}, names=("a",), rebalance_ms=300_000)) == (3, {A: kept})
    assert error(bench.beat("m", 2))[0] is ErrorCode.FENCED_MEMBER_EPOCH


# --- what bumps ------------------------------------------------------------------------------------------------------


BUMPS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"names": ("a",)}, []),
    ({"names": ("a", "b")}, ["subscription"]),
    ({"rack": "r"}, []),
    ({"rebalance_ms": 7}, []),
    ({"assignor": "uniform"}, []),
    ({"assignor": "range"}, ["assignor"]),
    ({"assignor": "range", "names": ("b",)}, ["subscription", "assignor"]),
]


@pytest.mark.parametrize(("fields", "triggers"), BUMPS)
def test_what_bumps_the_group_epoch(fields: dict[str, Any], triggers: list[str]) -> None:
    """Other topics and another preferred assignor bump, together once; other fields are only written."""
    bench = HeartbeatBench()
    bench.enroll("m")
    since = len(bench.log)
    bench.beat("m", 2, **fields)
    bumps = [event.payload["triggers"] for event in bench.of_kind(Kind.EPOCH_BUMPED)][1:]
    assert bumps == ([triggers] if triggers else [])
    assert bench.group().data.group_epoch == 2 + bool(triggers)
    changed = bool(set(fields) - {"names"}) or bool(triggers)
    assert any(isinstance(record, MemberRecord) for record in bench.records(since)) is changed


def test_before_4_4_another_assignor_waits_for_the_next_bump() -> None:
    """A changed choice is stored, and used with the next target (KAFKA-20434)."""
    bench = HeartbeatBench(settings("4.3"))
    bench.enroll("m")
    bench.beat("m", 2, assignor="range")
    assert bench.epochs() == ("Stable", 2, 2)
    bench.enroll("n")
    assert bench.of_kind(Kind.TARGET_COMPUTED)[-1].payload["assignor"] == "range"


def test_one_vote_each_bumps_for_ever() -> None:
    """With one vote for range and one for uniform each heartbeat of the range member bumps (defect of 4.4)."""
    bench = HeartbeatBench()
    bench.enroll("m", assignor="range")
    bench.enroll("n", assignor="uniform")
    epochs = [bench.group().data.group_epoch]
    for member in ("m", "n") * 3:
        bench.beat(member, bench.member(member).member_epoch)
        epochs.append(bench.group().data.group_epoch)
    assert [after - before for before, after in pairwise(epochs)] == [1, 0, 1, 0, 1, 0]


# --- the broker's topics ---------------------------------------------------------------------------------------------


def test_a_topic_that_grows_bumps_with_the_next_heartbeat() -> None:
    """The change alone bumps nothing; the next heartbeat of any member computes the hash, and a target."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.grow((A, "a", 8), (B, "b", 3))
    assert bench.epochs() == ("Stable", 2, 2)
    assert given(bench.beat("m", 2)) == (3, {A: [0, 1, 2, 3, 4, 5, 6, 7]})
    assert bench.of_kind(Kind.EPOCH_BUMPED)[-1].payload == {"epoch": 3, "triggers": ["metadata"]}


def test_a_topic_of_another_group_does_not_matter() -> None:
    """A change of a topic without a subscription leaves the group as it is."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.beat("m", 2)
    bench.grow((A, "a", 6), (B, "b", 9))
    since = len(bench.log)
    assert given(bench.beat("m", 2)) == (2, None)
    assert bench.records(since) == []


# --- targets ---------------------------------------------------------------------------------------------------------


def test_a_second_member_waits_for_what_the_first_has() -> None:
    """It is at the new epoch with an empty assignment, and the group is Reconciling."""
    bench = second_member()
    assert given(bench.sent[-1]) == (3, {})
    assert bench.member("n").state is MemberState.UNRELEASED_PARTITIONS
    assert bench.epochs() == ("Reconciling", 3, 3)


def test_two_members_share_in_five_heartbeats() -> None:
    """The worked trace of a second member: trim, confirm, and the rest to the newcomer."""
    bench = second_member()
    assert given(bench.beat("n", 3, owned={})) == (3, None)
    trimmed = given(bench.beat("m", 2))
    assert trimmed[0] == 2
    assert trimmed[1] is not None
    kept = trimmed[1][A]
    assert len(kept) == 3
    assert bench.timers()["rebalance-timeout-g-m"] == 300_000
    assert given(bench.beat("m", 2, owned={A: kept})) == (3, None)
    assert "rebalance-timeout-g-m" not in bench.timers()
    rest = [one for one in range(6) if one not in kept]
    assert given(bench.beat("n", 3)) == (3, {A: rest})
    assert bench.epochs() == ("Stable", 3, 3)


def test_batching_delays_a_target() -> None:
    """The worked trace with an interval of 3 s: joins, a leave and a change of topics wait for one target."""
    bench = HeartbeatBench(settings(consumer_assignment_interval_ms=3_000))
    bench.advance_ms(1)
    assert given(bench.enroll("A")) == (2, ALL_A)
    assert given(bench.enroll("B")) == (2, {})
    assert bench.epochs() == ("Assigning", 3, 2)
    bench.leave_group("B")
    assert bench.epochs() == ("Assigning", 4, 2)
    assert given(bench.enroll("B")) == (2, {})
    assert given(bench.beat("A", 2, names=("b",))) == (2, {})
    assert bench.epochs() == ("Assigning", 6, 2)
    assert given(bench.beat("A", 2, owned={})) == (2, None)
    bench.advance_ms(2_999)
    bench.beat("B", 2)
    assert bench.epochs() == ("Assigning", 6, 2)
    bench.advance_ms(1)
    assert given(bench.beat("B", 2)) == (6, ALL_A)
    assert bench.of_kind(Kind.TARGET_COMPUTED)[-1].payload["waited_us"] == 3_000_000
    assert given(bench.beat("A", 2)) == (6, {B: [0, 1, 2]})


def test_before_4_3_every_bump_is_followed_by_a_target() -> None:
    """There is no assignment interval (KIP-1263)."""
    for release, epochs in (("4.2", ("Reconciling", 2, 2)), ("4.3", ("Assigning", 3, 2))):
        bench = HeartbeatBench(settings(release, consumer_assignment_interval_ms=3_000))
        bench.advance_ms(1)
        bench.enroll("A")
        bench.enroll("B")
        assert bench.epochs() == epochs


def test_an_assignor_that_fails_refuses_the_heartbeat() -> None:
    """UNKNOWN_SERVER_ERROR, and nothing is written: a target that names a partition too many breaks uniform."""
    bench = HeartbeatBench()
    bench.enroll("m", "a", "b")
    bench.enroll("n", "a")
    bench.grow((A, "a", 2), (B, "b", 3))
    since = len(bench.log)
    refused = error(bench.beat("m", bench.member("m").member_epoch))
    assert refused[0] is ErrorCode.UNKNOWN_SERVER_ERROR
    assert (refused[1] or "").startswith("Failed to compute a new target assignment for epoch 4: ")
    assert bench.records(since) == []


def test_4_0_0_moves_more_partitions() -> None:
    """`uniform` of 4.0.0 gives the extra partitions to the first members in its order (KAFKA-18688)."""
    moved = {}
    for release in ("4.0", "4.0.1"):
        bench = HeartbeatBench(settings(release), topics=(*TOPICS[:0], type(TOPICS[0])(A, "a", 5)))
        for member in ("m", "n", "o"):
            bench.enroll(member)
        moved[release] = [event.payload["moved"] for event in bench.of_kind(Kind.TARGET_COMPUTED)]
    assert sum(moved["4.0"]) >= sum(moved["4.0.1"])


# --- answers ---------------------------------------------------------------------------------------------------------


def test_when_the_answer_has_the_assignment() -> None:
    """With epoch 0, with a full request, and with another assignment; else it is left out."""
    bench = HeartbeatBench()
    bench.enroll("m")
    assert given(bench.beat("m", 2)) == (2, None)
    assert given(bench.beat("m", 2, owned=ALL_A)) == (2, None)
    assert given(bench.beat("m", 2, owned=ALL_A, names=("a",))) == (2, None)
    assert given(bench.beat("m", 2, owned=ALL_A, names=("a",), rebalance_ms=300_000)) == (2, ALL_A)
    assert given(bench.beat("m", 2, owned=ALL_A, regex="", rebalance_ms=300_000)) == (2, ALL_A)


def test_partitions_of_an_answer_are_in_the_order_of_the_map() -> None:
    """A map of twenty partitions has 32 buckets: those from 32 on come first (`ConsumerGroupMember`)."""
    bench = HeartbeatBench(settings(consumer_assignors=("range",)), topics=(TopicView(A, "a", 40),))
    bench.enroll("m")
    given(bench.enroll("n"))
    bench.beat("m", 2, owned={A: range(20)})
    response = bench.beat("n", 3).response
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    assert response.assignment == (TopicPartitions(A, (*range(32, 40), *range(20, 32))),)


def test_an_answer_waits_for_its_records() -> None:
    """A heartbeat is answered when its append is committed, one without records after the appends before it."""
    bench = HeartbeatBench(auto_commit=False)
    joined = bench.enroll("m")
    quiet = bench.beat("m", 2)
    refused = bench.beat("m", 9)
    assert (joined.answered, quiet.answered, refused.answered) == (False, False, True)
    bench.commit()
    assert (given(joined), given(quiet)) == ((2, ALL_A), (2, None))


def test_a_failed_append_takes_the_join_back() -> None:
    """The answer is the error of the append, and the group does not exist; its timer fires without effect."""
    bench = HeartbeatBench(auto_commit=False)
    joined = bench.enroll("m")
    bench.fail_append()
    assert answer(joined).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert bench.shard.groups.get(GROUP) is None
    assert "session-timeout-g-m" in bench.timers()
    bench.auto_commit = True
    bench.advance_ms(45_000)
    assert bench.log == []


def test_a_metadata_deadline_of_an_epoch_that_was_taken_back_is_due_again() -> None:
    """After a failed bump the next heartbeat computes the hash again and bumps."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.beat("m", 2)
    bench.auto_commit = False
    bench.grow((A, "a", 8), (B, "b", 3))
    bench.beat("m", 2)
    bench.fail_append()
    assert bench.epochs() == ("Stable", 2, 2)
    bench.auto_commit = True
    assert given(bench.beat("m", 2))[0] == 3


# --- the trace -------------------------------------------------------------------------------------------------------


def test_the_trace_tells_the_story_of_a_join() -> None:
    """Added, bumped, computed, moved, and the state of the group last."""
    bench = HeartbeatBench()
    bench.enroll("m")
    kinds = [event.kind for event in bench.emitted]
    assert kinds == [*(Kind.MEMBER_ADDED, Kind.EPOCH_BUMPED, Kind.TARGET_COMPUTED, Kind.MEMBER_EPOCH, Kind.GROUP_STATE)]
    state = bench.emitted[-1]
    assert (state.from_, state.to, state.generation, state.member_id) == ("Empty", "Stable", 2, "m")
    moved = bench.of_kind(Kind.MEMBER_EPOCH)[0]
    assert (moved.from_, moved.to, moved.payload) == ("0", "2", {"state": "STABLE", "assigned": ALL_A, "pending": {}})
