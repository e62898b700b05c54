"""A log on files: append and fetch, beside other Python codecs and bare file writes; and what a lookup costs.

    python -m benchmarks.logs [--records 300000] [--full]

Records of 100 bytes in batches of 100, one core. What is measured, each in records per CPU second:

* broker: what a broker does with acks=1: read the batch's header, verify its checksum, give it offsets and epoch, write
  it, index it; then a consumer's fetches of 1 MiB, every batch found and verified;
* client: records encoded before and decoded behind that, too;
* log: the broker's part through `PartitionLog`, with its checks, epochs and rolling;
* kafka_python: the same records encoded and decoded by its codec, written to a bare file and read from it;
* bare: the same bytes written and read by 1 MiB, nothing looked at: the limit of the machine.

A lookup by offset in a log of 10 MB and one of 500 MB (`--full`: 5 GB; the files are deleted afterwards), random
offsets, everything in the page cache or not alike for both.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from benchmarks.common import Stopwatch, table
from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.files.store import FileStore
from groupsim.cluster.log.log import PartitionLog
from groupsim.protocol.batch.batch import Batch, LogRecord
from groupsim.protocol.batch.codec import encode, read_batch
from groupsim.protocol.batch.sizes import batch_of, counted_size

PER_BATCH, VALUE = 100, bytes(range(100))
FETCH_BYTES = 1 << 20
SEGMENT_BYTES = 1 << 30


def produced() -> bytes:
    """A producer's batch."""
    return encode(batch_of(tuple(LogRecord(index, None, VALUE) for index in range(PER_BATCH)), 1_000))


def broker(folder: Path, batches: int) -> None:
    """The file path of a broker alone."""
    store = FileStore(folder, sync=False)
    segment = store.create(0, 0)
    data = produced()
    for _ in range(batches):
        segment.append(read_batch(data).placed(segment.next_offset, 3))
    count = sum(batch.count for batch in segment.batches())
    assert count == batches * PER_BATCH
    store.close()


def client(folder: Path, batches: int) -> None:
    """The same, and the records encoded and decoded."""
    store = FileStore(folder, sync=False)
    segment = store.create(0, 0)
    for _ in range(batches):
        data = produced()
        segment.append(read_batch(data).placed(segment.next_offset, 3))
    count = sum(len(batch.records or ()) for batch in segment.batches())
    assert count == batches * PER_BATCH
    store.close()


def log(folder: Path, batches: int) -> None:
    """Through `PartitionLog`."""
    partition = PartitionLog(FileStore(folder, sync=False), LogConfig(), now_ms=0)
    data = produced()
    for _ in range(batches):
        partition.append((read_batch(data),), 3, 0)
    offset = 0
    while offset < partition.end_offset:
        offset = partition.read(offset, FETCH_BYTES)[-1].next_offset
    partition.close()


def kafka_python(folder: Path, batches: int) -> None:
    """kafka-python's codec and a bare file."""
    folder.mkdir()
    with (folder / "log").open("w+b", buffering=0) as file:
        for _ in range(batches):
            builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
            for index in range(PER_BATCH):
                builder.append(index, 1_000, None, VALUE, [])
            file.write(builder.build())
        file.seek(0)
        count = 0
        left = b""
        while piece := file.read(FETCH_BYTES):
            left += piece
            records = MemoryRecords(left)
            read = 0
            while (batch := records.next_batch()) is not None:
                assert batch.validate_crc()
                count += sum(1 for _ in batch)
                read += batch.size_in_bytes
            left = left[read:]
    assert count == batches * PER_BATCH


def bare(folder: Path, batches: int) -> None:
    """The bytes alone."""
    folder.mkdir()
    data = produced()
    with (folder / "log").open("w+b", buffering=0) as file:
        for _ in range(batches):
            file.write(data)
        file.seek(0)
        while file.read(FETCH_BYTES):
            pass


def rate(workload: Callable[[Path, int], None], records: int, repeat: int) -> int:
    """Records per CPU second, the best of the repeats."""
    best = 0.0
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as scratch:
            watch = Stopwatch()
            watch.start()
            workload(Path(scratch) / "orders-0", records // PER_BATCH)
            best = max(best, records / watch.stop())
    return round(best)


def lookups(size: int, number: int = 2_000) -> dict[str, float]:
    """Microseconds of a lookup at random offsets, the median and the 99th percentile."""
    with tempfile.TemporaryDirectory() as scratch:
        end = large_log(Path(scratch) / "orders-0", size)
        store = FileStore(Path(scratch) / "orders-0", sync=False, clean=True)
        luck = random.Random(0)
        segments = store.segments
        bases = [segment.base_offset for segment in segments]
        for segment in segments:
            next(segment.batches(segment.base_offset + 1))  # reads its index
        took = []
        for _ in range(number):
            offset = luck.randrange(end)
            segment = segments[max(index for index, base in enumerate(bases) if base <= offset)]
            began = time.perf_counter()
            batch = next(segment.batches(offset))
            took.append((time.perf_counter() - began) * 1e6)
            assert batch.base_offset <= offset <= batch.last_offset
        took.sort()
        store.close()
        return {"median": took[number // 2], "p99": took[number * 99 // 100]}


def large_log(folder: Path, size: int) -> int:
    """A log of so many bytes in segments of at most 1 GiB; returns its end."""
    store = FileStore(folder, sync=False)
    counted = Batch(0, PER_BATCH, counted_size(PER_BATCH, 100, 0), 1_000, 1_000, -1)
    batch: Batch = read_batch(encode(counted))
    offset = 0
    segment = store.create(0, 0)
    for _ in range(size // batch.size):
        if segment.size + batch.size > SEGMENT_BYTES:
            segment = store.create(offset, 0)
        segment.append(batch.placed(offset, 0))
        offset += PER_BATCH
    store.close()
    return offset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="look up in a log of 5 GB")
    options = parser.parse_args()
    workloads = [broker, log, client, kafka_python, bare]
    rates = {workload.__name__: rate(workload, options.records, options.repeat) for workload in workloads}
    rows = [(name, found, f"{found / rates['kafka_python']:.1f}") for name, found in rates.items()]
    table("append + fetch, 100-byte records in batches of 100", ("", "records/CPU s", "× kafka-python"), rows)
    sizes = (10_000_000, 5_000_000_000 if options.full else 500_000_000)
    found = {size: lookups(size) for size in sizes}
    table(
        "lookup by offset",
        ("log", "median µs", "p99 µs"),
        [(f"{size // 1_000_000:,} MB", *(f"{found[size][key]:.0f}" for key in ("median", "p99"))) for size in sizes],
    )


if __name__ == "__main__":
    main()
