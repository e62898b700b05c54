"""What a leader checks of a batch before it gives it an offset.

Source: `UnifiedLog.analyzeAndValidateRecords`, `LogValidator`.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.cluster.log.config import LogConfig
from groupsim.cluster.log.errors import LogRefused
from groupsim.protocol.batch import LOG_APPEND_TIME, NO_TIMESTAMP, Batch
from groupsim.protocol.errors import ErrorCode


def check_batch(batch: Batch, config: LogConfig, now_ms: int) -> None:
    """Size, time, and a key in every record of a compacted topic. Raises LogRefused."""
    if batch.size > config.max_message_bytes:
        raise LogRefused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch has {batch.size} bytes, max.message.bytes is {config.max_message_bytes}",
        )
    if not config.log_append_time:
        _check_time(batch, config, now_ms)
    elif batch.attributes & LOG_APPEND_TIME:
        raise LogRefused(ErrorCode.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp")
    if config.compact and not batch.is_control and batch.records is not None:
        _check_keys(batch)


def check_total(batches: Sequence[Batch], config: LogConfig) -> None:
    """What is appended together has to fit into one segment. Raises LogRefused."""
    total = sum(batch.size for batch in batches)
    if total > config.segment_bytes:
        raise LogRefused(
            ErrorCode.RECORD_LIST_TOO_LARGE, f"{total} bytes do not fit into segment.bytes, {config.segment_bytes}"
        )


def _check_time(batch: Batch, config: LogConfig, now_ms: int) -> None:
    ahead = batch.max_timestamp_ms - now_ms
    if ahead > config.message_timestamp_after_max_ms:
        raise LogRefused(
            ErrorCode.INVALID_TIMESTAMP,
            f"a timestamp lies {ahead} ms ahead of the broker's clock; message.timestamp.after.max.ms is "
            f"{config.message_timestamp_after_max_ms}",
        )
    if now_ms - batch.timestamp_ms > config.message_timestamp_before_max_ms and batch.timestamp_ms != NO_TIMESTAMP:
        raise LogRefused(
            ErrorCode.INVALID_TIMESTAMP,
            f"a timestamp lies {now_ms - batch.timestamp_ms} ms behind the broker's clock; "
            f"message.timestamp.before.max.ms is {config.message_timestamp_before_max_ms}",
        )


def _check_keys(batch: Batch) -> None:
    for record in batch.records or ():
        if record.key is None:
            raise LogRefused(
                ErrorCode.INVALID_RECORD,
                f"record {record.offset_delta} of the batch has no key, and the topic is compacted",
            )
