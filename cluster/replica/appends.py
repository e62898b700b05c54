"""Appends of producers (Produce) and of this broker's coordinators to partitions with their leader on this broker.

`acks` selects when a Produce is answered: 1 after the append to the leader's log, -1 ("all") when every in-sync replica
has the records. With `acks` 0 there is no response, and a refused batch closes the connection. Only `acks` -1 checks
`min.insync.replicas`: before the append, and again when the high watermark has passed the records. A duplicate of an
idempotent producer is answered with its first offset. After a timeout the records stay in the log, and may be committed
later.

A group coordinator's append is like acks=1, and then waits for the high watermark without a timeout, because the
coordinator has its own timers. It does not check `min.insync.replicas`, but the high watermark does not advance with
fewer in-sync replicas. Appends of a transaction coordinator, and its markers, are like acks=all: with
`min.insync.replicas` and timeout.

Source: `ReplicaManager.appendRecords`, `DelayedProduce`, `CoordinatorPartitionWriter`,
`TransactionStateManager.appendTransactionToLog`, `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groupsim.cluster.log.log import LogRefused
from groupsim.cluster.log.markers import marker_of
from groupsim.cluster.replica.broker_replicas import BrokerReplicas
from groupsim.cluster.replica.leader import Leadership
from groupsim.cluster.replica.purgatory import ParkedAppend, ParkedProduce
from groupsim.eventloop.interface import Order
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    NO_LEADER_EPOCH,
    Produced,
    ProduceRequest,
    ProduceResponse,
    Unfit,
    partitions_of,
)

ALL, LEADER, NO_ACKS = -1, 1, 0
# Looked up once: access to a member of an enumeration is slow, and every batch needs these.
_NONE, _APPENDED = ErrorCode.NONE, Kind.RECORDS_APPENDED
_WITHOUT_START = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE})
"""Errors whose response has no log start offset in Kafka."""
ADMIN_CLIENT = "__admin_client"
"""The only client id that may write to internal topics (`KafkaApis.handleProduceRequest`)."""


def produce(
    local: BrokerReplicas, request: ProduceRequest, client_id: str, answer: Callable[[ProduceResponse], None]
) -> None:
    """Handle a Produce."""
    if request.acks not in (ALL, LEADER, NO_ACKS):
        refused = (Produced(name, ErrorCode.INVALID_REQUIRED_ACKS) for name in partitions_of(request))
        answer(ProduceResponse(tuple(refused)))
        return
    results: list[Produced] = []
    written: list[tuple[int, Leadership, int]] = []
    for index, (name, batch) in enumerate(request.batches):
        result, lead = _append_one(local, name, batch, request.acks, client_id)
        results.append(result)
        if lead is not None:
            written.append((index, lead, result.base_offset + batch.count))
    if request.unfit:
        results.extend(_refused(local, unfit, request.acks, client_id) for unfit in request.unfit)
    if request.acks == ALL and written:
        _wait(local, request, results, written, answer)
    elif request.acks != NO_ACKS or any(result.error for result in results):
        answer(ProduceResponse(tuple(results)))
    for _, lead, _ in written:
        lead.notify_appended()


def _wait(
    local: BrokerReplicas,
    request: ProduceRequest,
    results: list[Produced],
    written: list[tuple[int, Leadership, int]],
    answer: Callable[[ProduceResponse], None],
) -> None:
    parked = ParkedProduce(local.trace, results, answer)
    for index, _, _ in written:
        parked.wait(index)
    for index, lead, end in written:
        lead.wait_for(end, parked, index)
    if not parked.done:
        local.deadlines.add(request.timeout_ms * 1_000, parked)


def _refusal(local: BrokerReplicas, name: TopicPartition, acks: int, client_id: str) -> Produced | None:
    """Return the refusal of any append to a partition; None if appends are possible."""
    error = local.refusal(name, NO_LEADER_EPOCH, leader_only=True)
    if error:
        hint = local.leader_of(name) if error is ErrorCode.NOT_LEADER_OR_FOLLOWER else None
        return Produced(name, error, current_leader=hint)
    hosted = local.partitions[name]
    if hosted.internal and client_id != ADMIN_CLIENT:
        return Produced(name, ErrorCode.INVALID_TOPIC_EXCEPTION)
    lead = hosted.lead
    if acks == ALL and lead is not None and lead.under_min_isr:
        return Produced(name, ErrorCode.NOT_ENOUGH_REPLICAS)
    return None


def _refused(local: BrokerReplicas, unfit: Unfit, acks: int, client_id: str) -> Produced:
    """Return the result of data that is not a valid batch; a refusal of the partition comes first."""
    name = unfit.partition
    if unfit.early:
        known = not name.topic or local.image.partition(name) is not None
        return Produced(name, unfit.error if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refusal = _refusal(local, name, acks, client_id)
    if refusal is not None:
        return refusal
    corrupt = unfit.error is ErrorCode.CORRUPT_MESSAGE
    return Produced(name, unfit.error, log_start_offset=-1 if corrupt else local.partitions[name].log.start_offset)


def _append_one(
    local: BrokerReplicas, name: TopicPartition, batch: Batch, acks: int, client_id: str
) -> tuple[Produced, Leadership | None]:
    refusal = _refusal(local, name, acks, client_id)
    if refusal is not None:
        return refusal, None
    hosted = local.partitions[name]
    lead, log = hosted.lead, hosted.log
    assert lead is not None
    end = log.end_offset
    try:
        placed = lead.append((batch,))[0]
    except LogRefused as refused:
        return _rejected(name, refused, log.start_offset), None
    if log.end_offset != end and not hosted.internal:
        _emit_appended(local, name, placed, client_id)
    time = placed.max_timestamp_ms if log.config.log_append_time else -1
    return Produced(name, _NONE, placed.base_offset, time, log.start_offset), lead


def _rejected(name: TopicPartition, refused: LogRefused, start: int) -> Produced:
    """Return the result of a batch that the log refused."""
    partition = f"{name.topic}-{name.partition}"
    message = None if refused.client_message is None else refused.client_message.replace("{partition}", partition)
    records = tuple((number, words.replace("{partition}", partition)) for number, words in refused.records)
    start = -1 if refused.error in _WITHOUT_START else start
    return Produced(name, refused.error, log_start_offset=start, message=message, record_errors=records)


def _emit_appended(local: BrokerReplicas, name: TopicPartition, placed: Batch, client_id: str) -> None:
    trace = local.trace
    if not trace.wants(_APPENDED):
        return
    payload = {"base": placed.base_offset, "count": placed.count, "epoch": placed.leader_epoch, "producer": client_id}
    if placed.is_transactional:
        payload["transaction"] = placed.producer_id
    trace.emit_of_partition(_APPENDED, local.host.name, None, None, None, name, payload)


def _emit_markers(local: BrokerReplicas, name: TopicPartition, placed: Sequence[Batch]) -> None:
    """Emit the transaction markers written to topics of users."""
    trace = local.trace
    if not trace.wants(Kind.RECORDS_APPENDED) or local.partitions[name].internal:
        return
    for batch in placed:
        marker = marker_of(batch) if batch.is_control else None
        if marker is not None:
            written = {"base": batch.base_offset, "count": batch.count, "epoch": batch.leader_epoch}
            ended = {"transaction": batch.producer_id, "marker": "commit" if marker.committed else "abort"}
            payload = {**written, **ended}
            trace.emit_of_partition(Kind.RECORDS_APPENDED, local.host.name, None, None, None, name, payload)


def append(
    local: BrokerReplicas,
    name: TopicPartition,
    batches: Sequence[Batch],
    done: Callable[[ErrorCode | None], None],
    on_appended: Callable[[int], None] | None,
    on_refused: Callable[[ErrorCode], None] | None,
    timeout_ms: int | None,
) -> None:
    """Append for a coordinator; `done` is called later, as an append result, the other two callbacks at once.

    With a timeout the append is like acks=all; without one it is a group coordinator's.
    """
    lead, placed, error = _append_own(local, name, batches, ask_min_isr=timeout_ms is not None)
    if error and on_refused is not None:
        on_refused(error)
        return
    if error or lead is None:
        local.host.call_at(local.loop.now_us, done, error, order=Order.APPEND)
        return
    if on_appended is not None:
        on_appended(placed[0].base_offset)
    parked = ParkedAppend(local.loop, local.host, done, strict=timeout_ms is not None)
    lead.wait_for(placed[-1].next_offset, parked, 0)
    if timeout_ms is not None and not parked.done:
        local.deadlines.add(timeout_ms * 1_000, parked)
    lead.notify_appended()


def _append_own(
    local: BrokerReplicas, name: TopicPartition, batches: Sequence[Batch], *, ask_min_isr: bool
) -> tuple[Leadership | None, tuple[Batch, ...], ErrorCode]:
    error = local.refusal(name, NO_LEADER_EPOCH, leader_only=True)
    if error:
        return None, (), error
    lead = local.partitions[name].lead
    assert lead is not None
    if ask_min_isr and lead.under_min_isr:
        return lead, (), ErrorCode.NOT_ENOUGH_REPLICAS
    try:
        placed = lead.append(batches)
    except LogRefused as refused:
        return lead, (), refused.error
    _emit_markers(local, name, placed)
    return lead, placed, _NONE
