"""DeleteRecords: raises the log start offset on every live replica.

The leader raises its log start offset at once, and answers when all live followers have done so too: their fetches
carry their log start offsets. The lowest of these is the *low watermark*. Records below the start are no longer served;
their segments are deleted by the next retention check.

Source: `ReplicaManager.deleteRecords`, `DelayedDeleteRecords`, `Partition.lowWatermarkIfLeader`; KIP-107.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupsim.cluster.log.errors import OffsetOutOfRange
from groupsim.cluster.replica.broker_replicas import BrokerReplicas
from groupsim.cluster.replica.partition import HostedPartition
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import NO_LEADER_EPOCH
from groupsim.protocol.messages.operator import (
    HIGH_WATERMARK,
    NO_WATERMARK,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
)

_INTERNAL: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
Result = tuple[ErrorCode, int]


def delete_records(
    local: BrokerReplicas, request: DeleteRecordsRequest, answer: Callable[[DeleteRecordsResponse], None]
) -> None:
    """Handle a DeleteRecords; answer when every low watermark has reached its offset, or at the timeout."""
    parked = ParkedDeletion(local, answer)
    for partition, offset in request.offsets:
        parked.add(partition, *_advance_start(local, partition, offset))
    if not parked.check():
        local.deadlines.add(max(request.timeout_ms, 1) * 1_000, parked)


def _advance_start(local: BrokerReplicas, partition: TopicPartition, offset: int) -> tuple[ErrorCode, int]:
    """Raise the start offset of the leader's log; return an error, and the offset to be reached."""
    if local.image.partition(partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, offset
    if partition.topic in _INTERNAL:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, offset
    error = local.refusal(partition, NO_LEADER_EPOCH, leader_only=True)
    if error:
        return error, offset
    hosted = local.partitions[partition]
    # A topic that is only compacted refuses the request (`Partition.deleteRecordsOnLeader`).
    if not hosted.log.config.delete:
        return ErrorCode.POLICY_VIOLATION, offset
    if offset == HIGH_WATERMARK:
        offset = hosted.log.high_watermark
    try:
        if offset < 0:
            return ErrorCode.OFFSET_OUT_OF_RANGE, offset
        if hosted.log.advance_start(offset) and hosted.lead is not None:
            hosted.lead.start_moved()
            local.maintenance.schedule(hosted)
    except OffsetOutOfRange:
        return ErrorCode.OFFSET_OUT_OF_RANGE, offset
    return ErrorCode.NONE, offset


def low_watermark(hosted: HostedPartition) -> int:
    """Return the lowest log start offset of the live replicas, on the leader."""
    lead, image = hosted.lead, hosted.local.image
    assert lead is not None
    starts = (replica.start_offset for node, replica in lead.followers.items() if image.is_up(node))
    return min((hosted.log.start_offset, *starts))


class ParkedDeletion:
    """A DeleteRecords: the results by partition, and the offsets that are still to be reached."""

    __slots__ = ("_answer", "_cause", "_local", "_results", "_waiting", "done")

    def __init__(self, local: BrokerReplicas, answer: Callable[[DeleteRecordsResponse], None]) -> None:
        self._local = local
        self._cause = local.trace.cause
        self._answer = answer
        self._results: dict[TopicPartition, Result] = {}
        self._waiting: dict[TopicPartition, int] = {}
        self.done = False

    def add(self, partition: TopicPartition, error: ErrorCode, offset: int) -> None:
        """Add a partition with the offset to be reached, or with its error."""
        self._results[partition] = error, NO_WATERMARK
        if not error:
            self._waiting[partition] = offset
            self._results[partition] = ErrorCode.REQUEST_TIMED_OUT, low_watermark(self._local.partitions[partition])
            lead = self._local.partitions[partition].lead
            assert lead is not None
            lead.deletions[self] = None

    def check(self) -> bool:
        """Settle the partitions that have reached their offsets; return whether the request was answered."""
        for partition, offset in tuple(self._waiting.items()):
            hosted = self._local.partitions.get(partition)
            if hosted is None:  # deleted, or moved to other brokers
                self._settle(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_WATERMARK)
            elif hosted.lead is None:
                self._settle(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER, NO_WATERMARK)
            elif (low := low_watermark(hosted)) >= offset:
                self._settle(partition, ErrorCode.NONE, low)
        if not self._waiting and not self.done:
            self._finish()
        return self.done

    def _settle(self, partition: TopicPartition, error: ErrorCode, low: int) -> None:
        del self._waiting[partition]
        self._results[partition] = error, low
        hosted = self._local.partitions.get(partition)
        if hosted is not None and hosted.lead is not None:
            hosted.lead.deletions.pop(self, None)

    def expire(self) -> None:
        """Answer with REQUEST_TIMED_OUT for the rest; as in Kafka, the low watermarks are those of the request."""
        for partition in tuple(self._waiting):
            self._settle(partition, *self._results[partition])
        self._finish()

    def _finish(self) -> None:
        self.done = True
        trace = self._local.trace
        before, trace.cause = trace.cause, self._cause
        self._answer(DeleteRecordsResponse(tuple((name, *result) for name, result in self._results.items())))
        trace.cause = before
