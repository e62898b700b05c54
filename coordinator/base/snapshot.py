"""A group as a value, for DescribeGroups of the public API, for tests of whole states, and for inspection.

A snapshot holds everything that decides the group's next step, deadlines included, except the ranks of timers within
an instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.coordinator.base.records import OffsetValue
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.coordinator.base.operation import Operation


@frozen
class MemberEpoch:
    """What only a member of a consumer group (KIP-848) has; partitions are sorted.

    member_epoch, previous_epoch, state    as in its record
    assigned, pending                      what it owns, what it has to revoke
    target                                 what it shall own
    """

    member_epoch: int
    previous_epoch: int
    state: str
    assigned: tuple[TopicPartition, ...]
    pending: tuple[TopicPartition, ...]
    target: tuple[TopicPartition, ...]


@frozen
class GroupEpochs:
    """What only a consumer group has: its epochs, its assignor, the hash of its topics' metadata."""

    group_epoch: int
    assignment_epoch: int
    assignor: str
    metadata_hash: int


@frozen
class MemberSnapshot:
    """One member.

    member_id, instance_id, client_id, client_host    its identity; `instance_id` is its group.instance.id
    session_timeout_ms, rebalance_timeout_ms, protocols    of its last JoinGroup
    assignment        the bytes of its leader's assignment
    is_new            its first JoinGroup is not answered yet
    awaiting_join, awaiting_sync    a JoinGroup, a SyncGroup of it is parked
    session_due_us    when its session ends; None when that timer does not run
    epoch             of a member of a consumer group: its epochs and partitions
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[str, ...]
    assignment: bytes
    is_new: bool
    awaiting_join: bool
    awaiting_sync: bool
    session_due_us: int | None
    epoch: MemberEpoch | None = None


@frozen
class Parked:
    """A request without an answer: `what` is its API, `until` the condition that ends the wait."""

    what: str
    member_id: str
    until: str


@frozen
class TimerSnapshot:
    """A running timer."""

    name: str
    due_us: int


@frozen
class PendingOffset:
    """An offset in an open transaction of this producer."""

    producer_id: int
    partition: TopicPartition
    value: OffsetValue


@frozen
class GroupSnapshot:
    """A group at one instant.

    group_id, kind, state, previous_state    states as Kafka's tools print them; "classic" or "consumer"
    state_us          time of the last change of state; None when the log does not contain it
    generation, protocol_type, protocol, leader    of the present generation; `leader` is a member id
    members           each as a MemberSnapshot; `member(id)` finds one
    pending_join      member ids that were assigned and have not joined yet
    pending_sync      members without a SyncGroup in this generation
    new_member_added  a member joined during the initial delay, which is prolonged
    subscribed        topics with a subscription; None when they could not be decoded
    parked, held      requests without an answer: of this group; of its partition, until an append is committed
    timers            the running timers with their deadlines
    pending_offsets   offsets of open transactions
    epochs            of a consumer group: its epochs
    """

    group_id: str
    kind: str
    state: str
    previous_state: str
    state_us: int | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    members: tuple[MemberSnapshot, ...]
    pending_join: tuple[str, ...]
    pending_sync: tuple[str, ...]
    new_member_added: bool
    subscribed: tuple[str, ...] | None
    parked: tuple[Parked, ...]
    held: tuple[Parked, ...]
    timers: tuple[TimerSnapshot, ...]
    pending_offsets: tuple[PendingOffset, ...] = ()
    epochs: GroupEpochs | None = None

    def member(self, member_id: str) -> MemberSnapshot:
        """Return the member of that id. Raises KeyError when there is none."""
        for member in self.members:
            if member.member_id == member_id:
                return member
        raise KeyError(member_id)


def held(op: Operation) -> tuple[Parked, ...]:
    """Return the partition's answers that wait for an append."""
    return tuple(
        Parked(waiting.request.API.title, "", f"append {waiting.append_id} is committed")
        for waiting in op.purgatory
        if waiting.request is not None
    )
