"""Transaction markers: the control batches that end a transaction in a partition.

Key: version, type (0 abort, 1 commit); value: version, epoch of the transaction coordinator. Source:
`EndTransactionMarker`, `ControlRecordType`.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from groupsim.protocol.batch.batch import CONTROL, TRANSACTIONAL, Batch, LogRecord

ABORT: Final = 0
COMMIT: Final = 1
MARKER_BYTES: Final = 78
"""A control batch with one marker."""

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


class Marker(NamedTuple):
    """The content of a transaction marker."""

    committed: bool
    coordinator_epoch: int


def marker_batch(
    producer_id: int, producer_epoch: int, *, committed: bool, coordinator_epoch: int, timestamp_ms: int
) -> Batch:
    """Return the control batch that a leader appends for WriteTxnMarkers, without an offset."""
    key, value = _KEY.pack(0, COMMIT if committed else ABORT), _VALUE.pack(0, coordinator_epoch)
    return Batch(
        0,
        1,
        MARKER_BYTES,
        timestamp_ms,
        timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        attributes=CONTROL | TRANSACTIONAL,
        records=(LogRecord(0, key, value),),
    )


def marker_of(batch: Batch) -> Marker | None:
    """Return the marker in a control batch; None for an empty batch or a control record of another type."""
    if not batch.records or batch.records[0].key is None or batch.records[0].value is None:
        return None
    _, kind = _KEY.unpack_from(batch.records[0].key)
    if kind not in (ABORT, COMMIT):
        return None
    return Marker(kind == COMMIT, _VALUE.unpack_from(batch.records[0].value)[1])
