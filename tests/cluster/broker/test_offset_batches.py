"""What coordinators write, in a partition's log as batches: placed, compacted, read back."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupsim.cluster.broker.offset_batches import placed_records, to_batch, to_records
from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.log.markers import marker_batch
from groupsim.cluster.log.memory import MemoryStore
from groupsim.coordinator.base.interfaces import LoadFailed
from groupsim.coordinator.base.records import (
    GroupRecord,
    GroupValue,
    OffsetRecord,
    OffsetValue,
    Producer,
    Record,
    TransactionEnd,
)
from groupsim.coordinator.testing import Bench
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch, LogRecord, timestamp_ms
from groupsim.protocol.batch.sizes import batch_of
from groupsim.protocol.messages.group import DeleteGroupsRequest, OffsetDeleteRequest
from tests.helpers.log_replay import everything

TP = TopicPartition("t", 0)
OFFSET = OffsetRecord("g", TP, OffsetValue(5, -1, "m", 1_000))
IN_TXN = evolve(OFFSET, producer=Producer(7, 2))
HOUR_MS = 3_600_000


def test_append_is_one_batch() -> None:
    """The records of an append share a batch without a producer; decoding returns them with their offsets."""
    group = GroupRecord("g", GroupValue("", 0, None, None, 0))
    batch = to_batch((group, OFFSET), 17).placed(40, 3)
    assert (batch.count, batch.producer_id, batch.is_transactional, batch.timestamp_ms) == (2, -1, False, 17)
    assert list(placed_records([batch], 0)) == [(40, group), (41, OFFSET)]


def test_transactional_append_names_its_producer_and_no_sequence() -> None:
    """Offsets in a transaction are a transactional batch; only the epoch of its producer is checked by the log."""
    batch = to_batch((IN_TXN,), 17)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 2, -1)
    assert batch.is_transactional
    assert list(to_records([batch], 0)) == [IN_TXN]


@pytest.mark.parametrize("committed", [True, False])
def test_end_of_a_transaction_is_a_control_batch(committed: bool) -> None:
    """The control record says committed or aborted, and the transaction coordinator's epoch."""
    end = TransactionEnd(Producer(7, 2), committed, 4)
    batch = to_batch((end,), 17)
    assert batch.is_control
    assert batch == marker_batch(7, 2, committed=committed, coordinator_epoch=4, timestamp_ms=17)
    assert list(to_records([batch], 0)) == [end]


@pytest.mark.parametrize("records", [(OFFSET, IN_TXN), (IN_TXN, TransactionEnd(Producer(7, 2), True))])
def test_append_does_not_mix_transactions(records: tuple[Record, ...]) -> None:
    """Records of different transactions, or with a marker among them, share no batch."""
    with pytest.raises(ValueError, match="share one transaction or none"):
        to_batch(records, 17)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (batch_of((LogRecord(0, None, b""),), 0), "offset 9: a record of __consumer_offsets: expected a key"),
        (batch_of((LogRecord(0, b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00", b"\x00\x09"),), 0), "offset 9: Offset"),
        (evolve(batch_of((LogRecord(0, b"", b""),), 0), attributes=2), "offset 9: the batch is compressed"),
    ],
)
def test_what_is_no_record_is_named_with_its_offset(batch: Batch, message: str) -> None:
    """A load that meets it fails, naming partition and offset."""
    with pytest.raises(LoadFailed, match="__consumer_offsets-3") as caught:
        list(to_records([batch.placed(9, 0)], 3))
    assert message in str(caught.value)


# --- through a compacted log -------------------------------------------------------------------------------------

STEPS = st.tuples(
    st.sampled_from(("plain", "plain", "txn", "txn", "end", "end", "delete", "delete group", "time")),
    st.sampled_from(("g", "h")),
    st.integers(0, 99),
    st.booleans(),
)


def history(steps: list[tuple[str, str, int, bool]]) -> list[Record]:
    """The records a coordinator writes, whose appends are committed at once."""
    bench = Bench()
    bench.join("c", group="joined")
    for what, group, number, flag in steps:
        if what == "plain":
            bench.commit_offset(number, group=group, partition=number % 2)
        elif what == "txn":
            bench.commit_in_transaction(number, group=group, partition=number % 2, producer_id=7 + flag)
        elif what == "end":
            bench.end_transaction(flag, producer_id=7 + number % 2)
        elif what == "delete":
            bench.send(OffsetDeleteRequest(group, (TopicPartition("t", number % 2),)))
        elif what == "delete group":
            bench.send(DeleteGroupsRequest((group,)))
        else:
            bench.advance_ms(number * 1_000)
    return bench.log  # type: ignore[return-value]


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, min_size=5, max_size=60), st.integers(1, 4))
def test_compacted_partition_tells_the_same(steps: list[tuple[str, str, int, bool]], rounds: int) -> None:
    """A partition's log that is rolled, compacted again and again and rid of tombstones replays to the same state."""
    config = LogConfig(
        cleanup_policy=("compact",), segment_bytes=600, min_cleanable_dirty_ratio=0.0, delete_retention_ms=HOUR_MS
    )
    store, now_ms = MemoryStore(), timestamp_ms(0)
    log = PartitionLog(store, config, now_ms=now_ms)
    records = history(steps)
    for record in records:
        log.append([to_batch((record,), now_ms)], 0, now_ms)
    log.advance_high_watermark(log.end_offset)
    for _ in range(rounds):
        now_ms += 2 * HOUR_MS
        log.maintain(now_ms)
    read = tuple(to_records(log.batches(log.start_offset, log.end_offset), 0))
    assert everything(Bench(records=read).shard) == everything(Bench(records=records).shard)


def test_compaction_really_happens_in_that_walk() -> None:
    """A hundred commits of one partition leave far fewer records than there were."""
    config = LogConfig(cleanup_policy=("compact",), segment_bytes=600, min_cleanable_dirty_ratio=0.0)
    now_ms = timestamp_ms(0)
    log = PartitionLog(MemoryStore(), config, now_ms=now_ms)
    for record in history([("plain", "g", 2 * number, True) for number in range(100)]):
        log.append([to_batch((record,), now_ms)], 0, now_ms)
    log.advance_high_watermark(log.end_offset)
    log.maintain(now_ms + HOUR_MS)
    assert log.end_offset == 101
    assert len(list(to_records(log.batches(log.start_offset, log.end_offset), 0))) < 20


def test_an_offset_is_written_with_its_topics_id() -> None:
    """The id that the broker knows a topic by stands beside the offset, as of 4.1; a topic without one has none."""
    there = {OFFSET.partition.topic: bytes(range(16))}
    with_id, without = to_batch((OFFSET,), 17, topic_id=there.get), to_batch((OFFSET,), 17)
    (record,), (plain,) = with_id.records or (), without.records or ()
    assert record.value == (plain.value or b"")[:-1] + b"\x01\x00\x10" + bytes(range(16))
    assert list(to_records((with_id,), 0)) == list(to_records((without,), 0))
