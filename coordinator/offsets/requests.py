"""OffsetCommit, OffsetFetch and OffsetDelete.

Source: `OffsetMetadataManager`; classic-protocol reference, 1.7, 1.9 and 1.11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.failures import offsets_append_error
from groupsim.coordinator.base.group_kind import Group
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.records import OffsetRecord, OffsetValue, Producer, Record, whole_ms
from groupsim.coordinator.classic.entry_points import simple_group
from groupsim.coordinator.offsets import retention
from groupsim.coordinator.partition.admission import Decision, decide, refused
from groupsim.coordinator.partition.state import NOTHING_LEFT, Partition
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    FetchedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Response,
    TopicPartition,
)
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest
from groupsim.protocol.values import define

_RETENTION_VERSIONS = range(2, 5)
Results: TypeAlias = tuple[tuple[TopicPartition, ErrorCode], ...]
_NONE = ErrorCode.NONE  # looked up once: access to a member of an enumeration is slow

# --- OffsetCommit ----------------------------------------------------------------------------------------------------


def commit(partition: Partition, call: CallToken, request: OffsetCommitRequest) -> None:
    """Handle an OffsetCommit; partitions of unknown topics are refused by the service."""
    op = partition.op
    group = partition.groups.get(request.group_id)
    decision = decide(request, group, op.differences)
    error = group.commit_error(op, request) if group is not None and decision is Decision.ANSWER else decision
    if isinstance(error, ErrorCode):
        op.reply(call, refusal(request, error))
        return
    if decision is Decision.CREATE_SIMPLE:
        create_simple(partition, request.group_id)
    now_us = whole_ms(op.now_us)
    expire_us = _expire_us(request, now_us)
    values = [
        (entry.partition, OffsetValue(entry.offset, entry.leader_epoch, entry.metadata, now_us, expire_us))
        for entry in request.offsets
    ]
    results = write(partition, request.group_id, values, created=group is None)
    answer_commit(partition, call, request, OffsetCommitResponse, results)


def create_simple(partition: Partition, group_id: str) -> None:
    """Create a group of offsets only."""
    partition.groups.add(simple_group(group_id, partition.op.now_us))
    retention.schedule(partition)


def write(
    partition: Partition,
    group_id: str,
    values: Sequence[tuple[TopicPartition, OffsetValue]],
    producer: Producer | None = None,
    *,
    created: bool,
) -> Results:
    """Append the offsets whose metadata is short enough, as a producer's when one is given; return the results."""
    op = partition.op
    limit = op.config.offset_metadata_max_bytes
    results, records = [], []
    for where, value in values:
        error = _metadata_error(value.metadata, limit) if value.metadata else _NONE
        results.append((where, error))
        if error is _NONE:
            records.append(OffsetRecord(group_id, where, value, producer))
    if records:
        if not op.differences.refused_offsets_end:
            _leave_pending(partition, group_id, results)
        partition.append(tuple(records))
    if created and op.differences.new_group_is_written:
        # Without a record of its own, readers see the group once the partition's next append is committed, whatever it
        # is.
        partition.groups.created_by(group_id, op.purgatory.last_id + (0 if records else 1))
    return tuple(results)


def _leave_pending(partition: Partition, group_id: str, results: Iterable[tuple[TopicPartition, ErrorCode]]) -> None:
    """Mark the refused offsets of a commit as under way, as Kafka did (KAFKA-16371)."""
    marked = partition.offsets.left_pending
    for where, error in results:
        marked.pop((group_id, where), None)
        if error is not _NONE:
            marked[group_id, where] = None


def answer_commit(
    partition: Partition,
    call: CallToken,
    request: OffsetCommitRequest | TxnOffsetCommitRequest,
    response: Callable[[Results], Response],
    results: Results,
) -> None:
    """Answer once the offsets are committed.

    Up to 3.9 only their own append counts, and each partition has its own error (`maybeConvertOffsetCommitError`).
    """
    op = partition.op
    if not op.differences.append_errors_by_kind:
        op.reply_when_written(call, request, response(results))
    elif any(error is _NONE for _, error in results):
        op.when_written(OffsetsStored(call, response, results))
    else:
        op.reply(call, response(results))


@define(eq=False)
class OffsetsStored:
    """The end of the append of a commit's offsets, up to 3.9."""

    call: CallToken
    response: Callable[[Results], Response]
    results: Results

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        results = self.results
        if error is not None:
            client_error = offsets_append_error(error)
            results = tuple((where, client_error if one is _NONE else one) for where, one in results)
        op.reply(self.call, self.response(results))


def _metadata_error(text: str, limit: int) -> ErrorCode:
    """Return OFFSET_METADATA_TOO_LARGE for a metadata text that is too long, counted in UTF-16 units as in Java."""
    too_long = 2 * len(text) > limit and len(text.encode("utf-16-le", "surrogatepass")) // 2 > limit
    return ErrorCode.OFFSET_METADATA_TOO_LARGE if too_long else ErrorCode.NONE


def _expire_us(request: OffsetCommitRequest, now_us: int) -> int | None:
    """Return the expiry time of the offsets of a commit with its own retention; None without one.

    Kafka adds in 64 bits: the sum for the longest retention is in the past, and an end at the millisecond -1 means
    none.
    """
    if request.version not in _RETENTION_VERSIONS or request.retention_time_ms == -1:
        return None
    end_ms = (EPOCH_MS + now_us // 1_000 + request.retention_time_ms + 2**63) % 2**64 - 2**63
    return None if end_ms == -1 else 1_000 * (end_ms - EPOCH_MS)


# --- OffsetFetch -----------------------------------------------------------------------------------------------------


def fetch(partition: Partition, call: CallToken, request: OffsetFetchRequest) -> None:
    """Handle an OffsetFetch. A stable one reads everything appended, and its answer waits until that is committed.

    The Scala coordinator always read committed offsets; from 2.5 on it marked the unstable ones in a stable fetch.
    """
    op = partition.op
    store, groups = partition.offsets, partition.groups
    appended = request.require_stable and op.differences.answers_wait_for_writes
    group = groups.get(request.group_id) if appended else groups.get_committed(request.group_id)
    # An unknown group is no error: it has no offset for any partition (`OffsetMetadataManager.fetchOffsets`).
    answered = decide(request, group, op.differences) is Decision.ANSWER and group is not None and not group.is_dead
    refused = group.fetch_error(request, committed=not appended) if answered and group is not None else None
    if refused is not None:
        op.reply(call, refusal(request, refused))
        return
    table = (store.latest if appended else store.committed)(request.group_id) if answered else {}
    unstable = _unstable(partition, request)
    requested = sorted(table) if request.partitions is None else request.partitions
    if unstable is None:
        offsets = [_fetched(tp, table.get(tp)) for tp in requested]
    else:
        offsets = [_withheld(tp) if unstable(tp) else _fetched(tp, table.get(tp)) for tp in requested]
    response = OffsetFetchResponse(_NONE, tuple(offsets))
    if appended:
        op.reply_when_written(call, request, response)
    else:
        op.reply(call, response)


def _unstable(partition: Partition, request: OffsetFetchRequest) -> Callable[[TopicPartition], bool] | None:
    """Return the test for offsets that a stable fetch withholds: a transaction, or a replication, is under way."""
    if not request.require_stable:
        return None
    store, group_id = partition.offsets, request.group_id
    held = store.view.held(group_id)
    if partition.op.differences.unstable_plain_commits or store.left_pending:
        open_still = store.committed_view.held(group_id)  # transactions whose end is not committed
        return lambda tp: tp in held or tp in open_still or store.in_flight(group_id, tp)
    return held.__contains__ if held else None


def _withheld(partition: TopicPartition) -> FetchedOffset:
    return FetchedOffset(partition, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)


def _fetched(partition: TopicPartition, value: OffsetValue | None) -> FetchedOffset:
    if value is None:
        return FetchedOffset(partition)
    return FetchedOffset(partition, value.offset, value.leader_epoch, value.metadata)


# --- OffsetDelete ----------------------------------------------------------------------------------------------------


def delete_offsets(partition: Partition, call: CallToken, request: OffsetDeleteRequest) -> None:
    """Handle an OffsetDelete (KIP-496); offsets of topics with a subscription in the group are refused."""
    op = partition.op
    group = partition.groups.get(request.group_id)
    error = refused(request, group, op.differences)
    if error is not None:
        op.reply(call, OffsetDeleteResponse(error))
        return
    if group is None or group.is_dead:
        op.reply(call, OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND))
        return
    if not group.is_empty and not group.is_consumer:
        op.reply(call, OffsetDeleteResponse(ErrorCode.NON_EMPTY_GROUP))
        return
    results = tuple((tp, _delete_error(group, tp)) for tp in request.partitions)
    stored = partition.offsets.latest(request.group_id)
    pending = partition.offsets.view.held(request.group_id)
    records: tuple[Record, ...] = tuple(
        OffsetRecord(request.group_id, tp, None)
        for tp, error in results
        if error is ErrorCode.NONE and (tp in stored or tp in pending)
    )
    # The Scala coordinator also deleted an Empty group without offsets; the Java one leaves that to the next cleanup.
    if _is_last(group, request, stored, pending) and op.differences.offset_delete_ends_group:
        payload = {"offsets": len(records), "generation": group.generation}
        op.emit_by_id(Kind.GROUP_DELETED, request.group_id, reason=NOTHING_LEFT, payload=payload)
        records = (*records, *group.tombstones())
    if records:
        partition.delete(records)
    op.reply_when_deleted(call, request, OffsetDeleteResponse(ErrorCode.NONE, results))


def _is_last(
    group: Group, request: OffsetDeleteRequest, stored: Iterable[TopicPartition], pending: Iterable[TopicPartition]
) -> bool:
    """Whether a group without members has no offset after the request, or had none before."""
    return bool(group.is_empty and request.partitions and not [*pending] and {*stored} <= {*request.partitions})


def _delete_error(group: Group, partition: TopicPartition) -> ErrorCode:
    subscribed = not group.is_empty and group.is_subscribed(partition.topic)
    return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE


def topic_deleted(partition: Partition, topic: str) -> None:
    """Delete the offsets of a deleted topic, pending ones too, whatever the state of their groups.

    A pending offset has a tombstone of its own, also beside one of the committed offset.
    """
    store, groups = partition.offsets, partition.offsets.groups()
    gone = [(group_id, tp) for group_id in groups for tp in sorted(store.latest(group_id))]
    pending = [(producer, group_id, tp) for group_id in groups for producer, tp, _ in store.view.pending(group_id)]
    gone += [(group_id, tp) for _, group_id, tp in sorted(pending)]
    records = tuple(OffsetRecord(group_id, tp, None) for group_id, tp in gone if tp.topic == topic)
    if records:
        partition.delete(records)
