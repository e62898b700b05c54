"""What a request means for its group: one table for every request and every kind of group, an absent one included.

The shard and the modules of `offsets` ask the table before they act on a group (`decide`). A row is the decision for
one type of request and one kind of group. Rows of one request and kind are read from top to bottom; the first whose
condition holds decides. docs/answers.md prints the table.

    ANSWER           the group handles the request
    CREATE_CLASSIC   a classic group is created, and handles the request
    CREATE_SIMPLE    a classic group of offsets only is created
    NO_OFFSETS       the request is answered as for a group without offsets
    Refusal          the request is refused with an error

Sources: `GroupMetadataManager.getOrMaybeCreateClassicGroup`, `OffsetMetadataManager.validateOffsetCommit`,
`GroupMetadataManager.describeGroups`; classic-protocol reference, 1.3 to 1.11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeAlias

from attrs import frozen

from groupsim.coordinator.base.group_kind import Group, GroupKind
from groupsim.coordinator.base.versions import Differences
from groupsim.protocol.errors import ErrorCode
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


class Decision(Enum):
    """A decision that lets the request go on; the value is its text in the docs."""

    ANSWER = "the group answers"
    CREATE_CLASSIC = "creates a classic group, which answers"
    CREATE_SIMPLE = "creates a classic group of offsets only"
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
    """A decision, and the condition of the request under which it holds; the last row of a list has no condition."""

    decision: Decision | Refusal
    when: str = ""
    holds: Callable[[Any], bool] | None = None


Kind: TypeAlias = GroupKind | None
"""The kind of the group of that id; None when there is none."""

_ANSWERED = (Row(Decision.ANSWER),)
_UNKNOWN_MEMBER = (Row(Refusal(ErrorCode.UNKNOWN_MEMBER_ID)),)
_NOT_FOUND = (Row(Refusal(ErrorCode.GROUP_ID_NOT_FOUND)),)


def _commit(since: int, switch: str | None) -> tuple[Row, ...]:
    refusal = Refusal(ErrorCode.GROUP_ID_NOT_FOUND, since, ErrorCode.ILLEGAL_GENERATION, switch)
    return (
        Row(Decision.CREATE_SIMPLE, "the generation is below 0", lambda request: request.generation_id < 0),
        Row(refusal),
    )


ADMISSION: Mapping[type[Any], Mapping[Kind, tuple[Row, ...]]] = {
    JoinGroupRequest: {
        None: (
            Row(Refusal(ErrorCode.UNKNOWN_MEMBER_ID), "the request has a member id", lambda request: request.member_id),
            Row(Decision.CREATE_CLASSIC),
        ),
        GroupKind.CLASSIC: _ANSWERED,
    },
    SyncGroupRequest: {None: _UNKNOWN_MEMBER, GroupKind.CLASSIC: _ANSWERED},
    HeartbeatRequest: {None: _UNKNOWN_MEMBER, GroupKind.CLASSIC: _ANSWERED},
    LeaveGroupRequest: {None: _UNKNOWN_MEMBER, GroupKind.CLASSIC: _ANSWERED},
    OffsetCommitRequest: {None: _commit(9, "commit_to_unknown_is_error"), GroupKind.CLASSIC: _ANSWERED},
    TxnOffsetCommitRequest: {None: _commit(6, None), GroupKind.CLASSIC: _ANSWERED},
    OffsetFetchRequest: {None: (Row(Decision.NO_OFFSETS),), GroupKind.CLASSIC: _ANSWERED},
    OffsetDeleteRequest: {None: _NOT_FOUND, GroupKind.CLASSIC: _ANSWERED},
    DescribeGroupsRequest: {
        # Below version 6 the answer has no error, and the state Dead (KIP-1043).
        None: (Row(Refusal(ErrorCode.GROUP_ID_NOT_FOUND, 6, ErrorCode.NONE, "describe_unknown_is_error")),),
        GroupKind.CLASSIC: _ANSWERED,
    },
    DeleteGroupsRequest: {None: _NOT_FOUND, GroupKind.CLASSIC: _ANSWERED},
}


def decide(request: Any, group: Group | None, differences: Differences) -> Decision | ErrorCode:
    """Return the decision about a request to this group, or the error that refuses it."""
    for row in ADMISSION[type(request)][None if group is None else group.kind]:
        if row.holds is None or row.holds(request):
            decision = row.decision
            break
    if isinstance(decision, Refusal):
        return decision.of(getattr(request, "version", 0), differences)
    return decision


def refused(request: Any, group: Group | None, differences: Differences) -> ErrorCode | None:
    """Return the error that refuses a request to this group; None when the request goes on."""
    decision = decide(request, group, differences)
    return decision if isinstance(decision, ErrorCode) else None
