"""Batches of records without content, as tests of logs append them."""

from __future__ import annotations

from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.batch.sizes import counted_size


def counted_batch(
    count: int,
    value_bytes: int,
    timestamp_ms: int,
    *,
    max_timestamp_ms: int | None = None,
    base_offset: int = 0,
) -> Batch:
    """Return a batch of `count` records without content: null keys, values of `value_bytes` bytes."""
    latest_ms = timestamp_ms if max_timestamp_ms is None else max_timestamp_ms
    return Batch(
        base_offset,
        count,
        counted_size(count, value_bytes, latest_ms - timestamp_ms),
        timestamp_ms,
        latest_ms,
        -1,
    )
