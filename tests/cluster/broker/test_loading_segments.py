"""Coordinators load a partition whole, however many segments it has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from groupsim.cluster.broker.offset_batches import to_batch
from groupsim.cluster.broker.offsets_topic import OffsetsTopic
from groupsim.cluster.config.loading_cost import LoadingCost
from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.log.memory import MemoryStore
from groupsim.cluster.transactions.broker_transactions import TransactionStateLog
from groupsim.coordinator.base.records import GroupRecord, GroupValue, OffsetRecord, OffsetValue, StoredMember
from groupsim.coordinator.testing import Bench, offsets_of
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import LogRecord, timestamp_ms
from groupsim.protocol.batch.sizes import batch_of

COUNT = 40
NOW_MS = timestamp_ms(0)
NOBODY: Any = None


def replicas_of(log: PartitionLog) -> Any:
    """A broker whose one log this is."""
    return SimpleNamespace(log=lambda partition: log)


def test_offsets_of_all_segments_are_loaded() -> None:
    """What stands behind the first segment is read too, and its records are counted in the time that a load takes."""
    log = PartitionLog(MemoryStore(), LogConfig(segment_bytes=600), now_ms=NOW_MS)
    written = [OffsetRecord("g", TopicPartition("t", n), OffsetValue(n, -1, "", 0)) for n in range(COUNT)]
    for record in written:
        log.append([to_batch((record,), NOW_MS)], 0, NOW_MS)
    assert len(log.store.segments) > 1
    topic = OffsetsTopic(NOBODY, NOBODY, replicas_of(log), LoadingCost(), "4.4", lambda name: None)
    assert list(topic.read(0)) == written
    assert LoadingCost(read_us=0, bytes_per_second=10**15, records_per_second=1).of(log) == COUNT * 1_000_000


@pytest.mark.parametrize("compacted", [False, True])
def test_of_a_key_in_the_first_and_the_last_segment_the_last_value_counts(compacted: bool) -> None:
    """An offset, and a group whose members have left, are loaded as the last segment has them, compacted or not."""
    settings = {"cleanup_policy": ("compact",), "min_cleanable_dirty_ratio": 0.0} if compacted else {}
    log = PartitionLog(MemoryStore(), LogConfig(segment_bytes=600, **settings), now_ms=NOW_MS)
    tp = TopicPartition("t", 0)
    member = StoredMember("m", None, "c", "/h", 60_000, 10_000, b"", b"plan")
    filler = [OffsetRecord("other", TopicPartition("t", n), OffsetValue(n, -1, "", 0)) for n in range(COUNT)]
    for record in (
        OffsetRecord("g", tp, OffsetValue(1, -1, "", 0)),
        GroupRecord("g", GroupValue("consumer", 1, "range", "m", 0, (member,))),
        *filler,
        OffsetRecord("g", tp, OffsetValue(2, -1, "", 0)),
        GroupRecord("g", GroupValue("consumer", 2, None, None, 0)),
    ):
        log.append([to_batch((record,), NOW_MS)], 0, NOW_MS)
    log.advance_high_watermark(log.end_offset)
    segments = len(log.store.segments)
    assert segments > 2
    if compacted:
        for _ in range(12):  # then what counts is in a closed segment
            log.append([to_batch(filler[:1], NOW_MS)], 0, NOW_MS)
        log.advance_high_watermark(log.end_offset)
        log.maintain(NOW_MS + 60_000)
        assert next(iter(log.batches(0, log.end_offset))).base_offset > 1
    topic = OffsetsTopic(NOBODY, NOBODY, replicas_of(log), LoadingCost(), "4.4", lambda name: None)
    bench = Bench(records=topic.read(0))
    assert offsets_of(bench.fetch_offsets(tp)) == {tp: 2}
    assert (bench.state, bench.snapshot().generation, bench.snapshot().members) == ("Empty", 2, ())


def test_transactions_of_all_segments_are_loaded() -> None:
    """The transaction coordinator reads on behind the first segment likewise."""
    log = PartitionLog(MemoryStore(), LogConfig(segment_bytes=600), now_ms=NOW_MS)
    for number in range(COUNT):
        log.append([batch_of([LogRecord(0, b"key %d" % number, b"value")], NOW_MS)], 0, NOW_MS)
    assert len(log.store.segments) > 1
    read = TransactionStateLog(NOBODY, NOBODY, replicas_of(log), 5_000).read(0)
    assert [record.key for record in read] == [b"key %d" % number for number in range(COUNT)]
