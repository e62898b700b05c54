"""DeleteRecords: a log begins later, on every replica that is up.

The leader lets its log begin at the offset at once, and answers when the followers that are up have heard of it: each
says with its fetches where its own log begins. The lowest of these is the *low watermark*. What lies below is not
served any more; the segments go when retention next looks.

Source: `ReplicaManager.deleteRecords`, `DelayedDeleteRecords`, `Partition.lowWatermarkIfLeader`; KIP-107.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupsim.cluster.log.errors import OffsetOutOfRange
from groupsim.cluster.replica.broker_replicas import Station
from groupsim.cluster.replica.partition import Hosted
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
    station: Station, request: DeleteRecordsRequest, answer: Callable[[DeleteRecordsResponse], None]
) -> None:
    """Do it; answered when every log has come so far, or the request's time is over."""
    parked = ParkedDeletion(station, answer)
    for partition, offset in request.offsets:
        parked.add(partition, *_begun(station, partition, offset))
    if not parked.look():
        station.lanes.add(max(request.timeout_ms, 1) * 1_000, parked)


def _begun(station: Station, partition: TopicPartition, offset: int) -> tuple[ErrorCode, int]:
    """Let the leader's log begin there. Returns an error, and the offset that is to be reached."""
    if station.image.partition(partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, offset
    if partition.topic in _INTERNAL:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, offset
    error = station.refusal(partition, NO_LEADER_EPOCH, leader_only=True)
    if error:
        return error, offset
    hosted = station.partitions[partition]
    if not hosted.log.config.delete:
        return ErrorCode.POLICY_VIOLATION, offset
    if offset == HIGH_WATERMARK:
        offset = hosted.log.high_watermark
    try:
        if offset < 0:
            return ErrorCode.OFFSET_OUT_OF_RANGE, offset
        if hosted.log.advance_start(offset) and hosted.lead is not None:
            hosted.lead.start_moved()
            station.upkeep.look(hosted)
    except OffsetOutOfRange:
        return ErrorCode.OFFSET_OUT_OF_RANGE, offset
    return ErrorCode.NONE, offset


def low_watermark(hosted: Hosted) -> int:
    """Where the log begins on every replica that is up; for a log that is led here."""
    lead, image = hosted.lead, hosted.station.image
    assert lead is not None
    starts = (replica.start_offset for node, replica in lead.followers.items() if image.is_up(node))
    return min((hosted.log.start_offset, *starts))


class ParkedDeletion:
    """A DeleteRecords: what became of each partition, and which offsets are still to be reached."""

    __slots__ = ("_answer", "_cause", "_results", "_station", "_waiting", "done")

    def __init__(self, station: Station, answer: Callable[[DeleteRecordsResponse], None]) -> None:
        self._station = station
        self._cause = station.trace.cause
        self._answer = answer
        self._results: dict[TopicPartition, Result] = {}
        self._waiting: dict[TopicPartition, int] = {}
        self.done = False

    def add(self, partition: TopicPartition, error: ErrorCode, offset: int) -> None:
        """One partition, and the offset it is to reach unless it was refused."""
        self._results[partition] = error, NO_WATERMARK
        if not error:
            self._waiting[partition] = offset
            self._results[partition] = ErrorCode.REQUEST_TIMED_OUT, low_watermark(self._station.partitions[partition])
            lead = self._station.partitions[partition].lead
            assert lead is not None
            lead.deletions[self] = None

    def look(self) -> bool:
        """How far are the logs? Returns whether everything is settled, and answered."""
        for partition, offset in tuple(self._waiting.items()):
            hosted = self._station.partitions.get(partition)
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
        hosted = self._station.partitions.get(partition)
        if hosted is not None and hosted.lead is not None:
            hosted.lead.deletions.pop(self, None)

    def expire(self) -> None:
        """What has not come so far by now timed out; it goes on all the same. Nobody looks again, as in Kafka."""
        for partition in tuple(self._waiting):
            self._settle(partition, *self._results[partition])
        self._finish()

    def _finish(self) -> None:
        self.done = True
        trace = self._station.trace
        before, trace.cause = trace.cause, self._cause
        self._answer(DeleteRecordsResponse(tuple((name, *result) for name, result in self._results.items())))
        trace.cause = before
