"""The producer state of a log: sequence numbers against duplicates, transactions against dirty reads.

An idempotent producer numbers its records. The log keeps the epoch and the last five batches of each producer id. A
batch with the numbers of one of them is a duplicate (a retry whose first response was lost) and is answered with the
first offset. A batch that does not follow the last one is refused with OUT_OF_ORDER_SEQUENCE_NUMBER, a batch of an
older epoch (of a zombie) with INVALID_PRODUCER_EPOCH. A batch without a sequence number comes from a group coordinator
(offsets committed in a transaction); only its epoch is checked, as with markers. A follower checks nothing.

A transaction begins in this partition with its first transactional batch and ends with a marker. Its first offset is
*unstable* until the marker is below the high watermark: `read_committed` consumers read up to the first unstable
offset. An aborted transaction is kept with the last stable offset at its end, where a search for aborted transactions
may stop.

The state can be rebuilt from the log; a snapshot, taken when a segment is rolled, saves reading it from the start.

Source: `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`, `TransactionIndex`; KIP-98, KIP-360. Left
out of KIP-890: the verification with the transaction coordinator before a transaction's first batch, and the refusal of
a marker with the producer's current epoch (accepted here, as before transaction version 2).
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from attrs import field

from groupsim.cluster.log.errors import LogRefused
from groupsim.cluster.log.markers import marker_of
from groupsim.protocol.batch.batch import NO_PRODUCER, NO_SEQUENCE, Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import define

BATCHES_KEPT: Final = 5
MAX_SEQUENCE: Final = 2**31 - 1
CHECKPOINT: Final = "producer-snapshot"


class BatchMetadata(NamedTuple):
    """One of a producer's last batches."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp_ms: int


class Aborted(NamedTuple):
    """An aborted transaction from its first record to its marker, with the last stable offset at its end."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@define
class ProducerEntry:
    """The state of one producer id. `transaction` is the first offset of its open transaction, -1 for none."""

    epoch: int = -1
    coordinator_epoch: int = -1
    last_timestamp_ms: int = -1
    transaction: int = -1
    batches: list[BatchMetadata] = field(factory=list)

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, -1 if no batch is kept."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def copy(self) -> ProducerEntry:
        """Return a copy, on which an append can be validated."""
        return ProducerEntry(
            self.epoch, self.coordinator_epoch, self.last_timestamp_ms, self.transaction, list(self.batches)
        )

    def duplicate_of(self, batch: Batch) -> BatchMetadata | None:
        """Return the kept batch with exactly these sequence numbers, if any."""
        if batch.producer_epoch != self.epoch:
            return None
        for kept in self.batches:
            if kept.first_sequence == batch.base_sequence and kept.last_sequence == last_sequence(batch):
                return kept
        return None

    def append_data(self, batch: Batch) -> None:
        """Update the entry with a data batch (`appendDataBatch`)."""
        self._update_epoch(batch.producer_epoch)
        if len(self.batches) == BATCHES_KEPT:
            del self.batches[0]
        last = last_sequence(batch)
        self.batches.append(
            BatchMetadata(batch.base_sequence, last, batch.base_offset, batch.last_offset, batch.max_timestamp_ms)
        )
        self.last_timestamp_ms = batch.max_timestamp_ms
        if batch.is_transactional and self.transaction < 0:
            self.transaction = batch.base_offset

    def append_marker(self, batch: Batch, coordinator_epoch: int) -> None:
        """Update the entry with a marker, which ends the open transaction (`appendEndTxnMarker`)."""
        self._update_epoch(batch.producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp_ms = batch.max_timestamp_ms
        self.transaction = -1

    def _update_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch


def last_sequence(batch: Batch) -> int:
    """Return the sequence number of a batch's last record; it wraps to 0 after 2^31 - 1."""
    if batch.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return (batch.base_sequence + batch.count - 1) & MAX_SEQUENCE


class ProducerStates:
    """All producers of one log. `first_unstable` is the first unstable offset, -1 for none."""

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.aborted: list[Aborted] = []  # by rising offset of their markers
        self.first_unstable = -1
        self._ongoing: dict[int, int] = {}  # first offset → producer id; offsets rise
        self._unreplicated: dict[int, int] = {}  # first offset → the marker's, of ended transactions

    @property
    def is_empty(self) -> bool:
        """Whether no producer with an id has written to the log."""
        return not self.entries and not self.aborted and not self._unreplicated

    # --- appending -------------------------------------------------------------------------------------------------

    def check(self, batches: Sequence[Batch]) -> BatchMetadata | None:
        """Validate batches for an append; return the kept batch of which one is a duplicate, if any.

        Raises LogRefused. Source: `UnifiedLog.analyzeAndValidateProducerState`.
        """
        tried: dict[int, ProducerEntry] = {}
        for batch in batches:
            if batch.producer_id == NO_PRODUCER:
                continue
            entry = tried.get(batch.producer_id) or self.entries.get(batch.producer_id) or ProducerEntry()
            if batch.base_sequence != NO_SEQUENCE:
                duplicate = entry.duplicate_of(batch)
                if duplicate is not None:
                    return duplicate
            _check(entry, batch)
            if len(batches) > 1:
                tried[batch.producer_id] = entry = entry.copy()
                _apply(entry, batch)
        return None

    def update(self, batch: Batch) -> None:
        """Account for an appended batch with a producer id. Source: `ProducerStateManager.update`, `completeTxn`."""
        entry = self.entries.get(batch.producer_id)
        if entry is None:
            entry = self.entries[batch.producer_id] = ProducerEntry()
        before = entry.transaction
        ended = _apply(entry, batch)
        if ended is not None and before >= 0:
            self._complete(batch, before, ended)
        elif before < 0 <= entry.transaction:
            self._ongoing[entry.transaction] = batch.producer_id
            self._find_first_unstable()

    def _complete(self, marker: Batch, first_offset: int, committed: bool) -> None:
        self._ongoing.pop(first_offset, None)
        if not committed:
            stable = next(iter(self._ongoing), marker.next_offset)
            self.aborted.append(Aborted(marker.producer_id, first_offset, marker.last_offset, stable))
        # The marker must be replicated first, or a new leader could lack it (`unreplicatedTxns`).
        self._unreplicated[first_offset] = marker.last_offset
        self._find_first_unstable()

    def _find_first_unstable(self) -> None:
        first_open = next(iter(self._ongoing), -1)
        first_unreplicated = min(self._unreplicated, default=-1)
        self.first_unstable = min((at for at in (first_open, first_unreplicated) if at >= 0), default=-1)

    def advance_high_watermark(self, offset: int) -> None:
        """Account for markers below the high watermark. Source: `onHighWatermarkUpdated`."""
        if self._unreplicated:
            self._unreplicated = {first: last for first, last in self._unreplicated.items() if last >= offset}
            self._find_first_unstable()

    # --- reading and expiry ----------------------------------------------------------------------------------------

    def aborted_between(self, from_offset: int, up_to: int) -> tuple[tuple[int, int], ...]:
        """Return (producer id, first offset) of the aborted transactions that overlap these offsets."""
        found = []
        for index in range(bisect_left(self.aborted, from_offset, key=lambda one: one.last_offset), len(self.aborted)):
            one = self.aborted[index]
            if one.first_offset < up_to:
                found.append((one.producer_id, one.first_offset))
            if one.last_stable_offset >= up_to:
                break
        return tuple(found)

    def advance_start(self, start_offset: int) -> None:
        """Drop aborted transactions that ended before the log's new start offset."""
        del self.aborted[: bisect_left(self.aborted, start_offset, key=lambda one: one.last_offset)]
        self.advance_high_watermark(start_offset)

    def expire(self, now_ms: int, after_ms: int) -> None:
        """Remove producers without an open transaction that wrote nothing for `after_ms`."""
        quiet = [
            producer
            for producer, entry in self.entries.items()
            if entry.transaction < 0 and now_ms - entry.last_timestamp_ms >= after_ms
        ]
        for producer in quiet:
            del self.entries[producer]

    def next_expiry_ms(self, after_ms: int) -> int | None:
        """Return when the next producer expires if none writes; None without a producer that can expire."""
        times = (entry.last_timestamp_ms + after_ms for entry in self.entries.values() if entry.transaction < 0)
        return min(times, default=None)

    # --- snapshots -------------------------------------------------------------------------------------------------

    def text(self, offset: int) -> str:
        """Format the state of everything below this offset as a snapshot."""
        producers = [
            [producer, entry.epoch, entry.coordinator_epoch, entry.last_timestamp_ms, entry.transaction, entry.batches]
            for producer, entry in self.entries.items()
        ]
        return json.dumps({"version": 0, "offset": offset, "producers": producers, "aborted": self.aborted})


def restore(text: str | None) -> tuple[int, ProducerStates]:
    """Parse a snapshot into its offset and the state; (-1, empty) without one.

    A snapshot that cannot be read is ignored: the state can be rebuilt from the log.
    """
    states = ProducerStates()
    if text is None:
        return -1, states
    try:
        kept = json.loads(text)
        offset = int(kept["offset"])
        states.aborted = [Aborted(*one) for one in kept["aborted"]]
        _restore_producers(states, kept["producers"])
    except (ValueError, TypeError, KeyError, LookupError):
        return -1, ProducerStates()
    return offset, states


def _restore_producers(states: ProducerStates, rows: list[Any]) -> None:
    for producer, epoch, coordinator_epoch, timestamp, transaction, batches in rows:
        kept = [BatchMetadata(*one) for one in batches]
        states.entries[producer] = ProducerEntry(epoch, coordinator_epoch, timestamp, transaction, kept)
    first = {entry.transaction: producer for producer, entry in states.entries.items() if entry.transaction >= 0}
    states._ongoing = dict(sorted(first.items()))
    states._find_first_unstable()


def _apply(entry: ProducerEntry, batch: Batch) -> bool | None:
    """Update an entry with a batch; return, for a marker, whether it commits."""
    if not batch.is_control:
        entry.append_data(batch)
        return None
    marker = marker_of(batch)
    if marker is None:
        return None
    entry.append_marker(batch, marker.coordinator_epoch)
    return marker.committed


def _check(entry: ProducerEntry, batch: Batch) -> None:
    """Validate a batch against its producer's entry. Raises LogRefused. Source: `ProducerAppendInfo`."""
    name = f"producer {batch.producer_id}"
    if batch.producer_epoch < entry.epoch:
        raise LogRefused(
            ErrorCode.INVALID_PRODUCER_EPOCH, f"{name} has epoch {batch.producer_epoch}, {entry.epoch} has been seen"
        )
    if batch.is_control:
        marker = marker_of(batch)
        if marker is not None and marker.coordinator_epoch < entry.coordinator_epoch:
            raise LogRefused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"a marker for {name} is of coordinator epoch {marker.coordinator_epoch}, "
                f"{entry.coordinator_epoch} has been seen",
            )
        return
    if batch.base_sequence != NO_SEQUENCE:
        _check_sequence(entry, batch, name)
    if entry.transaction >= 0 and not batch.is_transactional:
        raise LogRefused(
            ErrorCode.INVALID_TXN_STATE,
            f"{name} has a transaction open since offset {entry.transaction} and writes outside of it",
        )


def _check_sequence(entry: ProducerEntry, batch: Batch, name: str) -> None:
    """Check that the numbers continue, or begin at 0 in a new epoch. Raises LogRefused."""
    # An unknown producer may begin at any number: retention can have deleted its records (KIP-360).
    if entry.epoch < 0:
        return
    if batch.producer_epoch != entry.epoch:
        expected = 0
    else:
        expected = (entry.last_sequence + 1) & MAX_SEQUENCE
    if batch.base_sequence != expected:
        raise LogRefused(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"{name} (epoch {batch.producer_epoch}) sends sequence number {batch.base_sequence}, expected {expected}",
        )
