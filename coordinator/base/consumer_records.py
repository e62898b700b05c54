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

A value of None is a tombstone. Topics of assignments are ids in Kafka's 22 letters. Times are whole milliseconds
(`records.whole_ms`). The values that have no time are those of `protocol/embedded/consumer_group_records.py`.

Source: `GroupCoordinatorRecordHelpers`, `CoordinatorRecordType`; consumer-protocol reference, 1.21.
"""

from __future__ import annotations

from typing import TypeAlias

from groupsim.protocol.embedded.consumer_group_records import ClassicMetadata as ClassicMetadata
from groupsim.protocol.embedded.consumer_group_records import CurrentValue as CurrentValue
from groupsim.protocol.embedded.consumer_group_records import EpochValue as EpochValue
from groupsim.protocol.embedded.consumer_group_records import MemberState as MemberState
from groupsim.protocol.embedded.consumer_group_records import MemberValue as MemberValue
from groupsim.protocol.embedded.consumer_group_records import Partitions as Partitions
from groupsim.protocol.embedded.consumer_group_records import SubscribedTopic as SubscribedTopic
from groupsim.protocol.embedded.consumer_group_records import Target as Target
from groupsim.protocol.values import value


@value
class EpochRecord:
    """The epoch of a group; its tombstone deletes the group."""

    group_id: str
    value: EpochValue | None


@value
class TopicsRecord:
    """The subscribed topics of a group (4.0); later releases delete it with their first write."""

    group_id: str
    value: tuple[SubscribedTopic, ...] | None


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
