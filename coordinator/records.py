"""The records a coordinator keeps in `__consumer_offsets`, as values.

Keys and values are Kafka's (`GroupMetadataKey/Value`, `OffsetCommitKey/Value`; classic-protocol reference, 3.4).
A value of None is a tombstone.
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from groupsim.protocol.messages import TopicPartition


@frozen
class StoredMember:
    """One member in a group record: only the selected protocol's metadata survives."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@frozen
class GroupValue:
    """The value of a group record."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp_us: int
    members: tuple[StoredMember, ...] = ()


@frozen
class GroupRecord:
    """A group's metadata, or (value None) its tombstone."""

    group_id: str
    value: GroupValue | None


@frozen
class OffsetValue:
    """The value of an offset record; `expire_us` only for commits that asked for a retention (v2–4)."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_us: int
    expire_us: int | None = None


@frozen
class OffsetRecord:
    """One committed offset, or (value None) its tombstone."""

    group_id: str
    partition: TopicPartition
    value: OffsetValue | None


Record: TypeAlias = GroupRecord | OffsetRecord
