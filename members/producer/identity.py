"""The producer's identity to brokers: producer id, epoch, and the sequences of each partition.

Three kinds have one interface, which the sender calls before and after each batch:

* `NoProducerId`: no idempotence; a retry may duplicate records, and reorder them with several requests in flight;
* `Idempotent`: an id from any broker; sequences per partition let the leader drop duplicates;
* `transactions.Transaction`: the id of a transactional id, fenced by its epoch.

When a leader has lost its producer state (OUT_OF_ORDER_SEQUENCE_NUMBER for the very next batch, UNKNOWN_PRODUCER_ID) an
idempotent producer bumps its epoch, and restarts the partition's sequences at 0, including those of batches in flight;
other partitions switch when they have nothing in flight. The fate of a sent batch that expires is unknown: no new batch
gets a sequence until all that have one are settled, and only a remaining gap bumps the epoch. An immediate bump would
duplicate the batches behind it.

Source: `TransactionManager.canRetry`, `bumpIdempotentProducerEpoch`, `maybeUpdateProducerIdAndEpoch`,
`maybeResolveSequences`; KIP-360.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.producer.wires import ANY, Waits
from groupsim.protocol.batch.batch import NO_PRODUCER, NO_SEQUENCE
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import Produced
from groupsim.protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Host
    from groupsim.members.producer.accumulator import PartitionQueue, ProducerBatch
    from groupsim.members.producer.settings import ProducerSettings
    from groupsim.members.producer.wires import Wires

LARGEST_EPOCH = 2**15 - 1


class NoProducerId:
    """No producer id: every batch may be sent, every retriable error is retried."""

    transactional = False
    transactional_id: str | None = None

    def start(self) -> None:
        """Do nothing: there is no id to request."""

    def admits(self, queue: PartitionQueue) -> bool:
        """Whether batches of this partition may be sent now."""
        return True

    def stamp(self, queue: PartitionQueue, batch: ProducerBatch) -> bool:
        """Give a batch id and sequence; False if it has to wait."""
        return True

    def acknowledged(self, queue: PartitionQueue, batch: ProducerBatch, result: Produced) -> None:
        """Handle a written batch."""

    def may_retry(self, queue: PartitionQueue, batch: ProducerBatch, result: Produced) -> bool:
        """Whether to send a batch again after an error about ids or sequences."""
        return False

    def failed(self, queue: PartitionQueue, batch: ProducerBatch, error: ErrorCode | None) -> None:
        """Handle a failed batch; `error` is None when its fate is unknown."""


class Idempotent(NoProducerId):
    """Producer id and sequences, without transactions."""

    def __init__(
        self, loop: EventLoop, host: Host, settings: ProducerSettings, wires: Wires, on_ready: Callable[[], None]
    ) -> None:
        self.producer_id, self.epoch = NO_PRODUCER, -1
        self._loop = loop
        self._host = host
        self._wires = wires
        self._on_ready = on_ready
        self._asking = False
        self._unresolved: dict[PartitionQueue, None] = {}  # queues with a failed batch that may have been written
        stream = loop.stream("producer-id-backoff", host.name, host.incarnation)
        self._waits = Waits(settings.retry_backoff_ms, settings.retry_backoff_max_ms, stream)

    def start(self) -> None:
        if not self._asking:
            self._asking = True
            self._ask(None)

    def _ask(self, _: Any) -> None:
        node = self._wires.any_node()
        if node < 0:
            self._again()
        else:
            self._wires.ask(node, ANY, InitProducerIdRequest(None), self._answered)

    def _again(self) -> None:
        self._host.call_at(self._loop.now_us + self._waits.next_us(), self._ask)

    def _answered(self, outcome: Outcome) -> None:
        failed = isinstance(outcome, Disconnected) or not isinstance(outcome, InitProducerIdResponse)
        if failed or outcome.error:  # type: ignore[union-attr]
            self._again()
            return
        assert isinstance(outcome, InitProducerIdResponse)
        self._asking = False
        self._waits.reset()
        self.producer_id, self.epoch = outcome.producer_id, outcome.producer_epoch
        self._on_ready()

    def admits(self, queue: PartitionQueue) -> bool:
        return self.producer_id != NO_PRODUCER

    def stamp(self, queue: PartitionQueue, batch: ProducerBatch) -> bool:
        if batch.sequence != NO_SEQUENCE:
            return True
        if queue in self._unresolved and not self._resolve(queue, batch):
            return False
        if (queue.producer_id, queue.producer_epoch) != (self.producer_id, self.epoch):
            if any(
                other.sequence != NO_SEQUENCE and other is not batch for other in (*queue.in_flight, *queue.batches)
            ):
                return False
            self._change_over(queue)
        batch.producer_id, batch.epoch, batch.sequence = queue.producer_id, queue.producer_epoch, queue.next_sequence
        queue.next_sequence = batch.next_sequence()
        return True

    def _resolve(self, queue: PartitionQueue, batch: ProducerBatch) -> bool:
        """Bump the epoch if a gap remains, once all batches with a sequence are settled (`maybeResolveSequences`)."""
        if any(other.sequence != NO_SEQUENCE and other is not batch for other in (*queue.in_flight, *queue.batches)):
            return False
        del self._unresolved[queue]
        if queue.next_sequence != queue.acked_sequence + 1:
            self._bump(queue)
        return True

    def _change_over(self, queue: PartitionQueue) -> None:
        """Switch the queue to the current id and epoch, with sequences from 0."""
        queue.producer_id, queue.producer_epoch = self.producer_id, self.epoch
        queue.next_sequence, queue.acked_sequence = 0, NO_SEQUENCE

    def acknowledged(self, queue: PartitionQueue, batch: ProducerBatch, result: Produced) -> None:
        if batch.epoch == queue.producer_epoch and batch.producer_id == queue.producer_id:
            queue.acked_sequence = batch.next_sequence() - 1
        if result.base_offset >= 0:
            queue.acked_offset = max(queue.acked_offset, result.base_offset + batch.count - 1)

    def may_retry(self, queue: PartitionQueue, batch: ProducerBatch, result: Produced) -> bool:
        error = result.error
        if error is ErrorCode.UNKNOWN_PRODUCER_ID:
            # `TransactionManager.canRetry`: the broker did not know its log start offset; the next answer has it.
            if result.log_start_offset == -1:
                return True
            if queue.acked_offset < result.log_start_offset:  # retention deleted the producer's records
                self._restart(queue)
                return True
        ahead = queue not in self._unresolved and batch.sequence != queue.acked_sequence + 1
        if error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and ahead:
            return True  # an earlier batch failed, and is sent again first (`TransactionManager.canRetry`)
        return self._bump(queue)

    def failed(self, queue: PartitionQueue, batch: ProducerBatch, error: ErrorCode | None) -> None:
        if batch.sequence == NO_SEQUENCE or queue.producer_epoch != batch.epoch:
            return
        if error is None:  # `Sender` calls `markSequenceUnresolved`; a bump now would duplicate later batches
            self._unresolved[queue] = None
        else:
            self._bump(queue)

    def _bump(self, queue: PartitionQueue) -> bool:
        """Bump the epoch, and restart this partition's sequences (KIP-360)."""
        if self.epoch >= LARGEST_EPOCH:
            self.producer_id = NO_PRODUCER
            self.start()
            return False
        self.epoch += 1
        self._unresolved.pop(queue, None)
        self._restart(queue)
        return True

    def _restart(self, queue: PartitionQueue) -> None:
        """Renumber unsettled batches from 0, in order."""
        self._change_over(queue)
        unsettled = [batch for batch in (*queue.in_flight, *queue.batches) if batch.sequence != NO_SEQUENCE]
        for batch in sorted(unsettled, key=lambda batch: (batch.created_us, batch.sequence)):
            batch.producer_id, batch.epoch, batch.sequence = (
                queue.producer_id,
                queue.producer_epoch,
                queue.next_sequence,
            )
            queue.next_sequence = batch.next_sequence()
