"""A partition told again from its log.

Of a group the last record counts. Offsets are applied one by one, transactions included: one that is still open at the
end of the log stays pending. A group that nothing but commits speaks of is a simple one, and stays one when its offsets
are deleted again: it goes with a tombstone of its own, or when compaction has taken the last commit.

Records of other kinds of group, and types nobody knows, are skipped, and said to be.

Source: `CoordinatorLoaderImpl`, `GroupCoordinatorShard.replay`; classic-protocol reference, 3.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from groupsim.coordinator.base.records import ForeignRecord, GroupRecord, Loaded, OffsetRecord
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.load import restore
from groupsim.coordinator.partition.state import Partition
from groupsim.eventloop.trace.events import Kind


def replay(partition: Partition, records: Iterable[Loaded]) -> None:
    """Fill an empty partition with what its records tell, oldest first."""
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
            if not partition.turn.differences.empty_since_is_loaded:
                group.state_us = None
            partition.groups.add(group)
    for group_id in committed:
        if partition.groups.get(group_id) is None:
            partition.add_simple_group(group_id)
    for name, count in skipped.items():
        why = f"{count} record(s) of {name} skipped in __consumer_offsets-{partition.number}: not modelled"
        partition.turn.mention(Kind.WARNING, None, reason=why)
