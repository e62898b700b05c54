"""Validation of a batch on the leader, before its records get offsets.

Source: `UnifiedLog.analyzeAndValidateRecords`, `LogValidator`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.errors import LogRefused
from groupsim.protocol.batch.batch import LOG_APPEND_TIME, NO_TIMESTAMP, Batch
from groupsim.protocol.errors import ErrorCode

_TIME: Final = "One or more records have been rejected due to invalid timestamp"
_KEYLESS: Final = "Compacted topic cannot accept message without key in topic partition {partition}"
_SHOWN: Final = 3


def check_batch(batch: Batch, config: LogConfig, now_ms: int) -> None:
    """Check a batch's size and timestamps, and the keys of a compacted topic. Raises LogRefused."""
    if batch.size > config.max_message_bytes:
        raise LogRefused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch has {batch.size} bytes, max.message.bytes is {config.max_message_bytes}",
        )
    if not config.log_append_time:
        first_ms = batch.timestamp_ms
        late = first_ms != NO_TIMESTAMP and now_ms - first_ms > config.message_timestamp_before_max_ms
        if late or batch.max_timestamp_ms - now_ms > config.message_timestamp_after_max_ms:
            raise _out_of_time(batch, config, now_ms)
    elif batch.attributes & LOG_APPEND_TIME:  # only the broker may set it (`LogValidator`)
        raise LogRefused(ErrorCode.INVALID_TIMESTAMP, "a producer's batch has LogAppendTime", client_message=_TIME)
    if config.compact and not batch.is_control and batch.records is not None:
        _check_keys(batch)


def check_total(batches: Sequence[Batch], config: LogConfig) -> None:
    """Check that the batches of one append fit into one segment. Raises LogRefused."""
    total = sum(batch.size for batch in batches)
    if total > config.segment_bytes:
        raise LogRefused(
            ErrorCode.RECORD_LIST_TOO_LARGE, f"{total} bytes do not fit into segment.bytes, {config.segment_bytes}"
        )


def _out_of_time(batch: Batch, config: LogConfig, now_ms: int) -> LogRefused:
    ahead, behind = batch.max_timestamp_ms - now_ms, now_ms - batch.timestamp_ms
    if ahead > config.message_timestamp_after_max_ms:
        text = f"a timestamp lies {ahead} ms ahead of the broker's clock; message.timestamp.after.max.ms is "
        text += f"{config.message_timestamp_after_max_ms}"
    else:
        text = f"a timestamp lies {behind} ms behind the broker's clock; message.timestamp.before.max.ms is "
        text += f"{config.message_timestamp_before_max_ms}"
    records = _out_of_range(batch, config, now_ms)
    return LogRefused(ErrorCode.INVALID_TIMESTAMP, text, client_message=_TIME, records=records)


def _out_of_range(batch: Batch, config: LogConfig, now_ms: int) -> tuple[tuple[int, str], ...]:
    """Return an error with Kafka's message for each readable record whose timestamp is out of range."""
    first, last = now_ms - config.message_timestamp_before_max_ms, now_ms + config.message_timestamp_after_max_ms
    found = []
    for number, record in enumerate(batch.records or ()):
        time = batch.timestamp_ms + record.timestamp_delta
        if time != NO_TIMESTAMP and not first <= time <= last:
            text = f"Timestamp {time} of message with offset {record.offset_delta} is out of range. "
            found.append((number, f"{text}The timestamp should be within [{first}, {last}]"))
    return tuple(found)


def _check_keys(batch: Batch) -> None:
    numbers = [number for number, record in enumerate(batch.records or ()) if record.key is None]
    if not numbers:
        return
    shown = ", ".join(f"RecordError(batchIndex={number}, message='{_KEYLESS}')" for number in numbers[:_SHOWN])
    count = f"{len(numbers)} record errors in total, and only showing the first three errors at most"
    raise LogRefused(
        ErrorCode.INVALID_RECORD,
        f"record {numbers[0]} of the batch has no key, and the topic is compacted",
        client_message=f"One or more records have been rejected due to {count}: [{shown}]",
        records=tuple((number, _KEYLESS) for number in numbers),
    )
