"""Appends to partitions led here: of producers (Produce), and of this broker's own coordinators.

A producer chooses what it waits for: nothing (`acks` 0: answered only when something was refused, whereupon the broker
closes the connection), the leader's log (1), or every in-sync
replica (-1, "all"). Only the last asks whether there are `min.insync.replicas`: before the append, and again when the
high watermark has passed it. A batch that an idempotent producer sends again is answered with the offset it got the
first time. A timeout takes nothing back: the records stay, and may be committed a moment later.

A group coordinator's append is like acks=1, then waits for the high watermark without end; its own timers give up on
it. `min.insync.replicas` is not asked, but the high watermark does not move while there are fewer. What a transaction
coordinator writes, and the markers it has others write, is like acks=all, `min.insync.replicas` and timeout included.

Source: `ReplicaManager.appendRecords`, `DelayedProduce`, `CoordinatorPartitionWriter`,
`TransactionStateManager.appendTransactionToLog`, `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groupsim.cluster.log.log import LogRefused
from groupsim.cluster.log.markers import marker_of
from groupsim.cluster.replica.broker_replicas import Station
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

ALL, LEADER, NOBODY = -1, 1, 0
# Members of an enumeration are found slowly, and these are asked for with every batch.
_NONE, _APPENDED = ErrorCode.NONE, Kind.RECORDS_APPENDED
_WITHOUT_START = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE})
"""Errors of which Kafka tells no start of the log."""
ADMIN_CLIENT = "__admin_client"
"""The one client id that may write to internal topics."""


def produce(
    station: Station, request: ProduceRequest, client_id: str, answer: Callable[[ProduceResponse], None]
) -> None:
    """Carry out a Produce."""
    if request.acks not in (ALL, LEADER, NOBODY):
        refused = (Produced(name, ErrorCode.INVALID_REQUIRED_ACKS) for name in partitions_of(request))
        answer(ProduceResponse(tuple(refused)))
        return
    results: list[Produced] = []
    written: list[tuple[int, Leadership, int]] = []
    for index, (name, batch) in enumerate(request.batches):
        result, lead = _append_one(station, name, batch, request.acks, client_id)
        results.append(result)
        if lead is not None:
            written.append((index, lead, result.base_offset + batch.count))
    if request.unfit:
        results.extend(_refused(station, unfit, request.acks, client_id) for unfit in request.unfit)
    if request.acks == ALL and written:
        _wait(station, request, results, written, answer)
    elif request.acks != NOBODY or any(result.error for result in results):
        answer(ProduceResponse(tuple(results)))
    for _, lead, _ in written:
        lead.tell()


def _wait(
    station: Station,
    request: ProduceRequest,
    results: list[Produced],
    written: list[tuple[int, Leadership, int]],
    answer: Callable[[ProduceResponse], None],
) -> None:
    parked = ParkedProduce(station.trace, results, answer)
    for index, _, _ in written:
        parked.wait(index)
    for index, lead, end in written:
        lead.wait_for(end, parked, index)
    if not parked.done:
        station.lanes.add(request.timeout_ms * 1_000, parked)


def _hindrance(station: Station, name: TopicPartition, acks: int, client_id: str) -> Produced | None:
    """Why nothing can be appended to a partition, whatever it is."""
    error = station.refusal(name, NO_LEADER_EPOCH, leader_only=True)
    if error:
        hint = station.leader_of(name) if error is ErrorCode.NOT_LEADER_OR_FOLLOWER else None
        return Produced(name, error, current_leader=hint)
    hosted = station.partitions[name]
    if hosted.internal and client_id != ADMIN_CLIENT:
        return Produced(name, ErrorCode.INVALID_TOPIC_EXCEPTION)
    lead = hosted.lead
    if acks == ALL and lead is not None and lead.under_min_isr:
        return Produced(name, ErrorCode.NOT_ENOUGH_REPLICAS)
    return None


def _refused(station: Station, unfit: Unfit, acks: int, client_id: str) -> Produced:
    """The answer for what is no batch to be appended; where nothing could be, that is told instead."""
    name = unfit.partition
    if unfit.early:
        known = not name.topic or station.image.partition(name) is not None
        return Produced(name, unfit.error if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    hindrance = _hindrance(station, name, acks, client_id)
    if hindrance is not None:
        return hindrance
    corrupt = unfit.error is ErrorCode.CORRUPT_MESSAGE
    return Produced(name, unfit.error, log_start_offset=-1 if corrupt else station.partitions[name].log.start_offset)


def _append_one(
    station: Station, name: TopicPartition, batch: Batch, acks: int, client_id: str
) -> tuple[Produced, Leadership | None]:
    hindrance = _hindrance(station, name, acks, client_id)
    if hindrance is not None:
        return hindrance, None
    hosted = station.partitions[name]
    lead, log = hosted.lead, hosted.log
    assert lead is not None
    end = log.end_offset
    try:
        placed = lead.append((batch,))[0]
    except LogRefused as refused:
        return _rejected(name, refused, log.start_offset), None
    if log.end_offset != end and not hosted.internal:
        _told(station, name, placed, client_id)
    time = placed.max_timestamp_ms if log.config.log_append_time else -1
    return Produced(name, _NONE, placed.base_offset, time, log.start_offset), lead


def _rejected(name: TopicPartition, refused: LogRefused, start: int) -> Produced:
    """What a producer is told of a batch that the log does not take."""
    partition = f"{name.topic}-{name.partition}"
    told = None if refused.client_message is None else refused.client_message.replace("{partition}", partition)
    records = tuple((number, words.replace("{partition}", partition)) for number, words in refused.records)
    start = -1 if refused.error in _WITHOUT_START else start
    return Produced(name, refused.error, log_start_offset=start, message=told, record_errors=records)


def _told(station: Station, name: TopicPartition, placed: Batch, client_id: str) -> None:
    trace = station.trace
    if not trace.wants(_APPENDED):
        return
    told = {"base": placed.base_offset, "count": placed.count, "epoch": placed.leader_epoch, "producer": client_id}
    if placed.is_transactional:
        told["transaction"] = placed.producer_id
    trace.emit_of_partition(_APPENDED, station.host.name, None, None, None, name, told)


def _tell_markers(station: Station, name: TopicPartition, placed: Sequence[Batch]) -> None:
    """What coordinators write to others' topics ends transactions: records that nobody is given."""
    trace = station.trace
    if not trace.wants(Kind.RECORDS_APPENDED) or station.partitions[name].internal:
        return
    for batch in placed:
        marker = marker_of(batch) if batch.is_control else None
        if marker is not None:
            told = {"base": batch.base_offset, "count": batch.count, "epoch": batch.leader_epoch}
            ended = {"transaction": batch.producer_id, "marker": "commit" if marker.committed else "abort"}
            trace.emit_of_partition(Kind.RECORDS_APPENDED, station.host.name, None, None, None, name, {**told, **ended})


def append(
    station: Station,
    name: TopicPartition,
    batches: Sequence[Batch],
    done: Callable[[ErrorCode | None], None],
    on_appended: Callable[[int], None] | None,
    on_refused: Callable[[ErrorCode], None] | None,
    timeout_ms: int | None,
) -> None:
    """Carry out a coordinator's append; `done` is called later, as an append result, the other two at once.

    With a timeout it is one with acks=all, without one a group coordinator's.
    """
    lead, placed, error = _append_own(station, name, batches, ask_min_isr=timeout_ms is not None)
    if error and on_refused is not None:
        on_refused(error)
        return
    if error or lead is None:
        station.host.call_at(station.loop.now_us, done, error, order=Order.APPEND)
        return
    if on_appended is not None:
        on_appended(placed[0].base_offset)
    parked = ParkedAppend(station.loop, station.host, done, strict=timeout_ms is not None)
    lead.wait_for(placed[-1].next_offset, parked, 0)
    if timeout_ms is not None and not parked.done:
        station.lanes.add(timeout_ms * 1_000, parked)
    lead.tell()


def _append_own(
    station: Station, name: TopicPartition, batches: Sequence[Batch], *, ask_min_isr: bool
) -> tuple[Leadership | None, tuple[Batch, ...], ErrorCode]:
    error = station.refusal(name, NO_LEADER_EPOCH, leader_only=True)
    if error:
        return None, (), error
    lead = station.partitions[name].lead
    assert lead is not None
    if ask_min_isr and lead.under_min_isr:
        return lead, (), ErrorCode.NOT_ENOUGH_REPLICAS
    try:
        placed = lead.append(batches)
    except LogRefused as refused:
        return lead, (), refused.error
    _tell_markers(station, name, placed)
    return lead, placed, _NONE
