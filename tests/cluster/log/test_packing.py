"""A log in memory packs its older batches; reads, sizes and truncation give the same results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.cluster.log import memory
from groupsim.cluster.log.memory import MemorySegment
from groupsim.cluster.log.packed_batches import pack
from groupsim.protocol.batch.batch import Batch, LogRecord
from groupsim.protocol.batch.sizes import batch_of, counted_batch

LONG = 5_000


def filled(numbers: list[int]) -> MemorySegment:
    """A segment with a batch of each of these counts, one every 10 ms."""
    segment = MemorySegment(0, 0)
    for place, count in enumerate(numbers):
        segment.append(counted_batch(count, 20, 1_000 + 10 * place, base_offset=segment.next_offset))
    return segment


def asked(segment: MemorySegment, offset: int) -> tuple[Any, ...]:
    """What a segment answers about an offset, and the time of a batch near it."""
    return (
        list(segment.batches(offset)),
        segment.position(offset),
        segment.find_time(1_000 + 3 * offset),
        segment.next_offset,
        segment.size,
        segment.max_timestamp_ms,
    )


@given(st.lists(st.integers(1, 3), min_size=150, max_size=400), st.data())
def test_packing_changes_no_answer(numbers: list[int], data: st.DataObject) -> None:
    """Batches, positions and times are found, and logs are cut, as in a segment that packs nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_UNPACKED", LONG)
        plain = filled(numbers)
        patch.setattr(memory, "_UNPACKED", 16)
        patch.setattr(memory, "_JOINED", 3)
        packing = filled(numbers)
        assert packing._blocks
        for _ in range(3):
            offset = data.draw(st.integers(0, plain.next_offset))
            assert asked(packing, offset) == asked(plain, offset)
        cut = data.draw(st.integers(0, plain.next_offset))
        for segment in (plain, packing):
            segment.truncate(cut)
            segment.append(counted_batch(2, 20, 9_000, base_offset=segment.next_offset))
        for offset in (0, cut // 2, cut):
            assert asked(packing, offset) == asked(plain, offset)


def test_a_packed_batch_comes_back_equal() -> None:
    """Records, headers, the producer's numbers, the epoch and compressed bytes included."""
    records = (LogRecord(0, b"key", None), LogRecord(1, None, b"v", 5, (("trace", b"\x00"), ("empty", None))))
    one = batch_of(records, 1_000, producer_id=9, producer_epoch=2, base_sequence=40, leader_epoch=3).placed(70, 4)
    raw = Batch(72, 3, 90, 1_010, 1_020, attributes=1, raw=b"zipped")
    assert pack([one, raw], 0).batches() == [one, raw]


def test_a_packed_batch_takes_a_few_bytes() -> None:
    """Of a steady producer: at most twelve bytes for a batch."""
    batches = [counted_batch(1, 100, 1_000 + 997 * place, base_offset=place) for place in range(512)]
    assert len(pack(batches, 0).data) <= 12 * len(batches)
