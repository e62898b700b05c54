"""What becomes of offsets nobody needs (KIP-211).

Every `offsets.retention.check.interval.ms` each partition looks for offsets older than `offsets.retention.minutes`.
What "older" counts from depends on the group:

    has been joined, and is empty    since it became empty
    consumers, Stable                since the commit, for topics nobody subscribes to any more
    in a rebalance, or not readable  nothing expires
    never joined (simple)            since the commit

A commit of versions 2 to 4 may carry its own time. An offset stays as long as an open transaction has another one for
the same partition. A group that is empty, with no offset left and no transaction open, is deleted, so one
that never had any vanishes at the next look, and its generation begins at 0 when it comes back.

Source: `OffsetExpirationConditionImpl`, `ClassicGroup.offsetExpirationCondition`,
`OffsetMetadataManager.cleanupExpiredOffsets`; classic-protocol reference, 2.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from groupsim.coordinator.group import GroupData
from groupsim.coordinator.records import OffsetRecord, OffsetValue, Record
from groupsim.coordinator.states import State
from groupsim.coordinator.timers import TimerKind
from groupsim.coordinator.turn import Turn
from groupsim.eventloop.events import Kind
from groupsim.protocol.messages import TopicPartition

if TYPE_CHECKING:
    from groupsim.coordinator.kinds import Group
    from groupsim.coordinator.partition import Partition


@frozen
class ExpiryRule:
    """From when offsets count their retention: `since_us`, or with None their own commit; `spared` topics are kept."""

    since_us: int | None = None
    spared: frozenset[str] = frozenset()

    def expired(self, partition: TopicPartition, value: OffsetValue, now_us: int, retention_us: int) -> bool:
        """Whether this offset is due."""
        if partition.topic in self.spared:
            return False
        if value.expire_us is not None:
            return now_us >= value.expire_us
        base_us = value.commit_us if self.since_us is None else self.since_us
        return now_us - base_us >= retention_us


def expiry_rule(turn: Turn, group: GroupData) -> ExpiryRule | None:
    """The rule for a classic group; None when nothing of it may expire now."""
    if not turn.differences.retention_from_empty or group.protocol_type is None:
        return ExpiryRule()
    if group.state is State.EMPTY:
        return ExpiryRule(group.state_us)
    if group.is_consumer and group.state is State.STABLE and group.subscribed is not None:
        return ExpiryRule(spared=group.subscribed)
    return None


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
            payload = {"offsets": len(gone)}
            partition.turn.mention(Kind.GROUP_DELETED, group.group_id, reason="nothing is left of it", payload=payload)
            records.append(partition.tombstones(group)[-1])
    if records:
        partition.append(tuple(records))
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
