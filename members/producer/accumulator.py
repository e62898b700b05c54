"""The producer's batches, one queue per partition: `RecordAccumulator` with its buffer pool.

Records wait in batches, batches in the queue of their partition, until the sender takes the first one. A queue has two
instants: `due_us`, from which it has something to send, and `ready_us`, from which that is a reason to send (the batch
is full, has lingered, or is a retry). Once one queue of a broker is ready, the request includes what is due in all of
them, as in Java (`drainBatchesForOneNode`), so slow queues are sent along with fast ones.

A queue with a steady share of a load (`Share`) has no batch until one is needed: the clock determines how many records
have come. `catch_up` then makes the batches that would have been made.

A batch takes `batch.size` of `buffer.memory`, or the size of a larger record, and returns it when it is settled. The
application waits in `send` while there is not enough.

Source: `RecordAccumulator`, `ProducerBatch`, `BufferPool`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from groupsim.members.producer.sizes import batch_bytes, capacity, record_bytes, serialized_bytes
from groupsim.protocol.batch.batch import (
    HEADER_BYTES,
    NO_PRODUCER,
    NO_SEQUENCE,
    TRANSACTIONAL,
    Batch,
    LogRecord,
    timestamp_ms,
)
from groupsim.protocol.batch.sizes import counted_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from groupsim.members.producer.traffic import Traffic
    from groupsim.protocol.basics import TopicPartition
    from groupsim.protocol.errors import ErrorCode

NEVER = 1 << 62
_MOST_OVERHEAD = 16
_SEQUENCES = 1 << 31


class Pool:
    """`buffer.memory`."""

    __slots__ = ("free",)

    def __init__(self, size: int) -> None:
        self.free = size

    def reserve(self, size: int) -> bool:
        """Take so many bytes; False, without effect, if there are fewer."""
        if size > self.free:
            return False
        self.free -= size
        return True


class ProducerBatch:
    """One batch: open, waiting, in flight or settled. It gets its `sequence` when it is first sent."""

    __slots__ = (
        "attempts",
        "count",
        "created_us",
        "epoch",
        "key_length",
        "last_us",
        "not_before_us",
        "on_settled",
        "producer_id",
        "queue",
        "records",
        "reserved",
        "sequence",
        "settled",
        "size",
        "split",
        "value_length",
    )

    def __init__(self, queue: PartitionQueue, created_us: int, reserved: int) -> None:
        self.queue = queue
        self.created_us = self.last_us = created_us
        self.reserved = reserved
        self.count = 0
        self.size = HEADER_BYTES
        self.value_length = self.key_length = -2  # common lengths of its records, if they are equal
        self.records: list[LogRecord] | None = None
        self.attempts = 0
        self.not_before_us = 0
        self.producer_id, self.epoch, self.sequence = NO_PRODUCER, -1, NO_SEQUENCE
        self.settled = self.split = False
        self.on_settled: list[Callable[[ErrorCode | None, int], None]] | None = None

    def batch(self, *, transactional: bool) -> Batch:
        """Return the batch for a request."""
        first, last = timestamp_ms(self.created_us), timestamp_ms(self.last_us)
        if self.records is None:
            self.size = self._counted(last - first)
        return Batch(
            0,
            self.count,
            self.size,
            first,
            max(first, last),
            -1,
            self.producer_id,
            self.epoch,
            self.sequence,
            TRANSACTIONAL if transactional else 0,
            None if self.records is None else tuple(self.records),
        )

    def _counted(self, span_ms: int) -> int:
        """Return the size of a counted batch, to which equal records without keys can be encoded."""
        if self.key_length == -1 and self.value_length >= 0:
            return counted_size(self.count, self.value_length, span_ms)
        if self.count > 1:
            return self.size
        value = max(self.size - HEADER_BYTES - _MOST_OVERHEAD, 0)
        while counted_size(1, value, span_ms) < self.size:
            value += 1
        return counted_size(1, value, span_ms)

    def next_sequence(self) -> int:
        """Return the sequence after its last record; it wraps to 0 (`DefaultRecordBatch.incrementSequence`)."""
        return (self.sequence + self.count) % _SEQUENCES

    def halves(self) -> list[ProducerBatch]:
        """Return two batches of half the records, for MESSAGE_TOO_LARGE (`RecordAccumulator.splitAndReenqueue`)."""
        made, start = [], 0
        for count in (self.count - self.count // 2, self.count // 2):
            part = ProducerBatch(self.queue, self.created_us, 0)
            part.last_us, part.split, part.attempts = self.last_us, True, self.attempts
            if self.records is not None:
                part.records = [
                    LogRecord(number, old.key, old.value, old.timestamp_delta, old.headers)
                    for number, old in enumerate(self.records[start : start + count])
                ]
            part.count, part.size = count, HEADER_BYTES + (self.size - HEADER_BYTES) * count // self.count
            made.append(part)
            start += count
        made[0].reserved, made[1].on_settled = self.reserved, self.on_settled
        return made


class Share:
    """A steady share of a load; record `taken` is the first one outside a batch."""

    __slots__ = ("capacity", "due_us", "full_us", "number", "taken", "traffic", "value_length")

    def __init__(self, traffic: Traffic, number: int, value_length: int, batch_size: int) -> None:
        self.traffic = traffic
        self.number = number
        self.taken = traffic.end(number, traffic.since_us)
        self.value_length = value_length
        self.capacity = capacity(batch_size, -1, value_length)
        self.due_us = self.full_us = NEVER
        self.look()

    def look(self) -> None:
        """Compute when the next record comes, and when enough have come to fill a batch."""
        due = self.traffic.due_us(self.number, self.taken)
        self.due_us = NEVER if due is None else due
        if due is not None and self.capacity > 1:
            due = self.traffic.due_us(self.number, self.taken + self.capacity - 1)
        self.full_us = NEVER if due is None else due


class PartitionQueue:
    """The batches of one partition."""

    __slots__ = (
        "acked_offset",
        "acked_sequence",
        "batch_size",
        "batches",
        "due_us",
        "flush",
        "in_flight",
        "in_order",
        "largest",
        "linger_us",
        "next_sequence",
        "node",
        "partition",
        "pool",
        "producer_epoch",
        "producer_id",
        "ready_us",
        "refuse",
        "share",
        "wants_memory",
    )

    def __init__(
        self,
        partition: TopicPartition,
        *,
        batch_size: int,
        linger_us: int,
        pool: Pool,
        in_order: bool,
        largest: int,
        refuse: Callable[[PartitionQueue, int, int], None],
    ) -> None:
        self.partition = partition
        self.largest = largest  # bytes of the largest record, as `send` estimates them
        self.refuse = refuse  # called for larger records: this queue, bytes of each, how many
        self.batch_size = batch_size
        self.linger_us = linger_us
        self.pool = pool
        self.in_order = in_order  # idempotent: a retry is sent alone, before new batches
        self.node = -1
        self.batches: deque[ProducerBatch] = deque()
        self.in_flight: list[ProducerBatch] = []
        self.share: Share | None = None
        self.due_us = self.ready_us = NEVER
        self.flush = self.wants_memory = False
        self.producer_id, self.producer_epoch, self.next_sequence = NO_PRODUCER, -1, 0
        self.acked_sequence, self.acked_offset = NO_SEQUENCE, -1

    # --- appending -------------------------------------------------------------------------------------------

    def append(self, count: int, value_length: int, first_us: int, last_us: int) -> int:
        """Append equal records without keys; return how many, fewer when memory is exhausted."""
        size = serialized_bytes(-1, value_length)
        if size > self.largest:
            self.refuse(self, size, count)
            return count
        fits, left = capacity(self.batch_size, -1, value_length), count
        step_us = (last_us - first_us) // max(count - 1, 1)
        while left:
            at_us = last_us - step_us * (left - 1)
            batch = self._open(value_length, fits) or self._begin(at_us, batch_bytes(1, -1, value_length))
            if batch is None:
                break
            taken = min(left, max(fits - batch.count, 1))
            batch.count += taken
            left -= taken
            batch.key_length, batch.value_length = -1, value_length
            batch.size = batch_bytes(batch.count, -1, value_length)
            batch.last_us = last_us - step_us * left
        return count - left

    def append_record(self, key: bytes | None, value_length: int, now_us: int, content: bytes | bool | None) -> bool:
        """Append one record; False when memory is exhausted. With `content` False only its size counts."""
        key_length = -1 if key is None else len(key)
        size = serialized_bytes(key_length, value_length)
        if size > self.largest:
            self.refuse(self, size, 1)
            return True
        batch = self.batches[-1] if self.batches else None
        counted = content is False
        if batch is not None:
            size = record_bytes(batch.count, key_length, value_length, (now_us - batch.created_us) // 1_000)
            fresh = batch.attempts or batch.split or (batch.records is None) != counted
            if fresh or batch.size + size > self.batch_size:
                batch = None
        if batch is None:
            size = record_bytes(0, key_length, value_length)
            batch = self._begin(now_us, HEADER_BYTES + size)
            if batch is None:
                return False
            batch.records = None if counted else []
        if batch.records is not None:
            value = content if isinstance(content, bytes) else None
            delta_ms = timestamp_ms(now_us) - timestamp_ms(batch.created_us)
            batch.records.append(LogRecord(batch.count, key, value, delta_ms))
        batch.count += 1
        batch.size += size
        batch.last_us = max(batch.last_us, now_us)
        return True

    def _open(self, value_length: int, fits: int) -> ProducerBatch | None:
        """Return the last batch, if it takes more records of this size."""
        if not self.batches:
            return None
        last = self.batches[-1]
        alike = last.value_length == value_length and last.key_length == -1
        return last if alike and last.count < fits and not last.attempts and not last.split else None

    def _begin(self, now_us: int, size: int) -> ProducerBatch | None:
        reserved = max(self.batch_size, size)
        if not self.pool.reserve(reserved):
            self.wants_memory = True
            return None
        batch = ProducerBatch(self, now_us, reserved)
        self.batches.append(batch)
        return batch

    def catch_up(self, now_us: int, *, accepted_us: int = 0) -> None:
        """Batch the records of its share that have come; `accepted_us` is the end of a wait in `send`."""
        share = self.share
        if share is None or share.due_us > now_us or self.wants_memory:
            return
        count = share.traffic.end(share.number, now_us) - share.taken
        last = share.due_us if count == 1 else share.traffic.due_us(share.number, share.taken + count - 1)
        first_us, last_us = max(share.due_us, accepted_us), max(last or 0, accepted_us)
        share.taken += self.append(count, share.value_length, first_us, last_us)
        share.look()

    # --- draining --------------------------------------------------------------------------------------------

    def look(self, now_us: int) -> None:
        """Compute `due_us` and `ready_us` after any change."""
        if not self.batches:
            self._look_at_share()
            return
        head = self.batches[0]
        if self._must_wait(head):
            self.due_us = self.ready_us = NEVER
        elif head.not_before_us > now_us:
            self.due_us = self.ready_us = head.not_before_us
        else:
            self.due_us = head.created_us
            hurry = head.attempts or head.split or self.flush or len(self.batches) > 1 or self._full(head)
            self.ready_us = 0 if hurry else head.created_us + self.linger_us
            if self.share is not None and not hurry:
                self.ready_us = min(self.ready_us, self.share.full_us)

    def _look_at_share(self) -> None:
        share = self.share
        if share is None or self.wants_memory:
            self.due_us = self.ready_us = NEVER
            return
        self.due_us = share.due_us
        self.ready_us = min(share.due_us + (0 if self.flush else self.linger_us), share.full_us)

    def _must_wait(self, head: ProducerBatch) -> bool:
        """Whether a retry waits for earlier batches in flight (`shouldStopDrainBatchesForPartition`)."""
        if not self.in_order or head.sequence == NO_SEQUENCE:
            return False
        return any(_before(batch.sequence, head.sequence) for batch in self.in_flight)

    def _full(self, batch: ProducerBatch) -> bool:
        if batch.value_length >= -1 and batch.key_length == -1:
            return batch.count >= capacity(self.batch_size, -1, batch.value_length)
        return batch.size + record_bytes(batch.count, -1, 0) > self.batch_size

    def take(self, now_us: int) -> ProducerBatch | None:
        """Take the first batch for a request; None when there is nothing to send."""
        if self.share is not None:
            self.catch_up(now_us)
        if not self.batches:
            return None
        batch = self.batches.popleft()
        self.in_flight.append(batch)
        batch.attempts += 1
        return batch

    def put_back(self, batch: ProducerBatch) -> None:
        """Queue a batch again: with a sequence in order (`insertInSequenceOrder`), else at the front."""
        if batch.sequence == NO_SEQUENCE:
            self.batches.appendleft(batch)
            return
        place = 0
        for other in self.batches:
            if other.sequence == NO_SEQUENCE or _before(batch.sequence, other.sequence):
                break
            place += 1
        self.batches.insert(place, batch)

    def settle(self, batch: ProducerBatch) -> None:
        """End a batch, and return its memory."""
        batch.settled = True
        self.pool.free += batch.reserved
        batch.reserved = 0
        if batch in self.in_flight:
            self.in_flight.remove(batch)

    @property
    def unsettled(self) -> bool:
        """Whether a batch waits or is in flight."""
        return bool(self.batches or self.in_flight)


def _before(one: int, other: int) -> bool:
    """Whether a sequence precedes another, modulo the wrap."""
    return (other - one) % _SEQUENCES < _SEQUENCES // 2 and one != other
