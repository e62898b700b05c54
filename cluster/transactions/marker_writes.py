"""WriteTxnMarkers on a partition leader: it appends commit and abort markers.

A marker is a control batch of one record with the producer's id and epoch: the key has the type (commit or abort), the
value the coordinator epoch. A marker for `__consumer_offsets` goes to the group coordinator, which commits or drops the
pending offsets.

Source: `EndTransactionMarker`, `ControlRecordType`, `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import CONTROL, NO_SEQUENCE, TRANSACTIONAL, Batch, LogRecord
from groupsim.protocol.batch.sizes import batch_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.transactions import TxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse

if TYPE_CHECKING:
    from groupsim.coordinator.base.interfaces import Call

_KEY = Struct(">hh").pack
_VALUE = Struct(">hi").pack
_ABORT, _COMMIT = 0, 1

Write = Callable[[TopicPartition, TxnMarker, Callable[[ErrorCode], None]], None]
"""Write one marker to one partition; the callback gets the error or NONE, now or later."""


def marker_batch(marker: TxnMarker, now_ms: int) -> Batch:
    """Return the control batch of a marker."""
    record = LogRecord(0, _KEY(0, _COMMIT if marker.committed else _ABORT), _VALUE(0, marker.coordinator_epoch))
    return batch_of(
        (record,),
        now_ms,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        base_sequence=NO_SEQUENCE,
        attributes=TRANSACTIONAL | CONTROL,
    )


def write_markers(call: Call, request: WriteTxnMarkersRequest, write: Write) -> None:
    """Write every marker of a request, and answer after the last result."""
    results: dict[tuple[int, TopicPartition], ErrorCode] = {}
    wanted = [(number, tp) for number, marker in enumerate(request.markers) for tp in marker.partitions]

    def settle(number: int, partition: TopicPartition, error: ErrorCode) -> None:
        results[number, partition] = error
        if len(results) == len(wanted):
            call.answer(_response(request, results))

    if not wanted:
        call.answer(_response(request, results))
    for number, partition in wanted:
        write(partition, request.markers[number], lambda error, n=number, tp=partition: settle(n, tp, error))  # type: ignore[misc]


def _response(
    request: WriteTxnMarkersRequest, results: dict[tuple[int, TopicPartition], ErrorCode]
) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        tuple(
            (marker.producer_id, tuple((tp, results[number, tp]) for tp in marker.partitions))
            for number, marker in enumerate(request.markers)
        )
    )
