"""Coordinators load a partition whole, however many segments it has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from groupsim.cluster.log.config import LogConfig
from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.log.memory import MemoryStore
from groupsim.cluster.offset_batches import to_batch
from groupsim.cluster.offsets_topic import LoadingCost, OffsetsTopic
from groupsim.cluster.transactions.wiring import StateTopic
from groupsim.coordinator.records import OffsetRecord, OffsetValue
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch import LogRecord, timestamp_ms
from groupsim.protocol.batch_sizes import batch_of

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


def test_transactions_of_all_segments_are_loaded() -> None:
    """The transaction coordinator reads on behind the first segment likewise."""
    log = PartitionLog(MemoryStore(), LogConfig(segment_bytes=600), now_ms=NOW_MS)
    for number in range(COUNT):
        log.append([batch_of([LogRecord(0, b"key %d" % number, b"value")], NOW_MS)], 0, NOW_MS)
    assert len(log.store.segments) > 1
    read = StateTopic(NOBODY, NOBODY, replicas_of(log), 5_000).read(0)
    assert [record.key for record in read] == [b"key %d" % number for number in range(COUNT)]
