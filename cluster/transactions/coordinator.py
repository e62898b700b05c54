"""The transaction coordinator of one broker: `TransactionCoordinator`.

It has a core (`shard`) for each partition of `__transaction_state` that the broker leads, and carries out the effects
of the cores: responses, appends, markers, trace events. While a transaction is open, it checks for timed-out ones every
`transaction.abort.timed.out.transaction.cleanup.interval.ms`. A transactional id belongs to partition |hash| mod 50;
the leader of that partition is its coordinator.

A new leader loads the partition first and answers COORDINATOR_LOAD_IN_PROGRESS until then; for other partitions it
answers NOT_COORDINATOR. When it resigns, requests that wait for an append are answered with NOT_COORDINATOR, and the
next coordinator sends the markers.

Source: `TransactionCoordinator`, `TransactionStateManager`, `KafkaApis`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.cluster.config.transactions import TransactionConfig
from groupsim.cluster.controller.admin_requests import INTERNAL_TOPICS
from groupsim.cluster.transactions.descriptions import describe_transaction, list_transactions
from groupsim.cluster.transactions.effects import Append, Changed, Effect, Reply, SendMarkers
from groupsim.cluster.transactions.interfaces import NoProducerId, Topics, TransactionLog
from groupsim.cluster.transactions.markers import MarkerSender
from groupsim.cluster.transactions.records import decode_key, decode_value, encode_key, encode_value
from groupsim.cluster.transactions.shard import Shard
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import LogRecord, timestamp_ms
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import java_abs_mod
from groupsim.protocol.messages.operator import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)

if TYPE_CHECKING:
    from groupsim.coordinator.base.interfaces import Call
    from groupsim.eventloop.interface import EventLoop, Handle, Host
    from groupsim.members.interfaces import Connection

_OFFSETS_TOPIC = "__consumer_offsets"
_OF_BROKERS = 4
"""The first version of AddPartitionsToTxn that only brokers send (KIP-890)."""
_MS_US = 1_000


class _Led:
    """One partition of `__transaction_state` that this broker leads."""

    __slots__ = ("active", "epoch", "handle", "partition", "shard", "waiting")

    def __init__(self, partition: int, epoch: int, shard: Shard) -> None:
        self.partition = partition
        self.epoch = epoch
        self.shard = shard
        self.active = False
        self.handle: Handle | None = None
        self.waiting: dict[Call, None] = {}  # requests that wait for an append


class TransactionCoordinator:
    """One broker's coordinator. `handle` takes transactional requests; `elect` and `resign` change its leaderships."""

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        node: int,
        config: TransactionConfig,
        log: TransactionLog,
        topics: Topics,
        connect: Callable[[int], Connection],
        fresh_producer_id: Callable[[], int],
    ) -> None:
        self.node = node
        self.config = config
        self._loop = loop
        self._host = host
        self._log = log
        self._topics = topics
        self._fresh = fresh_producer_id
        self._led: dict[int, _Led] = {}
        self._epochs: dict[int, int] = {}
        self.markers = MarkerSender(loop, host, config, topics, connect)
        self._check: Handle | None = None
        self._check_us = 0
        self._handlers: dict[type, Callable[[Call, Any], None]] = {
            InitProducerIdRequest: self._init_producer_id,
            AddPartitionsToTxnRequest: self._add_partitions,
            AddOffsetsToTxnRequest: self._add_offsets,
            EndTxnRequest: self._end,
        }

    def handle(self, call: Call) -> None:
        """Handle a transactional request; it is answered now or later. Raises KeyError for other requests."""
        self._handlers[type(call.request)](call, call.request)

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` for a transactional id."""
        return java_abs_mod(transactional_id, self.config.num_partitions)

    # --- leadership ------------------------------------------------------------------------------------------

    def elect(self, partition: int, epoch: int, *, load_us: int = 0) -> None:
        """Load a partition that the broker leads now, which takes `load_us`. An epoch that is not newer is ignored."""
        if epoch <= self._epochs.get(partition, -1):
            return
        self._unload(partition, epoch)
        led = self._led[partition] = _Led(partition, epoch, Shard(self._fresh, self.config.max_timeout_ms))
        if load_us > 0:
            led.handle = self._host.call_at(self._loop.now_us + load_us, self._load, led)
        else:
            self._load(led)

    def resign(self, partition: int, epoch: int) -> None:
        """Unload a partition that another broker leads from `epoch` on. An epoch that is not newer is ignored."""
        if epoch > self._epochs.get(partition, -1):
            self._unload(partition, epoch)

    def _unload(self, partition: int, epoch: int) -> None:
        self._epochs[partition] = epoch
        led = self._led.pop(partition, None)
        if led is None:
            return
        if led.handle is not None:
            self._host.cancel(led.handle)
        self.markers.cancel(partition)
        for call in led.waiting:
            call.answer(refusal(call.request, ErrorCode.NOT_COORDINATOR))

    def _load(self, led: _Led) -> None:
        led.handle = None
        for record in self._log.read(led.partition):
            if record.key is not None:
                name = decode_key(record.key)
                led.shard.load(name, None if record.value is None else decode_value(name, record.value))
        led.active = True
        self._carry_out(led, led.shard.loaded(self._now_ms()))

    def stop(self) -> None:
        """Shut down: unload all partitions and close the connections."""
        for partition in list(self._led):
            self._unload(partition, self._epochs[partition])
        self.markers.close()

    @property
    def led_partitions(self) -> tuple[int, ...]:
        """The partitions that this broker leads, loaded or not."""
        return tuple(self._led)

    def shard(self, partition: int) -> Shard:
        """Return the core of a partition. Raises KeyError if this broker does not lead it."""
        return self._led[partition].shard

    # --- for operators ---------------------------------------------------------------------------------------

    def list_transactions(self, request: ListTransactionsRequest) -> ListTransactionsResponse:
        """Return the transactional ids of this coordinator; an error while a partition is loading."""
        if any(not led.active for led in self._led.values()):
            return ListTransactionsResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        known = (entry.committed for led in self._led.values() for entry in led.shard.entries.values())
        return list_transactions(request, known, self._now_ms())

    def describe_transactions(self, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
        """Describe transactional ids."""
        return DescribeTransactionsResponse(tuple(self._described(name) for name in request.transactional_ids))

    def _described(self, transactional_id: str) -> DescribedTransaction:
        led = self._led.get(self.partition_for(transactional_id))
        if not transactional_id:
            return DescribedTransaction(transactional_id, ErrorCode.INVALID_REQUEST)
        if led is None:
            return DescribedTransaction(transactional_id, ErrorCode.NOT_COORDINATOR)
        if not led.active:
            return DescribedTransaction(transactional_id, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        entry = led.shard.entries.get(transactional_id)
        if entry is None:
            return DescribedTransaction(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return describe_transaction(entry.committed)

    def verify(self, transactional_id: str, producer_id: int, epoch: int, partition: TopicPartition) -> ErrorCode:
        """Return the error if a partition is not part of this transaction; NONE for ids of other coordinators."""
        led = self._led.get(self.partition_for(transactional_id))
        if led is None or not led.active:
            return ErrorCode.NONE
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        return led.shard.verify(transactional_id, producer_id, epoch, partition)

    # --- requests --------------------------------------------------------------------------------------------

    def _find(self, call: Call, transactional_id: str) -> _Led | None:
        """Return the led partition of an id; answer the request and return None if it cannot be handled."""
        led = self._led.get(self.partition_for(transactional_id))
        if not transactional_id:
            error = ErrorCode.INVALID_REQUEST
        elif led is None:
            error = ErrorCode.NOT_COORDINATOR
        elif not led.active:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        else:
            led.waiting[call] = None
            return led
        call.answer(refusal(call.request, error))
        return None

    def _answer(self, led: _Led, call: Call, response: Any) -> None:
        if led.waiting.pop(call, 0) is None:
            call.answer(response)

    def _init_producer_id(self, call: Call, request: InitProducerIdRequest) -> None:
        led = None
        try:
            if request.transactional_id is None:
                call.answer(InitProducerIdResponse(producer_id=self._fresh(), producer_epoch=0))
            elif (led := self._find(call, request.transactional_id)) is not None:
                self._carry_out(led, led.shard.init_producer_id(call, request, self._now_ms()))
        except NoProducerId:
            if led is not None:
                led.waiting.pop(call, None)
            call.answer(InitProducerIdResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))

    def _add_partitions(self, call: Call, request: AddPartitionsToTxnRequest) -> None:
        wrong = {tp: error for tp in request.partitions if (error := self._partition_error(tp, request.version))}
        if wrong:  # one error refuses all partitions (`KafkaApis.handleAddPartitionsToTxnRequest`)
            results = [(tp, wrong.get(tp, ErrorCode.OPERATION_NOT_ATTEMPTED)) for tp in request.partitions]
            call.answer(AddPartitionsToTxnResponse(tuple(results)))
            return
        led = self._find(call, request.transactional_id)
        if led is not None:
            self._add(led, call, request, request.partitions)

    def _partition_error(self, partition: TopicPartition, version: int) -> ErrorCode:
        """Return the error if a partition cannot be added; clients may not add partitions of internal topics."""
        if version < _OF_BROKERS and partition.topic in INTERNAL_TOPICS:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        missing = self._topics.leader(partition) is None
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if missing else ErrorCode.NONE

    def _add_offsets(self, call: Call, request: AddOffsetsToTxnRequest) -> None:
        led = self._find(call, request.transactional_id)
        if led is None:
            return
        count = self._topics.partition_count(_OFFSETS_TOPIC)
        if count is None:
            self._answer(led, call, refusal(request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        self._add(led, call, request, (TopicPartition(_OFFSETS_TOPIC, java_abs_mod(request.group_id, count)),))

    def _add(self, led: _Led, call: Call, request: Any, partitions: tuple[TopicPartition, ...]) -> None:
        def done(error: ErrorCode) -> None:
            self._answer(led, call, refusal(request, error))

        effects = led.shard.add_partitions(
            request.transactional_id, request.producer_id, request.producer_epoch, partitions, self._now_ms(), done
        )
        self._carry_out(led, effects)

    def _end(self, call: Call, request: EndTxnRequest) -> None:
        led = self._find(call, request.transactional_id)
        if led is not None:
            done = partial(self._ended, led, call)
            self._carry_out(led, led.shard.end(request, self._now_ms(), done))

    def _ended(self, led: _Led, call: Call, error: ErrorCode) -> None:
        self._answer(led, call, EndTxnResponse(error))

    # --- effects ---------------------------------------------------------------------------------------------

    def _now_ms(self) -> int:
        return timestamp_ms(self._loop.now_us)

    def _carry_out(self, led: _Led, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                self._answer(led, effect.call, effect.response)  # type: ignore[arg-type]
            elif isinstance(effect, Append) and effect.again:
                when = self._loop.now_us + self.config.marker_retry_ms * _MS_US
                self._host.call_at(when, partial(self._append_again, led), effect)
            elif isinstance(effect, Append):
                self._append(led, effect)
            elif isinstance(effect, SendMarkers):
                done = partial(self._markers_written, led, effect.transactional_id)
                self.markers.send(effect, led.partition, led.epoch, done)
            else:
                self._emit(effect)
        self._schedule_check()

    def _append_again(self, led: _Led, effect: Append) -> None:
        if self._led.get(led.partition) is led:
            self._append(led, effect)

    def _append(self, led: _Led, effect: Append) -> None:
        value = None if effect.txn is None else encode_value(effect.txn)
        record = LogRecord(0, encode_key(effect.transactional_id), value)
        self._log.append(led.partition, (record,), partial(self._appended, led, effect.append_id))

    def _appended(self, led: _Led, append_id: int, error: ErrorCode | None) -> None:
        if self._led.get(led.partition) is led:
            self._carry_out(led, led.shard.appended(append_id, error))

    def _markers_written(self, led: _Led, transactional_id: str) -> None:
        if self._led.get(led.partition) is led:
            self._carry_out(led, led.shard.markers_written(transactional_id, self._now_ms()))

    def _emit(self, effect: Changed) -> None:
        self._loop.trace.emit(
            Kind.TRANSACTION_STATE,
            host=self._host.name,
            from_=effect.before,
            to=effect.after,
            reason=effect.reason,
            payload={
                "transactional_id": effect.transactional_id,
                "producer_id": effect.producer_id,
                "epoch": effect.epoch,
            },
        )

    # --- time ------------------------------------------------------------------------------------------------

    def _schedule_check(self) -> None:
        """Schedule the next periodic check that can find a timeout or an expired id; none if there is none."""
        config, soonest, now_ms = self.config, None, self._now_ms()
        for led in self._led.values():
            timeout = led.shard.next_timeout_ms()
            if timeout is not None:
                tick = _tick(max(timeout, now_ms), config.abort_check_interval_ms)
                soonest = tick if soonest is None else min(soonest, tick)
            expiry = led.shard.next_expiry_ms(config.id_expiration_ms)
            if expiry is not None:
                tick = _tick(max(expiry, now_ms), config.id_check_interval_ms)
                soonest = tick if soonest is None else min(soonest, tick)
        if soonest is None:
            return
        when = max((soonest - timestamp_ms(0)) * _MS_US, self._loop.now_us)
        if self._check is not None:
            if self._check_us <= when:
                return
            self._host.cancel(self._check)
        self._check_us = when
        self._check = self._host.call_at(when, self._run_check)

    def _run_check(self, _: Any) -> None:
        self._check = None
        now_ms = self._now_ms()
        for led in list(self._led.values()):
            if led.active:
                self._carry_out(led, led.shard.abort_timed_out(now_ms))
                self._carry_out(led, led.shard.expire_ids(now_ms, self.config.id_expiration_ms))
        self._schedule_check()


def _tick(due_ms: int, interval_ms: int) -> int:
    """Return the first instant of a periodic check after `due_ms`."""
    return (due_ms // interval_ms + 1) * interval_ms
