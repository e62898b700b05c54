"""Segments written here are read by Kafka's own tools, segments written by Kafka's classes are read here.

`tests/data/kafka-segment` was written by `WriteSegment.java` with the classes of Kafka 4.4.0 (LogSegment and
MemoryRecords); a test below writes it again and compares, where Java and the jars can be had.
"""

from __future__ import annotations

import os
import re
import shutil
from gzip import decompress
from pathlib import Path
from typing import NoReturn

import kafka_jars
import pytest

from groupsim.cluster.log.files.store import FileStore
from groupsim.cluster.log.interfaces import Segment
from groupsim.cluster.log.markers import marker_batch, marker_of
from groupsim.protocol.batch.batch import TRANSACTIONAL, Batch, LogRecord
from groupsim.protocol.batch.codec import decode_records
from groupsim.protocol.batch.sizes import batch_of
from tests.helpers.counted_batches import counted_batch

WRITTEN_BY_KAFKA = Path(__file__).parents[2] / "data" / "kafka-segment"
PROGRAM = Path(__file__).with_name("WriteSegment.java")
FIRST = "00000000000000000000"


def unavailable(why: Exception) -> NoReturn:
    """Skip, or fail where GROUPSIM_MUST_RUN names kafka."""
    if "kafka" in os.environ.get("GROUPSIM_MUST_RUN", "").split():
        pytest.fail(f"{why}, and GROUPSIM_MUST_RUN names kafka")
    pytest.skip(str(why))


def dump(*arguments: str) -> str:
    """What Kafka's dump-log tool prints."""
    try:
        return kafka_jars.dump_log(*arguments)
    except kafka_jars.Unavailable as why:
        unavailable(why)


# --- Kafka's, read here ----------------------------------------------------------------------------------------------


def expected_record(number: int, index: int) -> tuple[int, bytes | None, bytes | None, list[str]]:
    """Timestamp, key, value and names of headers, as `WriteSegment.java` makes them."""
    key = None if number % 4 == 0 else b"key-%d" % number
    value = None if number % 10 == 3 else b"v" * (number * 3 % 200 + index)
    return 1_000 + 10 * number - index, key, value, ["trace", "none"] if number % 6 == 0 else []


def judge(folder: Path) -> None:
    """Read what `WriteSegment.java` wrote, batch by batch, record by record."""
    store = FileStore(folder, sync=False, clean=True)
    (segment,) = store.segments
    batches = list(segment.batches())
    assert len(batches) == 100
    offset = 0
    for number, batch in enumerate(batches):
        assert (batch.base_offset, batch.leader_epoch) == (offset, number // 30)
        if number % 25 == 24:
            marker = marker_of(batch)
            assert marker is not None
            assert (marker.committed, marker.coordinator_epoch) == (number % 2 == 0, 5)
            assert (batch.producer_id, batch.producer_epoch, batch.is_control) == (77, 3, True)
        else:
            judge_batch(number, batch)
        offset = batch.next_offset
    assert segment.next_offset == offset
    assert (segment.max_timestamp_ms, store.repairs) == (1_990, [])
    judge_lookups(segment, batches)


def judge_batch(number: int, batch: Batch) -> None:
    """One batch of data."""
    producer = {0: (-1, -1, -1), 1: (42, 1, number * 10), 2: (77, 3, number * 10)}[number % 3]
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == producer
    assert batch.is_transactional == (number % 3 == 2)
    records = batch.records
    if number % 20 == 7:
        assert batch.raw is not None
        assert (records, batch.attributes & 7) == (None, 1)
        records = decode_records(decompress(batch.raw), batch.count)
    assert records is not None
    assert [
        (batch.timestamp_ms + one.timestamp_delta, one.key, one.value, [name for name, _ in one.headers])
        for one in records
    ] == [expected_record(number, index) for index in range(number % 5 + 1)]


def judge_lookups(segment: Segment, batches: list[Batch]) -> None:
    """Every offset is found through Kafka's index, every time through its time index."""
    for batch in batches:
        for offset in range(batch.base_offset, batch.next_offset):
            assert next(segment.batches(offset)).base_offset == batch.base_offset
        found = segment.find_time(batch.max_timestamp_ms)
        assert found is not None
        assert (found.timestamp_ms, found.offset >= batch.base_offset) == (batch.max_timestamp_ms, True)


def test_a_segment_written_by_kafka_is_read_record_by_record(tmp_path: Path) -> None:
    """Compressed, idempotent, transactional and control batches; null keys and values; headers; both indexes."""
    shutil.copytree(WRITTEN_BY_KAFKA, tmp_path / "orders-0")
    judge(tmp_path / "orders-0")


def test_the_indexes_made_here_are_those_that_kafka_makes(tmp_path: Path) -> None:
    """Recovery rebuilds both indexes, equal to the byte."""
    folder = tmp_path / "orders-0"
    shutil.copytree(WRITTEN_BY_KAFKA, folder)
    for kind in (".index", ".timeindex"):
        (folder / (FIRST + kind)).unlink()
    FileStore(folder, sync=False, index_interval_bytes=1_000).close()
    for kind in (".index", ".timeindex"):
        assert (folder / (FIRST + kind)).read_bytes() == (WRITTEN_BY_KAFKA / (FIRST + kind)).read_bytes()


def test_kafka_still_writes_the_segment_that_is_kept_here(tmp_path: Path) -> None:
    """The kept one is what the classes of the baseline make of `WriteSegment.java`."""
    try:
        kafka_jars.run(kafka_jars.STORAGE, str(PROGRAM), str(tmp_path))
    except kafka_jars.Unavailable as why:
        unavailable(why)
    for kind in (".index", ".timeindex"):
        assert (tmp_path / (FIRST + kind)).read_bytes() == (WRITTEN_BY_KAFKA / (FIRST + kind)).read_bytes()
    judge(tmp_path)


# --- ours, read by Kafka ---------------------------------------------------------------------------------------------


def sample() -> list[Batch]:
    """Batches of every kind."""
    batches: list[Batch] = []
    offset = 0
    for number in range(200):
        at = 1_000 + 10 * number
        if number % 25 == 24:
            made = marker_batch(77, 3, committed=number % 2 == 0, coordinator_epoch=5, timestamp_ms=at)
        elif number % 3 == 0:
            made = counted_batch(1 + number % 90, 100 + number, at, max_timestamp_ms=at + number % 9)
        else:
            headers = (("trace", b"\x00\x01"), ("none", None)) if number % 5 == 0 else ()
            records = tuple(
                LogRecord(index, b"key-%d" % number, None if number % 10 == 1 else b"v" * number, index, headers)
                for index in range(1 + number % 4)
            )
            transaction = {"producer_id": 77, "producer_epoch": 3, "base_sequence": number, "attributes": TRANSACTIONAL}
            made = batch_of(records, at, **(transaction if number % 2 else {}))
        batches.append(made.placed(offset, number // 30))
        offset += made.count
    return batches


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A folder of two segments written here, closed in order."""
    store = FileStore(tmp_path / "orders-0", sync=False)
    batches = sample()
    for half in (batches[:100], batches[100:]):
        segment = store.create(half[0].base_offset, 0)
        for batch in half:
            segment.append(batch)
    store.close()
    return tmp_path / "orders-0"


def test_kafkas_dump_tool_finds_every_record_valid(ours: Path) -> None:
    """All batches and records with their offsets, sizes, times, keys and markers, and every checksum right."""
    files = ",".join(str(path) for path in sorted(ours.glob("*.log")))
    printed = dump("--deep-iteration", "--print-data-log", "--files", files)
    batches = sample()
    found = re.findall(
        r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .* partitionLeaderEpoch: (\d+) isTransactional: (\w+) "
        r"isControl: (\w+) .* size: (\d+) magic: 2 .* isvalid: (\w+)",
        printed,
    )
    assert found == [
        (
            *map(str, (batch.base_offset, batch.last_offset, batch.count, batch.leader_epoch)),
            str(batch.is_transactional).lower(),
            str(batch.is_control).lower(),
            str(batch.size),
            "true",
        )
        for batch in batches
    ]
    offsets = [int(offset) for offset in re.findall(r"^\| offset: (\d+) ", printed, re.MULTILINE)]
    assert offsets == list(range(batches[-1].next_offset))
    assert printed.count("endTxnMarker: COMMIT") + printed.count("endTxnMarker: ABORT") == 8
    assert printed.count("key: key-") == sum(len(batch.records) for batch in batches if batch.records) - 8
    assert "Found" not in printed


def test_kafkas_dump_tool_finds_nothing_wrong_with_the_indexes(ours: Path) -> None:
    """It looks up every entry of both in the log, and names mismatches."""
    indexes = sorted([*ours.glob("*.index"), *ours.glob("*.timeindex")])
    assert len(indexes) == 4
    assert all(path.stat().st_size for path in indexes)
    printed = dump("--files", ",".join(map(str, indexes)))
    assert printed.count("offset: ") > 50
    assert "Mismatches" not in printed
    assert "Found" not in printed
    assert "out of order" not in printed
    sane = dump("--index-sanity-check", "--files", ",".join(str(path) for path in indexes))
    assert sane.count("passed sanity check") >= 2
