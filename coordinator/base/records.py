"""The records of a coordinator in `__consumer_offsets`, as values.

Keys and values are Kafka's (`GroupMetadataKey/Value`, `OffsetCommitKey/Value`; classic-protocol reference, 3.4);
`serde` encodes them. A value of None is a tombstone. Times are whole milliseconds, as in the bytes, so that a record
that is read equals the record that was written (`whole_ms`).

The records of consumer groups are in `consumer_records.py`.

An offset committed in a transaction is a record with its producer; it counts once the log holds a control record that
commits that transaction.
"""

from __future__ import annotations

from typing import TypeAlias

from groupsim.coordinator.base.consumer_records import ConsumerRecord
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import value


def whole_ms(time_us: int) -> int:
    """Return an instant rounded down to the millisecond, the resolution of a record and of Kafka's clock."""
    return time_us - time_us % 1_000


@value
class StoredMember:
    """One member in a group record; of its protocols, only the metadata of the selected one is stored."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@value
class GroupValue:
    """The value of a group record; `state_timestamp_us` is None in records of versions 0 and 1, which have none."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp_us: int | None
    members: tuple[StoredMember, ...] = ()


@value
class GroupRecord:
    """A group's metadata, or (value None) its tombstone."""

    group_id: str
    value: GroupValue | None


@value
class OffsetValue:
    """The value of an offset record; `expire_us` is set only for commits with a retention of their own (v2–4)."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_us: int
    expire_us: int | None = None


@value
class Producer:
    """A transactional producer, identified as in its batches."""

    producer_id: int
    producer_epoch: int


@value
class OffsetRecord:
    """One committed offset, or (value None) its tombstone; with a producer it is part of its open transaction.

    All records of one append have the same producer, or none; tombstones have none.
    """

    group_id: str
    partition: TopicPartition
    value: OffsetValue | None
    producer: Producer | None = None


@value
class TransactionEnd:
    """The control record that ends a producer's transaction in this partition; alone in its append."""

    producer: Producer
    committed: bool
    coordinator_epoch: int = 0


@value
class ForeignRecord:
    """A record of an unknown type, or of a kind of group that is not modelled; a load skips it."""

    type: int
    name: str
    group_id: str | None


Record: TypeAlias = GroupRecord | OffsetRecord | TransactionEnd | ConsumerRecord
"""The records that a coordinator writes."""

Loaded: TypeAlias = Record | ForeignRecord
"""The records that a partition may hold."""
