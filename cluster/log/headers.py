"""Reads the batch headers of a segment file and looks offsets up in it; nothing is written.

Only the 61 bytes of each header are read, not the records, so a segment of any size takes little memory. A lookup has
the two steps of a broker's lookup: a bisection in the sparse index for the last entry at or before the offset, then a
scan of batches from that entry's position.

Source: `DefaultRecordBatch` (header), `OffsetIndex.lookup`, `LogSegment.translateOffset`.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from groupsim.cluster.log.files.damage import DamagedLog
from groupsim.cluster.log.files.indexes import OffsetIndex
from groupsim.cluster.log.files.segment import INDEX
from groupsim.protocol.batch.batch import HEADER_BYTES
from groupsim.protocol.batch.codec import HEADER, LENGTH_END, MAGIC
from groupsim.protocol.values import frozen

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_REMEDY = "a broker that starts cuts a half-written end; compare with kafka-dump-log.sh"


@frozen
class BatchHeader:
    """One batch of a segment: its position in the file, in bytes, and the fields of its header.

    `records` is the header's count; after compaction it is lower than the number of offsets. Times are ms since 1970.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    records: int
    leader_epoch: int
    codec: str
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool


@frozen
class Lookup:
    """The steps of a lookup: the segment, the index entry (None without one), the batches read from there.

    `found` is the batch that holds the offset, or the first batch after it.
    """

    offset: int
    segment: Path
    entry: tuple[int, int] | None
    entries: int
    scanned: tuple[BatchHeader, ...]
    found: BatchHeader | None


def headers(path: Path, position: int = 0) -> Iterator[BatchHeader]:
    """Yield the batches of a segment from a position on. Raises DamagedLog at an incomplete batch, and OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        end = os.fstat(descriptor).st_size
        while position < end:
            batch = _header(path, os.pread(descriptor, HEADER_BYTES, position), position, end)
            yield batch
            position += batch.size
    finally:
        os.close(descriptor)


def _header(path: Path, data: bytes, position: int, end: int) -> BatchHeader:
    if len(data) < HEADER_BYTES:
        raise DamagedLog(path, position, f"the file ends {end - position} bytes into a batch", _REMEDY)
    base, length, epoch, magic, _, attributes, last, _, newest, producer, producer_epoch, sequence, records = (
        HEADER.unpack(data)
    )
    size = LENGTH_END + length
    if magic != MAGIC:
        what = f"a batch of magic {magic}, {MAGIC} is expected: no log, or one of Kafka before 0.11"
        raise DamagedLog(path, position, what, _REMEDY)
    if size < HEADER_BYTES or position + size > end:
        raise DamagedLog(path, position, f"the file ends {end - position} bytes into a batch of {size}", _REMEDY)
    return BatchHeader(
        position,
        size,
        base,
        base + last,
        records,
        epoch,
        CODECS[min(attributes & 7, len(CODECS) - 1)],
        newest,
        producer,
        producer_epoch,
        sequence,
        bool(attributes & 0x10),
        bool(attributes & 0x20),
    )


def index_of(segment: Path) -> OffsetIndex:
    """Return the offset index of a segment; the file is read on the first lookup, and may be missing or corrupt."""
    return OffsetIndex(segment.with_suffix(INDEX), base_offset_of(segment))


def base_offset_of(segment: Path) -> int:
    """Return the base offset in a segment's file name. Raises ValueError for another name."""
    return int(segment.name.partition(".")[0])


def segment_for(segments: Sequence[Path], offset: int) -> Path | None:
    """Return the last segment whose base offset is not above an offset; None if all begin above it."""
    ordered = sorted(segments, key=base_offset_of)
    slot = bisect_right([base_offset_of(one) for one in ordered], offset) - 1
    return ordered[slot] if slot >= 0 else None


def find(segment: Path, offset: int) -> Lookup:
    """Look up an offset in a segment, as a broker does. Raises CorruptIndex, DamagedLog and OSError."""
    entries = index_of(segment).entries() if segment.with_suffix(INDEX).exists() else []
    slot = bisect_right([entry[0] for entry in entries], offset) - 1
    entry = entries[slot] if slot >= 0 else None
    scanned = []
    for batch in headers(segment, entry[1] if entry else 0):
        scanned.append(batch)
        if batch.last_offset >= offset:
            return Lookup(offset, segment, entry, len(entries), tuple(scanned), batch)
    return Lookup(offset, segment, entry, len(entries), tuple(scanned), None)
