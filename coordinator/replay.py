"""Replay a partition's log.

The last record of a group counts. Offsets are applied one by one, transactions included: a transaction that is open at
the end of the log stays pending. A group with commits only is a simple one. It stays one when its offsets are deleted
again, until a tombstone of its own, or until compaction has removed the last commit.

Records of other kinds of group, and of unknown types, are skipped with a warning.

Source: `CoordinatorLoaderImpl`, `GroupCoordinatorShard.replay`; classic-protocol reference, 3.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from groupsim.coordinator.base.records import ForeignRecord, GroupRecord, Loaded, OffsetRecord
from groupsim.coordinator.classic.entry_points import ClassicGroup, simple_group
from groupsim.coordinator.classic.load import restore
from groupsim.coordinator.partition.state import Partition
from groupsim.eventloop.trace.events import Kind


def replay(partition: Partition, records: Iterable[Loaded]) -> None:
    """Fill an empty partition from its records, oldest first."""
    offsets, skipped = partition.offsets, Counter[str]()
    latest: dict[str, GroupRecord] = {}
    committed: dict[str, None] = {}
    for record in records:
        if isinstance(record, GroupRecord):
            latest[record.group_id] = record
            if record.value is None:
                committed.pop(record.group_id, None)
        elif isinstance(record, ForeignRecord):
            skipped[f"{record.name} (type {record.type})"] += 1
        else:
            offsets.load(record)
            if isinstance(record, OffsetRecord) and record.value is not None:
                committed[record.group_id] = None
    offsets.loaded()
    for group_id, last in latest.items():
        if last.value is not None:
            group = ClassicGroup(group_id)
            restore(group, last.value)
            if not partition.op.differences.empty_since_is_loaded:
                group.state_us = None
            partition.groups.add(group)
    for group_id in committed:
        if partition.groups.get(group_id) is None:
            partition.groups.add(simple_group(group_id, partition.op.now_us))
    for name, count in skipped.items():
        why = f"{count} record(s) of {name} skipped in __consumer_offsets-{partition.number}: not modelled"
        partition.op.emit_by_id(Kind.WARNING, None, reason=why)
