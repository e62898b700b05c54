"""What kafka-python's requests become, in every version that is served."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    Request,
    SyncAssignment,
    SyncGroupRequest,
)
from groupsim.protocol.messages.versions import normalise_request
from groupsim.protocol.wire import served
from tests.helpers.wire_samples import GONE_UUID, ORDERS_UUID, frame, part, understood

O0, O3 = TopicPartition("orders", 0), TopicPartition("orders", 3)


def topic(name: str, kind: str, version: int, **fields: Any) -> Any:
    """The topic `orders` as a version names it: by name, or from version 10 on by id."""
    return part(name, kind, **({"topic_id": ORDERS_UUID} if version >= 10 else {"name": "orders"}), **fields)


def join(version: int) -> bytes:
    """A JoinGroup with all that the version can say."""
    return frame(
        "JoinGroup",
        version,
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=300_000,
        member_id="m-1",
        group_instance_id="i" if version >= 5 else None,
        protocol_type="consumer",
        protocols=[
            part("JoinGroup", "JoinGroupRequestProtocol", name="range", metadata=b"\x00\x01"),
            part("JoinGroup", "JoinGroupRequestProtocol", name="sticky", metadata=b""),
        ],
        reason="because ü",
    )


JOIN = JoinGroupRequest(
    "g",
    10_000,
    300_000,
    "m-1",
    "i",
    "consumer",
    (JoinProtocol("range", b"\x00\x01"), JoinProtocol("sticky", b"")),
    "because ü",
)


def sync(version: int) -> bytes:
    """A SyncGroup with all that the version can say."""
    assignments = [part("SyncGroup", "SyncGroupRequestAssignment", member_id="m-1", assignment=b"\x01" * 300)]
    return frame(
        "SyncGroup",
        version,
        group_id="g",
        generation_id=7,
        member_id="m-1",
        group_instance_id="i" if version >= 3 else None,
        protocol_type="consumer",
        protocol_name="range",
        assignments=assignments,
    )


SYNC = SyncGroupRequest("g", 7, "m-1", "i", "consumer", "range", (SyncAssignment("m-1", b"\x01" * 300),))


def heartbeat(version: int) -> bytes:
    """A Heartbeat with all that the version can say."""
    instance = "i" if version >= 3 else None
    return frame("Heartbeat", version, group_id="g", generation_id=7, member_id="m-1", group_instance_id=instance)


def leave(version: int) -> bytes:
    """A LeaveGroup with all that the version can say."""
    members = [part("LeaveGroup", "MemberIdentity", member_id="m-1", group_instance_id="i", reason="done")]
    return frame("LeaveGroup", version, group_id="g", member_id="m-1", members=members)


def commit(version: int) -> bytes:
    """A OffsetCommit with all that the version can say."""
    partitions = [
        part(
            "OffsetCommit",
            "OffsetCommitRequestPartition",
            partition_index=number,
            committed_offset=2**40 + number,
            committed_leader_epoch=5,
            committed_metadata=text,
        )
        for number, text in ((0, "note"), (3, None))
    ]
    return frame(
        "OffsetCommit",
        version,
        group_id="g",
        generation_id_or_member_epoch=7,
        member_id="m-1",
        group_instance_id="i" if version >= 7 else None,
        retention_time_ms=86_400_000,
        topics=[topic("OffsetCommit", "OffsetCommitRequestTopic", version, partitions=partitions)],
    )


COMMIT = OffsetCommitRequest(
    "g", (OffsetToCommit(O0, 2**40, 5, "note"), OffsetToCommit(O3, 2**40 + 3, 5, "")), 7, "m-1", "i", 86_400_000
)


def fetch(version: int) -> bytes:
    """A OffsetFetch with all that the version can say."""
    if version < 8:
        topics = [part("OffsetFetch", "OffsetFetchRequestTopic", name="orders", partition_indexes=[0, 3])]
        return frame("OffsetFetch", version, group_id="g", topics=topics, require_stable=version >= 7)
    asked = topic("OffsetFetch", "OffsetFetchRequestTopics", version, partition_indexes=[0, 3])
    group = part("OffsetFetch", "OffsetFetchRequestGroup", group_id="g", topics=[asked])
    return frame("OffsetFetch", version, groups=[group], require_stable=True)


def offset_delete(version: int) -> bytes:
    """A OffsetDelete with all that the version can say."""
    partitions = [part("OffsetDelete", "OffsetDeleteRequestPartition", partition_index=number) for number in (0, 3)]
    topics = [part("OffsetDelete", "OffsetDeleteRequestTopic", name="orders", partitions=partitions)]
    return frame("OffsetDelete", version, group_id="g", topics=topics)


def metadata(version: int) -> bytes:
    """A Metadata with all that the version can say."""
    topics = [part("Metadata", "MetadataRequestTopic", name=name) for name in ("orders", "unheard-of", "orders")]
    return frame("Metadata", version, topics=topics, allow_auto_topic_creation=version < 4)


def find(version: int) -> bytes:
    """A FindCoordinator with all that the version can say."""
    key_type = 1 if version else 0
    return frame("FindCoordinator", version, key="tx", key_type=key_type, coordinator_keys=["tx"])


def describe(version: int) -> bytes:
    """A DescribeGroups with all that the version can say."""
    operations = version >= 3
    return frame("DescribeGroups", version, groups=["g", "h"], include_authorized_operations=operations)


def list_groups(version: int) -> bytes:
    """A ListGroups with all that the version can say."""
    return frame("ListGroups", version, states_filter=["Stable"], types_filter=["classic"])


def delete_groups(version: int) -> bytes:
    """A DeleteGroups with all that the version can say."""
    return frame("DeleteGroups", version, groups_names=["g", "h"])


# API → how kafka-python says it in a version, and what it is to become, said with all that the newest version has.
CASES: dict[Api, tuple[Callable[[int], bytes], Request]] = {
    Api.JOIN_GROUP: (join, JOIN),
    Api.SYNC_GROUP: (sync, SYNC),
    Api.HEARTBEAT: (heartbeat, HeartbeatRequest("g", 7, "m-1", "i")),
    Api.LEAVE_GROUP: (leave, LeaveGroupRequest("g", (LeavingMember("m-1", "i", "done"),))),
    Api.OFFSET_COMMIT: (commit, COMMIT),
    Api.OFFSET_FETCH: (fetch, OffsetFetchRequest("g", (O0, O3))),
    Api.OFFSET_DELETE: (offset_delete, OffsetDeleteRequest("g", (O0, O3))),
    Api.METADATA: (metadata, MetadataRequest(("orders", "unheard-of"))),
    Api.FIND_COORDINATOR: (find, FindCoordinatorRequest("tx", key_type=1)),
    Api.DESCRIBE_GROUPS: (describe, DescribeGroupsRequest(("g", "h"), True)),
    Api.LIST_GROUPS: (list_groups, ListGroupsRequest(("Stable",), ("classic",))),
    Api.DELETE_GROUPS: (delete_groups, DeleteGroupsRequest(("g", "h"))),
}
EVERY = [(api, v) for api in CASES for v in range(served()[api].oldest, served()[api].newest + 1)]


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_a_request_says_what_its_version_can(api: Api, version: int) -> None:
    """Every version of every request is read as the newest one, less what the version cannot carry."""
    write, newest = CASES[api]
    found = understood(write(version))
    assert (found.api, found.version, found.correlation, found.client_id) == (api, version, 7, "tests")
    (request,) = found.exchange.requests
    assert normalise_request(request) == normalise_request(evolve(newest, version=version))


def test_a_null_client_id_is_the_empty_one() -> None:
    """Kafka takes both for the same, so a member id begins with the hyphen after nothing."""
    for version in (3, 4):
        assert understood(frame("Heartbeat", version, client_id=None, group_id="g")).client_id == ""


@pytest.mark.parametrize("version", range(14))
def test_all_topics_are_asked_for_with_null_and_in_metadata_0_with_nothing(version: int) -> None:
    """An empty list means none from version 1 on; version 0 has no null."""
    empty = understood(frame("Metadata", version, topics=[])).exchange.requests
    assert empty == (MetadataRequest(() if version else None, version, auto_create=True),)
    if version:
        everything = understood(frame("Metadata", version, topics=None)).exchange.requests
        assert everything == (MetadataRequest(None, version, auto_create=True),)


@pytest.mark.parametrize("version", range(4))
def test_old_metadata_always_allows_a_topic_to_be_made(version: int) -> None:
    """There was no field to forbid it before version 4."""
    (request,) = understood(metadata(version)).exchange.requests
    assert isinstance(request, MetadataRequest)
    assert request.auto_create


@pytest.mark.parametrize("version", [12, 13])
def test_topics_by_id_hide_topics_by_name(version: int) -> None:
    """One id is enough for Kafka to look at ids alone; those that nobody knows are not asked about."""
    named = [("unheard-of", None), (None, ORDERS_UUID), (None, GONE_UUID), (None, ORDERS_UUID)]
    topics = [part("Metadata", "MetadataRequestTopic", name=name, topic_id=topic_id) for name, topic_id in named]
    (request,) = understood(frame("Metadata", version, topics=topics)).exchange.requests
    assert isinstance(request, MetadataRequest)
    assert request.topics == ("orders",)


@pytest.mark.parametrize("version", [4, 5, 6])
def test_a_batched_find_coordinator_is_one_request_per_key(version: int) -> None:
    """Each key of FindCoordinator 4 and above is asked about on its own, in the order of the keys."""
    data = frame("FindCoordinator", version, key_type=0, coordinator_keys=["b", "a", "b"])
    expected = tuple(FindCoordinatorRequest(key, version, 0) for key in ("b", "a", "b"))
    assert understood(data).exchange.requests == expected


def test_coordinators_of_share_groups_are_not_asked_for() -> None:
    """No broker here knows share groups, nor key types that Kafka does not have."""
    for version, key_type in itertools.product((1, 3, 4, 6), (2, 3, -1)):
        data = frame("FindCoordinator", version, key="s", key_type=key_type, coordinator_keys=["s"])
        assert understood(data).exchange.requests == ()


@pytest.mark.parametrize("version", [8, 9, 10])
def test_a_batched_offset_fetch_is_one_request_per_group(version: int) -> None:
    """Some groups with partitions, some with all, some with none; a topic whose id is nobody's is left out."""
    asked = topic("OffsetFetch", "OffsetFetchRequestTopics", version, partition_indexes=[3])
    gone = part("OffsetFetch", "OffsetFetchRequestTopics", topic_id=GONE_UUID, name="gone", partition_indexes=[0])
    groups = [("g", [asked]), ("h", None), ("i", []), ("j", [gone, asked])]
    parts = [part("OffsetFetch", "OffsetFetchRequestGroup", group_id=group, topics=topics) for group, topics in groups]
    requests = understood(frame("OffsetFetch", version, groups=parts, require_stable=False)).exchange.requests
    last = (O3,) if version >= 10 else (TopicPartition("gone", 0), O3)
    expected = [("g", (O3,)), ("h", None), ("i", ()), ("j", last)]
    assert requests == tuple(OffsetFetchRequest(group, parts, False, version) for group, parts in expected)


@pytest.mark.parametrize("version", [8, 9, 10])
def test_a_member_names_itself_and_its_epoch_with_a_fetch(version: int) -> None:
    """From version 9 on, at each group; without a member null and -1 (KIP-848)."""
    asked = topic("OffsetFetch", "OffsetFetchRequestTopics", version, partition_indexes=[3])
    who = {"member_id": "m-1", "member_epoch": 7} if version >= 9 else {}
    groups = [
        part("OffsetFetch", "OffsetFetchRequestGroup", group_id="g", topics=[asked], **who),
        part("OffsetFetch", "OffsetFetchRequestGroup", group_id="h", topics=[asked]),
    ]
    requests = understood(frame("OffsetFetch", version, groups=groups, require_stable=True)).exchange.requests
    named = ("m-1", 7) if version >= 9 else (None, -1)
    assert requests == tuple(
        OffsetFetchRequest(group, (O3,), True, version, *sender) for group, sender in (("g", named), ("h", (None, -1)))
    )


@pytest.mark.parametrize("version", range(2, 8))
def test_all_offsets_of_a_group_are_asked_for_with_null(version: int) -> None:
    """OffsetFetch has null for all partitions since version 2."""
    (request,) = understood(frame("OffsetFetch", version, group_id="g", topics=None)).exchange.requests
    assert isinstance(request, OffsetFetchRequest)
    assert request.partitions is None


def test_a_commit_to_topics_whose_ids_are_unknown_asks_nobody() -> None:
    """With nothing left to store, Kafka answers without a look at the group."""
    item = part("OffsetCommit", "OffsetCommitRequestPartition", partition_index=1, committed_offset=5)
    gone = part("OffsetCommit", "OffsetCommitRequestTopic", topic_id=GONE_UUID, partitions=[item])
    assert understood(frame("OffsetCommit", 10, group_id="g", topics=[gone])).exchange.requests == ()
    data = frame("OffsetCommit", 10, group_id="g", topics=[])
    assert understood(data).exchange.requests == (OffsetCommitRequest("g", (), version=10),)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_several_members_leave_in_one_request(version: int) -> None:
    """Administrators remove members by instance id, without a member id."""
    left = [
        part("LeaveGroup", "MemberIdentity", member_id="", group_instance_id="i", reason=None),
        part("LeaveGroup", "MemberIdentity", member_id="m", group_instance_id=None, reason="bye"),
    ]
    (request,) = understood(frame("LeaveGroup", version, group_id="g", members=left)).exchange.requests
    reason = "bye" if version >= 5 else None
    assert request == LeaveGroupRequest("g", (LeavingMember("", "i"), LeavingMember("m", None, reason)), version)
