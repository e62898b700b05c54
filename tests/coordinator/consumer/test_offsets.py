"""Offset commits and fetches of members of consumer groups, and offsets that expire."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.consumer_records import ClassicMetadata, MemberRecord, MemberValue
from groupsim.coordinator.testing import GROUP, committed, committed_in_transaction, offsets_of
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    JoinProtocol,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from tests.helpers.heartbeat_bench import A, HeartbeatBench, given, settings

NONE, STALE, UNKNOWN = ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID


def moving(release: str = "4.4") -> tuple[HeartbeatBench, list[int], list[int]]:
    """Return a member at epoch 3 with what it kept since epoch 2, and what it just gave away."""
    bench = HeartbeatBench(settings(release))
    bench.enroll("m")
    bench.enroll("n")
    kept = (given(bench.beat("m", bench.member("m").member_epoch))[1] or {})[A]
    given_up = [one for one in range(6) if one not in kept]
    return bench, kept, given_up


@pytest.mark.parametrize(
    ("member", "epoch", "version", "error"),
    [
        ("m", 2, 9, NONE),
        ("m", 3, 9, STALE),
        ("m", -1, 9, STALE),
        ("m", 2, 8, ErrorCode.UNSUPPORTED_VERSION),
        ("x", 2, 9, UNKNOWN),
        ("", -1, 9, UNKNOWN),
    ],
)
def test_who_may_commit(member: str, epoch: int, version: int, error: ErrorCode) -> None:
    """The member at its own epoch; not at another, not below version 9, and no sender from outside."""
    bench = HeartbeatBench()
    bench.enroll("m")
    sent = bench.commit_offset(7, member_id=member, generation=epoch, topic="a", version=version)
    expected = STALE if epoch == -1 and member == "m" else error
    assert committed(sent) == [expected]


def test_a_sender_from_outside_may_commit_to_an_empty_group() -> None:
    """As an administrator does who resets offsets."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.leave_group("m")
    assert committed(bench.commit_offset(7, topic="a")) == [NONE]


def test_an_older_epoch_counts_for_partitions_that_the_member_has_had() -> None:
    """Kept and pending partitions of epoch 2 may be committed at 2, when the member is at 3 (KIP-1251)."""
    bench, kept, given_up = moving()
    assert committed(bench.commit_offset(7, member_id="m", generation=2, topic="a", partition=given_up[0])) == [NONE]
    bench.beat("m", 2, owned={A: kept})
    assert committed(bench.commit_offset(7, member_id="m", generation=2, topic="a", partition=kept[0])) == [NONE]
    assert committed(bench.commit_offset(7, member_id="m", generation=1, topic="a", partition=kept[0])) == [STALE]
    assert committed(bench.commit_offset(7, member_id="m", generation=2, topic="a", partition=given_up[0])) == [STALE]


def test_one_partition_refuses_the_whole_request() -> None:
    """STALE_MEMBER_EPOCH for each partition, and nothing is written."""
    bench, kept, given_up = moving()
    bench.beat("m", 2, owned={A: kept})
    entries = tuple(OffsetToCommit(TopicPartition("a", one), 7) for one in (kept[0], given_up[0]))
    assert committed(bench.send(OffsetCommitRequest(GROUP, entries, 2, "m", version=9))) == [STALE, STALE]
    assert bench.shard.committed_offsets(GROUP) == {}


def test_metadata_that_is_too_long_does_not_count_for_the_epoch() -> None:
    """Its own error stands in the answer, and the rest is written."""
    bench, kept, given_up = moving()
    bench.beat("m", 2, owned={A: kept})
    entries = (
        OffsetToCommit(TopicPartition("a", given_up[0]), 7, metadata="x" * 5_000),
        OffsetToCommit(TopicPartition("a", kept[0]), 7),
    )
    sent = bench.send(OffsetCommitRequest(GROUP, entries, 2, "m", version=9))
    assert committed(sent) == [ErrorCode.OFFSET_METADATA_TOO_LARGE, NONE]


def test_before_4_3_an_older_epoch_is_stale() -> None:
    """A commit that crosses a new assignment on the wire fails (KIP-1251)."""
    bench, kept, _ = moving("4.2")
    bench.beat("m", 1, owned={A: kept})
    for epoch, expected in ((1, STALE), (2, NONE)):
        sent = bench.commit_offset(7, member_id="m", generation=epoch, topic="a", partition=kept[0])
        assert committed(sent) == [expected]


def test_a_classic_member_gets_the_error_of_its_protocol() -> None:
    """ILLEGAL_GENERATION in place of STALE_MEMBER_EPOCH, and any version of the request."""
    bench = HeartbeatBench()
    bench.enroll("m")
    classic = ClassicMetadata(45_000, (JoinProtocol("range", b""),))
    bench.group().data.apply(MemberRecord(GROUP, "m", MemberValue(names=("a",), classic=classic)))
    sent = bench.commit_offset(7, member_id="m", generation=3, topic="a", version=8)
    assert committed(sent) == [ErrorCode.ILLEGAL_GENERATION]


def test_commits_in_a_transaction() -> None:
    """A producer that names no member passes, a member is checked, a stale epoch has its old name below version 6."""
    bench = HeartbeatBench()
    bench.enroll("m")
    assert committed_in_transaction(bench.commit_in_transaction(7, topic="a")) == [NONE]
    member = {"member_id": "m", "topic": "a"}
    assert committed_in_transaction(bench.commit_in_transaction(7, generation=2, **member)) == [NONE]
    stale = bench.commit_in_transaction(7, generation=3, **member)
    assert committed_in_transaction(stale) == [ErrorCode.ILLEGAL_GENERATION]
    newer = bench.commit_in_transaction(7, generation=3, version=6, **member)
    assert committed_in_transaction(newer) == [STALE]
    assert committed_in_transaction(bench.commit_in_transaction(7, generation=2, member_id="x")) == [UNKNOWN]


def test_an_absent_static_member_passes_with_its_epoch() -> None:
    """After epoch -2 a commit or fetch that says -2 is taken as equal, one with the old epoch is stale."""
    bench = HeartbeatBench()
    bench.enroll("m", instance="i")
    bench.leave_group("m", epoch=-2, instance="i")
    for epoch, error in ((-2, NONE), (2, STALE)):
        assert committed(bench.commit_offset(7, member_id="m", generation=epoch, topic="a", instance="i")) == [error]
        assert fetched(bench, "m", epoch) is error


def fetched(bench: HeartbeatBench, member: str | None, epoch: int, *, stable: bool = True) -> ErrorCode:
    """Return the error of an OffsetFetch of this sender."""
    place = (TopicPartition("a", 0),)
    sent = bench.send(OffsetFetchRequest(GROUP, place, stable, member_id=member, member_epoch=epoch))
    assert isinstance(sent.response, OffsetFetchResponse)
    return sent.response.error


@pytest.mark.parametrize(
    ("member", "epoch", "error"),
    [
        (None, -1, NONE),
        (None, 2, ErrorCode.UNKNOWN_SERVER_ERROR),
        ("m", 2, NONE),
        ("m", 1, STALE),
        ("m", -1, STALE),
        ("x", 2, UNKNOWN),
        ("", -1, UNKNOWN),
    ],
)
def test_who_may_fetch(member: str | None, epoch: int, error: ErrorCode) -> None:
    """Any sender that names no member; a member at its own epoch only."""
    bench = HeartbeatBench()
    bench.enroll("m")
    assert fetched(bench, member, epoch) is error


def test_a_plain_fetch_asks_the_committed_group() -> None:
    """Without require_stable the epoch is that of the last committed append."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.auto_commit = False
    bench.beat("m", 2, names=("b",), owned={})
    assert bench.member("m").member_epoch == 3
    assert [fetched(bench, "m", epoch, stable=False) for epoch in (2, 3)] == [NONE, STALE]
    bench.commit()
    assert [fetched(bench, "m", epoch, stable=False) for epoch in (2, 3)] == [STALE, NONE]


def test_offsets_of_subscribed_topics_stay() -> None:
    """Offsets expire from their commit on, for topics without a subscription; a group with members is not deleted."""
    bench = HeartbeatBench(settings(offsets_retention_minutes=1))
    bench.enroll("m")
    for topic in ("a", "b"):
        bench.commit_offset(7, member_id="m", generation=2, topic=topic)
    for _ in range(20):
        bench.advance_ms(40_000)
        bench.beat("m", 2)
    assert list(bench.shard.committed_offsets(GROUP)) == [TopicPartition("a", 0)]
    assert offsets_of(bench.fetch_offsets(TopicPartition("b", 0))) == {TopicPartition("b", 0): -1}


def test_an_empty_group_without_offsets_is_deleted() -> None:
    """The cleanup writes its tombstones; a group that is created again begins at epoch 1."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.leave_group("m")
    bench.advance_ms(600_000)
    assert bench.shard.groups.get(GROUP) is None
    assert given(bench.enroll("m"))[0] == 2


def test_a_group_with_members_is_not_deleted_by_request() -> None:
    """NON_EMPTY_GROUP; an empty one is deleted with its offsets."""
    bench = HeartbeatBench()
    bench.enroll("m")
    results = []
    for _ in range(2):
        sent = bench.send(DeleteGroupsRequest((GROUP,)))
        assert isinstance(sent.response, DeleteGroupsResponse)
        results.append(sent.response.results[0][1])
        bench.leave_group("m")
    assert results == [ErrorCode.NON_EMPTY_GROUP, NONE]
    assert bench.shard.groups.get(GROUP) is None


def test_offsets_of_subscribed_topics_cannot_be_deleted() -> None:
    """GROUP_SUBSCRIBED_TO_TOPIC for those, also while members are there; others are deleted."""
    bench = HeartbeatBench()
    bench.enroll("m")
    for topic in ("a", "b"):
        bench.commit_offset(7, member_id="m", generation=2, topic=topic)
    both = (TopicPartition("a", 0), TopicPartition("b", 0))
    sent = bench.send(OffsetDeleteRequest(GROUP, both))
    assert isinstance(sent.response, OffsetDeleteResponse)
    assert [error for _, error in sent.response.partitions] == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, NONE]
