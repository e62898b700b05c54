"""What each version carries, against kio's schemas, and what is left of a message that is sent in an old one."""

from __future__ import annotations

import pytest
from attrs import evolve, fields

from groupsim.protocol.errors import ErrorCode, ProtocolError
from groupsim.protocol.messages import group
from groupsim.protocol.messages.group import (
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FetchedOffset,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeftMember,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupsim.protocol.messages.versions import CARRIED, _types, normalise_request, normalise_response
from tests.helpers.kafka_schema import Place, at

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)

# Our class → its place in the schemas, with those fields that are named otherwise there.
SCHEMA: dict[str, Place] = {
    "JoinGroupRequest": at(
        "join_group.request",
        "JoinGroupRequest",
        session_timeout_ms="session_timeout",
        rebalance_timeout_ms="rebalance_timeout",
    ),
    "JoinProtocol": at("join_group.request", "JoinGroupRequestProtocol"),
    "JoinGroupResponse": at("join_group.response", "JoinGroupResponse", error="error_code"),
    "JoinMember": at("join_group.response", "JoinGroupResponseMember"),
    "SyncGroupRequest": at("sync_group.request", "SyncGroupRequest"),
    "SyncAssignment": at("sync_group.request", "SyncGroupRequestAssignment"),
    "SyncGroupResponse": at("sync_group.response", "SyncGroupResponse", error="error_code"),
    "HeartbeatRequest": at("heartbeat.request", "HeartbeatRequest"),
    "HeartbeatResponse": at("heartbeat.response", "HeartbeatResponse", error="error_code"),
    "LeavingMember": at("leave_group.request", "MemberIdentity", "LeaveGroupRequest"),
    "LeaveGroupResponse": at("leave_group.response", "LeaveGroupResponse", error="error_code"),
    "LeftMember": at("leave_group.response", "MemberResponse", error="error_code"),
    "OffsetToCommit": at(
        "offset_commit.request",
        "OffsetCommitRequestPartition",
        partition="partition_index",
        offset="committed_offset",
        leader_epoch="committed_leader_epoch",
        metadata="committed_metadata",
    ),
    "OffsetCommitRequest": at(
        "offset_commit.request",
        "OffsetCommitRequest",
        offsets="topics",
        generation_id="generation_id_or_member_epoch",
        retention_time_ms="retention_time",
    ),
    "OffsetFetchRequest": at("offset_fetch.request", "OffsetFetchRequest"),
    "OffsetFetchResponse": at(
        "offset_fetch.response", "OffsetFetchResponseGroup", "OffsetFetchResponse", error="error_code", offsets="topics"
    ),
    "FetchedOffset": at(
        "offset_fetch.response",
        "OffsetFetchResponsePartitions",
        "OffsetFetchResponsePartition",
        partition="partition_index",
        offset="committed_offset",
        leader_epoch="committed_leader_epoch",
        error="error_code",
    ),
    "OffsetDeleteRequest": at("offset_delete.request", "OffsetDeleteRequest", partitions="topics"),
    "OffsetDeleteResponse": at(
        "offset_delete.response", "OffsetDeleteResponse", error="error_code", partitions="topics"
    ),
    "DescribeGroupsRequest": at("describe_groups.request", "DescribeGroupsRequest"),
    "DescribeGroupsResponse": at("describe_groups.response", "DescribeGroupsResponse"),
    "DescribedGroup": at(
        "describe_groups.response", "DescribedGroup", error="error_code", state="group_state", protocol="protocol_data"
    ),
    "DescribedMember": at(
        "describe_groups.response", "DescribedGroupMember", metadata="member_metadata", assignment="member_assignment"
    ),
    "ListGroupsRequest": at("list_groups.request", "ListGroupsRequest", states="states_filter", types="types_filter"),
    "ListGroupsResponse": at("list_groups.response", "ListGroupsResponse", error="error_code"),
    "ListedGroup": at("list_groups.response", "ListedGroup", state="group_state"),
    "DeleteGroupsRequest": at("delete_groups.request", "DeleteGroupsRequest", groups="groups_names"),
    "DeleteGroupsResponse": at("delete_groups.response", "DeleteGroupsResponse"),
    "MetadataRequest": at(
        "metadata.request",
        "MetadataRequest",
        auto_create="allow_auto_topic_creation",
        include_topic_operations="include_topic_authorized_operations",
        include_cluster_operations="include_cluster_authorized_operations",
    ),
    "TopicInfo": at(
        "metadata.response",
        "MetadataResponseTopic",
        error="error_code",
        internal="is_internal",
        operations="topic_authorized_operations",
    ),
}

# Fields of the schema that no message of ours has: throttling, and what stands outside the scope.
NOT_MODELLED = {"throttle_time"}
# Ours that stand elsewhere in the schema, around the class's own.
ELSEWHERE = {
    "MetadataRequest": {"topic_ids"},  # in the entries of `topics`, beside names
    "OffsetFetchRequest": {"group_id", "partitions", "member_id", "member_epoch"},
}
# Around our fields in some versions: the list of members or groups, and who asks for offsets (KIP-848).
WRAPPING = {
    "LeavingMember": {"group_id", "members"},
    "OffsetFetchRequest": {"group_id", "topics", "groups"},
    "OffsetFetchResponse": {"group_id", "groups"},
}


def carried_fields(message: type, version: int) -> frozenset[str]:
    """The names of the fields of a message, or of a part of one, that `version` carries."""
    table = CARRIED.get(message, {})
    names = (name for name in _types(message) if name != "version")
    return frozenset(name for name in names if name not in table or table[name].by(version))


CASES = [
    (name, version) for name, place in SCHEMA.items() for version in range(14) if place.fields(version) is not None
]


@pytest.mark.parametrize(("name", "version"), CASES)
def test_the_table_says_what_the_schema_says(name: str, version: int) -> None:
    """In every version of every message, the schema has exactly the fields that the table says it carries."""
    place, elsewhere = SCHEMA[name], ELSEWHERE.get(name, set()) | {"version"}
    theirs = place.fields(version)
    assert theirs is not None
    carried = set(carried_fields(getattr(group, name), version)) - elsewhere
    assert {place.theirs(field) for field in carried} == theirs - NOT_MODELLED - WRAPPING.get(name, set())


def test_no_class_escapes_the_comparison() -> None:
    """Every class of the table is compared; a field that is said to be named otherwise is one of the class."""
    mine = {table.__name__ for table in CARRIED if table.__module__ == group.__name__}
    assert mine - set(SCHEMA) == {"PartitionInfo", "FindCoordinatorRequest"}  # in test_data_versions
    for name, place in SCHEMA.items():
        assert set(place.renamed) <= {field.name for field in fields(getattr(group, name))}, name


@pytest.mark.parametrize("version", range(1, 11))
def test_a_fetch_of_offsets_names_its_member_from_9(version: int) -> None:
    """The member and its epoch are at the group, which versions below 8 do not have."""
    theirs = at("offset_fetch.request", "OffsetFetchRequestGroup").fields(version) or set()
    sender = {"member_id", "member_epoch"}
    assert carried_fields(OffsetFetchRequest, version) & sender == theirs & sender
    fetch = OffsetFetchRequest("g", (T0,), version=version, member_id="m", member_epoch=4)
    found = normalise_request(fetch)
    assert isinstance(found, OffsetFetchRequest)
    assert (found.member_id, found.member_epoch) == (("m", 4) if version >= 9 else (None, -1))


def test_racks_of_brokers_are_known_since_metadata_1() -> None:
    """The racks of a partition's replicas come from the brokers, which name theirs from version 1 on."""
    brokers = at("metadata.response", "MetadataResponseBroker")
    assert "rack" not in (brokers.fields(0) or ())
    assert "rack" in (brokers.fields(1) or ())
    assert "racks" not in carried_fields(group.PartitionInfo, 0)
    assert "racks" in carried_fields(group.PartitionInfo, 1)


FULL_JOIN = JoinGroupRequest("g", 10_000, 300_000, "m", "i", "consumer", (), "because")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (9, FULL_JOIN),
        (8, FULL_JOIN),
        (7, evolve(FULL_JOIN, reason=None)),
        (5, evolve(FULL_JOIN, reason=None)),
        (4, evolve(FULL_JOIN, reason=None, group_instance_id=None)),
        (1, evolve(FULL_JOIN, reason=None, group_instance_id=None)),
        (0, evolve(FULL_JOIN, reason=None, group_instance_id=None, rebalance_timeout_ms=10_000)),
    ],
)
def test_a_join_says_what_its_version_can(version: int, expected: JoinGroupRequest) -> None:
    """Reason from 8, instance id from 5, a rebalance timeout of its own from 1; before, the session timeout is used."""
    assert normalise_request(evolve(FULL_JOIN, version=version)) == evolve(expected, version=version)


def test_a_sync_names_its_protocol_from_version_5() -> None:
    """Older syncs are not checked against the group's protocol, because they cannot name one."""
    sync = SyncGroupRequest("g", 3, "m", "i", "consumer", "range")
    assert normalise_request(sync) is sync
    assert normalise_request(evolve(sync, version=4)) == SyncGroupRequest("g", 3, "m", "i", version=4)
    assert normalise_request(evolve(sync, version=2)) == SyncGroupRequest("g", 3, "m", version=2)


def test_a_heartbeat_names_its_instance_from_version_3() -> None:
    """An older heartbeat of a static member looks like any other."""
    beat = HeartbeatRequest("g", 3, "m", "i")
    assert normalise_request(evolve(beat, version=3)).group_instance_id == "i"  # type: ignore[union-attr]
    assert normalise_request(evolve(beat, version=2)) == HeartbeatRequest("g", 3, "m", version=2)


def test_what_needs_no_change_is_passed_through() -> None:
    """The newest versions, and messages that say nothing new, come back as the same object: no copies per heartbeat."""
    beat = HeartbeatRequest("g", 3, "m", version=0)
    assert normalise_request(beat) is beat
    answer = HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
    assert normalise_response(answer, 0) is answer
    assert normalise_request(FULL_JOIN) is FULL_JOIN


def test_a_leave_carries_reasons_from_5_and_several_members_from_3() -> None:
    """Before version 3 a leave is one member id and nothing else."""
    one = LeavingMember("m", "i", "closed")
    assert normalise_request(LeaveGroupRequest("g", (one, one), 4)) == LeaveGroupRequest(
        "g", (LeavingMember("m", "i"),) * 2, 4
    )
    assert normalise_request(LeaveGroupRequest("g", (one,), 2)) == LeaveGroupRequest("g", (LeavingMember("m"),), 2)


@pytest.mark.parametrize("count", [0, 2])
def test_an_old_leave_has_exactly_one_member(count: int) -> None:
    """Versions 0 to 2 cannot express any other number, and the error says which version can."""
    with pytest.raises(ProtocolError, match=f"LeaveGroup 2: expected exactly one member .*version 3.*found {count}"):
        normalise_request(LeaveGroupRequest("g", (LeavingMember("m"),) * count, 2))


@pytest.mark.parametrize(
    ("version", "carried"),
    [
        (9, {"generation_id", "member_id", "group_instance_id", "leader_epoch"}),
        (6, {"generation_id", "member_id", "leader_epoch"}),
        (5, {"generation_id", "member_id"}),
        (4, {"generation_id", "member_id", "retention_time_ms"}),
        (2, {"generation_id", "member_id", "retention_time_ms"}),
        (1, {"generation_id", "member_id"}),
        (0, set()),
    ],
)
def test_a_commit_says_what_its_version_can(version: int, carried: set[str]) -> None:
    """Fencing came with 1, retention went with 5, the leader epoch came with 6, the instance id with 7."""
    commit = OffsetCommitRequest("g", (OffsetToCommit(T0, 5, 7, "x"),), 3, "m", "i", 60_000, version)
    sent = normalise_request(commit)
    assert isinstance(sent, OffsetCommitRequest)
    fencing = ("generation_id", "member_id", "group_instance_id", "retention_time_ms")
    same = {name for name in fencing if getattr(sent, name) == getattr(commit, name)}
    if sent.offsets[0].leader_epoch == 7:
        same.add("leader_epoch")
    assert same == carried
    assert sent.offsets[0] == OffsetToCommit(T0, 5, 7 if "leader_epoch" in carried else -1, "x")


def test_a_fetch_can_insist_on_stable_offsets_from_7() -> None:
    """An older fetch reads what is there, pending transactions or not."""
    fetch = OffsetFetchRequest("g", (T0,), require_stable=True, version=7)
    assert normalise_request(fetch) is fetch
    assert normalise_request(evolve(fetch, version=6)) == OffsetFetchRequest("g", (T0,), False, 6)


def test_a_fetch_can_ask_for_everything_from_2() -> None:
    """Before, partitions have to be listed, and the error says so."""
    assert normalise_request(OffsetFetchRequest("g", None, False, 2)) == OffsetFetchRequest("g", None, False, 2)
    with pytest.raises(ProtocolError, match="OffsetFetch 1: expected a list of partitions"):
        normalise_request(OffsetFetchRequest("g", None, False, 1))


def test_administration_grew_filters() -> None:
    """Authorised operations from Describe 3; states from List 4, types from List 5."""
    assert normalise_request(DescribeGroupsRequest(("g",), True, 2)) == DescribeGroupsRequest(("g",), False, 2)
    listing = ListGroupsRequest(("Stable",), ("classic",), 4)
    assert normalise_request(listing) == ListGroupsRequest(("Stable",), (), 4)
    assert normalise_request(evolve(listing, version=3)) == ListGroupsRequest((), (), 3)


FULL_JOINED = JoinGroupResponse(
    ErrorCode.NONE, 4, "consumer", "range", "m", "m", (JoinMember("m", "i", b"x"),), skip_assignment=True
)


def test_a_join_answer_says_what_its_version_can() -> None:
    """skipAssignment from 9, the protocol type from 7, instance ids from 5."""
    assert normalise_response(FULL_JOINED, 9) is FULL_JOINED
    assert normalise_response(FULL_JOINED, 8) == evolve(FULL_JOINED, skip_assignment=False)
    assert normalise_response(FULL_JOINED, 6) == evolve(FULL_JOINED, skip_assignment=False, protocol_type=None)
    oldest = normalise_response(FULL_JOINED, 4)
    assert isinstance(oldest, JoinGroupResponse)
    assert oldest.members == (JoinMember("m", None, b"x"),)


def test_a_missing_protocol_name_is_null_from_7_and_empty_before() -> None:
    """An error's answer has no protocol; old clients read an empty string there."""
    refused = JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, member_id="m")
    assert normalise_response(refused, 7) is refused
    assert normalise_response(refused, 6) == evolve(refused, protocol_name="")


def test_a_sync_answer_names_the_protocol_from_5() -> None:
    """Older members take the assignment on trust."""
    answer = SyncGroupResponse(ErrorCode.NONE, "consumer", "range", b"x")
    assert normalise_response(answer, 5) is answer
    assert normalise_response(answer, 4) == SyncGroupResponse(assignment=b"x")


def test_an_old_leave_answer_lifts_the_members_error() -> None:
    """Before version 3 there is no list of members, and the one error stands at the top."""
    fenced = LeaveGroupResponse(members=(LeftMember("m", "i", ErrorCode.FENCED_INSTANCE_ID),))
    assert normalise_response(fenced, 3) is fenced
    assert normalise_response(fenced, 2) == LeaveGroupResponse(ErrorCode.FENCED_INSTANCE_ID)
    moved = LeaveGroupResponse(ErrorCode.NOT_COORDINATOR)
    assert normalise_response(moved, 2) is moved


def test_an_old_fetch_answer_repeats_the_groups_error() -> None:
    """Versions 0 and 1 have no error of their own: each partition carries it, without an offset."""
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    answer = OffsetFetchResponse(loading, (FetchedOffset(T0, 5, 3, "x"), FetchedOffset(T1)))
    assert normalise_response(answer, 5) is answer
    assert normalise_response(answer, 1) == OffsetFetchResponse(
        ErrorCode.NONE, (FetchedOffset(T0, error=loading), FetchedOffset(T1, error=loading))
    )
    fine = OffsetFetchResponse(offsets=(FetchedOffset(T0, 5, 3, "x"),))
    assert normalise_response(fine, 4) == OffsetFetchResponse(offsets=(FetchedOffset(T0, 5, -1, "x"),))


def test_an_unknown_group_is_an_error_from_describe_6() -> None:
    """Older tools see a group that is Dead; other errors pass unchanged."""
    unknown = DescribedGroup("g", ErrorCode.GROUP_ID_NOT_FOUND, "no such group", "Dead", authorized_operations=8)
    loading = DescribedGroup("h", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    answer = DescribeGroupsResponse((unknown, loading))
    assert normalise_response(answer, 6) is answer
    assert normalise_response(answer, 5) == DescribeGroupsResponse(
        (DescribedGroup("g", state="Dead", authorized_operations=8), loading)
    )
    assert normalise_response(answer, 2) == DescribeGroupsResponse((DescribedGroup("g", state="Dead"), loading))


def test_descriptions_reach_into_members() -> None:
    """Instance ids of members are told from Describe 4 on."""
    answer = DescribeGroupsResponse((DescribedGroup("g", members=(DescribedMember("m", "i"),)),))
    assert normalise_response(answer, 4) is answer
    assert normalise_response(answer, 3) == DescribeGroupsResponse(
        (DescribedGroup("g", members=(DescribedMember("m"),)),)
    )


def test_lists_of_groups_grew_columns() -> None:
    """State from List 4, type from List 5."""
    answer = ListGroupsResponse(groups=(ListedGroup("g", "consumer", "Stable", "classic"),))
    assert normalise_response(answer, 4) == ListGroupsResponse(groups=(ListedGroup("g", "consumer", "Stable", ""),))
    assert normalise_response(answer, 3) == ListGroupsResponse(groups=(ListedGroup("g", "consumer", "", ""),))
