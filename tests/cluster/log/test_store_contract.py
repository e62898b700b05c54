"""The contract of `SegmentStore` that both storages keep, in memory and in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from groupsim.cluster.log.files.store import FileStore
from groupsim.cluster.log.interfaces import Segment, SegmentStore
from groupsim.cluster.log.memory import MemoryStore
from groupsim.protocol.batch.batch import Batch, LogRecord
from groupsim.protocol.batch.sizes import batch_of
from tests.helpers.counted_batches import counted_batch

Frame = tuple[int, int, int]


@pytest.fixture(params=["memory", "files"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SegmentStore:
    """An empty store."""
    made: dict[str, Callable[[], SegmentStore]] = {
        "memory": MemoryStore,
        "files": lambda: FileStore(tmp_path / "orders-0", sync=False, index_interval_bytes=200),
    }
    return made[request.param]()


def fill(segment: Segment, batches: int = 20, *, count: int = 5) -> None:
    """Batches of `count` records, one every 10 ms."""
    base = segment.next_offset
    for number in range(batches):
        segment.append(counted_batch(count, 20, 1_000 + 10 * number, base_offset=base + number * count))


def frames(segment: Segment, offset: int = 0) -> list[Frame]:
    """Return the fields that counted batches have in both storages: files return them with records."""
    return [(batch.base_offset, batch.count, batch.size) for batch in segment.batches(offset)]


def test_a_new_store_has_no_segments_and_a_new_segment_is_empty(store: SegmentStore) -> None:
    """A new store has no segments and no checkpoints."""
    assert not store.segments
    segment = store.create(7, 500)
    assert (segment.base_offset, segment.next_offset, segment.size) == (7, 7, 0)
    assert (segment.created_ms, segment.max_timestamp_ms) == (500, -1)
    assert list(segment.batches()) == []
    assert segment.find_time(0) is None
    assert list(store.segments) == [segment]


def test_batches_come_back_as_they_were_appended(store: SegmentStore) -> None:
    """Keys, values, headers, times and the producer's numbers included."""
    records = (
        LogRecord(0, b"key", b"value"),
        LogRecord(1, None, b"", 5, (("trace", b"\x00\xff"), ("empty", None))),
        LogRecord(2, b"", None, -3),
    )
    segment = store.create(0, 0)
    first = batch_of(records, 1_000, producer_id=9, producer_epoch=2, base_sequence=40, leader_epoch=3)
    second = batch_of(records[:1], 2_000, base_offset=3, attributes=0x30)
    segment.append(first)
    segment.append(second)
    assert list(segment.batches()) == [first, second]
    assert segment.size == first.size + second.size
    assert (segment.next_offset, segment.max_timestamp_ms) == (4, 2_000)


def test_reading_begins_with_the_batch_that_holds_the_offset(store: SegmentStore) -> None:
    """Every offset is found, indexed or not; above the end there is no batch."""
    segment = store.create(100, 0)
    fill(segment)
    for offset in range(90, 200):
        assert frames(segment, offset)[0][0] == max(offset // 5 * 5, 100)
    assert frames(segment, 200) == []


def test_a_gap_left_by_compaction_is_skipped_forward(store: SegmentStore) -> None:
    """An offset that is no longer there leads to the next one that is."""
    segment = store.create(0, 0)
    segment.append(counted_batch(5, 20, 1_000))
    segment.append(counted_batch(5, 20, 2_000, base_offset=50))
    assert frames(segment, 20)[0][0] == 50


def test_a_position_counts_the_bytes_before_an_offset(store: SegmentStore) -> None:
    """Batches count that begin before the offset."""
    segment = store.create(0, 0)
    fill(segment)
    size = counted_batch(5, 20, 0).size
    assert [segment.position(offset) for offset in (0, 1, 5, 6, 50, 99, 100, 400)] == [
        0,
        *(size * batches for batches in (1, 1, 2, 10, 20, 20, 20)),
    ]


def test_the_first_record_not_older_is_found_by_time(store: SegmentStore) -> None:
    """By its own timestamp, also when times do not rise with offsets."""
    segment = store.create(0, 0)
    fill(segment)
    segment.append(counted_batch(5, 20, 900, base_offset=100))
    assert segment.find_time(0) == (0, 1_000)
    assert segment.find_time(1_001) == (5, 1_010)
    assert segment.find_time(1_190) == (95, 1_190)
    assert segment.find_time(1_191) is None


@pytest.mark.parametrize("offset", [0, 3, 5, 47, 99])
def test_truncating_takes_whole_batches_and_appending_goes_on(store: SegmentStore, offset: int) -> None:
    """A batch is never split; timestamps and offsets are those of the rest, and appends go on there."""
    segment = store.create(0, 0)
    fill(segment)
    segment.truncate(offset)
    end = offset // 5 * 5
    assert segment.next_offset == end
    assert segment.size == end // 5 * counted_batch(5, 20, 0).size
    assert segment.max_timestamp_ms == (1_000 + 10 * (end // 5 - 1) if end else -1)
    fill(segment, 30)
    assert [base for base, _, _ in frames(segment)] == list(range(0, end + 150, 5))
    assert all(frames(segment, base)[0][0] == base for base in range(0, end + 150, 5))


def test_truncating_beyond_the_end_does_nothing(store: SegmentStore) -> None:
    """There is nothing to cut."""
    segment = store.create(0, 0)
    fill(segment)
    before = frames(segment)
    segment.truncate(100)
    segment.truncate(1_000)
    assert frames(segment) == before


def test_segments_are_removed_one_by_one(store: SegmentStore) -> None:
    """Removal during an iteration over the segments works too."""
    for base in (0, 100, 200):
        fill(store.create(base, base))
    for segment in store.segments:
        if segment.base_offset < 200:
            store.remove(segment)
    assert [segment.base_offset for segment in store.segments] == [200]
    assert frames(store.segments[0])[0][0] == 200


def test_neighbours_are_replaced_by_one_segment(store: SegmentStore) -> None:
    """It has the first one's base offset and the given batches."""
    for base in (0, 100, 200):
        fill(store.create(base, base))
    first, second, last = store.segments
    kept = [*list(first.batches())[3:5], *list(second.batches())[7:8]]
    new = store.replace([first, second], kept)
    assert new is not None
    assert (new.base_offset, new.next_offset, new.max_timestamp_ms) == (0, 140, 1_070)
    assert [base for base, _, _ in frames(new)] == [15, 20, 135]
    assert list(store.segments) == [new, last]
    assert store.replace([new], []) is None
    assert list(store.segments) == [last]


def test_checkpoints_are_texts_by_name(store: SegmentStore) -> None:
    """The last one counts."""
    assert store.read_checkpoint("leader-epoch-checkpoint") is None
    store.write_checkpoint("leader-epoch-checkpoint", "0\n1\n3 17\n")
    store.write_checkpoint("leader-epoch-checkpoint", "0\n0\n")
    assert store.read_checkpoint("leader-epoch-checkpoint") == "0\n0\n"


def test_a_crash_of_the_machine_takes_what_was_not_flushed(store: SegmentStore) -> None:
    """Everything from the first unflushed batch on is lost; appends go on there."""
    segment = store.create(0, 0)
    fill(segment, 10)
    segment.flush()
    fill(segment, 4)
    assert store.lose_unflushed() == 20
    assert (segment.next_offset, len(frames(segment))) == (50, 10)
    assert store.lose_unflushed() == 0
    fill(segment, 1)
    assert frames(segment)[-1][0] == 50


def test_an_encoded_batch_is_kept_as_well_as_a_plain_one(store: SegmentStore) -> None:
    """What was read from one log can be appended to another, as a follower does."""
    segment = store.create(0, 0)
    batch: Batch = batch_of((LogRecord(0, b"k", b"v"),), 5)
    segment.append(batch)
    (read,) = segment.batches()
    other = store.create(1, 0)
    other.append(read.placed(1, 4))
    assert list(other.batches()) == [batch.placed(1, 4)]


def test_a_deleted_store_has_nothing_left(store: SegmentStore) -> None:
    """No segment is left, and in a folder no file."""
    fill(store.create(0, 0))
    folder = getattr(store, "folder", None)
    store.delete(0)
    assert not store.segments
    assert folder is None or not list(folder.parent.iterdir())
