"""Compaction: the records it keeps, when it is due, and the segments it does not clean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import pytest
from attrs import evolve

from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log import compaction
from groupsim.cluster.log.markers import marker_batch
from groupsim.cluster.log.memory import MemorySegment, MemoryStore
from groupsim.protocol.batch.batch import DELETE_HORIZON, HEADER_BYTES, Batch, LogRecord
from groupsim.protocol.batch.sizes import batch_of, record_size

BACKOFF = 15_000
DAY = 86_400_000


def _log(kit: Any, store: Any, **settings: Any) -> Any:
    """A compacted log in which everything is cleaned as soon as a segment is closed."""
    settings = {"cleanup_policy": ("compact",), "min_cleanable_dirty_ratio": 0.0, "segment_ms": 1_000} | settings
    return kit.log(store, **settings)


def _write(log: Any, *batches: Any, at: int = 0) -> None:
    for batch in batches:
        log.append([batch], 0, at)
    log.advance_high_watermark(log.end_offset)


def _close_segment(log: Any, kit: Any, at: int) -> None:
    """Roll by time, with a record that compaction does not touch."""
    _write(log, kit.keyed(("active", "x"), at=at), at=at)
    kit.events.clear()


def _marker(producer: int, *, committed: bool, at: int = 0) -> Any:
    return marker_batch(producer, 0, committed=committed, coordinator_epoch=0, timestamp_ms=at)


def test_the_last_value_of_a_key_stays_at_its_offset(new_store: Any, kit: Any) -> None:
    """Superseded records go, batches without records go, offsets stay."""
    log = _log(kit, new_store())
    _write(log, kit.keyed(("a", "1"), ("b", "1")), kit.keyed(("a", "2")), kit.keyed(("a", "3"), ("c", "1")))
    _close_segment(log, kit, 2_000)
    log.maintain(2_000)
    assert kit.contents(log) == [(1, "b", "1"), (3, "a", "3"), (4, "c", "1"), (5, "active", "x")]
    assert kit.offsets(log.batches(0, 9)) == [0, 3, 5]
    assert kit.events == [("log.compacted", "", {"records": 5, "left": 3, "tombstones": 0})]
    assert (log.start_offset, log.end_offset) == (0, 6)


def test_a_copied_batch_spans_its_offsets_and_has_the_size_of_what_is_left(new_store: Any, kit: Any) -> None:
    """Followers and consumers see the same next offset as before."""
    log = _log(kit, new_store())
    _write(log, kit.keyed(("a", "1"), ("b", "1"), ("a", "2")))
    _close_segment(log, kit, 2_000)
    log.maintain(2_000)
    (batch,) = log.read(0, 1)
    assert (batch.base_offset, batch.next_offset, len(batch.records)) == (0, 3, 2)
    assert batch.size == HEADER_BYTES + sum(map(record_size, batch.records))
    assert log.store.segments[0].size == batch.size


def test_the_active_segment_is_not_cleaned(new_store: Any, kit: Any) -> None:
    """Only closed segments are."""
    log = _log(kit, new_store())
    _write(log, kit.keyed(("a", "1")), kit.keyed(("a", "2")))
    log.maintain(10**9)
    assert len(kit.contents(log)) == 2
    assert log.next_maintenance_ms(10**9) is None


def test_nothing_above_the_last_stable_offset_is_cleaned(new_store: Any, kit: Any) -> None:
    """Whole segments below the high watermark and without an open transaction."""
    log = _log(kit, new_store())
    log.append([kit.keyed(("a", "1"))], 0, 0)
    log.append([kit.keyed(("a", "2"))], 0, 0)
    log.append([kit.keyed(("b", "1"), at=2_000)], 0, 2_000)
    log.advance_high_watermark(1)
    log.maintain(2_000)
    assert len(kit.contents(log)) == 3
    assert log.next_maintenance_ms(2_000) == BACKOFF
    log.advance_high_watermark(2)
    log.maintain(BACKOFF)
    assert kit.contents(log) == [(1, "a", "2"), (2, "b", "1")]


def test_a_cleaning_waits_for_the_dirty_ratio(new_store: Any, kit: Any) -> None:
    """The dirty part must have more than min.cleanable.dirty.ratio of the bytes."""
    log = _log(kit, new_store(), min_cleanable_dirty_ratio=0.5)
    _write(log, kit.keyed(("a", "1" * 100)), kit.keyed(("b", "1" * 100)))
    _close_segment(log, kit, 2_000)
    log.maintain(2_000)
    assert len(kit.events) == 1
    _write(log, kit.keyed(("a", "2"), at=2_500), at=2_500)
    _close_segment(log, kit, 4_000)
    log.maintain(4_000)
    assert kit.events == []
    _write(log, kit.keyed(("b", "2" * 300), at=4_500), at=4_500)
    _close_segment(log, kit, 6_000)
    log.maintain(6_000)
    assert [(offset, key) for offset, key, _ in kit.contents(log)] == [(3, "a"), (4, "active"), (5, "b"), (6, "active")]


def test_young_segments_wait_for_min_compaction_lag(new_store: Any, kit: Any) -> None:
    """A reader that is less behind sees every record."""
    log = _log(kit, new_store(), min_compaction_lag_ms=60_000)
    _write(log, kit.keyed(("a", "1")), kit.keyed(("a", "2")))
    _close_segment(log, kit, 2_000)
    log.maintain(59_999)
    assert kit.events == []
    assert log.next_maintenance_ms(59_000) == 60_000
    log.maintain(60_000)
    assert len(kit.events) == 1


def test_max_compaction_lag_cleans_however_little_is_dirty(new_store: Any, kit: Any) -> None:
    """A topic can bound the time until superseded records are gone."""
    log = _log(kit, new_store(), min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=60_000)
    _write(log, kit.keyed(("a", "1"), at=10), kit.keyed(("a", "2"), at=10), at=10)
    _close_segment(log, kit, 60_020)
    assert log.next_maintenance_ms(10) == 75_000
    log.maintain(60_010)
    assert kit.events == []
    log.maintain(60_011)
    assert len(kit.events) == 1


def test_a_tombstone_stays_until_its_horizon(new_store: Any, kit: Any) -> None:
    """The first round writes the horizon into the batch (KIP-534); one after that time drops the tombstone."""
    log = _log(kit, new_store(), delete_retention_ms=DAY)
    _write(log, kit.keyed(("a", "1"), at=5), kit.keyed(("a", None), ("b", "1"), at=7))
    _close_segment(log, kit, 2_000)
    log.maintain(3_000)
    (batch,) = log.read(1, 1)
    assert batch.attributes & DELETE_HORIZON
    assert (batch.timestamp_ms, batch.max_timestamp_ms) == (3_000 + DAY, 7)
    assert batch.timestamp_ms + batch.records[0].timestamp_delta == 7
    assert kit.events[-1][2] == {"records": 3, "left": 2, "tombstones": 1}
    for at, left in ((3_000 + DAY - 1, ["a", "b"]), (3_000 + DAY, ["b"])):
        _close_segment(log, kit, at + 5_000)
        log.maintain(at)
        assert [key for _, key, _ in kit.contents(log) if key != "active"] == left
    assert log.find_time(6)[:2] == (2, 7)


def test_aborted_records_go_and_supersede_nothing(new_store: Any, kit: Any) -> None:
    """A record that read_committed consumers never read does not remove one that they read."""
    log = _log(kit, new_store())
    _write(log, kit.keyed(("a", "1")), kit.in_txn(1, ("a", "2"), ("b", "2")), _marker(1, committed=False))
    _write(log, kit.in_txn(1, ("c", "1")), _marker(1, committed=True))
    _close_segment(log, kit, 2_000)
    log.maintain(2_000)
    assert kit.contents(log) == [(0, "a", "1"), (4, "c", "1"), (6, "active", "x")]
    assert log.aborted(0, 9) == ((1, 1),)


def test_aborted_transactions_of_the_active_segment_are_kept(new_store: Any, kit: Any) -> None:
    """A cleaning removes only transactions whose records it removed."""
    log = _log(kit, new_store())
    _write(log, kit.keyed(("a", "1")), kit.keyed(("a", "2")))
    _close_segment(log, kit, 2_000)
    _write(log, kit.in_txn(1, ("b", "1"), at=2_000), _marker(1, committed=False, at=2_000), at=2_000)
    log.maintain(2_000)
    assert len(kit.events) == 1
    assert log.aborted(0, 9) == ((1, 3),)


def test_a_marker_goes_after_its_transaction_and_a_horizon(new_store: Any, kit: Any) -> None:
    """The records go first; the marker gets a horizon, and goes later with the aborted transaction."""
    log = _log(kit, new_store(), producer_id_expiration_ms=100)
    _write(log, kit.in_txn(1, ("a", "2")), _marker(1, committed=False), kit.keyed(("z", "1")))
    seen = []
    for now in (2_000, 4_000, 6_000 + DAY):
        _close_segment(log, kit, now)
        log.maintain(now)
        batches = tuple(log.batches(0, log.end_offset))
        seen.append(
            [(batch.base_offset, bool(batch.attributes & DELETE_HORIZON)) for batch in batches if batch.is_control]
        )
    assert seen == [[(1, False)], [(1, True)], []]
    assert log.aborted(0, 9) == ()


def test_the_batch_with_a_producers_last_number_stays_empty(new_store: Any, kit: Any) -> None:
    """A duplicate of it is still known after a restart that has only the log."""
    log = _log(kit, new_store())
    numbered = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
    _write(log, kit.keyed(("a", "1"), **numbered), kit.keyed(("a", "2")))
    _close_segment(log, kit, 2_000)
    log.maintain(2_000)
    first, second, _ = log.batches(0, 9)
    assert (first.records, first.size, first.base_sequence, first.next_offset) == ((), HEADER_BYTES, 0, 1)
    assert second.base_offset == 1
    log.store.write_checkpoint("producer-snapshot", "")
    log.crash(machine=False)
    assert log.append([kit.keyed(("a", "1"), **numbered)], 0, 0)[0].base_offset == 0


def test_the_last_batch_of_a_cleaning_stays_empty(new_store: Any, kit: Any) -> None:
    """The empty batch holds the end offset of the log."""
    keyless = evolve(kit.keyed(("", "1")), records=(LogRecord(0, None, b"1"),))
    log = kit.log(new_store(), segment_ms=1_000)
    _write(log, kit.keyed(("a", "1")), keyless, keyless)
    log.config = _log(kit, new_store()).config
    _close_segment(log, kit, 2_000)
    log.maintain(2_000)
    assert kit.contents(log) == [(0, "a", "1"), (3, "active", "x")]
    (empty,) = log.read(1, 1)
    assert (empty.base_offset, empty.next_offset, empty.records) == (2, 3, ())


def test_counted_and_compressed_batches_stay_as_they_are(kit: Any) -> None:
    """Their keys are not known: each record counts as a key of its own. (In files a counted batch has null keys.)"""
    log = _log(kit, MemoryStore())
    _write(log, kit.counted(5), kit.keyed(("a", "1"), attributes=1, raw=b"zip"), kit.keyed(("a", "2")))
    before = tuple(log.batches(0, 7))
    _close_segment(log, kit, 2_000)
    log.maintain(2_000)
    assert tuple(log.batches(0, 7)) == before
    assert kit.events[0][2]["left"] == 7


def test_neighbours_are_put_together_as_far_as_segment_bytes_goes(new_store: Any, kit: Any) -> None:
    """Many small segments become few."""
    one = kit.keyed(("a", "1" * 100))
    log = _log(kit, new_store(), segment_bytes=one.size)
    for number in range(6):
        _write(log, kit.keyed((str(number), "1" * 100)))
    log.config = kit.log(new_store(), **_settings(one.size * 2)).config
    log.maintain(0)
    assert [segment.base_offset for segment in log.store.segments] == [0, 2, 4, 5]
    assert len(kit.contents(log)) == 6


def _settings(segment_bytes: int) -> dict[str, Any]:
    return {"cleanup_policy": ("compact",), "min_cleanable_dirty_ratio": 0.0, "segment_bytes": segment_bytes}


def test_a_log_whose_first_segment_went_still_begins_where_it_began(new_store: Any, kit: Any) -> None:
    """A reader from the start goes on to the next record that is left, also after a restart."""
    first = kit.keyed(("a", "1" * 500))
    log = _log(kit, new_store(), segment_bytes=first.size)
    _write(log, first, kit.keyed(("a", "2" * 500)), kit.keyed(("b", "3")), kit.keyed(("c", "3" * 400)))
    log.maintain(0)
    assert log.store.segments[0].base_offset == 1
    for _ in range(2):
        assert log.start_offset == 0
        assert kit.offsets(log.read(0, 1)) == [1]
        log.crash(machine=False)


def test_truncation_makes_the_tail_dirty_again(new_store: Any, kit: Any) -> None:
    """What is appended behind a cut has not been cleaned."""
    log = _log(kit, new_store())
    _write(log, kit.keyed(("a", "1")), kit.keyed(("b", "1")))
    _close_segment(log, kit, 2_000)
    log.maintain(2_000)
    log.truncate_to(1)
    _write(log, kit.keyed(("a", "2"), at=1))
    _close_segment(log, kit, 4_000)
    log.maintain(4_000)
    assert kit.contents(log) == [(1, "a", "2"), (2, "active", "x")]


def test_a_cleaning_holds_no_batches_that_it_drops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a segment with thousands of batches of the same keys a few are in memory at a time, packed ones apart."""
    segment, active = MemorySegment(0, 0), MemorySegment(3_000, 0)
    for place in range(3_000):
        rows = (LogRecord(0, b"key", b"value"),)
        segment.append(batch_of(rows, 1_000).placed(place, 0))
    most, alive = 0, WeakSet[Batch]()
    plain = MemorySegment.batches

    def watched(self: MemorySegment, from_offset: int = 0) -> Iterator[Batch]:
        nonlocal most
        for batch in plain(self, from_offset):
            alive.add(batch)
            most = max(most, len(alive))
            yield batch

    monkeypatch.setattr(MemorySegment, "batches", watched)
    segments, config = [segment, active], LogConfig(cleanup_policy=("compact",))
    dirty = compaction.dirty_part(segments, 0, 3_000, config, DAY)
    done = compaction.clean(segments, dirty, {}, (), config, DAY)
    assert [[batch.base_offset for batch in kept] for _, kept in done.replacements] == [[2_999]]
    assert most < 3_000 / 2
