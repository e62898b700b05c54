"""Replay a partition's log.

The last record of a classic group counts. Records of consumer groups are applied one by one, and so are offsets,
transactions included: a transaction that is open at the end of the log stays pending. A group with commits only is a
simple one. It stays one when its offsets are deleted again, until a tombstone of its own, or until compaction has
removed the last commit.

A group that changed its kind has records of both. The tombstone of either kind removes the group, whatever it is; the
record of a classic group replaces a consumer group. A record of a consumer group replaces a simple group only.

Records of other kinds of group, and of unknown types, are skipped with a warning.

Source: `CoordinatorLoaderImpl`, `GroupCoordinatorShard.replay`, `GroupMetadataManager.replay`; classic-protocol
reference, 3.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from groupsim.coordinator.base.consumer_records import EpochRecord
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.records import (
    ForeignRecord,
    GroupRecord,
    Loaded,
    OffsetRecord,
    TransactionEnd,
)
from groupsim.coordinator.classic.entry_points import ClassicGroup, simple_group
from groupsim.coordinator.classic.load import restore
from groupsim.coordinator.partition.state import Partition
from groupsim.eventloop.trace.events import Kind


def replay(partition: Partition, records: Iterable[Loaded]) -> None:
    """Fill an empty partition from its records, oldest first. Raises IllegalState where Kafka's load fails."""
    offsets, skipped = partition.offsets, Counter[str]()
    latest: dict[str, GroupRecord] = {}
    committed: dict[str, None] = {}
    for record in records:
        if isinstance(record, GroupRecord):
            latest[record.group_id] = record
            partition.groups.remove(record.group_id)
            if record.value is None:
                committed.pop(record.group_id, None)
        elif isinstance(record, ForeignRecord):
            skipped[f"{record.name} (type {record.type})"] += 1
        elif isinstance(record, OffsetRecord | TransactionEnd):
            offsets.load(record)
            if isinstance(record, OffsetRecord) and record.value is not None:
                committed[record.group_id] = None
        else:
            _replace_simple(partition, record.group_id, latest, committed)
            partition.load(record)
            if isinstance(record, EpochRecord) and record.value is None:
                committed.pop(record.group_id, None)
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


def _replace_simple(
    partition: Partition, group_id: str, latest: dict[str, GroupRecord], committed: dict[str, None]
) -> None:
    """Replace a simple group by a consumer group, also before a tombstone. Raises IllegalState for a classic one."""
    if partition.groups.get(group_id) is not None:
        return
    before = latest.get(group_id)
    classic = None if before is None else before.value
    if classic is None and group_id not in committed:
        return
    if classic is not None and (classic.protocol_type or classic.members):
        raise IllegalState(f"Group {group_id} is not a consumer group")
    latest.pop(group_id, None)
    partition.groups.add(partition.new_consumer_group(group_id))
