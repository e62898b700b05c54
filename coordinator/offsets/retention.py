"""What becomes of offsets nobody needs (KIP-211).

Every `offsets.retention.check.interval.ms` each partition looks for offsets older than `offsets.retention.minutes`.
What "older" counts from depends on the group (`expiry`). An offset stays as long as an open transaction has another one
for the same partition. A group that is empty, with no offset left and no transaction open, is deleted, so one that
never had any vanishes at the next look, and its generation begins at 0 when it comes back.

Source: `OffsetMetadataManager.cleanupExpiredOffsets`, `GroupCoordinatorShard.cleanupGroupMetadata`; classic-protocol
reference, 2.12.
"""

from __future__ import annotations

from groupsim.coordinator.base.records import OffsetRecord, Record
from groupsim.coordinator.base.timers import TimerKind
from groupsim.coordinator.partition.group_kind import Group
from groupsim.coordinator.partition.state import NOTHING_LEFT, Partition
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import TopicPartition


def expiry_timer(partition: int) -> str:
    """The name of the timer of the partition's next look."""
    return f"expire-group-metadata-{partition}"


def arm(partition: Partition) -> None:
    """Set the timer of the next look, unless it runs; looks are whole intervals after the load.

    A partition without groups has nothing to look at and sets none.
    """
    turn = partition.turn
    name = expiry_timer(partition.number)
    if turn.timers.get(name) is not None or not len(partition.groups):
        return
    interval_us = 1_000 * turn.config.offsets_retention_check_interval_ms
    passed_us = (turn.now_us - partition.loaded_us) % interval_us
    turn.set_timer(name, TimerKind.EXPIRY, interval_us - passed_us, "")


def look(partition: Partition) -> None:
    """Delete what is expired, and groups that have nothing left; then wait for the next look."""
    records: list[Record] = []
    for group in partition.groups:
        gone = _expired(partition, group)
        records += [OffsetRecord(group.group_id, tp, None) for tp in gone]
        unfinished = partition.offsets.view.held(group.group_id)
        if group.is_empty and not unfinished and len(gone) == len(partition.offsets.latest(group.group_id)):
            payload = {"offsets": len(gone), "generation": group.generation}
            partition.turn.mention(Kind.GROUP_DELETED, group.group_id, reason=NOTHING_LEFT, payload=payload)
            records.append(partition.tombstones(group)[-1])
    if records:
        partition.delete(tuple(records))
    arm(partition)


def _expired(partition: Partition, group: Group) -> list[TopicPartition]:
    turn = partition.turn
    rule = group.expiry_rule(turn)
    offsets = partition.offsets.latest(group.group_id)
    if rule is None or not offsets:
        return []
    retention_us = 60_000_000 * turn.config.offsets_retention_minutes
    unfinished = partition.offsets.view.held(group.group_id)
    due = [
        tp
        for tp in sorted(offsets)
        if tp not in unfinished and rule.expired(tp, offsets[tp], turn.now_us, retention_us)
    ]
    for tp in due:
        turn.mention(
            Kind.OFFSET_EXPIRED,
            group.group_id,
            topic=tp.topic,
            partition=tp.partition,
            payload={"offset": offsets[tp].offset},
        )
    return due
