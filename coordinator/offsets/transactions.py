"""Offsets committed inside a producer's transaction (KIP-98), fenced by the group's generation (KIP-447).

    TxnOffsetCommit        the offsets are written as the producer's records, and are pending
    end of a transaction   the transaction's coordinator has this partition's leader write a control record; with it the
                           producer's pending offsets become committed, or are gone

Meanwhile a stable OffsetFetch answers UNSTABLE_OFFSET_COMMIT for these partitions, nothing of them expires, and the
group is not deleted for want of offsets; an administrator may delete it, pending offsets and all.

Whether the producer may write at all (its epoch, its transaction) is the log's business, which refuses the append.

Source: `OffsetMetadataManager.commitTransactionalOffset`, `CoordinatorRuntime.completeTransaction`; classic-protocol
reference, 1.8.
"""

from __future__ import annotations

from attrs import frozen

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.records import OffsetValue, Producer, TransactionEnd, whole_ms
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.offsets import retention
from groupsim.coordinator.offsets.requests import answer_commit, unknown_group, write
from groupsim.coordinator.partition.state import Partition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.messages.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
)

_GROUP_NOT_FOUND_VERSION = 6
_MARKER_TIMEOUT_MS = 30_000
"""How long a broker up to 3.9 waits for control records: its `request.timeout.ms`, at the default."""


def commit(partition: Partition, call: CallToken, request: TxnOffsetCommitRequest) -> None:
    """Handle a TxnOffsetCommit; partitions of unknown topics were sorted out before. No session is prolonged."""
    turn = partition.turn
    group = partition.groups.get(request.group_id)
    if group is None:
        error = unknown_group(request, _GROUP_NOT_FOUND_VERSION)
    else:
        error = group.txn_commit_error(turn, request)
    if error is not None:
        turn.reply(call, refusal(request, error))
        return
    if group is None:
        partition.add_simple_group(request.group_id)
        retention.arm(partition)
    now_us = whole_ms(turn.now_us)
    values = [
        (entry.partition, OffsetValue(entry.offset, entry.leader_epoch, entry.metadata, now_us))
        for entry in request.offsets
    ]
    producer = Producer(request.producer_id, request.producer_epoch)
    results = write(partition, request.group_id, values, producer, created=group is None)
    answer_commit(partition, call, request, TxnOffsetCommitResponse, results)


def end(partition: Partition, call: CallToken, request: WriteTxnMarkersRequest) -> None:
    """Write the control records of transactions that end; each takes effect as it is appended.

    The request names this partition only; it is answered when the last of them is committed.
    """
    for marker in request.markers:
        producer = Producer(marker.producer_id, marker.producer_epoch)
        record = TransactionEnd(producer, marker.committed, marker.coordinator_epoch)
        partition.append((record,), within_ms=_MARKER_TIMEOUT_MS)
    if partition.turn.differences.append_errors_by_kind:
        partition.turn.when_written(MarkersStored(call, request))
    else:
        partition.turn.reply_when_written(call, request, refusal(request, ErrorCode.NONE))


@frozen(eq=False)
class MarkersStored:
    """The control records up to 3.9 are written, or could not be: the transaction's coordinator is told as it is."""

    call: CallToken
    request: WriteTxnMarkersRequest

    def __call__(self, turn: Turn, error: ErrorCode | None) -> None:
        turn.reply(self.call, refusal(self.request, error or ErrorCode.NONE))
