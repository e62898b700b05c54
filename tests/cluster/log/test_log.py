"""Appending, rolling, reading, cutting and crashing, on every storage."""

from __future__ import annotations

from gzip import compress
from typing import Any

import pytest
from attrs import evolve

from groupsim.cluster.config.log import NEVER
from groupsim.cluster.log.log import LogRefused, OffsetOutOfRange, PartitionLog
from groupsim.protocol.batch.batch import HEADER_BYTES, LogRecord
from groupsim.protocol.batch.codec import encode_records
from groupsim.protocol.batch.sizes import batch_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import EpochEnd

HOUR = 3_600_000


def test_a_leader_gives_offsets_and_its_epoch(new_store: Any, kit: Any) -> None:
    """Batches of an append get consecutive offsets and the leader's epoch, and are read as returned."""
    log = kit.log(new_store())
    placed = log.append((kit.counted(3), kit.counted(2)), 7, 0)
    assert [(batch.base_offset, batch.leader_epoch) for batch in placed] == [(0, 7), (3, 7)]
    assert log.end_offset == 5
    assert log.read(0, 1_000) == placed


def test_a_read_returns_the_batch_that_holds_the_offset_whole(new_store: Any, kit: Any) -> None:
    """A consumer in the middle of a batch gets the whole batch."""
    log = kit.log(new_store())
    placed = log.append((kit.counted(3), kit.counted(2)), 0, 0)
    assert log.read(1, 1_000) == placed
    assert log.read(4, 1_000) == placed[1:]


def test_a_read_obeys_max_bytes_but_returns_at_least_one_batch(new_store: Any, kit: Any) -> None:
    """The first batch comes even when it is too big, unless the caller does not want that."""
    log = kit.log(new_store())
    log.append([kit.counted(size=100) for _ in range(5)], 0, 0)
    assert kit.offsets(log.read(0, 250)) == [0, 1]
    assert kit.offsets(log.read(0, 10)) == [0]
    assert log.read(0, 10, at_least_one=False) == ()


def test_a_read_ends_before_the_limit(new_store: Any, kit: Any) -> None:
    """Batches that begin at or behind `up_to` (the high watermark) are not returned."""
    log = kit.log(new_store())
    log.append([kit.counted(2) for _ in range(3)], 0, 0)
    assert kit.offsets(log.read(0, 1_000, up_to=4)) == [0, 2]
    assert log.read(4, 1_000, up_to=4) == ()


@pytest.mark.parametrize("offset", [1, 6])
def test_a_read_outside_of_the_log_is_out_of_range(new_store: Any, kit: Any, offset: int) -> None:
    """Below the start and above the end there is nothing to read; at the end there is nothing yet."""
    log = kit.log(new_store())
    log.append([kit.counted() for _ in range(5)], 0, 0)
    log.advance_high_watermark(5)
    log.advance_start(2)
    assert log.read(5, 100) == ()
    with pytest.raises(OffsetOutOfRange, match="from 2 to 5"):
        log.read(offset, 100)


def test_segments_roll_by_size_and_a_read_stays_in_one(new_store: Any, kit: Any) -> None:
    """A segment takes what fits into segment.bytes; a read gives what one segment has."""
    log = kit.log(new_store(), segment_bytes=250)
    for _ in range(5):
        log.append([kit.counted(size=100)], 0, 0)
    assert [segment.base_offset for segment in log.store.segments] == [0, 2, 4]
    assert kit.offsets(log.read(0, 1_000)) == [0, 1]
    assert kit.offsets(log.batches(1, 5)) == [1, 2, 3, 4]
    assert kit.events == [("log.rolled", "size", {"base": 2}), ("log.rolled", "size", {"base": 4})]
    assert (log.size, log.bytes_between(1, 5), log.bytes_between(1, 2), log.bytes_between(3, 3)) == (500, 400, 100, 0)


def test_segments_roll_by_the_time_that_their_records_span(new_store: Any, kit: Any) -> None:
    """segment.ms is compared with the timestamps of records, not with the clock."""
    log = kit.log(new_store(), segment_ms=1_000)
    log.append([kit.counted(at=5_000)], 0, 5_000)
    log.append([kit.counted(at=6_000)], 0, 60_000)
    assert kit.events == []
    log.append([kit.counted(at=6_001)], 0, 60_000)
    assert kit.events == [("log.rolled", "time", {"base": 2})]


def test_segments_without_timestamps_roll_by_their_age(new_store: Any, kit: Any) -> None:
    """Records of timestamp -1 leave only the time at which the segment was made."""
    log = kit.log(new_store(), segment_ms=1_000)
    log.append([kit.counted(at=-1)], 0, 1_000)
    log.append([kit.counted(at=-1)], 0, 1_000)
    log.append([kit.counted(at=-1)], 0, 1_001)
    assert kit.events == [("log.rolled", "time", {"base": 2})]


def test_a_segment_rolls_when_offsets_no_longer_fit_beside_its_base(new_store: Any, kit: Any) -> None:
    """A follower of a compacted log meets gaps; relative offsets have 31 bits."""
    log = kit.log(new_store())
    log.append_copied([kit.counted().placed(5, 0)], 0)
    log.append_copied([kit.counted().placed(2**31 + 9, 0)], 0)
    assert kit.events == [("log.rolled", "index", {"base": 2**31 + 9})]
    assert kit.offsets(log.read(6, 100)) == [2**31 + 9]


def test_a_follower_copies_offsets_and_epochs(new_store: Any, kit: Any) -> None:
    """What a follower has copied reads as on the leader, and knows the leader's epochs."""
    leader, follower = kit.log(new_store()), kit.log(new_store())
    batches = leader.append([kit.counted(2)], 3, 0) + leader.append([kit.counted(2)], 5, 0)
    follower.append_copied(batches, 0)
    assert follower.read(0, 1_000) == batches
    assert [follower.epoch_end(epoch) for epoch in (3, 4, 5, 6)] == [
        EpochEnd(3, 2),
        EpochEnd(3, 2),
        EpochEnd(5, 4),
        EpochEnd(-1, -1),
    ]
    assert [follower.epoch_at(offset) for offset in range(4)] == [3, 3, 5, 5]


def test_a_follower_refuses_what_does_not_follow(new_store: Any, kit: Any) -> None:
    """A batch below the end is refused, and nothing changes."""
    log = kit.log(new_store())
    log.append([kit.counted(4)], 0, 0)
    with pytest.raises(LogRefused, match="truncate first"):
        log.append_copied([kit.counted(2).placed(3, 1)], 0)
    assert (log.end_offset, log.latest_epoch) == (4, 0)


def test_an_empty_follower_may_begin_with_a_batch_that_holds_its_start(new_store: Any, kit: Any) -> None:
    """The leader's start offset can lie within a batch, which is sent whole."""
    log = kit.log(new_store())
    log.restart_at(12)
    log.append_copied([kit.counted(5).placed(10, 0)], 0)
    assert (log.start_offset, log.end_offset, log.high_watermark) == (12, 15, 12)
    assert kit.offsets(log.read(12, 100)) == [10]


@pytest.mark.parametrize(
    ("settings", "size", "error"),
    [
        ({"max_message_bytes": 99}, 100, ErrorCode.MESSAGE_TOO_LARGE),
        ({"segment_bytes": 99}, 100, ErrorCode.RECORD_LIST_TOO_LARGE),
    ],
)
def test_what_is_too_large_is_refused(new_store: Any, kit: Any, settings: Any, size: int, error: ErrorCode) -> None:
    """Nothing of a refused append is in the log."""
    log = kit.log(new_store(), **settings)
    with pytest.raises(LogRefused) as refused:
        log.append([kit.counted(size=size)], 0, 0)
    assert (refused.value.error, log.end_offset, log.latest_epoch) == (error, 0, -1)


def test_timestamps_far_from_the_clock_are_refused(new_store: Any, kit: Any) -> None:
    """A record may be one hour ahead by default, and as old as message.timestamp.before.max.ms."""
    log = kit.log(new_store(), message_timestamp_before_max_ms=10)
    for at in (HOUR + 101, 89):
        with pytest.raises(LogRefused) as refused:
            log.append([kit.counted(at=at)], 0, 100)
        assert refused.value.error is ErrorCode.INVALID_TIMESTAMP
    log.append([kit.counted(at=HOUR + 100), kit.counted(at=90), kit.counted(at=-1)], 0, 100)
    assert log.end_offset == 3


def test_log_append_time_stamps_what_is_appended(new_store: Any, kit: Any) -> None:
    """With LogAppendTime the broker's clock counts, whatever the producer wrote."""
    log = kit.log(new_store(), message_timestamp_type="LogAppendTime")
    (placed,) = log.append([kit.keyed(("a", "1"), ("b", "2"), at=10**12)], 0, 500)
    assert placed.max_timestamp_ms == 500
    assert log.find_time(500) == (0, 500, 0)
    assert log.find_time(501) is None


def test_a_compacted_topic_takes_no_record_without_a_key(new_store: Any, kit: Any) -> None:
    """Without a key nothing could ever be superseded."""
    log = kit.log(new_store(), cleanup_policy=("compact",))
    batch = kit.keyed(("a", "1"))
    keyless = evolve(batch, records=(evolve(batch.records[0], key=None),))
    with pytest.raises(LogRefused) as refused:
        log.append([keyless], 0, 0)
    assert refused.value.error is ErrorCode.INVALID_RECORD


def test_a_time_is_found_at_the_first_record_not_older(new_store: Any, kit: Any) -> None:
    """Also across segments and behind a start offset; a time later than all records is not found."""
    log = kit.log(new_store(), segment_bytes=250)
    for at in (10, 30, 20, 40, 60):
        log.append([kit.counted(size=100, at=at)], 1, 0)
    assert [log.find_time(at) for at in (0, 11, 35, 60, 61)] == [
        (0, 10, 1),
        (1, 30, 1),
        (3, 40, 1),
        (4, 60, 1),
        None,
    ]
    log.advance_high_watermark(5)
    log.advance_start(2)
    assert log.find_time(0) == (2, 20, 1)


def test_truncation_cuts_batches_epochs_and_high_watermark(new_store: Any, kit: Any) -> None:
    """A batch that holds the offset goes whole; what is appended then follows the new end."""
    log = kit.log(new_store(), segment_bytes=250)
    for epoch in (1, 1, 2, 2, 4):
        log.append([kit.counted(2, size=100)], epoch, 0)
    log.advance_high_watermark(9)
    assert log.truncate_to(7) == 4
    assert (log.end_offset, log.high_watermark, log.latest_epoch) == (6, 6, 2)
    assert log.append([kit.counted()], 5, 0)[0].base_offset == 6
    assert [log.epoch_end(epoch) for epoch in (1, 2, 4, 5)] == [(1, 4), (2, 6), (2, 6), (5, 7)]


def test_truncation_at_the_end_forgets_an_epoch_without_records(new_store: Any, kit: Any) -> None:
    """A leader that wrote nothing in its epoch leaves no trace behind its truncation."""
    log = kit.log(new_store())
    log.append([kit.counted(2)], 1, 0)
    log.assign_epoch(2, 2)
    assert log.truncate_to(2) == 0
    assert log.latest_epoch == 1


def test_truncation_below_the_first_segment_leaves_an_empty_log(new_store: Any, kit: Any) -> None:
    """Everything goes; the log is empty and ends where it was cut."""
    log = kit.log(new_store(), segment_bytes=150)
    log.restart_at(10)
    log.append([kit.counted(size=100) for _ in range(1)], 0, 0)
    log.truncate_to(4)
    assert (log.start_offset, log.end_offset, log.high_watermark, log.size) == (4, 4, 4, 0)
    assert log.append([kit.counted()], 0, 0)[0].base_offset == 4


def test_a_log_restarts_at_an_offset(new_store: Any, kit: Any) -> None:
    """A follower that is out of range drops all records and its epochs."""
    store = new_store()
    log = kit.log(store)
    log.append([kit.counted(2)], 1, 0)
    log.restart_at(50)
    assert (log.start_offset, log.end_offset, log.high_watermark, log.latest_epoch) == (50, 50, 50, -1)
    assert (kit.log(store).start_offset, kit.log(store).end_offset) == (50, 50)


def test_the_high_watermark_rises_and_never_passes_the_end(new_store: Any, kit: Any) -> None:
    """Only a higher offset counts as a change."""
    log = kit.log(new_store())
    log.append([kit.counted(5)], 0, 0)
    assert [log.advance_high_watermark(offset) for offset in (3, 3, 2, 9)] == [True, False, False, True]
    assert log.high_watermark == 5


def test_the_start_moves_up_to_the_high_watermark(new_store: Any, kit: Any) -> None:
    """DeleteRecords beyond the high watermark is out of range; below the start it is no news."""
    store = new_store()
    log = kit.log(store)
    log.append([kit.counted(5)], 2, 0)
    log.advance_high_watermark(3)
    with pytest.raises(OffsetOutOfRange):
        log.advance_start(4)
    assert [log.advance_start(3), log.advance_start(2), log.start_offset] == [True, False, 3]
    assert log.epoch_end(1) == EpochEnd(1, 3)
    assert kit.log(store).start_offset == 3


def _crashing(store: Any, kit: Any, **settings: Any) -> PartitionLog:
    log: PartitionLog = kit.log(store, segment_bytes=250, **settings)
    for _ in range(5):
        log.append([kit.counted(2, size=100)], 1, 0)
    log.assign_epoch(3, 10)
    log.advance_high_watermark(9)
    return log


def test_a_killed_process_loses_nothing_of_the_log(new_store: Any, kit: Any) -> None:
    """The operating system has the bytes; only the high watermark falls back to its checkpoint."""
    log = _crashing(new_store(), kit)
    log.checkpoint_high_watermark()
    log.advance_high_watermark(10)
    assert log.crash(machine=False) == 0
    assert (log.end_offset, log.high_watermark, log.latest_epoch) == (10, 9, 1)
    assert kit.offsets(log.batches(0, 10)) == [0, 2, 4, 6, 8]


def test_a_dead_machine_loses_the_active_segment(new_store: Any, kit: Any) -> None:
    """By default only a roll flushes: what was appended since is gone, and the epochs that began there."""
    log = _crashing(new_store(), kit)
    assert log.crash(machine=True) == 2
    assert (log.end_offset, log.latest_epoch, log.high_watermark) == (8, 1, 0)


@pytest.mark.parametrize(("messages", "lost"), [(2, 0), (4, 2), (NEVER, 2)])
def test_flush_messages_bounds_what_a_dead_machine_loses(new_store: Any, kit: Any, messages: int, lost: int) -> None:
    """With flush.messages every so many records are flushed."""
    assert _crashing(new_store(), kit, flush_messages=messages).crash(machine=True) == lost


def test_flush_ms_bounds_it_in_time(new_store: Any, kit: Any) -> None:
    """The log says when it wants to be flushed, and is."""
    log = _crashing(new_store(), kit, flush_ms=500)
    assert log.next_maintenance_ms(0) == 500
    log.maintain(500)
    assert log.crash(machine=True) == 0


def test_a_closed_log_opens_as_it_was(new_store: Any, kit: Any) -> None:
    """A clean shutdown keeps everything, the high watermark too."""
    store = new_store()
    log = _crashing(store, kit)
    log.truncate_to(9)
    log.flush()
    log.checkpoint_high_watermark()
    again = kit.log(store)
    assert (again.start_offset, again.end_offset, again.high_watermark, again.latest_epoch) == (0, 8, 8, 1)


@pytest.mark.parametrize("name", ["replication-offset-checkpoint", "leader-epoch-checkpoint"])
def test_a_checkpoint_that_cannot_be_read_is_named(new_store: Any, kit: Any, name: str) -> None:
    """A log does not guess its start offset or its epochs."""
    store = new_store()
    store.write_checkpoint(name, "nonsense")
    with pytest.raises(ValueError, match=name):
        kit.log(store)


def test_a_lookup_by_time_opens_compressed_batches(new_store: Any, kit: Any) -> None:
    """The very record, in a codec that is known here; of one that is not, the first, so that none is left out."""
    records = tuple(LogRecord(number, None, b"v", 10 * number) for number in range(5))
    log = kit.log(new_store())
    for codec, raw in ((1, compress(encode_records(records))), (7, b"?")):
        log.append(
            [evolve(batch_of(records, 100), records=None, raw=raw, attributes=codec, size=HEADER_BYTES + len(raw))],
            0,
            0,
        )
    assert [log.find_time(at) for at in (0, 120, 140, 141)] == [(0, 100, 0), (2, 120, 0), (4, 140, 0), None]
    log.advance_high_watermark(10)
    log.advance_start(7)
    assert log.find_time(120) == (7, 140, 0)
