"""One partition of a Fetch answer, as the ranges of records that polls return.

Brokers send whole batches, so the first may begin before the position: earlier records are skipped. A range ends at a
gap in the offsets (from compaction), or where the leader epoch changes. Control batches are not returned; under
read_committed neither are those of aborted transactions. The position moves past everything that is skipped.

Source: `CompletedFetch.nextFetchedRecord`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groupsim.protocol.batch.batch import NO_PRODUCER, Batch, LogRecord
from groupsim.protocol.messages.data import PartitionData
from groupsim.protocol.messages.group import NO_EPOCH

_ABORT = 0  # the type in a control record's key, after the two bytes of the version


class Run(NamedTuple):
    """Records with consecutive offsets from `base` to `end`, exclusive, of one leader epoch."""

    base: int
    end: int
    epoch: int


class Records(NamedTuple):
    """The ranges of a fetch, the offset after its last batch, and that batch's leader epoch."""

    runs: list[Run]
    next_offset: int
    last_epoch: int


def records_in(data: PartitionData, from_offset: int, *, committed_only: bool = False) -> Records:
    """Return the records from an offset on; `committed_only` as under read_committed."""
    batches: Sequence[Batch] | Iterator[Batch] = data.batches
    if committed_only and data.batches:
        batches = _without_aborted(data)
    runs: list[Run] = []
    for batch in batches:
        if not batch.is_control:
            _add(runs, batch, from_offset)
    if not data.batches:
        return Records(runs, from_offset, NO_EPOCH)
    last = data.batches[-1]
    return Records(runs, max(last.next_offset, from_offset), last.leader_epoch)


def _add(runs: list[Run], batch: Batch, from_offset: int) -> None:
    base, end, epoch = max(batch.base_offset, from_offset), batch.next_offset, batch.leader_epoch
    records = batch.records
    if records is not None and len(records) != batch.count:
        for record in records:
            offset = batch.base_offset + record.offset_delta
            if offset >= from_offset:
                _extend(runs, offset, offset + 1, epoch)
    elif base < end:
        _extend(runs, base, end, epoch)


def _extend(runs: list[Run], base: int, end: int, epoch: int) -> None:
    if runs:
        last = runs[-1]
        if last.end == base and last.epoch == epoch:
            runs[-1] = Run(last.base, end, epoch)
            return
    runs.append(Run(base, end, epoch))


def _without_aborted(data: PartitionData) -> Iterator[Batch]:
    """Return the batches visible under read_committed; the answer lists where aborted transactions began."""
    begun = sorted(data.aborted, key=lambda entry: entry[1])
    aborting: set[int] = set()
    at = 0
    for batch in data.batches:
        producer = batch.producer_id
        if producer == NO_PRODUCER:
            yield batch
            continue
        while at < len(begun) and begun[at][1] <= batch.last_offset:
            aborting.add(begun[at][0])
            at += 1
        if _is_abort_marker(batch):
            aborting.discard(producer)
        elif not (batch.is_transactional and producer in aborting):
            yield batch


def _is_abort_marker(batch: Batch) -> bool:
    if not batch.is_control or not batch.records:
        return False
    key = batch.records[0].key
    return key is not None and int.from_bytes(key[2:4]) == _ABORT


def contents(batches: Sequence[Batch], base: int, end: int) -> Iterator[tuple[int, Batch, LogRecord]]:
    """Return the records with content in a range of offsets, each with its offset and batch."""
    for batch in batches:
        if batch.records is None or batch.is_control or batch.next_offset <= base:
            continue
        if batch.base_offset >= end:
            return
        for record in batch.records:
            offset = batch.base_offset + record.offset_delta
            if base <= offset < end:
                yield offset, batch, record
