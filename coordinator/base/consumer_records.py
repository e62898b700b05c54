"""The records of consumer groups (KIP-848) in `__consumer_offsets`, as values.

A classic group is one record; a consumer group is many, each of them small: one for the epoch of the group and one for
that of its target assignment, and three for each member. So a change is written as the records that differ, and a
compacted log still holds the whole group. The number is the record type of the key:

    3   EpochRecord         the group epoch, and the hash of the metadata of the subscribed topics
    4   TopicsRecord        the subscribed topics; written by 4.0 only, since 4.1 the hash replaces it
    5   MemberRecord        what a member sent: its subscription, its client, its timeouts
    6   TargetEpochRecord   the epoch of the target assignment, and when it was computed
    7   TargetRecord        the target assignment of one member
    8   CurrentRecord       the epoch of one member, and the partitions that it owns or has to revoke
    16  RegexRecord         the topics that match a regular expression

A value of None is a tombstone. Topics of assignments are ids in Kafka's 22 letters.

Source: `GroupCoordinatorRecordHelpers`, `CoordinatorRecordType`; consumer-protocol reference, 1.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TypeAlias

from groupsim.assignors.server.interface import Target
from groupsim.protocol.messages.group import JoinProtocol
from groupsim.protocol.values import value

Partitions: TypeAlias = Mapping[str, Mapping[int, int]]
"""Topic id → partition → the assignment epoch at which the member got it. Never changed after it has been made."""


class MemberState(IntEnum):
    """The position of a member between its assignment and its target; the number is that of the records."""

    STABLE = 0
    """It owns its target."""
    UNREVOKED_PARTITIONS = 1
    """It has to revoke partitions, and has not confirmed that yet."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that other members have not revoked yet."""
    UNKNOWN = 127
    """A state of a newer release."""


@value
class ClassicMetadata:
    """What a member of the classic protocol sent in its JoinGroup: session timeout and protocols."""

    session_timeout_ms: int
    protocols: tuple[JoinProtocol, ...]


@value
class EpochValue:
    """The epoch of a group; `metadata_hash` is 0 in records of 4.0."""

    epoch: int
    metadata_hash: int = 0


@value
class EpochRecord:
    """The epoch of a group; its tombstone deletes the group."""

    group_id: str
    value: EpochValue | None


@value
class SubscribedTopic:
    """One subscribed topic that exists, as 4.0 stores it."""

    topic_id: str
    name: str
    partitions: int


@value
class TopicsRecord:
    """The subscribed topics of a group (4.0); later releases delete it with their first write."""

    group_id: str
    value: tuple[SubscribedTopic, ...] | None


@value
class MemberValue:
    """What one member sent. `names` are sorted; `regex` is "" without one; `classic` only for a classic member."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    names: tuple[str, ...] = ()
    regex: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicMetadata | None = None


@value
class MemberRecord:
    """The metadata of a member; its tombstone, after those of types 8 and 7, removes the member."""

    group_id: str
    member_id: str
    value: MemberValue | None


@value
class TargetEpochValue:
    """The epoch of the target assignment; `time_us` is None where no time counts (0 in the bytes)."""

    epoch: int
    time_us: int | None = None


@value
class TargetEpochRecord:
    """The epoch of the target assignment of a group."""

    group_id: str
    value: TargetEpochValue | None


@value
class TargetRecord:
    """The target assignment of one member."""

    group_id: str
    member_id: str
    value: Target | None


@value
class CurrentValue:
    """The epochs and the assignment of one member: what it owns, and what it has to revoke."""

    member_epoch: int
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Partitions = {}
    pending: Partitions = {}


@value
class CurrentRecord:
    """The current assignment of one member."""

    group_id: str
    member_id: str
    value: CurrentValue | None


@value
class ResolvedRegex:
    """The topics that match a regular expression, sorted: as of a version of the metadata, and an instant."""

    topics: tuple[str, ...]
    version: int
    time_us: int


@value
class RegexRecord:
    """A resolved regular expression of a group; the key has its text."""

    group_id: str
    regex: str
    value: ResolvedRegex | None


ConsumerRecord: TypeAlias = (
    EpochRecord | TopicsRecord | MemberRecord | TargetEpochRecord | TargetRecord | CurrentRecord | RegexRecord
)
"""The records of a consumer group."""
