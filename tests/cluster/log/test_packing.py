"""A log in memory packs its older batches; reads, sizes and truncation give the same results, and replicas share."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.cluster.log import memory
from groupsim.cluster.log.memory import MemorySegment
from groupsim.cluster.log.packed_batches import pack, unpack
from groupsim.protocol.batch.batch import Batch, LogRecord
from groupsim.protocol.batch.codec import encode, read_batch
from groupsim.protocol.batch.sizes import batch_of
from tests.helpers.counted_batches import counted_batch

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


def replicas(batches: list[Batch], other: list[Batch]) -> list[MemorySegment]:
    """Two segments of the same batches, and one of others."""
    segments = [MemorySegment(0, 0) for _ in range(3)]
    for segment, appended in zip(segments, (batches, batches, other), strict=True):
        for batch in appended:
            segment.append(batch)
    return segments


def test_replicas_share_the_blocks_of_the_same_batches() -> None:
    """Small blocks and large ones; a replica with one other batch has blocks of its own from there on."""
    batches = [counted_batch(1, 20, 1_000 + 10 * place, base_offset=place) for place in range(700)]
    other = [*batches[:550], counted_batch(1, 20, 9_999, base_offset=550), *batches[551:]]
    leader, follower, diverged = replicas(batches, other)
    assert [block.count for block in leader._blocks] == [512, 32, 32, 32, 32]
    assert all(one is two for one, two in zip(leader._blocks, follower._blocks, strict=True))
    assert [one is two for one, two in zip(leader._blocks, diverged._blocks, strict=True)] == [
        True,
        True,
        False,
        True,
        True,
    ]
    assert list(leader.batches()) == list(follower.batches()) == batches
    assert list(diverged.batches()) == other


def test_a_block_at_another_position_is_not_shared() -> None:
    """The same batches after others that are smaller lie elsewhere in the file."""
    batches = [counted_batch(1, 20, 1_000, base_offset=place) for place in range(100)]
    smaller = [counted_batch(1, 10, 1_000, base_offset=place) for place in range(32)]
    leader, _, other = replicas(batches, smaller + batches[32:])
    assert other._blocks[1] is not leader._blocks[1]
    assert [segment.position(64) for segment in (leader, other)] == [
        sum(batch.size for batch in before) for before in (batches[:64], smaller + batches[32:64])
    ]


def test_a_read_of_a_whole_log_unpacks_one_block_at_a_time() -> None:
    """Only the block where a read begins is kept unpacked, for the next small read."""
    segment = filled([1] * 2_000)
    unpack.cache_clear()
    assert sum(batch.count for batch in segment.batches()) == 2_000
    assert unpack.cache_info().currsize == 1


def test_batches_of_real_clients_are_packed_as_well() -> None:
    """A batch that was read from bytes has no hash, and is packed without sharing."""
    record = LogRecord(0, b"key", b"value")
    batches = [read_batch(encode(batch_of([record], 1_000 + n, base_offset=n))) for n in range(3)]
    assert unpack(pack(batches, 0)) == batches
