"""What a log knows of the producers that wrote to it: sequences against duplicates, transactions against dirty reads.

An idempotent producer numbers its records. Per producer id the log keeps the epoch and the last five batches; a batch
whose numbers it has already is a duplicate (a retry whose first answer was lost) and answered with the first one's
offset, one that does not follow the last is OUT_OF_ORDER_SEQUENCE_NUMBER, one of an older epoch is a zombie's:
INVALID_PRODUCER_EPOCH. A batch without a sequence number comes from a group coordinator (offsets committed in a
transaction); only its epoch is checked, as with markers. What a follower copies is not checked at all.

A transaction begins in this partition with its first transactional batch and ends with a marker. While one is open,
and after its end until the marker is below the high watermark, its first offset is *unstable*: nobody who reads
committed data gets beyond the first unstable offset. Aborted transactions are remembered with the last stable offset
of that moment, which tells a reader where it may stop looking.

All of it can be told again from the log; a snapshot, taken when a segment is rolled, spares reading it from the start.

Source: `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`, `TransactionIndex`; KIP-98, KIP-360. Left
out of KIP-890: verification, which asks another broker before a transaction's first batch, and the refusal of a marker
that does not raise the producer's epoch (here, as before transaction version 2, it may have the present one).
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from attrs import define, field

from groupsim.cluster.log.errors import LogRefused
from groupsim.cluster.log.markers import marker_of
from groupsim.protocol.batch.batch import NO_PRODUCER, NO_SEQUENCE, Batch
from groupsim.protocol.errors import ErrorCode

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
    """An aborted transaction, from its first record to its marker, and the last stable offset when it ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@define
class ProducerEntry:
    """One producer id. `transaction` is the first offset of its open transaction, -1 for none."""

    epoch: int = -1
    coordinator_epoch: int = -1
    last_timestamp_ms: int = -1
    transaction: int = -1
    batches: list[BatchMetadata] = field(factory=list)

    @property
    def last_sequence(self) -> int:
        """Of its last record, -1 when no batch is kept."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def copy(self) -> ProducerEntry:
        """An entry of its own, to try an append on."""
        return ProducerEntry(
            self.epoch, self.coordinator_epoch, self.last_timestamp_ms, self.transaction, list(self.batches)
        )

    def duplicate_of(self, batch: Batch) -> BatchMetadata | None:
        """The kept batch with exactly these sequence numbers, if any."""
        if batch.producer_epoch != self.epoch:
            return None
        for kept in self.batches:
            if kept.first_sequence == batch.base_sequence and kept.last_sequence == last_sequence(batch):
                return kept
        return None

    def take_data(self, batch: Batch) -> None:
        """A data batch was appended."""
        self._meet(batch.producer_epoch)
        if len(self.batches) == BATCHES_KEPT:
            del self.batches[0]
        last = last_sequence(batch)
        self.batches.append(
            BatchMetadata(batch.base_sequence, last, batch.base_offset, batch.last_offset, batch.max_timestamp_ms)
        )
        self.last_timestamp_ms = batch.max_timestamp_ms
        if batch.is_transactional and self.transaction < 0:
            self.transaction = batch.base_offset

    def take_marker(self, batch: Batch, coordinator_epoch: int) -> None:
        """A marker was appended: no transaction is open any more."""
        self._meet(batch.producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp_ms = batch.max_timestamp_ms
        self.transaction = -1

    def _meet(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch


def last_sequence(batch: Batch) -> int:
    """The sequence number of a batch's last record; it wraps at 2^31 - 1."""
    if batch.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return (batch.base_sequence + batch.count - 1) & MAX_SEQUENCE


class ProducerStates:
    """All producers of one log. `first_unstable` is the first unstable offset, -1 when every transaction is decided."""

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.aborted: list[Aborted] = []  # by rising offset of their markers
        self.first_unstable = -1
        self._open: dict[int, int] = {}  # first offset: producer id; offsets rise
        self._undecided: dict[int, int] = {}  # ended, the marker not yet replicated: first offset: the marker's

    @property
    def is_empty(self) -> bool:
        """Whether no producer with an id has written here."""
        return not self.entries and not self.aborted and not self._undecided

    # --- appending -------------------------------------------------------------------------------------------------

    def check(self, batches: Sequence[Batch]) -> BatchMetadata | None:
        """May a leader append these? Returns what was kept of the first time when one is a duplicate.

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

    def take(self, batch: Batch) -> None:
        """A batch with a producer id was appended. Source: `ProducerStateManager.update`, `completeTxn`."""
        entry = self.entries.get(batch.producer_id)
        if entry is None:
            entry = self.entries[batch.producer_id] = ProducerEntry()
        before = entry.transaction
        ended = _apply(entry, batch)
        if ended is not None and before >= 0:
            self._complete(batch, before, ended)
        elif before < 0 <= entry.transaction:
            self._open[entry.transaction] = batch.producer_id
            self._find_first_unstable()

    def _complete(self, marker: Batch, first_offset: int, committed: bool) -> None:
        self._open.pop(first_offset, None)
        if not committed:
            stable = next(iter(self._open), marker.next_offset)
            self.aborted.append(Aborted(marker.producer_id, first_offset, marker.last_offset, stable))
        self._undecided[first_offset] = marker.last_offset
        self._find_first_unstable()

    def _find_first_unstable(self) -> None:
        first_open = next(iter(self._open), -1)
        first_undecided = min(self._undecided, default=-1)
        self.first_unstable = min((at for at in (first_open, first_undecided) if at >= 0), default=-1)

    def decided(self, high_watermark: int) -> None:
        """Markers below the high watermark are final. Source: `onHighWatermarkUpdated`."""
        if self._undecided:
            self._undecided = {first: last for first, last in self._undecided.items() if last >= high_watermark}
            self._find_first_unstable()

    # --- reading and forgetting ------------------------------------------------------------------------------------

    def aborted_between(self, from_offset: int, up_to: int) -> tuple[tuple[int, int], ...]:
        """(producer id, first offset) of the aborted transactions that touch these offsets."""
        found = []
        for index in range(bisect_left(self.aborted, from_offset, key=lambda one: one.last_offset), len(self.aborted)):
            one = self.aborted[index]
            if one.first_offset < up_to:
                found.append((one.producer_id, one.first_offset))
            if one.last_stable_offset >= up_to:
                break
        return tuple(found)

    def forget_before(self, start_offset: int) -> None:
        """The log begins later: aborted transactions that ended before its start concern nobody."""
        del self.aborted[: bisect_left(self.aborted, start_offset, key=lambda one: one.last_offset)]
        self.decided(start_offset)

    def expire(self, now_ms: int, after_ms: int) -> None:
        """Forget producers without an open transaction that have been quiet for so long."""
        quiet = [
            producer
            for producer, entry in self.entries.items()
            if entry.transaction < 0 and now_ms - entry.last_timestamp_ms >= after_ms
        ]
        for producer in quiet:
            del self.entries[producer]

    def next_expiry_ms(self, after_ms: int) -> int | None:
        """When the next producer is forgotten, if none writes; None when there is none to forget."""
        times = (entry.last_timestamp_ms + after_ms for entry in self.entries.values() if entry.transaction < 0)
        return min(times, default=None)

    # --- snapshots -------------------------------------------------------------------------------------------------

    def text(self, offset: int) -> str:
        """The state after everything below this offset, as a checkpoint."""
        producers = [
            [producer, entry.epoch, entry.coordinator_epoch, entry.last_timestamp_ms, entry.transaction, entry.batches]
            for producer, entry in self.entries.items()
        ]
        return json.dumps({"version": 0, "offset": offset, "producers": producers, "aborted": self.aborted})


def restore(text: str | None) -> tuple[int, ProducerStates]:
    """What a snapshot says: the offset up to which it is told, and the state; (-1, empty) without one.

    A snapshot that cannot be read counts as none: everything in it can be told again from the log.
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
    states._open = dict(sorted(first.items()))
    states._find_first_unstable()


def _apply(entry: ProducerEntry, batch: Batch) -> bool | None:
    """Change an entry by a batch; for a marker, whether it commits."""
    if not batch.is_control:
        entry.take_data(batch)
        return None
    marker = marker_of(batch)
    if marker is None:
        return None
    entry.take_marker(batch, marker.coordinator_epoch)
    return marker.committed


def _check(entry: ProducerEntry, batch: Batch) -> None:
    """Source: `ProducerAppendInfo.appendDataBatch` and `appendEndTxnMarker`. Raises LogRefused."""
    who = f"producer {batch.producer_id}"
    if batch.producer_epoch < entry.epoch:
        raise LogRefused(
            ErrorCode.INVALID_PRODUCER_EPOCH, f"{who} has epoch {batch.producer_epoch}, {entry.epoch} has been seen"
        )
    if batch.is_control:
        marker = marker_of(batch)
        if marker is not None and marker.coordinator_epoch < entry.coordinator_epoch:
            raise LogRefused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"a marker for {who} is of coordinator epoch {marker.coordinator_epoch}, "
                f"{entry.coordinator_epoch} has been seen",
            )
        return
    if batch.base_sequence != NO_SEQUENCE:
        _check_sequence(entry, batch, who)
    if entry.transaction >= 0 and not batch.is_transactional:
        raise LogRefused(
            ErrorCode.INVALID_TXN_STATE,
            f"{who} has a transaction open since offset {entry.transaction} and writes outside of it",
        )


def _check_sequence(entry: ProducerEntry, batch: Batch, who: str) -> None:
    """A new epoch begins at 0; otherwise numbers go on. An unknown producer may begin anywhere."""
    if entry.epoch < 0:
        return
    if batch.producer_epoch != entry.epoch:
        expected = 0
    else:
        expected = (entry.last_sequence + 1) & MAX_SEQUENCE
    if batch.base_sequence != expected:
        raise LogRefused(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"{who} (epoch {batch.producer_epoch}) sends sequence number {batch.base_sequence}, expected {expected}",
        )
