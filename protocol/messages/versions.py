"""The fields that each version of a request has: as data, and applied to messages.

A simulated message always has every field of the newest classic version. An old client's message must not contain more
than its bytes could: `normalise_request` and `normalise_response` set the fields that the version lacks to the values
that a reader of such bytes would get. Most of that follows from one table, `CARRIED`. The rest are the few rules in
which Kafka gives an absent field a meaning:

* JoinGroup 0 has no rebalance timeout: the session timeout is used for it;
* JoinGroup below 7 answers "" where newer versions answer null for the protocol name;
* LeaveGroup below 3 names one member, and has its error at the top of the response;
* OffsetFetch below 2 cannot ask for all partitions, and repeats an error of the whole group per partition;
* DescribeGroups below 6 shows an unknown group as Dead without an error.

`releases` holds the versions of each broker. Sources: `clients/src/main/resources/common/message/*.json`;
classic-protocol reference, sections 1.6, 1.9, 1.10 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_type_hints

from attrs import evolve, fields, has, resolve_types

from groupsim.protocol.errors import ErrorCode, ProtocolError
from groupsim.protocol.messages.acl import NOT_ASKED
from groupsim.protocol.messages.admin import (
    ConfigEntry,
    CreatedTopic,
    CreateTopicsRequest,
    DeletedTopic,
    DescribeClusterRequest,
    DescribeConfigsRequest,
)
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest, DescribedConsumer
from groupsim.protocol.messages.data import (
    NO_LEADER_EPOCH,
    READ_UNCOMMITTED,
    EpochAsked,
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    OffsetAsked,
    OffsetForLeaderEpochRequest,
    OffsetListed,
    PartitionData,
    Produced,
)
from groupsim.protocol.messages.group import (
    NO_EPOCH,
    NO_GENERATION,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FetchedOffset,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    ListedGroup,
    ListGroupsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
    PartitionInfo,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicInfo,
)
from groupsim.protocol.messages.releases import BASELINE as BASELINE
from groupsim.protocol.messages.releases import VersionRange as VersionRange
from groupsim.protocol.messages.releases import broker_versions as broker_versions
from groupsim.protocol.messages.releases import client_version as client_version
from groupsim.protocol.messages.transactions import (
    EndTxnResponse,
    InitProducerIdRequest,
    OffsetInTxn,
    TxnOffsetCommitRequest,
)
from groupsim.protocol.values import frozen

_LATEST = 1 << 15  # above any version
_DEBUGGING = -2  # the replica id of a debugging consumer, which gets no leadership errors

# --- Which fields a version carries ----------------------------------------------------------------------------


@frozen
class Carried:
    """The versions that have a field, and its value for readers of the others."""

    since: int
    absent: Any
    until: int = _LATEST

    def by(self, version: int) -> bool:
        """Whether `version` has the field."""
        return self.since <= version <= self.until


# Message or part of one → field → versions. A field that is not listed is in all versions.
CARRIED: Mapping[type, Mapping[str, Carried]] = {
    JoinGroupRequest: {
        "rebalance_timeout_ms": Carried(1, -1),
        "group_instance_id": Carried(5, None),
        "reason": Carried(8, None),
    },
    JoinMember: {"group_instance_id": Carried(5, None)},
    JoinGroupResponse: {"protocol_type": Carried(7, None), "skip_assignment": Carried(9, False)},
    SyncGroupRequest: {
        "group_instance_id": Carried(3, None),
        "protocol_type": Carried(5, None),
        "protocol_name": Carried(5, None),
    },
    SyncGroupResponse: {"protocol_type": Carried(5, None), "protocol_name": Carried(5, None)},
    HeartbeatRequest: {"group_instance_id": Carried(3, None)},
    LeavingMember: {"group_instance_id": Carried(3, None), "reason": Carried(5, None)},
    LeaveGroupResponse: {"members": Carried(3, ())},
    OffsetToCommit: {"leader_epoch": Carried(6, -1)},
    OffsetCommitRequest: {
        "generation_id": Carried(1, -1),
        "member_id": Carried(1, ""),
        "group_instance_id": Carried(7, None),
        "retention_time_ms": Carried(2, -1, until=4),
    },
    OffsetFetchRequest: {
        "require_stable": Carried(7, False),
        "member_id": Carried(9, None),
        "member_epoch": Carried(9, -1),
    },
    FetchedOffset: {"leader_epoch": Carried(5, -1)},
    OffsetFetchResponse: {"error": Carried(2, ErrorCode.NONE)},
    DescribeGroupsRequest: {"include_authorized_operations": Carried(3, False)},
    DescribedMember: {"group_instance_id": Carried(4, None)},
    DescribedGroup: {"error_message": Carried(6, None), "authorized_operations": Carried(3, NOT_ASKED)},
    ListGroupsRequest: {"states": Carried(4, ()), "types": Carried(5, ())},
    ListedGroup: {"state": Carried(4, ""), "group_type": Carried(5, "")},
    MetadataRequest: {
        "auto_create": Carried(4, True),
        "include_topic_operations": Carried(8, False),
        "include_cluster_operations": Carried(8, False, until=10),
        "topic_ids": Carried(12, ()),
    },
    TopicInfo: {"internal": Carried(1, False), "operations": Carried(8, NOT_ASKED), "topic_id": Carried(10, None)},
    PartitionInfo: {
        "racks": Carried(1, ()),
        "offline": Carried(5, ()),
        "leader_epoch": Carried(7, NO_EPOCH),
    },
    FindCoordinatorRequest: {"key_type": Carried(1, 0)},
    ConsumerGroupHeartbeatRequest: {"subscribed_topic_regex": Carried(1, None)},
    DescribedConsumer: {"member_type": Carried(1, -1)},
    # the messages that move records
    Produced: {
        "log_append_time_ms": Carried(2, -1),
        "log_start_offset": Carried(5, -1),
        "message": Carried(8, None),
        "current_leader": Carried(10, None),
    },
    FetchRequest: {
        "max_bytes": Carried(3, 2**31 - 1),
        "isolation_level": Carried(4, READ_UNCOMMITTED),
        "rack_id": Carried(11, ""),
        "replica_epoch": Carried(15, -1),
    },
    FetchPartition: {
        "log_start_offset": Carried(5, -1),
        "current_leader_epoch": Carried(9, NO_LEADER_EPOCH),
        "last_fetched_epoch": Carried(12, NO_LEADER_EPOCH),
    },
    FetchResponse: {"error": Carried(7, ErrorCode.NONE)},
    PartitionData: {
        "last_stable_offset": Carried(4, -1),
        "aborted": Carried(4, ()),
        "log_start_offset": Carried(5, -1),
        "preferred_read_replica": Carried(11, -1),
        "diverging": Carried(12, None),
        "current_leader": Carried(12, None),
    },
    ListOffsetsRequest: {"isolation_level": Carried(2, READ_UNCOMMITTED)},
    OffsetAsked: {"current_leader_epoch": Carried(4, NO_LEADER_EPOCH)},
    OffsetListed: {"leader_epoch": Carried(4, NO_LEADER_EPOCH)},
    OffsetForLeaderEpochRequest: {"replica_id": Carried(3, _DEBUGGING)},
    EpochAsked: {"current_leader_epoch": Carried(2, NO_LEADER_EPOCH)},
    EpochEndOffset: {"leader_epoch": Carried(1, NO_LEADER_EPOCH)},
    # transactions
    InitProducerIdRequest: {"producer_id": Carried(3, -1), "producer_epoch": Carried(3, -1)},
    OffsetInTxn: {"leader_epoch": Carried(2, NO_EPOCH)},
    TxnOffsetCommitRequest: {
        "generation_id": Carried(3, NO_GENERATION),
        "member_id": Carried(3, ""),
        "group_instance_id": Carried(3, None),
    },
    EndTxnResponse: {"producer_id": Carried(5, -1), "producer_epoch": Carried(5, -1)},
    # administrators
    CreateTopicsRequest: {"validate_only": Carried(1, False)},
    CreatedTopic: {
        "message": Carried(1, None),
        "topic_id": Carried(7, None),
        "partitions": Carried(5, -1),
        "replication": Carried(5, -1),
        "config": Carried(5, ()),
        "config_error": Carried(5, ErrorCode.NONE),
    },
    DeletedTopic: {"message": Carried(5, None), "topic_id": Carried(6, None)},
    DescribeConfigsRequest: {"synonyms": Carried(1, False), "documentation": Carried(3, False)},
    ConfigEntry: {
        "source": Carried(1, -1),
        "synonyms": Carried(1, ()),
        "type": Carried(3, 0),
        "documentation": Carried(3, None),
    },
    DescribeClusterRequest: {"include_fenced": Carried(2, False)},
}


def _is_part(kind: Any) -> bool:
    """Whether a class is a message or a part of one: an attrs class, or a tuple with names."""
    return isinstance(kind, type) and (has(kind) or hasattr(kind, "_fields"))


@lru_cache(maxsize=256)
def _types(message: type) -> Mapping[str, Any]:
    """The fields of a message, or of a part of one, with their types."""
    if has(message):
        return {field.name: field.type for field in fields(resolve_types(message))}
    hints = get_type_hints(message)
    return {name: hints[name] for name in message._fields}  # type: ignore[attr-defined]


# --- Normalising -----------------------------------------------------------------------------------------------

T = TypeVar("T")
R = TypeVar("R", bound=Request)


def normalise_request(request: R) -> R:
    """Return the request as its receiver reads it, given its version.

    Returns the same object when nothing changes. Raises ProtocolError when the version cannot express the
    request at all: several members in LeaveGroup 0-2, all partitions in OffsetFetch 0-1.
    """
    lacking = _lacking(request.__class__, request.version)
    if lacking is None or (lacking.read is not None and lacking.read(request) == lacking.absent):
        return request
    return _normalise(request, request.version)


def normalise_response(response: Response, version: int) -> Response:
    """Return the response as its receiver reads it, given the version of its request.

    Returns the same object when nothing changes. For OffsetFetch 0-1 an error of the whole group is repeated on
    the partitions that the response lists.
    """
    lacking = _lacking(response.__class__, version)
    if lacking is None or (lacking.read is not None and lacking.read(response) == lacking.absent):
        return response
    return _normalise(response, version)


def _normalise(message: T, version: int) -> T:
    """Apply the table, then the rule of this message, if it has one for this version."""
    carried = _carry(message, version)
    below, rule = _RULES.get(message.__class__, _NO_RULE)
    return rule(message, carried, version) if version < below else carried


def _carry(message: T, version: int) -> T:
    """Return the message, and the parts in its tuples, with the default values in fields that the version lacks."""
    changes: dict[str, Any] = {}
    for name, lacking in _plan(message.__class__, version):  # type: ignore[arg-type]
        value = getattr(message, name)
        now = _carry_all(value, version) if lacking is None else lacking.absent
        if now is not value and now != value:
            changes[name] = now
    return _changed(message, changes) if changes else message


def _changed(part: T, changes: Mapping[str, Any]) -> T:
    """Return a copy with some fields changed."""
    replace: Any = getattr(part, "_replace", None)  # of a tuple with names
    return cast(T, evolve(cast(Any, part), **changes) if replace is None else replace(**changes))


def _carry_all(value: Any, version: int) -> Any:
    """Return a tuple of parts in this version; any other value as it is."""
    if not isinstance(value, tuple) or not value or not _is_part(type(value[0])):
        return value
    return tuple([_carry(part, version) for part in value])


@lru_cache(maxsize=1024)
def _plan(message: type, version: int) -> tuple[tuple[str, Carried | None], ...]:
    """Return the fields that change in this version: the absent ones, and (None) tuples of parts with absent fields."""
    table = CARRIED.get(message, {})
    lacking = {name: carried for name, carried in table.items() if not carried.by(version)}
    return tuple(
        (name, lacking.get(name))
        for name, kind in _types(message).items()
        if name in lacking or _parts_change(kind, version)
    )


def _parts_change(kind: Any, version: int) -> bool:
    """Whether a field holds a tuple of parts that this version changes."""
    part = next(iter(get_args(kind)), None)
    return _is_part(part) and bool(_plan(cast(type, part), version))


class _Lacking(NamedTuple):
    """What `read` returns for a message that its version does not change; without `read` the fields are compared."""

    read: Callable[[Any], Any] | None
    absent: Any


def _read_from(message: type, version: int) -> _Lacking | None:
    """Return how to see that a version changes nothing in a message; None when it never changes one."""
    plan, below = _plan(message, version), _RULES.get(message, _NO_RULE)[0]
    if not plan and version >= below:
        return None
    if version < below or any(carried is None for _, carried in plan):
        return _Lacking(None, None)
    absent = [carried.absent for _, carried in plan if carried is not None]
    return _Lacking(attrgetter(*(name for name, _ in plan)), absent[0] if len(absent) == 1 else tuple(absent))


# Frequent messages cost one look-up. No limit: with one, every look-up would be recorded.
_lacking: Callable[[Any, int], _Lacking | None] = lru_cache(maxsize=None)(_read_from)


# Each takes the original message, the message with the fields of its version, and the version.


def _join_request(_: JoinGroupRequest, sent: JoinGroupRequest, version: int) -> JoinGroupRequest:
    """Version 0 has one timeout for both purposes."""
    if sent.rebalance_timeout_ms == sent.session_timeout_ms:
        return sent
    return evolve(sent, rebalance_timeout_ms=sent.session_timeout_ms)


def _leave_request(_: LeaveGroupRequest, sent: LeaveGroupRequest, version: int) -> LeaveGroupRequest:
    """Versions 0 to 2 have one member id instead of a list."""
    if len(sent.members) != 1:
        raise ProtocolError(
            f"LeaveGroup {version}", None, "exactly one member (more: version 3)", str(len(sent.members))
        )
    return sent


def _offset_fetch_request(_: OffsetFetchRequest, sent: OffsetFetchRequest, version: int) -> OffsetFetchRequest:
    """Versions 0 and 1 cannot ask for everything."""
    if sent.partitions is None:
        raise ProtocolError(f"OffsetFetch {version}", None, "a list of partitions (all of them: version 2)", "null")
    return sent


def _join_response(_: JoinGroupResponse, sent: JoinGroupResponse, version: int) -> JoinGroupResponse:
    """The protocol name became nullable in version 7 (KIP-559)."""
    return evolve(sent, protocol_name="") if sent.protocol_name is None else sent


def _leave_response(whole: LeaveGroupResponse, sent: LeaveGroupResponse, version: int) -> LeaveGroupResponse:
    """Versions 0 to 2 have the single member's error at the top."""
    if whole.error or not whole.members:
        return sent
    return evolve(sent, error=whole.members[0].error)


def _offset_fetch_response(whole: OffsetFetchResponse, sent: OffsetFetchResponse, version: int) -> OffsetFetchResponse:
    """Versions 0 and 1 have fields for errors at the partitions only."""
    if not whole.error:
        return sent
    offsets = (FetchedOffset(fetched.partition, error=whole.error) for fetched in sent.offsets)
    return evolve(sent, offsets=tuple(offsets))


def _describe_response(_: DescribeGroupsResponse, sent: DescribeGroupsResponse, version: int) -> DescribeGroupsResponse:
    """Below version 6 an unknown group is Dead and no error (KIP-1043)."""
    unknown = ErrorCode.GROUP_ID_NOT_FOUND
    if all(group.error is not unknown for group in sent.groups):
        return sent
    groups = (evolve(g, error=ErrorCode.NONE) if g.error is unknown else g for g in sent.groups)
    return evolve(sent, groups=tuple(groups))


_Rule = Callable[[Any, Any, int], Any]
_RULES: Mapping[type, tuple[int, _Rule]] = {
    JoinGroupRequest: (1, _join_request),
    LeaveGroupRequest: (3, _leave_request),
    OffsetFetchRequest: (2, _offset_fetch_request),
    JoinGroupResponse: (7, _join_response),
    LeaveGroupResponse: (3, _leave_response),
    OffsetFetchResponse: (2, _offset_fetch_response),
    DescribeGroupsResponse: (6, _describe_response),
}
"""The rules, each with the first version that needs no change."""
_NO_RULE: tuple[int, _Rule] = (0, lambda whole, sent, version: sent)
