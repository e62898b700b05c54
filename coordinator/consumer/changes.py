"""What one operation writes to a consumer group, with the events that the trace shows of it.

An operation computes with values of its own and collects records. `write` appends them, and the append applies them to
the group at once; so the events come after it, and the change of the group's state last.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, Protocol

from attrs import Factory

from groupsim.coordinator.base.consumer_records import ConsumerRecord, Partitions
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.purgatory import Then
from groupsim.coordinator.base.records import Record
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.soft_state import SoftState
from groupsim.coordinator.consumer.state import GroupState
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.values import define


class Trigger(Enum):
    """Why a group epoch was bumped; the value is the word of the trace."""

    CREATED = "created"
    JOINED = "joined"
    SUBSCRIPTION = "subscription"
    REGEX = "regex"
    REGEX_RESOLVED = "regex-resolved"
    METADATA = "metadata"
    ASSIGNOR = "assignor"
    LEFT = "left"
    SESSION_EXPIRED = "session-expired"
    REBALANCE_TIMEOUT = "rebalance-timeout"
    JOIN_TIMEOUT = "join-timeout"
    SYNC_TIMEOUT = "sync-timeout"


class Write(Protocol):
    """Append records to the partition and apply them (`coordinator/partition/state.py` `Partition.append`).

    Raises IllegalState where Kafka's replay does; then nothing is written.
    """

    def __call__(self, records: tuple[Record, ...], then: Then | None = None, within_ms: int | None = None) -> None: ...


class Downgrade(Protocol):
    """The way of a consumer group to a classic one; `coordinator/conversion/downgrade.py` implements it."""

    def is_due(
        self, group: WrittenGroup, op: Operation, gone: Collection[ConsumerMember], *, replaced: bool = False
    ) -> bool:
        """Whether the group becomes classic when these members go, or one is replaced by a classic member."""

    def fenced(
        self, group: WrittenGroup, op: Operation, gone: Collection[ConsumerMember], why: Trigger, reason: str
    ) -> None:
        """Write the downgrade without these members; a round opens at once. Raises Refused (GROUP_ID_NOT_FOUND)."""

    def replaced(
        self,
        group: WrittenGroup,
        op: Operation,
        change: Change,
        old: ConsumerMember,
        joined: ConsumerMember,
        *,
        stale: bool,
    ) -> None:
        """Write a change in which a classic member replaces `old`, and the downgrade, as one append.

        `stale`: the target is older than the group epoch, so that a round opens. Raises Refused (GROUP_ID_NOT_FOUND).
        """


class WrittenGroup(Protocol):
    """A consumer group, as the functions of this package use it."""

    data: GroupState
    soft: SoftState
    write: Write
    downgrade: Downgrade

    @property
    def group_id(self) -> str: ...
    @property
    def generation(self) -> int: ...
    def written(self) -> WrittenGroup:
        """Return the group as the partition has it: a group that is new is another object once it is written."""


@define
class Event:
    """One event of the trace, to be emitted once the records are applied."""

    kind: Kind
    member_id: str | None = None
    from_: str | None = None
    to: str | None = None
    reason: str | None = None
    payload: Mapping[str, Any] | None = None


@define
class Change:
    """The records of one operation, in Kafka's order, and its events."""

    records: list[ConsumerRecord] = Factory(list)
    events: list[Event] = Factory(list)

    def note(self, kind: Kind, member_id: str | None = None, **columns: Any) -> None:
        """Add an event."""
        self.events.append(Event(kind, member_id, **columns))


def write(group: WrittenGroup, op: Operation, change: Change, member_id: str | None, reason: str) -> None:
    """Append the records and emit the events; nothing without records. Raises IllegalState (`WrittenGroup.write`).

    `reason` is that of a change of the group's state, `member_id` the member that caused it.
    """
    if not change.records:
        return
    before = group.data.state
    group.write(tuple(change.records))
    if not op.tracing:
        return
    group = group.written()
    for event in change.events:
        op.emit(
            event.kind, group, event.member_id, from_=event.from_, to=event.to, reason=event.reason,
            payload=event.payload,
        )  # fmt: skip
    after = group.data.state
    if after is not before:
        op.emit(Kind.GROUP_STATE, group, member_id, from_=before.value, to=after.value, reason=reason)


def note_member(change: Change, before: ConsumerMember, after: ConsumerMember) -> None:
    """Add the event of a member whose epoch, state or partitions changed."""
    if (before.member_epoch, before.state, before.assigned, before.pending) == (
        after.member_epoch,
        after.state,
        after.assigned,
        after.pending,
    ):
        return
    payload = {"state": after.state.name, "assigned": counts(after.assigned), "pending": counts(after.pending)}
    change.note(
        Kind.MEMBER_EPOCH,
        after.member_id,
        from_=str(before.member_epoch),
        to=str(after.member_epoch),
        payload=payload,
    )


def counts(partitions: Partitions) -> dict[str, list[int]]:
    """Return partitions by topic id, sorted."""
    return {topic: sorted(partitions[topic]) for topic in sorted(partitions)}
