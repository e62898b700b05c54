"""Duplicates, sequences, epochs and transactions, as the log's leader and its followers see them."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.log.errors import LogRefused
from groupsim.cluster.log.markers import MARKER_BYTES, Marker, marker_batch, marker_of
from groupsim.cluster.log.producer_state import CHECKPOINT, MAX_SEQUENCE, restore
from groupsim.protocol.batch.batch import HEADER_BYTES, TRANSACTIONAL
from groupsim.protocol.batch.sizes import record_size
from groupsim.protocol.errors import ErrorCode


def _refusal(log: Any, batch: Any) -> ErrorCode:
    before = log.end_offset
    with pytest.raises(LogRefused) as refused:
        log.append([batch], 0, 0)
    assert log.end_offset == before
    return refused.value.error


def _end(producer: int, *, committed: bool, epoch: int = 0, coordinator_epoch: int = 0, at: int = 0) -> Any:
    return marker_batch(producer, epoch, committed=committed, coordinator_epoch=coordinator_epoch, timestamp_ms=at)


def test_a_retry_is_answered_with_the_first_offset(new_store: Any, kit: Any) -> None:
    """The last five batches of a producer are known again; nothing is appended twice."""
    log = kit.log(new_store())
    for sequence in range(6):
        log.append([kit.sent(1, sequence * 2, 2)], 4, 0)
    (again,) = log.append([kit.sent(1, 2, 2)], 9, 0)
    assert (again.base_offset, again.leader_epoch, log.end_offset) == (2, 4, 12)


def test_an_older_retry_is_out_of_order(new_store: Any, kit: Any) -> None:
    """The sixth batch back is forgotten."""
    log = kit.log(new_store())
    for sequence in range(6):
        log.append([kit.sent(1, sequence)], 0, 0)
    assert _refusal(log, kit.sent(1, 0)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_in_the_sequence_is_out_of_order(new_store: Any, kit: Any) -> None:
    """A lost batch must not be hidden by the next one."""
    log = kit.log(new_store())
    log.append([kit.sent(1, 0, 3)], 0, 0)
    assert _refusal(log, kit.sent(1, 4)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.append([kit.sent(1, 3)], 0, 0)
    assert log.end_offset == 4


def test_an_unknown_producer_may_begin_anywhere(new_store: Any, kit: Any) -> None:
    """Retention may have taken all that it wrote."""
    log = kit.log(new_store())
    log.append([kit.sent(1, 77)], 0, 0)
    assert log.end_offset == 1


def test_sequences_wrap(new_store: Any, kit: Any) -> None:
    """After 2^31 - 1 comes 0, also within a batch."""
    log = kit.log(new_store())
    log.append([kit.sent(1, MAX_SEQUENCE - 1, 3)], 0, 0)
    log.append([kit.sent(1, 1)], 0, 0)
    assert log.append([kit.sent(1, MAX_SEQUENCE - 1, 3)], 0, 0)[0].base_offset == 0


def test_a_new_epoch_begins_at_zero_and_fences_the_old(new_store: Any, kit: Any) -> None:
    """A producer's successor starts its own numbers; its predecessor is a zombie."""
    log = kit.log(new_store())
    log.append([kit.sent(1, 0, 3)], 0, 0)
    assert _refusal(log, kit.sent(1, 3, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.append([kit.sent(1, 0, epoch=1)], 0, 0)
    assert _refusal(log, kit.sent(1, 3)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_batches_of_one_append_are_checked_one_after_the_other(new_store: Any, kit: Any) -> None:
    """The second batch has to follow the first, and when it does not, neither is appended."""
    log = kit.log(new_store())
    log.append([kit.sent(1, 0), kit.sent(1, 1)], 0, 0)
    with pytest.raises(LogRefused, match="expected 3"):
        log.append([kit.sent(1, 2), kit.sent(1, 4)], 0, 0)
    assert log.end_offset == 2
    log.append([kit.sent(1, 2)], 0, 0)


def test_what_a_follower_copies_is_not_checked(new_store: Any, kit: Any) -> None:
    """The leader has checked it; a follower goes on from what it has."""
    log = kit.log(new_store())
    log.append_copied([kit.sent(1, 5).placed(0, 0), kit.sent(1, 9).placed(1, 0)], 0)
    log.append([kit.sent(1, 10)], 1, 0)
    assert log.end_offset == 3


def test_a_transaction_holds_the_last_stable_offset_until_its_marker_is_replicated(new_store: Any, kit: Any) -> None:
    """Open, then ended but above the high watermark, then decided."""
    log = kit.log(new_store())
    log.append([kit.counted(2), kit.in_txn(1, ("a", "1")), kit.counted(2)], 0, 0)
    assert (log.high_watermark, log.last_stable_offset) == (0, 0)
    log.advance_high_watermark(5)
    assert log.last_stable_offset == 2
    log.append([_end(1, committed=True)], 0, 0)
    assert log.last_stable_offset == 2
    log.advance_high_watermark(6)
    assert log.last_stable_offset == 6


def test_aborted_transactions_are_returned_to_readers(new_store: Any, kit: Any) -> None:
    """A read gets the first offset of every aborted transaction that it overlaps."""
    log = kit.log(new_store())
    log.append([kit.in_txn(1, ("a", "1"))], 0, 0)
    log.append([kit.in_txn(2, ("b", "1"))], 0, 0)
    log.append([_end(1, committed=False)], 0, 0)
    log.append([_end(2, committed=True)], 0, 0)
    log.append([kit.in_txn(2, ("b", "2"))], 0, 0)
    log.append([_end(2, committed=False)], 0, 0)
    assert log.aborted(0, 6) == ((1, 0), (2, 4))
    assert log.aborted(3, 6) == ((2, 4),)
    assert log.aborted(0, 3) == ((1, 0),)


def test_an_aborted_transaction_has_the_offset_where_a_search_may_stop(new_store: Any, kit: Any) -> None:
    """The offset is not below transactions that were open at its end, which may have been aborted later."""
    log = kit.log(new_store())
    log.append([kit.in_txn(1, ("a", "1")), kit.in_txn(2, ("b", "1"))], 0, 0)
    log.append([_end(2, committed=False), _end(1, committed=False)], 0, 0)
    assert log.aborted(0, 3) == ((2, 1), (1, 0))


def test_a_marker_at_the_high_watermark_is_not_yet_final(new_store: Any, kit: Any) -> None:
    """The marker is lost if the leader crashes now."""
    log = kit.log(new_store())
    log.append([kit.in_txn(1, ("a", "1")), _end(1, committed=True), kit.counted()], 0, 0)
    stable = [log.advance_high_watermark(offset) and log.last_stable_offset for offset in (1, 2)]
    assert stable == [0, 2]


def test_a_write_outside_of_an_open_transaction_is_refused(new_store: Any, kit: Any) -> None:
    """A producer in a transaction writes transactional batches only."""
    log = kit.log(new_store())
    log.append([kit.sent(1, 0, attributes=TRANSACTIONAL)], 0, 0)
    assert _refusal(log, kit.sent(1, 1)) is ErrorCode.INVALID_TXN_STATE


def test_a_marker_of_an_older_coordinator_is_fenced(new_store: Any, kit: Any) -> None:
    """Two brokers may act as transaction coordinator; the one with the newer epoch wins."""
    log = kit.log(new_store())
    log.append([_end(1, committed=True, coordinator_epoch=5)], 0, 0)
    assert _refusal(log, _end(1, committed=False, coordinator_epoch=4)) is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_truncation_opens_a_transaction_again(new_store: Any, kit: Any) -> None:
    """A marker that is cut off has never been; nor has a batch that the cut took."""
    log = kit.log(new_store())
    log.append([kit.in_txn(1, ("a", "1"))], 0, 0)
    log.append([_end(1, committed=False)], 0, 0)
    log.append([kit.sent(2, 0)], 0, 0)
    log.truncate_to(1)
    log.advance_high_watermark(1)
    assert (log.last_stable_offset, log.aborted(0, 9)) == (0, ())
    log.append([kit.sent(2, 40)], 0, 0)


def test_producers_are_known_again_after_a_crash(new_store: Any, kit: Any) -> None:
    """From the snapshot of the last roll and what was appended since."""
    log = kit.log(new_store(), segment_bytes=250)
    log.append([kit.in_txn(9, ("a", "1"))], 0, 0)
    for sequence in range(5):
        log.append([kit.sent(1, sequence, size=100)], 0, 0)
    assert kit.events
    log.crash(machine=False)
    log.advance_high_watermark(6)
    assert log.last_stable_offset == 0
    assert log.append([kit.sent(1, 3, size=100)], 0, 0)[0].base_offset == 4
    assert _refusal(log, kit.sent(1, 6)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_snapshot_of_what_was_cut_off_is_not_used(new_store: Any, kit: Any) -> None:
    """The log may have grown beyond the snapshot's offset again, with other batches."""
    log = kit.log(new_store(), segment_bytes=150)
    for sequence in range(3):
        log.append([kit.sent(1, sequence, size=100)], 0, 0)
    log.truncate_to(0)
    for _ in range(3):
        log.append_copied([kit.counted(size=70).placed(log.end_offset, 0)], 0)
    log.crash(machine=False)
    log.append([kit.sent(1, 30)], 0, 0)
    assert log.end_offset == 4


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"offset": 3, "producers": [[1]], "aborted": []}'])
def test_a_broken_snapshot_counts_as_none(text: str) -> None:
    """The state is rebuilt from the log."""
    offset, states = restore(text)
    assert (offset, states.is_empty) == (-1, True)


def test_quiet_producers_are_forgotten(new_store: Any, kit: Any) -> None:
    """After producer.id.expiration.ms without a write, unless a transaction is open."""
    log = kit.log(new_store(), producer_id_expiration_ms=1_000, retention_ms=-1)
    log.append([kit.sent(1, 0, at=10), kit.in_txn(2, ("a", "1"), at=10)], 0, 10)
    assert log.next_maintenance_ms(10) == 600_000
    log.maintain(1_009)
    assert _refusal(log, kit.sent(1, 7)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.maintain(1_010)
    log.append([kit.sent(1, 7)], 0, 0)
    log.advance_high_watermark(3)
    assert log.last_stable_offset == 1


def test_a_marker_is_parsed_as_it_was_made() -> None:
    """Key and value as Kafka writes them, and the size that they take."""
    batch = _end(7, committed=True, coordinator_epoch=3)
    assert marker_of(batch) == Marker(True, 3)
    assert (batch.records[0].key, batch.records[0].value) == (b"\0\0\0\1", b"\0\0\0\0\0\3")
    assert HEADER_BYTES + record_size(batch.records[0]) == batch.size == MARKER_BYTES


def test_a_snapshot_restores_the_state(new_store: Any, kit: Any) -> None:
    """A snapshot restored is the state that wrote it."""
    store = new_store()
    log = kit.log(store)
    log.append([kit.sent(1, 0, 4)], 0, 0)
    log.append([kit.in_txn(2, ("a", "1"))], 0, 0)
    log.append([_end(2, committed=False)], 0, 0)
    log.append([kit.in_txn(3, ("a", "1"))], 0, 0)
    log.close()
    offset, states = restore(store.read_checkpoint(CHECKPOINT))
    assert offset == 7
    assert sorted(states.entries) == [1, 2, 3]
    assert states.entries[1].duplicate_of(kit.sent(1, 0, 4)).first_offset == 0
    assert (states.first_unstable, states.aborted_between(0, 9)) == (6, ((2, 4),))
