"""TxnOffsetCommit and the end of transactions, row by row.

Expected outcomes were written from the classic-protocol reference, 1.7 to 1.11, 2.12 and 3.3, and from
`OffsetMetadataManager` of Kafka 4.4.
"""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.records import OffsetRecord, OffsetValue, Producer, TransactionEnd
from groupsim.coordinator.base.snapshot import PendingOffset
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.testing import Bench, committed_in_transaction, offsets_of, unstable
from groupsim.protocol.errors import ErrorCode as E
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetDeleteRequest,
    TopicPartition,
)
from tests.helpers.tables_kit import COMPLETING, DEAD, EMPTY, LIVE, PREPARING, STABLE, bench, describe, scene

TP = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
MINUTE_MS = 60_000


def stored(made: Bench) -> dict[TopicPartition, int]:
    """What an OffsetFetch that does not ask for stable offsets sees of the two partitions."""
    return offsets_of(made.fetch_offsets(TP, T1, stable=False))


# --- who may commit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generation", "version", "error"),
    [
        (-1, 5, E.NONE),
        (0, 5, E.ILLEGAL_GENERATION),
        (0, 6, E.GROUP_ID_NOT_FOUND),
    ],
)
def test_group_that_is_not_there(generation: int, version: int, error: E) -> None:
    """A producer that is no member makes a simple group; one that speaks for a member is refused, by version."""
    made = bench()
    sent = made.commit_in_transaction(5, generation=generation, member_id="m" * (generation + 1), version=version)
    assert committed_in_transaction(sent) == [error]
    assert describe(made).state == (EMPTY if error is E.NONE else DEAD)
    assert describe(made).protocol_type == ""


@pytest.mark.parametrize("version", [3, 5, 6])
@pytest.mark.parametrize("error", [E.STALE_MEMBER_EPOCH, E.GROUP_ID_NOT_FOUND, E.UNKNOWN_MEMBER_ID])
def test_errors_that_older_producers_do_not_know(monkeypatch: pytest.MonkeyPatch, error: E, version: int) -> None:
    """Below version 6 two errors of a group become ILLEGAL_GENERATION (KIP-1319); others stay as they are."""
    made = bench()
    made.commit_offset(1)
    monkeypatch.setattr(ClassicGroup, "txn_commit_error", lambda group, op, request: error)
    sent = made.commit_in_transaction(5, generation=3, member_id="m", version=version)
    renamed = version < 6 and error is not E.UNKNOWN_MEMBER_ID
    assert committed_in_transaction(sent) == [E.ILLEGAL_GENERATION if renamed else error]


def test_dead_group() -> None:
    """1.8: a group that is dead here answers COORDINATOR_NOT_AVAILABLE."""
    at = scene(DEAD)
    sent = at.bench.commit_in_transaction(5, member_id=at.leader, generation=1)
    assert committed_in_transaction(sent) == [E.COORDINATOR_NOT_AVAILABLE]


def test_empty_group_takes_commits_from_outside() -> None:
    """1.8: generation -1 and EMPTY: accepted, whatever member id or instance is named."""
    at = scene(EMPTY)
    sent = at.bench.commit_in_transaction(5, member_id="nobody", instance="none")
    assert committed_in_transaction(sent) == [E.NONE]


@pytest.mark.parametrize("state", LIVE)
@pytest.mark.parametrize(
    ("who", "error"),
    [
        ({}, E.NONE),
        ({"member_id": "LEADER", "generation": 1}, E.NONE),
        ({"member_id": "LEADER", "generation": 0}, E.ILLEGAL_GENERATION),
        ({"member_id": "LEADER", "generation": 2}, E.ILLEGAL_GENERATION),
        ({"member_id": "LEADER"}, E.ILLEGAL_GENERATION),
        ({"member_id": "stranger", "generation": 1}, E.UNKNOWN_MEMBER_ID),
        ({"member_id": "", "generation": 1}, E.UNKNOWN_MEMBER_ID),
        ({"member_id": "", "generation": 0}, E.UNKNOWN_MEMBER_ID),
        ({"member_id": "LEADER", "generation": 1, "instance": "x"}, E.UNKNOWN_MEMBER_ID),
    ],
)
def test_live_group(state: str, who: dict[str, object], error: E) -> None:
    """1.8: membership is checked as for OffsetCommit, but the state is not, and an anonymous producer gets through."""
    at = scene(state)
    named = {name: at.id_of(value) for name, value in who.items()}
    assert committed_in_transaction(at.bench.commit_in_transaction(5, **named)) == [error]  # type: ignore[arg-type]


def test_replaced_static_member_is_fenced() -> None:
    """KIP-447, KIP-345: the instance belongs to another member id by now."""
    at = scene(STABLE, static=True)
    sent = at.bench.commit_in_transaction(5, member_id="old", generation=1, instance="a")
    assert committed_in_transaction(sent) == [E.FENCED_INSTANCE_ID]
    sent = at.bench.commit_in_transaction(5, member_id=at.leader, generation=1, instance="none")
    assert committed_in_transaction(sent) == [E.UNKNOWN_MEMBER_ID]


@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_no_session_is_prolonged(state: str) -> None:
    """1.8: unlike OffsetCommit it never moves the member's session."""
    at = scene(state)
    at.bench.advance_ms(1_000)
    before = at.deadline_ms(at.follower)
    at.bench.commit_in_transaction(5, member_id=at.follower, generation=1)
    assert at.deadline_ms(at.follower) == before


def test_metadata_that_is_too_long() -> None:
    """1.7: that partition OFFSET_METADATA_TOO_LARGE, and nothing of it is pending."""
    made = bench({"offset.metadata.max.bytes": 3})
    assert committed_in_transaction(made.commit_in_transaction(1, metadata="four")) == [E.OFFSET_METADATA_TOO_LARGE]
    assert committed_in_transaction(made.commit_in_transaction(2, partition=1, metadata="abc")) == [E.NONE]
    assert [one.partition for one in made.snapshot().pending_offsets] == [T1]


# --- pending, committed, aborted ---------------------------------------------------------------------------------


def test_pending_offset_is_a_record_of_its_producer() -> None:
    """1.8: written with producer id and epoch, in whole milliseconds; not committed; shown in the snapshot."""
    made = bench()
    made.advance_to(7_000_999)
    made.commit_in_transaction(5, producer_id=9, producer_epoch=2, metadata="m")
    value = OffsetValue(5, -1, "m", 7_000_000)
    assert made.log == [OffsetRecord("g", TP, value, Producer(9, 2))]
    assert stored(made) == {TP: -1, T1: -1}
    assert made.snapshot().pending_offsets == (PendingOffset(9, TP, value),)


@pytest.mark.parametrize(("committed", "offset"), [(True, 5), (False, 3)])
def test_end_of_a_transaction(committed: bool, offset: int) -> None:
    """1.8: committed, the pending offset counts; aborted, it is dropped and the one before is still there."""
    made = bench()
    made.commit_offset(3)
    made.commit_in_transaction(5)
    assert committed_in_transaction(made.end_transaction(committed)) == [E.NONE]
    assert made.log[-1] == TransactionEnd(Producer(7, 0), committed)
    assert stored(made) == {TP: offset, T1: -1}
    assert made.snapshot().pending_offsets == ()


def test_end_of_somebody_elses_transaction() -> None:
    """A marker of a producer with nothing pending here is written, and changes nothing."""
    made = bench()
    made.commit_in_transaction(5)
    assert committed_in_transaction(made.end_transaction(True, producer_id=8)) == [E.NONE]
    assert stored(made) == {TP: -1, T1: -1}
    assert len(made.snapshot().pending_offsets) == 1


@pytest.mark.parametrize(
    ("steps", "offset"),
    [
        ("plain txn end", 2),
        ("txn plain end", 2),
        ("txn plain txn end", 3),
        ("txn txn end", 2),
        ("txn other other-end end", 2),
        ("other txn other-end end", 2),
        ("other txn end other-end", 2),
        ("txn plain other other-end end", 3),
        ("txn delete end", -1),
        ("txn delete plain end", 3),
        ("plain txn delete txn end", 4),
    ],
)
def test_the_later_record_wins(steps: str, offset: int) -> None:
    """1.7: of plain and transactional commits of one partition the one later in the log counts, not the last applied.

    Every step is a record; the number of a commit is its place. A replay of the log says the same.
    """
    made = bench()
    for number, step in enumerate(steps.split(), 1):
        if step == "plain":
            made.commit_offset(number)
        elif step in ("txn", "other"):
            made.commit_in_transaction(number, producer_id=7 if step == "txn" else 8)
        elif step == "delete":
            made.send(OffsetDeleteRequest("g", (TP,)))
        else:
            made.end_transaction(True, producer_id=7 if step == "end" else 8)
    assert stored(made) == {TP: offset, T1: -1}
    assert made.snapshot().pending_offsets == ()
    assert stored(made.fail_over()) == {TP: offset, T1: -1}


# --- OffsetFetch -------------------------------------------------------------------------------------------------


def test_stable_fetch_is_told_of_unstable_partitions() -> None:
    """1.9: UNSTABLE_OFFSET_COMMIT with offset -1 for a pending partition, and only for that; unless not asked for."""
    made = bench()
    made.commit_offset(3)
    made.commit_offset(4, partition=1)
    made.commit_in_transaction(5)
    sent = made.fetch_offsets(TP, T1)
    assert unstable(sent) == [TP]
    assert offsets_of(sent) == {TP: -1, T1: 4}
    assert unstable(made.fetch_offsets()) == [TP]
    assert stored(made) == {TP: 3, T1: 4}
    made.end_transaction(True)
    assert offsets_of(made.fetch_offsets(TP, T1)) == {TP: 5, T1: 4}


def test_fetch_of_everything_leaves_out_what_is_only_pending() -> None:
    """1.9: all offsets of a group are those committed; a partition with nothing but a pending one is not listed."""
    made = bench()
    made.commit_in_transaction(5)
    assert offsets_of(made.fetch_offsets()) == {}
    assert unstable(made.fetch_offsets(TP)) == [TP]


# --- deleting and expiring ---------------------------------------------------------------------------------------


def test_offset_delete_removes_pending_ones() -> None:
    """1.11: a tombstone is written when an offset is committed or pending, and the transaction commits nothing."""
    made = bench()
    made.commit_in_transaction(5)
    made.send(OffsetDeleteRequest("g", (TP, T1)))
    assert made.log[-1] == OffsetRecord("g", TP, None)
    assert sum(isinstance(record, OffsetRecord) for record in made.log) == 2
    made.end_transaction(True)
    assert stored(made) == {TP: -1, T1: -1}


def test_delete_group_removes_pending_offsets() -> None:
    """1.11: tombstones for all offsets, pending ones included, each once; then the group's."""
    made = bench()
    made.commit_offset(3)
    made.commit_in_transaction(5)
    made.commit_in_transaction(6, partition=1)
    sent = made.send(DeleteGroupsRequest(("g",)))
    assert isinstance(sent.response, DeleteGroupsResponse)
    assert sent.response.results == (("g", E.NONE),)
    assert [record.partition for record in made.log[-3:-1] if isinstance(record, OffsetRecord)] == [TP, T1]
    made.end_transaction(True)
    assert made.shard.snapshot("g") is None
    assert made.fail_over().shard.snapshot("g") is None


def test_pending_offset_keeps_the_committed_one_from_expiring() -> None:
    """2.12: an offset with a pending transactional write of the same partition is kept; others expire."""
    made = bench({"offsets.retention.minutes": 1})
    made.commit_offset(3)
    made.commit_offset(4, partition=1)
    made.commit_in_transaction(5)
    made.advance_ms(10 * MINUTE_MS)
    assert stored(made) == {TP: 3, T1: -1}
    made.end_transaction(False)
    made.advance_ms(10 * MINUTE_MS)
    assert made.shard.snapshot("g") is None


def test_open_transaction_keeps_an_empty_group() -> None:
    """2.12: a group with nothing but pending offsets is not deleted until the transaction has ended."""
    made = bench({"offsets.retention.minutes": 1})
    made.commit_in_transaction(5)
    made.advance_ms(30 * MINUTE_MS)
    assert made.snapshot().state == EMPTY
    made.end_transaction(False)
    made.advance_ms(10 * MINUTE_MS)
    assert made.shard.snapshot("g") is None


def test_topic_deletion_removes_pending_offsets() -> None:
    """2.12: a deleted topic takes its offsets along, pending ones too, whatever the group's state."""
    at = scene(STABLE)
    at.bench.commit_in_transaction(5, member_id=at.leader, generation=1)
    at.bench.carry_out(at.bench.shard.topic_deleted("t", at.bench.now_us))
    assert at.bench.snapshot().pending_offsets == ()
    at.bench.end_transaction(True)
    assert stored(at.bench) == {TP: -1, T1: -1}


def test_a_deleted_topic_has_a_tombstone_for_each_transaction_too() -> None:
    """2.12: the committed offset and the pending ones of two producers leave three tombstones of one key."""
    at = scene(STABLE)
    at.bench.commit_offset(1, member_id=at.leader, generation=1)
    for producer in (7, 8):
        at.bench.commit_in_transaction(5, member_id=at.leader, generation=1, producer_id=producer)
    mark = len(at.bench.log)
    at.bench.carry_out(at.bench.shard.topic_deleted("t", at.bench.now_us))
    assert at.bench.log[mark:] == [OffsetRecord("g", TP, None)] * 3
    assert at.bench.snapshot().pending_offsets == ()


# --- appends that fail, loads ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR),
        (E.INVALID_PRODUCER_EPOCH, E.INVALID_PRODUCER_EPOCH),
        (E.NETWORK_EXCEPTION, E.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_failed_append_is_taken_back(error: E, told: E) -> None:
    """1.2: the mapped error, and nothing is pending; a fenced producer hears it from the log."""
    made = bench(auto_commit=False)
    sent = made.commit_in_transaction(5)
    made.fail_append(error)
    assert committed_in_transaction(sent) == [told]
    assert made.shard.snapshot("g") is None
    assert not unstable(made.fetch_offsets(TP))


def test_failed_marker_leaves_the_transaction_open() -> None:
    """A marker that cannot be written is taken back, what came after it stays, and a second one ends it."""
    made = bench()
    made.commit_in_transaction(5)
    made.auto_commit = False
    first = made.end_transaction(True)
    made.commit_offset(1, partition=1)
    assert offsets_of(made.fetch_offsets(TP, stable=False)) == {TP: -1}
    made.fail_append(E.NOT_ENOUGH_REPLICAS)
    assert committed_in_transaction(first) == [E.COORDINATOR_NOT_AVAILABLE]
    assert [one.value.offset for one in made.snapshot().pending_offsets] == [5]
    second = made.end_transaction(True)
    made.commit()
    assert committed_in_transaction(second) == [E.NONE]
    assert stored(made) == {TP: 5, T1: 1}


def test_write_timeout_undoes_nothing() -> None:
    """After 5 s the commit is told COORDINATOR_NOT_AVAILABLE; its record commits later, is pending, and counts."""
    made = bench(auto_commit=False)
    sent = made.commit_in_transaction(5)
    made.advance_ms(5_000)
    assert committed_in_transaction(sent) == [E.COORDINATOR_NOT_AVAILABLE]
    made.commit()
    made.end_transaction(True)
    made.commit()
    assert len(sent.responses) == 1
    assert stored(made) == {TP: 5, T1: -1}


def test_resignation_answers_commit_and_marker() -> None:
    """3.3: both are told NOT_COORDINATOR when the partition is given up before they are committed."""
    made = bench(auto_commit=False)
    commit, end = made.commit_in_transaction(5), made.end_transaction(True)
    made.fail_over()
    assert committed_in_transaction(commit) == committed_in_transaction(end) == [E.NOT_COORDINATOR]


@pytest.mark.parametrize("ended", [None, True, False])
def test_open_transactions_survive_a_fail_over(ended: bool | None) -> None:
    """3.3, 3.5: what is open when the log is read stays pending, and its end is applied by the next coordinator."""
    made = bench()
    made.commit_offset(3)
    made.commit_in_transaction(5)
    other = made.fail_over()
    assert other.snapshot().pending_offsets == made.snapshot().pending_offsets
    if ended is None:
        assert unstable(other.fetch_offsets(TP)) == [TP]
    else:
        other.end_transaction(ended)
        assert stored(other) == stored(other.fail_over()) == {TP: 5 if ended else 3, T1: -1}


def test_group_of_nothing_but_a_pending_offset_is_loaded() -> None:
    """3.5: replaying a pending offset makes the simple group, as the commit did."""
    made = bench()
    made.commit_in_transaction(5)
    assert describe(made.fail_over()).state == EMPTY
