"""The deletion of expired offsets and of empty groups (KIP-211).

Every `offsets.retention.check.interval.ms` each partition deletes offsets older than `offsets.retention.minutes`. The
start of that time depends on the group (`classic/expiry.py`). An offset does not expire while an open transaction has
another one for the same partition. An Empty group without offsets and without an open transaction is deleted. So a
group that never had an offset disappears at the next cleanup, and starts at generation 0 when it is created again.

Source: `OffsetMetadataManager.cleanupExpiredOffsets`, `GroupCoordinatorShard.cleanupGroupMetadata`; classic-protocol
reference, 2.12.
"""

from __future__ import annotations

from groupsim.coordinator.base.group_kind import Group
from groupsim.coordinator.base.records import OffsetRecord, Record
from groupsim.coordinator.base.timers import TimerKind
from groupsim.coordinator.partition.state import NOTHING_LEFT, Partition
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import TopicPartition


def expiry_timer(partition: int) -> str:
    """Return the name of the timer of the partition's cleanup."""
    return f"expire-group-metadata-{partition}"


def schedule(partition: Partition) -> None:
    """Set the timer of the next cleanup, unless it runs; cleanups are at whole intervals after the load.

    A partition without groups sets none.
    """
    op = partition.op
    name = expiry_timer(partition.number)
    if op.timers.get(name) is not None or not len(partition.groups):
        return
    interval_us = 1_000 * op.config.offsets_retention_check_interval_ms
    passed_us = (op.now_us - partition.loaded_us) % interval_us
    op.set_timer(name, TimerKind.EXPIRY, interval_us - passed_us, "")


def cleanup(partition: Partition) -> None:
    """Delete expired offsets, and groups without offsets; then set the timer of the next cleanup."""
    records: list[Record] = []
    for group in partition.groups:
        gone = _expired(partition, group)
        records += [OffsetRecord(group.group_id, tp, None) for tp in gone]
        unfinished = partition.offsets.view.held(group.group_id)
        # Pending ids (KIP-394) do not keep a group: their next JoinGroup is answered UNKNOWN_MEMBER_ID.
        if group.is_empty and not unfinished and len(gone) == len(partition.offsets.latest(group.group_id)):
            payload = {"offsets": len(gone), "generation": group.generation}
            partition.op.emit_by_id(Kind.GROUP_DELETED, group.group_id, reason=NOTHING_LEFT, payload=payload)
            records += group.tombstones()
    if records:
        partition.delete(tuple(records))
    schedule(partition)


def _expired(partition: Partition, group: Group) -> list[TopicPartition]:
    op = partition.op
    rule = group.expiry_rule(op)
    offsets = partition.offsets.latest(group.group_id)
    if rule is None or not offsets:
        return []
    retention_us = 60_000_000 * op.config.offsets_retention_minutes
    unfinished = partition.offsets.view.held(group.group_id)
    due = [
        tp for tp in sorted(offsets) if tp not in unfinished and rule.expired(tp, offsets[tp], op.now_us, retention_us)
    ]
    for tp in due:
        op.emit_by_id(
            Kind.OFFSET_EXPIRED,
            group.group_id,
            topic=tp.topic,
            partition=tp.partition,
            payload={"offset": offsets[tp].offset},
        )
    return due
