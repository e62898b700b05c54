"""OffsetCommit (1.7), OffsetFetch (1.9), OffsetDelete (1.11) at the core; unknown topics: test_broker_checks."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.coordinator.base.records import OffsetRecord, OffsetValue
from groupsim.coordinator.testing import Bench, Sent, committed, offsets_of
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.protocol.messages.group import (
    DescribeGroupsRequest,
    FetchedOffset,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    OffsetToCommit,
    TopicPartition,
)
from tests.helpers.tables_kit import (
    COMPLETING,
    DEAD,
    EMPTY,
    LIVE,
    PREPARING,
    SESSION_MS,
    STABLE,
    E,
    bench,
    scene,
    subscribed,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def stored(made: Bench, partition: TopicPartition = T0, group: str = "g") -> OffsetValue | None:
    """The last committed offset record of a partition."""
    records = [r for r in made.log if isinstance(r, OffsetRecord) and (r.group_id, r.partition) == (group, partition)]
    return records[-1].value if records else None


# --- OffsetCommit ------------------------------------------------------------------------------------------------


def test_commit_to_an_unknown_group_makes_a_simple_one() -> None:
    """1.7: no group, generation -1: accepted; a simple group, Empty, without type, persisted by its offsets alone."""
    made = bench()
    assert committed(made.commit_offset(5)) == [E.NONE]
    group = made.snapshot()
    assert (group.state, group.protocol_type, group.generation) == (EMPTY, None, 0)
    assert [type(record) for record in made.log] == [OffsetRecord]


def test_generation_zero_claims_a_membership() -> None:
    """1.7: only a generation below 0 comes from outside; 0 without a member id is checked, and refused when Empty."""
    made = scene(EMPTY).bench
    assert committed(made.commit_offset(5, generation=0)) == [E.UNKNOWN_MEMBER_ID]
    assert committed(made.commit_offset(5, generation=-1)) == [E.NONE]


def test_group_of_a_commit_that_wrote_nothing_is_seen_with_the_next_append() -> None:
    """1.7: refused in every partition, the commit leaves a group that readers see once another append is committed."""
    made = bench()
    assert committed(made.commit_offset(5, metadata="x" * 4097)) == [E.OFFSET_METADATA_TOO_LARGE]
    assert made.shard.describe("g", DescribeGroupsRequest(("g",), version=5)).state == "Dead"
    assert committed(made.commit_offset(5, group="another")) == [E.NONE]
    assert made.shard.describe("g", DescribeGroupsRequest(("g",), version=5)).state == EMPTY


@pytest.mark.parametrize(
    ("version", "error"),
    [
        pytest.param(10, E.GROUP_ID_NOT_FOUND, id="1.7-no-group-v10"),
        pytest.param(9, E.GROUP_ID_NOT_FOUND, id="1.7-no-group-v9"),
        pytest.param(8, E.ILLEGAL_GENERATION, id="1.7-no-group-v8"),
        pytest.param(2, E.ILLEGAL_GENERATION, id="1.7-no-group-v2"),
    ],
)
def test_commit_of_a_member_of_no_group(version: int, error: E) -> None:
    """1.7: no group, generation >= 0: GROUP_ID_NOT_FOUND from v9 on, before that ILLEGAL_GENERATION."""
    made = bench()
    assert committed(made.commit_offset(5, member_id="x", generation=0, version=version)) == [error]
    assert made.shard.snapshot("g") is None


def test_commit_to_a_dead_group() -> None:
    """1.7: Dead: COORDINATOR_NOT_AVAILABLE."""
    stage = scene(DEAD)
    assert committed(stage.bench.commit_offset(5)) == [E.COORDINATOR_NOT_AVAILABLE]


@pytest.mark.parametrize(
    "who",
    [
        pytest.param({}, id="1.7-Empty-anonymous"),
        pytest.param({"member_id": "ghost"}, id="1.7-Empty-member-ignored"),
        pytest.param({"member_id": "ghost", "instance": "nobody"}, id="1.7-Empty-instance-ignored"),
    ],
)
def test_commit_from_outside_to_an_empty_group(who: dict[str, Any]) -> None:
    """1.7: generation -1 to an Empty group: accepted, member id and instance id are ignored."""
    stage = scene(EMPTY)
    assert committed(stage.bench.commit_offset(5, **who)) == [E.NONE]
    assert stored(stage.bench) is not None


CHECKED = [
    pytest.param("ghost", 1, None, E.UNKNOWN_MEMBER_ID, id="1.7-unknown-id"),
    pytest.param("", 1, None, E.UNKNOWN_MEMBER_ID, id="1.7-generation-without-id"),
    pytest.param("PENDING", 1, None, E.UNKNOWN_MEMBER_ID, id="1.7-pending-id"),
    pytest.param("LEADER", 1, "nobody", E.UNKNOWN_MEMBER_ID, id="1.7-instance-unmapped"),
    pytest.param("LEADER", 1, "b", E.FENCED_INSTANCE_ID, id="1.7-fenced"),
    pytest.param("ghost", -1, None, E.UNKNOWN_MEMBER_ID, id="1.7-unknown-id-no-generation"),
    pytest.param("", -1, "nobody", E.UNKNOWN_MEMBER_ID, id="1.7-instance-alone"),
    pytest.param("LEADER", -1, None, E.ILLEGAL_GENERATION, id="1.7-member-no-generation"),
    pytest.param("LEADER", 0, None, E.ILLEGAL_GENERATION, id="1.7-old-generation"),
    pytest.param("LEADER", 2, None, E.ILLEGAL_GENERATION, id="1.7-newer-generation"),
    pytest.param("", -1, None, E.UNKNOWN_MEMBER_ID, id="1.7-anonymous-to-a-live-group"),
]


@pytest.mark.parametrize(("member_id", "generation", "instance", "error"), CHECKED)
@pytest.mark.parametrize("state", LIVE)
def test_commit_is_checked(state: str, member_id: str, generation: int, instance: str | None, error: E) -> None:
    """1.7: membership, then generation; in every state with members, and nothing is stored."""
    stage = scene(state, static=True)
    given = stage.id_of(member_id)
    sent = stage.bench.commit_offset(5, member_id=given, generation=generation, instance=instance)
    assert committed(sent) == [error]
    assert stored(stage.bench) is None


def test_commit_with_a_generation_to_an_empty_group() -> None:
    """1.7: a generation to an Empty group is a claim of membership: UNKNOWN_MEMBER_ID."""
    assert committed(scene(EMPTY).bench.commit_offset(5, member_id="a-1", generation=2)) == [E.UNKNOWN_MEMBER_ID]


VALID = [
    pytest.param(PREPARING, E.NONE, SESSION_MS, id="1.7-Preparing-valid"),
    pytest.param(COMPLETING, E.REBALANCE_IN_PROGRESS, SESSION_MS - 10_000, id="1.7-Completing-valid"),
    pytest.param(STABLE, E.NONE, SESSION_MS, id="1.7-Stable-valid"),
]


@pytest.mark.parametrize(("state", "error", "deadline_ms"), VALID)
def test_valid_commit(state: str, error: E, deadline_ms: int) -> None:
    """1.7: a member's commit is stored and counts as a heartbeat, but not while the group completes its rebalance."""
    stage = scene(state)
    stage.bench.advance_ms(10_000)
    sent = stage.bench.commit_offset(5, member_id=stage.follower, generation=1)
    assert committed(sent) == [error]
    assert (stored(stage.bench) is not None) is (error is E.NONE)
    assert stage.deadline_ms(stage.follower) == deadline_ms


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("x" * 4_096, E.NONE, id="1.7-metadata-at-limit"),
        pytest.param("x" * 4_097, E.OFFSET_METADATA_TOO_LARGE, id="1.7-metadata-too-large"),
        pytest.param("é" * 4_096, E.NONE, id="1.7-metadata-units-not-bytes"),
        pytest.param("\U0001f600" * 2_048, E.NONE, id="1.7-metadata-surrogates-at-limit"),
        pytest.param("\U0001f600" * 2_049, E.OFFSET_METADATA_TOO_LARGE, id="1.7-metadata-surrogates"),
    ],
)
def test_metadata_is_measured_in_utf16_units(text: str, error: E) -> None:
    """1.7: metadata longer than 4096 UTF-16 units is refused for its partition; the others are stored."""
    made = bench()
    entries = (OffsetToCommit(T0, 5, metadata=text), OffsetToCommit(T1, 6))
    assert committed(made.send(OffsetCommitRequest("g", entries))) == [error, E.NONE]
    assert (stored(made) is None) is (error is not E.NONE)
    assert stored(made, T1) is not None


def test_what_a_commit_stores() -> None:
    """1.7: offset, leader epoch, metadata and the commit's time; no expiry of its own."""
    made = bench()
    made.advance_ms(7)
    made.send(OffsetCommitRequest("g", (OffsetToCommit(T0, 5, 3, "m"), OffsetToCommit(T1, 6))))
    assert stored(made) == OffsetValue(5, 3, "m", 7_000, None)
    assert stored(made, T1) == OffsetValue(6, -1, "", 7_000, None)


@pytest.mark.parametrize(
    ("version", "retention_ms", "expire_us"),
    [
        pytest.param(2, 500, 500_000, id="1.7-retention-v2"),
        pytest.param(4, 500, 500_000, id="1.7-retention-v4"),
        pytest.param(4, -1, None, id="1.7-retention-default"),
        pytest.param(5, 500, None, id="1.7-retention-v5-has-none"),
    ],
)
def test_retention_of_a_commit(version: int, retention_ms: int, expire_us: int | None) -> None:
    """1.7: only versions 2 to 4 carry a retention, and -1 means the broker's."""
    made = bench()
    made.commit_offset(5, version=version, retention_ms=retention_ms)
    value = stored(made)
    assert value is not None
    assert value.expire_us == expire_us


def test_retention_beyond_64_bits() -> None:
    """1.7: the end of a retention is added in 64 bits: one for ever is over long ago; the millisecond -1 is no end."""
    made = bench()
    for_ever, to_the_end = 2**63 - 1, -1 - EPOCH_MS
    made.commit_offset(5, version=4, retention_ms=for_ever)
    value = stored(made)
    assert value is not None
    assert value.expire_us == 1_000 * (EPOCH_MS + for_ever - 2**64 - EPOCH_MS)
    made.commit_offset(6, version=4, retention_ms=to_the_end)
    value = stored(made)
    assert value is not None
    assert (value.offset, value.expire_us) == (6, None)


def test_commit_is_answered_when_it_is_replicated() -> None:
    """3.2: the answer to OffsetCommit leaves after its own records are committed."""
    made = bench(auto_commit=False)
    sent = made.commit_offset(5)
    assert not sent.answered
    made.commit()
    assert committed(sent) == [E.NONE]


# --- OffsetFetch -------------------------------------------------------------------------------------------------


def fetched(sent: Sent) -> tuple[FetchedOffset, ...]:
    """The answer to an OffsetFetch."""
    assert isinstance(sent.response, OffsetFetchResponse)
    assert sent.response.error is E.NONE
    return sent.response.offsets


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("group", [pytest.param("none", id="1.9-no-group"), pytest.param("dead", id="1.9-dead-group")])
def test_fetch_of_no_group(group: str, stable: bool) -> None:
    """1.9: group missing or Dead: -1, -1, "" per partition without an error; no topics when all are asked for."""
    made = bench()
    if group == "dead":
        made.commit_offset(5)
        made.carry_out(made.shard.unload(made.now_us))
    assert fetched(made.fetch_offsets(T0, stable=stable)) == (FetchedOffset(T0, -1, -1, "", E.NONE),)
    assert fetched(made.fetch_offsets(stable=stable)) == ()


@pytest.mark.parametrize("state", [pytest.param(s, id=f"1.9-{s}") for s in (EMPTY, *LIVE)])
def test_fetch_in_any_state(state: str) -> None:
    """1.9: the state does not matter; a partition without an offset is -1."""
    stage = scene(STABLE if state in LIVE else EMPTY)
    who = {"member_id": stage.leader, "generation": 1} if state in LIVE else {}
    stage.bench.commit_offset(5, **who)  # type: ignore[arg-type]
    if state in (PREPARING, COMPLETING):
        stage.bench.join("c")
        for member in (stage.leader, stage.follower) if state == COMPLETING else ():
            stage.bench.join(member_id=member)
    assert stage.bench.state == state
    assert offsets_of(stage.bench.fetch_offsets(T0, T1)) == {T0: 5, T1: -1}
    assert offsets_of(stage.bench.fetch_offsets()) == {T0: 5}


def test_stable_fetch_waits_for_what_is_appended() -> None:
    """1.9: require_stable sees what is not yet committed and is answered when it is."""
    made = bench(auto_commit=False)
    made.commit_offset(5)
    sent = made.fetch_offsets(T0)
    assert not sent.answered
    made.commit()
    assert offsets_of(sent) == {T0: 5}


def test_plain_fetch_reads_the_committed_view() -> None:
    """1.9: without require_stable the last committed snapshot is the answer, at once."""
    made = bench(auto_commit=False)
    made.commit_offset(5)
    assert offsets_of(made.fetch_offsets(T0, stable=False)) == {T0: -1}
    made.commit()
    made.commit_offset(6)
    assert offsets_of(made.fetch_offsets(T0, stable=False)) == {T0: 5}


def test_failed_commit_is_taken_back() -> None:
    """3.2: offsets of a failed append are as before for every reader."""
    made = bench(auto_commit=False)
    made.commit_offset(5)
    made.commit()
    sent = made.commit_offset(6)
    made.fail_append(E.NOT_ENOUGH_REPLICAS)
    assert committed(sent) == [E.COORDINATOR_NOT_AVAILABLE]
    assert offsets_of(made.fetch_offsets(T0)) == {T0: 5}


# --- OffsetDelete ------------------------------------------------------------------------------------------------


def delete(made: Bench, *partitions: TopicPartition) -> OffsetDeleteResponse:
    """An OffsetDelete."""
    found = made.send(OffsetDeleteRequest("g", partitions)).response
    assert isinstance(found, OffsetDeleteResponse)
    return found


@pytest.mark.parametrize(
    "group",
    [pytest.param("none", id="1.11-offset-delete-no-group"), pytest.param("dead", id="1.11-offset-delete-dead")],
)
def test_delete_offsets_of_no_group(group: str) -> None:
    """1.11: group missing or Dead: GROUP_ID_NOT_FOUND at the top."""
    made = bench() if group == "none" else scene(DEAD).bench
    assert delete(made, T0).error is E.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("state", [pytest.param(s, id=f"1.11-offset-delete-{s}-other-type") for s in LIVE])
def test_delete_offsets_of_a_live_group_that_is_no_consumer(state: str) -> None:
    """1.11: not Empty and not of the consumer protocol: NON_EMPTY_GROUP at the top."""
    assert delete(scene(state, protocol_type="connect").bench, T0).error is E.NON_EMPTY_GROUP


@pytest.mark.parametrize("state", [pytest.param(s, id=f"1.11-offset-delete-{s}-consumer") for s in LIVE])
def test_delete_offsets_of_a_live_consumer_group(state: str) -> None:
    """1.11: offsets of subscribed topics stay (GROUP_SUBSCRIBED_TO_TOPIC), those of others go."""
    made = scene(state, protocols=subscribed("t")).bench
    found = delete(made, T0, U0)
    assert (found.error, found.partitions) == (E.NONE, ((T0, E.GROUP_SUBSCRIBED_TO_TOPIC), (U0, E.NONE)))


def test_delete_offsets_when_the_subscription_is_unknown() -> None:
    """1.11: with an unreadable subscription every topic counts as subscribed."""
    assert delete(scene(STABLE).bench, U0).partitions == ((U0, E.GROUP_SUBSCRIBED_TO_TOPIC),)


@pytest.mark.parametrize(
    "protocol_type", [pytest.param(t, id=f"1.11-offset-delete-Empty-{t}") for t in ("consumer", "connect")]
)
def test_delete_offsets_of_an_empty_group(protocol_type: str) -> None:
    """1.11: Empty: NONE; a tombstone is written only where an offset is."""
    made = scene(EMPTY, protocol_type=protocol_type, protocols=subscribed("t")).bench
    made.commit_offset(5)
    written = len(made.log)
    found = delete(made, T0, U0)
    assert (found.error, found.partitions) == (E.NONE, ((T0, E.NONE), (U0, E.NONE)))
    assert made.log[written:] == [OffsetRecord("g", T0, None)]
    assert offsets_of(made.fetch_offsets(T0)) == {T0: -1}
