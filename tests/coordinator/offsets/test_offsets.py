"""Offsets: who may commit, what is fetched, what expires, what can be deleted; lists and descriptions of groups."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.testing import Bench, committed, offsets_of
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.embedded.consumer_protocol import Subscription, encode_subscription
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    JoinProtocol,
    ListGroupsRequest,
    OffsetDeleteRequest,
    TopicPartition,
)

TP = TopicPartition("t", 0)
SUBSCRIBED = (JoinProtocol("range", encode_subscription(Subscription(topics=("t",)))),)
WEEK_MS = 7 * 24 * 3_600_000


def test_commit_from_outside_makes_a_simple_group() -> None:
    """A commit without generation to an unknown group is accepted; with one it is refused, by version."""
    bench = Bench()
    assert bench.commit_offset(1, generation=3, version=9).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert bench.commit_offset(1, generation=3, version=8).error is ErrorCode.ILLEGAL_GENERATION
    assert committed(bench.commit_offset(1)) == [ErrorCode.NONE]
    assert (bench.snapshot().state, bench.snapshot().protocol_type) == ("Empty", None)


def test_who_may_commit_to_a_group_with_members() -> None:
    """Outsiders, strangers and old generations are refused; members are not while Stable or PreparingRebalance."""
    bench = Bench()
    (member,) = bench.stable("a")
    assert bench.commit_offset(1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.commit_offset(1, member_id="x", generation=1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.commit_offset(1, member_id=member, generation=0).error is ErrorCode.ILLEGAL_GENERATION
    assert bench.commit_offset(1, member_id=member).error is ErrorCode.ILLEGAL_GENERATION
    assert bench.commit_offset(1, member_id=member, generation=1).error is ErrorCode.NONE
    bench.join("b")
    assert bench.commit_offset(2, member_id=member, generation=1).error is ErrorCode.NONE
    bench.join(member_id=member)
    assert bench.commit_offset(3, member_id=member, generation=2).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_commits_keep_the_session_alive() -> None:
    """An accepted commit in Stable moves the member's session like a heartbeat; SyncGroup in Stable does not."""
    bench = Bench()
    (member,) = bench.stable("a")
    bench.advance_ms(30_000)
    bench.commit_offset(1, member_id=member, generation=1)
    bench.advance_ms(30_000)
    assert bench.state == "Stable"
    bench.sync(member, 1)
    bench.advance_ms(15_000)
    assert bench.state == "Empty"


def test_sync_in_stable_keeps_the_session_on_old_brokers() -> None:
    """The Scala coordinator moved the session at SyncGroup, too."""
    bench = Bench(CoordinatorConfig("3.9"))
    (member,) = bench.stable("a")
    bench.advance_ms(44_000)
    bench.sync(member, 1)
    bench.advance_ms(44_000)
    assert bench.state == "Stable"


def test_long_metadata_is_refused_per_partition() -> None:
    """Length counts UTF-16 units: an emoji is two."""
    bench = Bench(CoordinatorConfig(offset_metadata_max_bytes=3))
    assert bench.commit_offset(1, metadata="abc").error is ErrorCode.NONE
    assert bench.commit_offset(1, metadata="ab😀").error is ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_unknown_groups_and_partitions_have_no_offset() -> None:
    """Fetching what is not there is no error: offset -1, or an empty list when all are asked for."""
    bench = Bench()
    assert offsets_of(bench.fetch_offsets(TP)) == {TP: -1}
    assert offsets_of(bench.fetch_offsets()) == {}


def test_old_brokers_call_an_unreplicated_commit_unstable() -> None:
    """From 2.5 to 3.9 a stable fetch answered UNSTABLE_OFFSET_COMMIT at once instead of waiting."""
    bench = Bench(CoordinatorConfig("2.8.1"), auto_commit=False)
    bench.commit_offset(1)
    fetched = bench.fetch_offsets(TP).response.offsets[0]  # type: ignore[union-attr]
    assert fetched.error is ErrorCode.UNSTABLE_OFFSET_COMMIT


def test_offsets_of_an_empty_group_expire_after_a_week_of_emptiness() -> None:
    """Retention counts from when the group became empty, is looked at every ten minutes, and ends with the group."""
    bench = Bench()
    (member,) = bench.stable("a")
    bench.commit_offset(5, member_id=member, generation=1)
    for _ in range(10_000):
        bench.advance_ms(40_000)
        bench.heartbeat(member, 1)
    bench.leave(member)
    bench.advance_ms(WEEK_MS - 1)
    assert offsets_of(bench.fetch_offsets(TP)) == {TP: 5}
    bench.advance_ms(600_000)
    assert offsets_of(bench.fetch_offsets(TP)) == {TP: -1}
    assert bench.shard.snapshot("g") is None
    kinds = [note.kind for note in bench.emitted]
    assert kinds[-2:] == [Kind.OFFSET_EXPIRED, Kind.GROUP_DELETED]


def test_stable_consumers_lose_only_offsets_of_topics_nobody_reads() -> None:
    """In Stable an offset expires when its topic is not subscribed and its commit is past retention."""
    bench = Bench(CoordinatorConfig(offsets_retention_minutes=30))
    (member,) = bench.stable("a", protocols=SUBSCRIBED)
    bench.commit_offset(1, member_id=member, generation=1)
    bench.commit_offset(2, member_id=member, generation=1, topic="other")
    for _ in range(100):
        bench.advance_ms(30_000)
        bench.heartbeat(member, 1)
    assert offsets_of(bench.fetch_offsets()) == {TP: 1}


def test_group_without_offsets_vanishes_at_the_next_look() -> None:
    """A group that was joined, left and never committed to is gone within ten minutes; its generation begins at 0."""
    bench = Bench()
    (member,) = bench.stable("a")
    bench.leave(member)
    bench.advance_ms(600_000)
    assert bench.shard.snapshot("g") is None
    assert bench.join("a", version=9).error is ErrorCode.MEMBER_ID_REQUIRED
    assert bench.snapshot().generation == 0


def test_commit_may_carry_its_own_retention() -> None:
    """Versions 2 to 4 say how long the offset lives."""
    bench = Bench()
    bench.commit_offset(1, version=4, retention_ms=60_000)
    bench.commit_offset(2, partition=1, version=5, retention_ms=60_000)
    bench.advance_ms(600_000)
    assert offsets_of(bench.fetch_offsets()) == {TopicPartition("t", 1): 2}


def test_topic_deletion_takes_its_offsets_along() -> None:
    """Committed offsets of a deleted topic go, whatever the state of the group."""
    bench = Bench()
    bench.commit_offset(1)
    bench.commit_offset(2, topic="other")
    bench.carry_out(bench.shard.topic_deleted("t", bench.now_us))
    assert offsets_of(bench.fetch_offsets()) == {TopicPartition("other", 0): 2}


def test_offset_delete_spares_subscribed_topics() -> None:
    """OffsetDelete refuses topics somebody subscribes to, and non-consumer groups that have members."""
    bench = Bench()
    (member,) = bench.stable("a", protocols=SUBSCRIBED)
    bench.commit_offset(1, member_id=member, generation=1)
    bench.commit_offset(1, member_id=member, generation=1, topic="other")
    other = TopicPartition("other", 0)
    answer = bench.send(OffsetDeleteRequest("g", (TP, other))).response
    assert answer.partitions == ((TP, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC), (other, ErrorCode.NONE))  # type: ignore[union-attr]
    assert offsets_of(bench.fetch_offsets()) == {TP: 1}
    connect = Bench()
    connect.stable("a", protocol_type="connect")
    assert connect.send(OffsetDeleteRequest("g", (TP,))).error is ErrorCode.NON_EMPTY_GROUP
    assert connect.send(OffsetDeleteRequest("none", (TP,))).error is ErrorCode.GROUP_ID_NOT_FOUND


def test_delete_groups_wants_them_empty_and_ignores_pending_ids() -> None:
    """An empty group goes with offsets and timers, pending ids or not; others are refused."""
    bench = Bench()
    bench.join("a", version=9)
    bench.commit_offset(1)
    answer = bench.send(DeleteGroupsRequest(("g", "none"))).response
    assert answer.results == (("g", ErrorCode.NONE), ("none", ErrorCode.GROUP_ID_NOT_FOUND))  # type: ignore[union-attr]
    assert offsets_of(bench.fetch_offsets()) == {}
    assert not any(name.startswith("heartbeat") for name in bench.timers())
    bench.stable("b")
    refused = bench.send(DeleteGroupsRequest(("g",))).response
    assert refused.results == (("g", ErrorCode.NON_EMPTY_GROUP),)  # type: ignore[union-attr]


def test_failed_deletion_brings_the_group_back() -> None:
    """A tombstone that cannot be written leaves group and offsets as they were."""
    bench = Bench()
    bench.commit_offset(1)
    bench.auto_commit = False
    deletion = bench.send(DeleteGroupsRequest(("g",)))
    assert bench.shard.snapshot("g") is None
    bench.fail_append()
    assert deletion.response.results == (("g", ErrorCode.COORDINATOR_NOT_AVAILABLE),)  # type: ignore[union-attr]
    assert offsets_of(bench.fetch_offsets()) == {TP: 1}


@pytest.mark.parametrize(("version", "error"), [(5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_unknown_group_is_described_as_dead(version: int, error: ErrorCode) -> None:
    """From v6 with an error, before without."""
    described = Bench().shard.describe("none", DescribeGroupsRequest(("none",), version=version))
    assert (described.state, described.error) == ("Dead", error)


def test_description_shows_metadata_only_in_stable() -> None:
    """In a rebalance the protocol and metadata are left out, the old assignments are not."""
    bench = Bench()
    (member,) = bench.stable("a", protocols=(JoinProtocol("range", b"meta"),))
    request = DescribeGroupsRequest(("g",))
    stable = bench.shard.describe("g", request)
    assert (stable.state, stable.protocol, stable.members[0].metadata) == ("Stable", "range", b"meta")
    bench.join("b", version=3)
    preparing = bench.shard.describe("g", request)
    assert (preparing.state, preparing.protocol) == ("PreparingRebalance", "")
    assert (preparing.members[0].metadata, preparing.members[0].assignment) == (b"", member.encode())


def test_groups_are_listed_by_state_and_type() -> None:
    """Filters ignore case and blanks; what nobody knows matches nothing."""
    bench = Bench()
    bench.stable("a")
    bench.commit_offset(1, group="simple")

    def listed(**filters: tuple[str, ...]) -> list[tuple[str, str, str]]:
        groups = bench.shard.list_groups(ListGroupsRequest(**filters))
        return [(one.group_id, one.protocol_type, one.state) for one in groups]

    assert listed() == [("g", "consumer", "Stable"), ("simple", "", "Empty")]
    assert listed(states=(" STABLE ",)) == [("g", "consumer", "Stable")]
    assert listed(states=("nonsense",)) == []
    assert listed(types=("Classic",)) == listed()
    assert listed(types=("share",)) == []
