"""Produce requests and their answers: Kafka's `Sender`, as events.

Per broker there is a `Peer`: the queues of the partitions it leads, its requests in flight, and one timer for the next
instant at which a queue is ready. A turn of a peer sends requests up to `max.in.flight.requests.per.connection`, each
with at most one batch per partition, up to `max.request.size`. It begins where the last full request ended, so that no
queue starves. An answer settles its batches one by one, and gives the peer its next turn.

Batches on a broken connection may have been written or not. They are sent again in any case, which without idempotence
duplicates records.

Source: `Sender`, `RecordAccumulator.ready`, `drainBatchesForOneNode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.producer.accumulator import NEVER, PartitionQueue, ProducerBatch
from groupsim.members.producer.reactions import ProduceReaction, reaction
from groupsim.members.producer.wires import PRODUCE, Waits
from groupsim.protocol.batch.batch import NO_SEQUENCE
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import Produced, ProduceRequest, ProduceResponse

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Handle, Host
    from groupsim.members.producer.identity import NoProducerId
    from groupsim.members.producer.settings import ProducerSettings
    from groupsim.members.producer.wires import Wires

_NO_ACKS_TIMEOUT_US = 1 << 61
_ACKNOWLEDGED = Kind.RECORDS_ACKNOWLEDGED


class Owner(Protocol):
    """The process around the sender."""

    def leaders_moved(self) -> None:
        """Refresh metadata."""

    def settled(self, batch: ProducerBatch, error: ErrorCode | None, base_offset: int) -> None:
        """Handle the end of a batch; without an error it is written at `base_offset` (-1 if unknown)."""

    def stuck(self) -> None:
        """Start the periodic checks: batches wait for longer than their linger."""

    def fenced(self, error: ErrorCode) -> None:
        """End the producer: another one has its transactional id, or the id is unknown."""


class Peer:
    """One broker."""

    __slots__ = ("first", "in_flight", "node", "queues", "timer", "timer_us")

    def __init__(self, node: int) -> None:
        self.node = node
        self.queues: list[PartitionQueue] = []
        self.in_flight = 0
        self.first = 0  # index of the queue at which a request begins
        self.timer: Handle | None = None
        self.timer_us = NEVER


class _Flight:
    __slots__ = ("batches", "correlation", "peer", "sender")

    def __init__(self, sender: Sender, peer: Peer, batches: list[ProducerBatch]) -> None:
        self.sender = sender
        self.peer = peer
        self.batches = batches
        self.correlation = 0

    def done(self, outcome: Outcome) -> None:
        self.sender.answered(self, outcome)


class Sender:
    """The sender of one producer process."""

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        settings: ProducerSettings,
        wires: Wires,
        identity: NoProducerId,
        owner: Owner,
    ) -> None:
        self.peers: dict[int, Peer] = {}
        self.requests = 0
        self.identity = identity
        self._loop = loop
        self._host = host
        self._settings = settings
        self._wires = wires
        self._owner = owner
        self._timeout_us = settings.request_timeout_ms * MS_US
        self._trace = loop.trace
        stream = loop.stream("produce-backoff", host.name, host.incarnation)
        self._waits = Waits(settings.retry_backoff_ms, settings.retry_backoff_max_ms, stream)

    def peer(self, node: int) -> Peer:
        """Return the peer of a broker; made at the first use."""
        peer = self.peers.get(node)
        if peer is None:
            peer = self.peers[node] = Peer(node)
        return peer

    def led_by(self, queue: PartitionQueue, node: int) -> None:
        """Set the leader of a queue (-1: none). A new leader ends the backoff of its retries (KIP-951)."""
        if queue.node == node:
            return
        if queue.node >= 0:
            self.peers[queue.node].queues.remove(queue)
        queue.node = node
        if node >= 0:
            for batch in queue.batches:
                batch.not_before_us = 0
            self.peer(node).queues.append(queue)
            self.poke(queue)

    def poke(self, queue: PartitionQueue) -> None:
        """Update a queue after a change; its broker gets a turn when it is ready."""
        queue.look(self._loop.now_us)
        if queue.node >= 0:
            self._wake_at(self.peers[queue.node], queue.ready_us)

    # --- turns -----------------------------------------------------------------------------------------------

    def _wake_at(self, peer: Peer, when_us: int) -> None:
        if when_us >= peer.timer_us or when_us >= NEVER:
            return
        if peer.timer is not None:
            self._host.cancel(peer.timer)
        peer.timer_us = when_us
        peer.timer = self._host.call_at(max(when_us, self._loop.now_us), self._on_timer, peer)

    def _on_timer(self, peer: Peer) -> None:
        peer.timer, peer.timer_us = None, NEVER
        self.turn(peer)

    def turn(self, peer: Peer) -> None:
        """Send what is ready for a broker, and set the timer for the next queue."""
        now = self._loop.now_us
        while peer.in_flight < self._settings.max_in_flight:
            soonest = NEVER
            for queue in peer.queues:
                if queue.ready_us < soonest:
                    soonest = queue.ready_us
            if soonest > now:
                self._wake_at(peer, soonest)
                return
            wait_us = self._wires.wait_us(peer.node, PRODUCE)
            if wait_us:
                self._wake_at(peer, now + wait_us)
                break
            batches = self._drain(peer, now)
            if not batches:
                return
            self._send(peer, batches)
        self._owner.stuck()

    def _drain(self, peer: Peer, now: int) -> list[ProducerBatch]:
        """Take the first batch of every queue that is due, while the request has room (`drainBatchesForOneNode`)."""
        taken: list[ProducerBatch] = []
        room, queues, identity = self._settings.max_request_size, peer.queues, self.identity
        start = peer.first % len(queues)
        for number, queue in enumerate(queues[start:] + queues[:start] if start else queues):
            if queue.due_us > now:
                continue
            head = queue.batches[0] if queue.batches else None
            if taken and head is not None and head.size > room:
                peer.first = (start + number) % len(queues)
                break
            if not identity.admits(queue):
                queue.due_us = queue.ready_us = NEVER
                continue
            batch = queue.take(now)
            if batch is not None and identity.stamp(queue, batch):
                taken.append(batch)
                room -= batch.size
                queue.look(now)
            elif batch is not None:
                self._hold(queue, batch)
            else:
                queue.look(now)
        return taken

    def _hold(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Put a batch back: it waits until nothing of the old epoch is in flight."""
        queue.in_flight.remove(batch)
        batch.attempts -= 1
        queue.batches.appendleft(batch)
        queue.due_us = queue.ready_us = NEVER

    def _send(self, peer: Peer, batches: list[ProducerBatch]) -> None:
        settings, identity = self._settings, self.identity
        link = self._wires.connection(peer.node, PRODUCE)
        transactional = identity.transactional
        request = ProduceRequest(
            settings.acks,
            settings.request_timeout_ms,
            tuple([(batch.queue.partition, batch.batch(transactional=transactional)) for batch in batches]),
            identity.transactional_id,
        )
        self.requests += 1
        flight = _Flight(self, peer, batches)
        if self._trace.heartbeats:
            self._emit_sent(peer, link.next_correlation, request)
        if settings.acks == 0:
            link.send(request, flight.done, _NO_ACKS_TIMEOUT_US)
            for batch in batches:
                self._settle(batch, None, -1)
            flight.batches = []
        else:
            peer.in_flight += 1
            flight.correlation = link.send(request, flight.done, self._timeout_us)

    def _emit_sent(self, peer: Peer, correlation: int, request: ProduceRequest) -> None:
        self._trace.emit(
            Kind.REQUEST_SENT,
            host=self._host.name,
            api="Produce",
            correlation=correlation,
            payload={"to": peer.node, "batches": len(request.batches)},
        )

    # --- answers ---------------------------------------------------------------------------------------------

    def answered(self, flight: _Flight, outcome: Outcome) -> None:
        """Handle the outcome of a request: settle or repeat its batches, then send on."""
        peer = flight.peer
        self._wires.record_outcome(peer.node, PRODUCE, outcome)
        if self._settings.acks != 0:
            peer.in_flight -= 1
        if isinstance(outcome, ProduceResponse):
            self._results(flight, outcome)
        elif isinstance(outcome, Disconnected):
            self._lost(flight, outcome)
        self.turn(peer)

    def _results(self, flight: _Flight, response: ProduceResponse) -> None:
        now = self._loop.now_us
        for batch, result in zip(flight.batches, response.results):
            if batch.settled:
                continue
            if result.error:
                self._refused(batch, result)
            else:
                self.identity.acknowledged(batch.queue, batch, result)
                self._settle(batch, None, result.base_offset)
            batch.queue.look(now)

    def _lost(self, flight: _Flight, outcome: Disconnected) -> None:
        """Repeat batches whose connection broke; they may have been written."""
        if flight.batches:
            self._trace.emit(
                Kind.REQUEST_FAILED,
                host=self._host.name,
                api="Produce",
                correlation=flight.correlation,
                error="TIMED_OUT" if outcome.timed_out else "DISCONNECTED",
                reason=outcome.reason,
                payload={"to": flight.peer.node, "batches": len(flight.batches)},
            )
        for batch in flight.batches:
            if not batch.settled:
                self._refused(batch, Produced(batch.queue.partition, ErrorCode.NETWORK_EXCEPTION))

    def _refused(self, batch: ProducerBatch, result: Produced) -> None:
        """Apply the reaction to a batch that was refused, or that may not have been written."""
        queue, error = batch.queue, result.error
        todo = reaction(error)
        # DUPLICATE_SEQUENCE_NUMBER counts as success: the broker has the batch, without its offset (`completeBatch`).
        if todo is ProduceReaction.DONE:
            self.identity.acknowledged(queue, batch, result)
            self._settle(batch, None, -1)
        elif todo is ProduceReaction.FENCED:
            self._give_up(batch, error)
            self._owner.fenced(error)
        elif todo is ProduceReaction.SPLIT and batch.count > 1:
            self._split(batch)
        elif not self._may_retry(batch, result, todo):
            self._give_up(batch, error)
        else:
            self._repeat(batch, result, todo)
            self._owner.stuck()
        self.poke(queue)

    def _may_retry(self, batch: ProducerBatch, result: Produced, todo: ProduceReaction) -> bool:
        if batch.attempts > self._settings.retries or self._expires_us(batch) <= self._loop.now_us:
            return False
        if todo is ProduceReaction.BUMP:
            return self.identity.may_retry(batch.queue, batch, result)
        return todo in (ProduceReaction.RETRY, ProduceReaction.REFRESH)

    def _repeat(self, batch: ProducerBatch, result: Produced, todo: ProduceReaction) -> None:
        """Queue a batch again; without a backoff when the answer names the new leader (KIP-951)."""
        queue = batch.queue
        queue.in_flight.remove(batch)
        batch.not_before_us = self._loop.now_us + self._waits.of_attempt(batch.attempts)
        if todo is ProduceReaction.REFRESH:
            self._owner.leaders_moved()
            hint = result.current_leader
            if hint is not None and hint.leader >= 0 and hint.leader != queue.node:
                batch.not_before_us = self._loop.now_us
                queue.put_back(batch)
                self.led_by(queue, hint.leader)
                return
        queue.put_back(batch)

    def _split(self, batch: ProducerBatch) -> None:
        """Replace a batch by two halves with sequences of their own (`RecordAccumulator.splitAndReenqueue`)."""
        queue = batch.queue
        queue.in_flight.remove(batch)
        batch.settled = True
        first, second = batch.halves()
        sequence = batch.sequence
        if sequence >= 0:
            first.producer_id = second.producer_id = batch.producer_id
            first.epoch = second.epoch = batch.epoch
            first.sequence, second.sequence = sequence, (sequence + first.count) % (1 << 31)
        for part in (second, first):
            queue.put_back(part)

    def _expires_us(self, batch: ProducerBatch) -> int:
        return batch.created_us + self._settings.delivery_timeout_ms * MS_US

    def _give_up(self, batch: ProducerBatch, error: ErrorCode) -> None:
        self._settle(batch, error, -1)
        self.identity.failed(batch.queue, batch, error)

    def _settle(self, batch: ProducerBatch, error: ErrorCode | None, base_offset: int) -> None:
        batch.queue.settle(batch)
        if error is None:
            self._trace.emit_of_partition(
                _ACKNOWLEDGED,
                self._host.name,
                None,
                None,
                None,
                batch.queue.partition,
                {"base": base_offset, "count": batch.count},
            )
        self._owner.settled(batch, error, base_offset)

    # --- timeouts --------------------------------------------------------------------------------------------

    def expire(self, queue: PartitionQueue) -> int:
        """Expire batches older than delivery.timeout.ms; return when the next batch of the queue expires."""
        now, soonest = self._loop.now_us, NEVER
        for batch in (*queue.in_flight, *queue.batches):
            due = self._expires_us(batch)
            if due > now:
                soonest = min(soonest, due)
                continue
            if batch in queue.batches:
                queue.batches.remove(batch)
            self._settle(batch, ErrorCode.REQUEST_TIMED_OUT, -1)
            if batch.attempts:
                self.identity.failed(queue, batch, None)
        self.poke(queue)
        return soonest

    def abort(self, queues: list[PartitionQueue], *, sent_too: bool = False) -> None:
        """Fail batches that were never sent, for an aborted transaction; those with a sequence are sent again first.

        With `sent_too` all that are not in flight. Source: `RecordAccumulator.abortUndrainedBatches`.
        """
        for queue in queues:
            for batch in [batch for batch in queue.batches if sent_too or batch.sequence == NO_SEQUENCE]:
                queue.batches.remove(batch)
                self._settle(batch, ErrorCode.TRANSACTION_ABORTABLE, -1)
            queue.look(self._loop.now_us)

    def turn_all(self, _: Any = None) -> None:
        """Update all queues, and give every peer a turn."""
        now = self._loop.now_us
        for peer in list(self.peers.values()):
            for queue in peer.queues:
                queue.look(now)
            self.turn(peer)
