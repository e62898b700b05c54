"""The record errors in the response for a refused batch."""

from __future__ import annotations

from typing import Any

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import LogRecord, timestamp_ms
from groupsim.protocol.batch.sizes import batch_of
from groupsim.protocol.errors import ErrorCode

P0 = TopicPartition("orders", 0)


def test_records_without_a_key_are_named(simulate: Any) -> None:
    """In a compacted topic each record without a key has an error; the batch's message has the first three."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,), cleanup_policy="compact")
        keys = [b"a", None, None, None, None]
        made = batch_of([LogRecord(number, key, b"v") for number, key in enumerate(keys)], timestamp_ms(0))
        (result,) = rig.produce(0, P0, made).answer.results
        keyless = "Compacted topic cannot accept message without key in topic partition orders-0"
        assert (result.error, result.log_start_offset) == (ErrorCode.INVALID_RECORD, 0)
        assert result.record_errors == tuple((number, keyless) for number in (1, 2, 3, 4))
        assert "4 record errors in total" in result.message
        assert result.message.count("RecordError(") == 3

    simulate(story)


def test_records_too_early_or_too_late_are_named(simulate: Any) -> None:
    """Only those that lie outside of what the topic allows, with the bounds in milliseconds since 1970."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,), message_timestamp_after_max_ms="10", message_timestamp_before_max_ms="5")
        now = timestamp_ms(rig.loop.now_us)
        records = [LogRecord(number, None, b"v", delta) for number, delta in enumerate((0, 6, 16))]
        (result,) = rig.produce(0, P0, batch_of(records, now - 6)).answer.results
        assert result.error is ErrorCode.INVALID_TIMESTAMP
        assert result.message == "One or more records have been rejected due to invalid timestamp"
        words = "Timestamp {} of message with offset {} is out of range. The timestamp should be within [{}, {}]"
        assert result.record_errors == ((0, words.format(now - 6, 0, now - 5, now + 10)),)

    simulate(story)


def test_a_batch_too_large_has_neither_a_message_nor_the_logs_start(simulate: Any, a_batch: Any) -> None:
    """MESSAGE_TOO_LARGE comes without other fields, as Kafka refuses the batch before it reads the log."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,), max_message_bytes="70")
        (result,) = rig.produce(0, P0, a_batch(50)).answer.results
        assert (result.error, result.log_start_offset, result.message) == (ErrorCode.MESSAGE_TOO_LARGE, -1, None)

    simulate(story)
