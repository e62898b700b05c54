"""What one fetch found in one partition, as the ranges of records that polls will return.

Batches are handed out whole by brokers, so the first may begin before the position: what is before it is skipped. A
range ends where the next record is not the next offset (compaction leaves gaps), or belongs to another leader epoch.
Control batches are no records of the application's; with read_committed neither are those of aborted transactions.
Whatever is skipped, the position goes on behind it.

Source: `CompletedFetch.nextFetchedRecord`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groupsim.protocol.batch.batch import NO_PRODUCER, Batch, LogRecord
from groupsim.protocol.messages.data import PartitionData
from groupsim.protocol.messages.group import NO_EPOCH

_ABORT = 0  # the type in a control record's key, two bytes after the version


class Run(NamedTuple):
    """Records with consecutive offsets from `base` up to but not including `end`, of one leader epoch."""

    base: int
    end: int
    epoch: int


class Records(NamedTuple):
    """All runs of a fetch, the offset behind everything it brought, and the leader epoch of the last batch."""

    runs: list[Run]
    next_offset: int
    last_epoch: int


def records_in(data: PartitionData, from_offset: int, *, committed_only: bool = False) -> Records:
    """The records from an offset on; `committed_only` as under read_committed."""
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
    """Append a run, or make the last one longer."""
    if runs:
        last = runs[-1]
        if last.end == base and last.epoch == epoch:
            runs[-1] = Run(last.base, end, epoch)
            return
    runs.append(Run(base, end, epoch))


def _without_aborted(data: PartitionData) -> Iterator[Batch]:
    """The batches that read_committed shows: the list of aborted transactions says where each began."""
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
    """The records with a content whose offsets lie in a range, each with its offset and batch."""
    for batch in batches:
        if batch.records is None or batch.is_control or batch.next_offset <= base:
            continue
        if batch.base_offset >= end:
            return
        for record in batch.records:
            offset = batch.base_offset + record.offset_delta
            if base <= offset < end:
                yield offset, batch, record
