"""One producer process: its parts, and its application.

The application waits in `send`, for `max.block.ms` at most, while a topic is unknown or buffer memory is exhausted.
While batches wait for longer than their linger (too many requests in flight, no connection, no leader), a check every
100 ms allots memory to records that have come, and expires batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.units import MS_US
from groupsim.members.producer.accumulator import NEVER, PartitionQueue, Pool, ProducerBatch
from groupsim.members.producer.failures import LATE_US, Failures, why_fatal
from groupsim.members.producer.identity import Idempotent, NoProducerId
from groupsim.members.producer.load import Load
from groupsim.members.producer.partitioners import Sticky, partition_for_key
from groupsim.members.producer.sender import Sender
from groupsim.members.producer.sizes import serialized_bytes
from groupsim.members.producer.sources import Flow, Shared, shares_out
from groupsim.members.producer.topics import TopicsView
from groupsim.members.producer.transactions import Transaction, TxnState
from groupsim.members.producer.wires import Wires
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import TopicPartition

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Handle, Host
    from groupsim.members.interfaces import Transport
    from groupsim.members.producer.settings import ProducerSettings

_LOOK_US = 100 * MS_US
OnSettled = Callable[[ErrorCode | None, int], None]
Waiting = tuple[str, int, bytes | None, int | None, bytes | None, OnSettled | None, int]


class Process:
    """One process. `over` is called when it ends by itself, with the error if there was one."""

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        settings: ProducerSettings,
        transport: Transport,
        loads: Sequence[Load],
        over: Callable[[ErrorCode | None, str], None],
        commit_every_us: int | None = None,
    ) -> None:
        self.loop = loop
        self.host = host
        self.settings = settings
        self.closing = False
        self.acknowledged = 0
        self.failures = Failures(loop, host.name, settings)
        self.queues: dict[str, list[PartitionQueue]] = {}
        self.pool = Pool(settings.buffer_memory)
        self.wires = Wires(loop, host, settings, transport)
        self.topics = TopicsView(loop, host, settings, self.wires, self._apply_metadata)
        self.identity: NoProducerId = self._identity()
        self.sender = Sender(loop, host, settings, self.wires, self.identity, self)
        self.sources = [self._source(load) for load in loads]
        self._over = over
        self._sticky: dict[str, Sticky] = {}
        self._waiting: list[Waiting] = []
        self._flushes: list[Callable[[], None]] = []
        self._flow_timer: Handle | None = None
        self._looking = False
        self._held_us = NEVER
        self._unblocking = False
        self._every_us = commit_every_us
        #: The application is in commitTransaction: it sends nothing.
        self.between = settings.transactional_id is not None and bool(loads)

    def _identity(self) -> NoProducerId:
        settings = self.settings
        if settings.transactional_id is not None:
            return Transaction(self.loop, self.host, settings, self.wires, self)
        if settings.idempotence:
            return Idempotent(self.loop, self.host, settings, self.wires, self._ready)
        return NoProducerId()

    def _source(self, load: Load) -> Shared | Flow:
        if shares_out(load, self.settings):
            return Shared(load, self.loop.now_us)
        return Flow(self.loop, self.host.name, load, self.settings, self.loop.now_us)

    def start(self) -> None:
        """Request metadata and an id, and plan the steps of the loads."""
        self.identity.start()
        now = self.loop.now_us
        for source in self.sources:
            load = source.load
            self.topics.want(load.topic)
            for after_us, rate in load.steps:
                self.host.call_at(now + after_us, self._step, (source, rate))
            for after_us, records in load.bursts:
                self.host.call_at(now + after_us, self._burst, (source, records))
        if self.sources:
            self._hold(now)
        if isinstance(self.identity, Transaction) and self.sources:
            self.identity.when_ready(self._begin)

    # --- an application with periodic commits ----------------------------------------------------------------

    def _begin(self) -> None:
        if self.closing or not isinstance(self.identity, Transaction):
            return
        self.identity.begin()
        self.between = False
        self._hold(self.loop.now_us)
        self._unblock_soon()
        if self._every_us is not None:
            self.host.call_at(self.loop.now_us + self._every_us, self._commit)

    def _commit(self, _: Any) -> None:
        transaction = self.identity
        if self.closing or not isinstance(transaction, Transaction):
            return
        now = self.loop.now_us
        self._fill_flows(0)
        self.between = True
        for queues in self.queues.values():
            for queue in queues:
                queue.catch_up(now)
                queue.wants_memory = True
                self.sender.poke(queue)
        self._hold(now)
        transaction.commit(self._committed)

    def _committed(self, error: ErrorCode | None) -> None:
        """Begin the next transaction; after an error abort first. The records of a failed one are not sent again."""
        transaction = self.identity
        if not isinstance(transaction, Transaction) or transaction.state is TxnState.FATAL_ERROR:
            return
        if error is not None and transaction.open:
            transaction.abort(lambda _: self._begin_next())
        else:
            self._begin_next()

    def _begin_next(self) -> None:
        if isinstance(self.identity, Transaction):
            self.identity.when_ready(self._begin)

    # --- the application -------------------------------------------------------------------------------------

    def _step(self, what: tuple[Shared | Flow, int]) -> None:
        source, rate = what
        self._change(source, lambda: source.set_rate(rate, self.loop.now_us))

    def _burst(self, what: tuple[Shared | Flow, int]) -> None:
        source, records = what
        self._change(source, lambda: source.burst(records, self.loop.now_us))

    def set_rate(self, topic: str, rate: int) -> None:
        """Change the rate from now on."""
        self._step((self._of(topic), rate))

    def burst(self, topic: str, records: int) -> None:
        """Send so many records at once."""
        self._burst((self._of(topic), records))

    def _of(self, topic: str) -> Shared | Flow:
        for source in self.sources:
            if source.load.topic == topic:
                return source
        known = ", ".join(source.load.topic for source in self.sources) or "none"
        raise KeyError(f"producer {self.host.name} has no load for topic {topic!r}; it has: {known}")

    def _change(self, source: Shared | Flow, change: Callable[[], None]) -> None:
        queues, now = self.queues.get(source.load.topic, []), self.loop.now_us
        if queues:
            for queue in queues:
                queue.catch_up(now)
            source.fill(queues, now, 0)
        change()
        source.changed(queues)
        for queue in queues:
            self.sender.poke(queue)
        self._plan_flows()

    def send(
        self,
        topic: str,
        value_length: int,
        key: bytes | None,
        partition: int | None,
        value: bytes | None,
        on_settled: OnSettled | None,
    ) -> None:
        """Send one record; it waits for metadata or memory for `max.block.ms` at most."""
        self.topics.want(topic)
        record = (topic, value_length, key, partition, value, on_settled, self.loop.now_us)
        if self._waiting or not self._put(record):
            self._waiting.append(record)
            self._hold(self.loop.now_us)

    def _put(self, record: Waiting) -> bool:
        topic, value_length, key, partition, value, on_settled, _ = record
        queues = self.queues.get(topic)
        if not queues:
            return False
        queue = queues[self._place(topic, key, partition, queues)]
        size = value_length if value is None else len(value)
        if serialized_bytes(-1 if key is None else len(key), size) > queue.largest and on_settled is not None:
            on_settled(ErrorCode.MESSAGE_TOO_LARGE, -1)
            on_settled = None
        if not queue.append_record(key, size, self.loop.now_us, False if value is None else value):
            return False
        if on_settled is not None:
            batch = queue.batches[-1]
            batch.on_settled = [*(batch.on_settled or ()), on_settled]
        self.sender.poke(queue)
        return True

    def _place(self, topic: str, key: bytes | None, partition: int | None, queues: list[PartitionQueue]) -> int:
        if partition is not None:
            return partition
        if key is not None and not self.settings.ignore_keys:
            return partition_for_key(key, len(queues))
        sticky = self._sticky.get(topic)
        if sticky is None:
            stream = self.loop.stream("sticky-partition", f"{self.host.name} {topic} sent")
            sticky = self._sticky[topic] = Sticky(stream, self.settings.batch_size)
        return sticky.choose([queue.partition.partition for queue in queues if queue.node >= 0] or [0])

    # --- flows -----------------------------------------------------------------------------------------------

    def _plan_flows(self) -> None:
        if self._flow_timer is not None:
            self.host.cancel(self._flow_timer)
            self._flow_timer = None
        when = min(
            (source.next_us for source in self.sources if self.queues.get(source.load.topic)),
            default=NEVER,
        )
        if when < NEVER and not self.closing and self._held_us >= NEVER:
            self._flow_timer = self.host.call_at(max(when, self.loop.now_us), self._flow)

    def _flow(self, _: Any) -> None:
        self._flow_timer = None
        self._fill_flows(0)
        self._plan_flows()

    def _fill_flows(self, accepted_us: int) -> None:
        now = self.loop.now_us
        for source in () if self.between else self.sources:
            queues = self.queues.get(source.load.topic)
            if queues and isinstance(source, Flow) and source.due_us <= now:
                if not source.fill(queues, now, accepted_us):
                    self._hold(now)
                for queue in queues:
                    if queue.batches:
                        self.sender.poke(queue)

    # --- waits in `send` -------------------------------------------------------------------------------------

    def _hold(self, since_us: int) -> None:
        if self._held_us >= NEVER:
            self._held_us = since_us
            self.host.call_at(since_us + self.settings.max_block_ms * MS_US, self._blocked_too_long, since_us)
            self.host.call_at(since_us + LATE_US, lambda _: self.failures.late(since_us, self._held_us))

    def _blocked_too_long(self, since_us: int) -> None:
        """Fail the record that waits; the application then waits with the next one."""
        if self._held_us != since_us or self.closing:
            return
        if self.between:
            self._held_us = NEVER
            self._hold(self.loop.now_us + 1)
            return
        self._release()
        if self._held_us != since_us:
            return
        topic, count = self._fail_one()
        if count:
            self.failures.emit(TopicPartition(topic, -1), ErrorCode.REQUEST_TIMED_OUT, count, "max.block.ms ran out")
        self._held_us = NEVER
        self._hold(max(self.loop.now_us, since_us + 1))

    def _fail_one(self) -> tuple[str, int]:
        now = self.loop.now_us
        if self._waiting:
            topic, *_, on_settled, _ = self._waiting.pop(0)
            if on_settled is not None:
                on_settled(ErrorCode.REQUEST_TIMED_OUT, -1)
            return topic, 1
        for source in self.sources:
            queues = self.queues.get(source.load.topic, [])
            if isinstance(source, Flow) and source.due_us <= now:
                return source.load.topic, source.drop(1)
            for queue in queues:
                if queue.share is not None and queue.share.due_us <= now:
                    queue.share.taken += 1
                    queue.share.look()
                    return source.load.topic, 1
        return "", 0

    def _release(self) -> None:
        """Continue the sends that wait, after memory was returned or metadata arrived."""
        self._unblocking = False
        if self._held_us >= NEVER or self.between:
            return
        now, held = self.loop.now_us, self._held_us
        self._held_us = NEVER
        missing = any(source.load.topic not in self.queues for source in self.sources)
        while self._waiting and self._put(self._waiting[0]):
            self._waiting.pop(0)
        for queues in self.queues.values():
            for queue in queues:
                if queue.wants_memory:
                    queue.wants_memory = False
                    queue.catch_up(now, accepted_us=now)
                    self.sender.poke(queue)
        self._fill_flows(now)
        short = self._waiting or any(queue.wants_memory for queues in self.queues.values() for queue in queues)
        if (missing or short or self._held_us < NEVER) and not self.closing:
            self._held_us = NEVER
            self._hold(held)
        self._plan_flows()

    def _unblock_soon(self) -> None:
        if self._held_us < NEVER and not self._unblocking:
            self._unblocking = True
            self.host.call_at(self.loop.now_us, lambda _: self._release())

    def stuck(self) -> None:
        """Check waiting batches every 100 ms until none wait."""
        if not self._looking:
            self._looking = True
            self.host.call_at(self.loop.now_us + _LOOK_US, self._look)

    def _look(self, _: Any) -> None:
        self._looking = False
        now, again, soonest = self.loop.now_us, False, NEVER
        for queues in self.queues.values():
            for queue in queues:
                queue.catch_up(now)
                if queue.unsettled:
                    soonest = min(soonest, self.sender.expire(queue))
                    again = again or bool(queue.batches)
                if queue.wants_memory:
                    again = True
                    self._hold(now)
        if again and not self._looking:
            self._looking = True
            self.host.call_at(min(now + _LOOK_US, soonest), self._look)

    # --- calls by the parts ----------------------------------------------------------------------------------

    def _ready(self) -> None:
        self.sender.turn_all()

    def leaders_moved(self) -> None:
        """Refresh metadata: a broker refused, or is gone."""
        self.topics.outdated()

    def _apply_metadata(self) -> None:
        """Apply metadata: queues for new partitions, leaders for all."""
        for name, info in self.topics.topics.items():
            if name not in self.topics.wanted or not info.partitions:
                continue
            queues = self.queues.setdefault(name, [])
            fresh = len(queues) < len(info.partitions)
            for number in range(len(queues), len(info.partitions)):
                queues.append(self._new_queue(TopicPartition(name, number)))
            for queue, entry in zip(queues, info.partitions):
                self.sender.led_by(queue, entry.leader)
                if entry.leader < 0:
                    self.stuck()
            if fresh:
                self._grown(name, queues)
        self._unblock_soon()
        self._plan_flows()

    def _new_queue(self, partition: TopicPartition) -> PartitionQueue:
        settings = self.settings
        return PartitionQueue(
            partition,
            batch_size=settings.batch_size,
            linger_us=settings.linger_ms * MS_US,
            pool=self.pool,
            in_order=settings.idempotence,
            largest=self.failures.largest,
            refuse=self._too_large,
        )

    def _too_large(self, queue: PartitionQueue, size: int, count: int) -> None:
        """Refuse a record in `send`, before it gets into a batch."""
        self.failures.too_large(queue.partition, size, count)
        if isinstance(self.identity, Transaction):
            self.identity.batch_settled(ErrorCode.MESSAGE_TOO_LARGE)

    def _grown(self, name: str, queues: list[PartitionQueue]) -> None:
        if self.closing:
            return
        for source in self.sources:
            if source.load.topic == name:
                source.partitions(queues, self.loop.now_us)
        for queue in queues:
            queue.wants_memory = self.between
            queue.catch_up(self.loop.now_us, accepted_us=self.loop.now_us)
            self.sender.poke(queue)

    def settled(self, batch: ProducerBatch, error: ErrorCode | None, base_offset: int) -> None:
        """Handle the end of a batch."""
        if error is None:
            self.acknowledged += batch.count
        else:
            reason = "delivery.timeout.ms ran out" if error is ErrorCode.REQUEST_TIMED_OUT else None
            self.failures.emit(batch.queue.partition, error, batch.count, reason)
        for callback in batch.on_settled or ():
            callback(error, base_offset)
        if self._held_us < NEVER:
            self._unblock_soon()
        if isinstance(self.identity, Transaction):
            self.identity.batch_settled(error)
        if self._flushes or self.closing:
            self.host.call_at(self.loop.now_us, self._flushed)

    def fenced(self, error: ErrorCode) -> None:
        """End the producer after a fatal error."""
        self.host.call_at(self.loop.now_us, self._die, error)

    def _die(self, error: ErrorCode) -> None:
        self._over(error, why_fatal(error))

    # --- flush and close -------------------------------------------------------------------------------------

    @property
    def unsettled(self) -> bool:
        """Whether records wait or are in flight."""
        return bool(self._waiting) or any(queue.unsettled for queues in self.queues.values() for queue in queues)

    def flush(self, on_done: Callable[[], None]) -> None:
        """Send without lingering; `on_done` is called when all records are settled."""
        self._flushes.append(on_done)
        self._set_flush(True)
        self.sender.turn_all()
        self.host.call_at(self.loop.now_us, self._flushed)

    def give_up_unsent(self, *, sent_too: bool = False) -> None:
        """Fail batches that were never sent, for an aborted transaction; with `sent_too` also those queued again."""
        spoiled, waiting, self._waiting = ErrorCode.TRANSACTION_ABORTABLE, self._waiting, []
        for topic, *_, on_settled, _ in waiting:
            self.failures.emit(TopicPartition(topic, -1), spoiled, 1, "given up before it was sent")
            if on_settled is not None:
                on_settled(spoiled, -1)
        for queues in self.queues.values():
            self.sender.abort(queues, sent_too=sent_too)

    def _set_flush(self, on: bool) -> None:
        now = self.loop.now_us
        for queues in self.queues.values():
            for queue in queues:
                if on:
                    queue.catch_up(now)
                queue.flush = on and bool(queue.batches)

    def _flushed(self, _: Any) -> None:
        if self.unsettled:
            return
        self._set_flush(False)
        done, self._flushes = self._flushes, []
        for callback in done:
            callback()
        if self.closing and not (isinstance(self.identity, Transaction) and self.identity.open):
            self.closing = False
            self._over(None, "")

    def close(self, timeout_us: int | None) -> None:
        """Close: settle the records sent so far, and abort an open transaction."""
        if self.closing:
            return
        self._fill_flows(0)
        self._set_flush(True)
        self.closing = True
        for queues in self.queues.values():
            for queue in queues:
                queue.share = None
        self.sources = []
        self._plan_flows()
        if timeout_us is not None:
            self.host.call_at(self.loop.now_us + timeout_us, self._close_now)
        if isinstance(self.identity, Transaction) and self.identity.open:
            self.identity.abort(lambda error: self._flushed(None))
        self.sender.turn_all()
        self.host.call_at(self.loop.now_us, self._flushed)

    def _close_now(self, _: Any) -> None:
        self.give_up_unsent(sent_too=True)
        self._over(None, "")

    def end(self) -> None:
        """Close the connections; no request gets an outcome any more."""
        self.wires.close()
