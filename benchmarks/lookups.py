"""A look-up by offset: what it reads and how long it takes, in segments of 10 MB to 1 GB and logs of up to 10,000.

    python -m benchmarks.lookups [--repeat 300] [--json] [--quick]

The logs are sparse files. Batches of 1,000 bytes stand where a look-up reads, and the index has all its entries (one
for every five batches, as `index.interval.bytes` asks for). What was never written takes no room on the disk. A segment
of Kafka's has at most 2 GB (`segment.bytes` is an int): 10 GB are ten segments.

Counted for each look-up, after the segment's index was read once: segments and index entries that bisection looks at,
and bytes read from the log file. The peers of the same run:

* a bisection in a plain list of the offsets of all batches, which is what an index would be if it were not sparse;
* a linear scan of the batches' headers from the beginning of a segment, where all of it is written (`SCANNED`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import struct
import tempfile
import time
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import table
from groupsim.cluster.log.files.segment import INDEX, INDEX_INTERVAL_BYTES, LOG, TIME_INDEX, file_name
from groupsim.cluster.log.files.store import FileStore
from groupsim.cluster.log.headers import headers
from groupsim.cluster.log.segment_reads import segment_index
from groupsim.protocol.batch.batch import LogRecord
from groupsim.protocol.batch.codec import encode
from groupsim.protocol.batch.sizes import batch_of

BATCH_BYTES, PER_BATCH = 1_000, 10
BATCHES_AN_ENTRY = INDEX_INTERVAL_BYTES // BATCH_BYTES + 1
MB, GB = 1_000_000, 1_000_000_000
SCANNED = (10 * MB, 100 * MB)
SHAPES = (
    ("10 MB", 1, 10 * MB),
    ("100 MB", 1, 100 * MB),
    ("1 GB", 1, GB),
    ("10 GB in 10 segments", 10, GB),
    ("100 MB in 1,000 segments", 1_000, MB // 10),
    ("1 GB in 10,000 segments", 10_000, MB // 10),
)


def template() -> bytes:
    """A batch of ten records and 1,000 bytes; its checksum does not cover its base offset."""
    records = tuple(LogRecord(number, None, bytes(80)) for number in range(PER_BATCH))
    spare = BATCH_BYTES - len(encode(batch_of(records, 1_000)))
    last = LogRecord(PER_BATCH - 1, None, bytes(80 + spare))
    data = encode(batch_of((*records[:-1], last), 1_000))
    if len(data) != BATCH_BYTES:
        last = LogRecord(PER_BATCH - 1, None, bytes(80 + spare - (len(data) - BATCH_BYTES)))
        data = encode(batch_of((*records[:-1], last), 1_000))
    assert len(data) == BATCH_BYTES, len(data)
    return data


def write_segment(folder: Path, base: int, size: int, wanted: Sequence[int], *, full: bool = False) -> None:
    """A sparse segment of so many bytes: the batches around the wanted offsets, the last ones, and the whole index."""
    batches, behind = size // BATCH_BYTES, template()[8:]
    indexed = range(BATCHES_AN_ENTRY, batches, BATCHES_AN_ENTRY)
    begins = {(offset - base) // PER_BATCH // BATCHES_AN_ENTRY for offset in wanted} | {batches // BATCHES_AN_ENTRY}
    groups = range(batches // BATCHES_AN_ENTRY + 1) if full else sorted(begins | {one - 1 for one in begins if one})
    with (folder / file_name(base, LOG)).open("wb") as file:
        for group in groups:
            first = group * BATCHES_AN_ENTRY
            for number in range(first, min(first + BATCHES_AN_ENTRY, batches)):
                file.seek(number * BATCH_BYTES)
                file.write(struct.pack(">q", base + number * PER_BATCH) + behind)
        file.truncate(batches * BATCH_BYTES)
    entries = array("I")
    for number in indexed:
        entries.append((number + 1) * PER_BATCH - 1)
        entries.append(number * BATCH_BYTES)
    entries.byteswap()
    (folder / file_name(base, INDEX)).write_bytes(entries.tobytes())
    (folder / file_name(base, TIME_INDEX)).write_bytes(b"")


def write_log(folder: Path, segments: int, size: int, wanted: Sequence[int], *, full: bool = False) -> None:
    """A log of equal segments, for look-ups of the wanted offsets."""
    folder.mkdir()
    records = size // BATCH_BYTES * PER_BATCH
    theirs: dict[int, list[int]] = {}
    for offset in wanted:
        theirs.setdefault(offset // records, []).append(offset)
    for number in range(segments):
        write_segment(folder, number * records, size, theirs.get(number, []), full=full)


class Counting:
    """A row that counts how many of its entries are looked at."""

    def __init__(self, row: Sequence[Any]) -> None:
        self.row, self.seen = row, 0

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, at: Any) -> Any:
        self.seen += 1
        return self.row[at]


@contextmanager
def counted_reads() -> Iterator[list[int]]:
    """The sizes of what is read from log files meanwhile."""
    found: list[int] = []
    real = os.pread

    def pread(descriptor: int, size: int, at: int) -> bytes:
        data = real(descriptor, size, at)
        found.append(len(data))
        return data

    os.pread = pread
    try:
        yield found
    finally:
        os.pread = real


def look_up(segments: Sequence[Any], offset: int) -> Any:
    """The batch that holds an offset, as a fetch finds it."""
    return next(segments[segment_index(segments, offset)].batches(offset))


def counts(store: FileStore, offset: int) -> dict[str, int]:
    """Segments, index entries and bytes that one look-up reads; the segment's index has been read before."""
    segment = store.segments[segment_index(store.segments, offset)]
    look_up(store.segments, offset)
    index = segment.offset_index  # type: ignore[attr-defined]
    entries, index._offsets = index._offsets, Counting(index._offsets)
    row = Counting(store.segments)
    with counted_reads() as read:
        batch = next(segment.batches(offset))
        segment_index(row, offset)  # type: ignore[arg-type]
    assert batch.base_offset <= offset <= batch.last_offset
    seen, index._offsets = index._offsets.seen, entries
    return {"segments": row.seen, "entries": seen, "bytes": sum(read), "reads": len(read)}


def measured(segments: int, size: int, repeat: int) -> dict[str, Any]:
    """What look-ups of random offsets read, and microseconds of CPU for one: ours and the peers'."""
    luck = random.Random(0)
    records = size // BATCH_BYTES * PER_BATCH
    wanted = [luck.randrange(records * segments) for _ in range(repeat)]
    full = segments == 1 and size in SCANNED
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "orders-0"
        write_log(folder, segments, size, wanted, full=full)
        store = FileStore(folder, sync=False, clean=True)
        found = [counts(store, offset) for offset in wanted]
        result: dict[str, Any] = {key: max(one[key] for one in found) for key in found[0]}
        rows = store.segments
        result["us"] = _us(lambda offset: look_up(rows, offset), wanted)
        offsets = array("q", range(0, records * segments, PER_BATCH))
        result["list_us"] = _us(lambda offset: bisect_right(offsets, offset), wanted)
        result["list_entries"] = len(offsets)
        result["index_entries"] = sum(len(one.offset_index) for one in rows[:1]) * segments  # type: ignore[attr-defined]
        if full:
            path = folder / file_name(0, LOG)
            result["scan_us"] = _us(lambda offset: _scan(path, offset), wanted[:5])
        store.close()
    return result


def _scan(path: Path, offset: int) -> Any:
    return next(batch for batch in headers(path) if batch.last_offset >= offset)


def _us(look: Any, wanted: Sequence[int]) -> float:
    took = []
    for offset in wanted:
        began = time.thread_time_ns()
        look(offset)
        took.append((time.thread_time_ns() - began) / 1000)
    return sorted(took)[len(took) // 2]


def run(*, repeat: int = 300, as_json: bool = False, quick: bool = False) -> list[dict[str, Any]]:
    """Measure every shape; print the table unless JSON is wanted."""
    shapes = [shape for shape in SHAPES if not quick or shape[1] * shape[2] <= 100 * MB]
    rows = [{"log": name, **measured(segments, size, repeat)} for name, segments, size in shapes]
    if not as_json:
        table(
            "a look-up by offset (most of each count; median of CPU)",
            ("log", "segments seen", "entries seen", "bytes read", "µs", "index entries", "list, µs", "scan, µs"),
            [
                (
                    *(row[key] for key in ("log", "segments", "entries", "bytes")),
                    f"{row['us']:.0f}",
                    row["index_entries"],
                    f"{row['list_us']:.1f}",
                    f"{row['scan_us']:,.0f}" if "scan_us" in row else "–",
                )
                for row in rows
            ],
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=300, help="look-ups of each log")
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of the table")
    parser.add_argument("--quick", action="store_true", help="only logs of up to 100 MB")
    options = parser.parse_args()
    rows = run(repeat=options.repeat, as_json=options.json, quick=options.quick)
    if options.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
