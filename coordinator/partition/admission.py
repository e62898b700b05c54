"""What a request means for its group: one table for every request and every kind of group, an absent one included.

The shard and the modules of `offsets` ask the table before they act on a group (`decide`). A row is the decision for
one type of request and one kind of group. Rows of one request and kind are read from top to bottom; the first whose
condition holds decides. docs/answers.md prints the table.

    ANSWER           the group handles the request
    CREATE_CLASSIC   a classic group is created, and handles the request
    CREATE_SIMPLE    a classic group of offsets only is created
    CREATE_CONSUMER  a consumer group is created, and handles the request
    BECOME_CLASSIC   the group is deleted, and a classic group is created in its place, which handles the request
    BECOME_CONSUMER  the same with a consumer group
    UPGRADE          the classic group with its members becomes a consumer group, which handles the request, unless a
                     check of `coordinator/conversion/upgrade.py` refuses that
    LOSE_GROUP       the request is refused, but the group is gone without a tombstone, as in Kafka
    NO_OFFSETS       the request is answered as for a group without offsets
    Refusal          the request is refused with an error

Sources: `GroupMetadataManager.getOrMaybeCreateClassicGroup`, `OffsetMetadataManager.validateOffsetCommit`,
`GroupMetadataManager.describeGroups`; classic-protocol reference, 1.3 to 1.11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeAlias

from groupsim.coordinator.base.group_kind import Group, GroupKind
from groupsim.coordinator.base.versions import Differences
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    JOIN_EPOCH,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
)
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest
from groupsim.protocol.values import frozen


class Decision(Enum):
    """A decision that lets the request go on; the value is its text in the docs."""

    ANSWER = "the group answers"
    CREATE_CLASSIC = "creates a classic group, which answers"
    CREATE_SIMPLE = "creates a classic group of offsets only"
    CREATE_CONSUMER = "creates a consumer group, which answers"
    BECOME_CLASSIC = "becomes a classic group, which answers"
    BECOME_CONSUMER = "becomes a consumer group, which answers"
    UPGRADE = "is upgraded to a consumer group, which answers"
    LOSE_GROUP = "`UNKNOWN_MEMBER_ID`; the group is lost until the next load"
    NO_OFFSETS = "answered with offset -1 for each partition"


@frozen
class Refusal:
    """An error, and the error of request versions below `since`, or of brokers without the difference `switch`."""

    error: ErrorCode
    since: int = 0
    older: ErrorCode = ErrorCode.NONE
    switch: str | None = None

    def of(self, version: int, differences: Differences) -> ErrorCode:
        """Return the error for a request of this version."""
        known = self.switch is None or getattr(differences, self.switch)
        return self.error if known and version >= self.since else self.older


@frozen
class Row:
    """A decision, and the condition of request and group under which it holds; the last row of a list has none."""

    decision: Decision | Refusal
    when: str = ""
    holds: Callable[[Any, Any], bool] | None = None


Kind: TypeAlias = GroupKind | None
"""The kind of the group of that id; None when there is none."""

_ANSWERED = (Row(Decision.ANSWER),)
_UNKNOWN_MEMBER = (Row(Refusal(ErrorCode.UNKNOWN_MEMBER_ID)),)
_NOT_FOUND = (Row(Refusal(ErrorCode.GROUP_ID_NOT_FOUND)),)


def _commit(since: int, switch: str | None) -> tuple[Row, ...]:
    refusal = Refusal(ErrorCode.GROUP_ID_NOT_FOUND, since, ErrorCode.ILLEGAL_GENERATION, switch)
    return (
        Row(Decision.CREATE_SIMPLE, "the generation is below 0", lambda request, _: request.generation_id < 0),
        Row(refusal),
    )


def _of_members(absent: tuple[Row, ...]) -> Mapping[Kind, tuple[Row, ...]]:
    """Return the rows of a request that groups of every kind answer, with those for an absent group."""
    return {None: absent, GroupKind.CLASSIC: _ANSWERED, GroupKind.CONSUMER: _ANSWERED}


def _joins(request: ConsumerGroupHeartbeatRequest, _: object) -> bool:
    return request.member_epoch == JOIN_EPOCH


ADMISSION: Mapping[type[Any], Mapping[Kind, tuple[Row, ...]]] = {
    JoinGroupRequest: {
        None: (
            Row(
                Refusal(ErrorCode.UNKNOWN_MEMBER_ID),
                "the request has a member id",
                lambda request, _: request.member_id,
            ),
            Row(Decision.CREATE_CLASSIC),
        ),
        GroupKind.CLASSIC: _ANSWERED,
        GroupKind.CONSUMER: (
            Row(Decision.ANSWER, "the group has members", lambda _, group: not group.is_empty),
            Row(
                Decision.LOSE_GROUP,
                "the request has a member id",
                lambda request, _: request.member_id,
            ),
            Row(Decision.BECOME_CLASSIC),
        ),
    },
    SyncGroupRequest: _of_members(_UNKNOWN_MEMBER),
    HeartbeatRequest: _of_members(_UNKNOWN_MEMBER),
    LeaveGroupRequest: _of_members(_UNKNOWN_MEMBER),
    ConsumerGroupHeartbeatRequest: {
        None: (Row(Decision.CREATE_CONSUMER, "the member epoch is 0", _joins), *_NOT_FOUND),
        GroupKind.CLASSIC: (
            Row(
                Decision.BECOME_CONSUMER,
                "the member epoch is 0 and the group is empty",
                lambda request, group: _joins(request, group) and group.is_empty,
            ),
            Row(Decision.UPGRADE, "the member epoch is 0", _joins),
            *_NOT_FOUND,
        ),
        GroupKind.CONSUMER: _ANSWERED,
    },
    OffsetCommitRequest: _of_members(_commit(9, "commit_to_unknown_is_error")),
    TxnOffsetCommitRequest: _of_members(_commit(6, None)),
    OffsetFetchRequest: _of_members((Row(Decision.NO_OFFSETS),)),
    OffsetDeleteRequest: _of_members(_NOT_FOUND),
    DescribeGroupsRequest: {
        # Below version 6 the answer has no error, and the state Dead (KIP-1043).
        None: (Row(Refusal(ErrorCode.GROUP_ID_NOT_FOUND, 6, ErrorCode.NONE, "describe_unknown_is_error")),),
        GroupKind.CLASSIC: _ANSWERED,
        GroupKind.CONSUMER: (Row(Refusal(ErrorCode.GROUP_ID_NOT_FOUND, 6, ErrorCode.NONE)),),
    },
    ConsumerGroupDescribeRequest: {
        None: _NOT_FOUND,
        GroupKind.CLASSIC: _NOT_FOUND,
        GroupKind.CONSUMER: _ANSWERED,
    },
    DeleteGroupsRequest: _of_members(_NOT_FOUND),
}


def decide(request: Any, group: Group | None, differences: Differences) -> Decision | ErrorCode:
    """Return the decision about a request to this group, or the error that refuses it."""
    for row in ADMISSION[type(request)][None if group is None else group.kind]:
        if row.holds is None or row.holds(request, group):
            decision = row.decision
            break
    if isinstance(decision, Refusal):
        return decision.of(getattr(request, "version", 0), differences)
    return decision


def refused(request: Any, group: Group | None, differences: Differences) -> ErrorCode | None:
    """Return the error that refuses a request to this group; None when the request goes on."""
    decision = decide(request, group, differences)
    return decision if isinstance(decision, ErrorCode) else None
