"""Offsets committed inside a producer's transaction (KIP-98), fenced by the group's generation (KIP-447).

TxnOffsetCommit        the offsets are written as the producer's records, and are pending
    end of a transaction   the transaction coordinator makes this partition's leader write a control record, which
                           commits or drops the producer's pending offsets

Until then a stable OffsetFetch answers UNSTABLE_OFFSET_COMMIT for these partitions, their offsets do not expire, and
the cleanup does not delete the group; an administrator may delete it with its pending offsets.

The log checks whether the producer may write (its epoch, its transaction), and refuses the append if not.

Source: `OffsetMetadataManager.commitTransactionalOffset`, `CoordinatorRuntime.completeTransaction`; classic-protocol
reference, 1.8.
"""

from __future__ import annotations

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.records import OffsetValue, Producer, TransactionEnd, whole_ms
from groupsim.coordinator.offsets.requests import answer_commit, create_simple, write
from groupsim.coordinator.partition.admission import Decision, decide
from groupsim.coordinator.partition.state import Partition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.messages.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
)
from groupsim.protocol.values import frozen

_NAMED_SINCE = 6
_SINCE_6 = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.STALE_MEMBER_EPOCH)
_MARKER_TIMEOUT_MS = 30_000
"""The wait of a broker up to 3.9 for control records: its `request.timeout.ms`, at the default."""


def commit(partition: Partition, call: CallToken, request: TxnOffsetCommitRequest) -> None:
    """Handle a TxnOffsetCommit; partitions of unknown topics are refused by the service. It prolongs no session."""
    op = partition.op
    group = partition.groups.get(request.group_id)
    decision = decide(request, group, op.differences)
    error = group.txn_commit_error(op, request) if group is not None and decision is Decision.ANSWER else decision
    if isinstance(error, ErrorCode):
        op.reply(call, refusal(request, _known(error, request)))
        return
    if decision is Decision.CREATE_SIMPLE:
        create_simple(partition, request.group_id)
    now_us = whole_ms(op.now_us)
    values = [
        (entry.partition, OffsetValue(entry.offset, entry.leader_epoch, entry.metadata, now_us))
        for entry in request.offsets
    ]
    producer = Producer(request.producer_id, request.producer_epoch)
    results = write(partition, request.group_id, values, producer, created=group is None)
    answer_commit(partition, call, request, TxnOffsetCommitResponse, results)


def _known(error: ErrorCode, request: TxnOffsetCommitRequest) -> ErrorCode:
    """Return the error as this version names it: producers below version 6 do not know two of them (KIP-1319)."""
    return ErrorCode.ILLEGAL_GENERATION if error in _SINCE_6 and request.version < _NAMED_SINCE else error


def end(partition: Partition, call: CallToken, request: WriteTxnMarkersRequest) -> None:
    """Append the control records of transactions that end; each takes effect with its append.

    The request names this partition only; it is answered when the last of them is committed.
    """
    for marker in request.markers:
        producer = Producer(marker.producer_id, marker.producer_epoch)
        record = TransactionEnd(producer, marker.committed, marker.coordinator_epoch)
        partition.append((record,), within_ms=_MARKER_TIMEOUT_MS)
    if partition.op.differences.append_errors_by_kind:
        partition.op.when_written(MarkersStored(call, request))
    else:
        partition.op.reply_when_written(call, request, refusal(request, ErrorCode.NONE))


@frozen(eq=False)
class MarkersStored:
    """The end of the append of control records, up to 3.9: the transaction coordinator gets the log's own error."""

    call: CallToken
    request: WriteTxnMarkersRequest

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        op.reply(self.call, refusal(self.request, error or ErrorCode.NONE))
