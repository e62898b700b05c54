"""What kafka-python reads of our answers, in every version that is served."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsResponse,
    FetchedOffset,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    JoinMember,
    LeaveGroupResponse,
    LeftMember,
    ListedGroup,
    ListGroupsResponse,
    MetadataResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    PartitionInfo,
    Response,
    SyncGroupResponse,
    TopicInfo,
)
from groupsim.protocol.messages.versions import normalise_response
from groupsim.protocol.wire.by_topic import Topic, in_request_order
from tests.helpers.wire_samples import (
    GONE_ID,
    GONE_UUID,
    ORDERS_ID,
    ORDERS_UUID,
    FakeDirectory,
    frame,
    part,
    told,
    understood,
)
from tests.protocol.wire.test_group_requests import CASES, EVERY, fetch, topic

O0, O3 = TopicPartition("orders", 0), TopicPartition("orders", 3)
NO_OPERATIONS = -(2**31)

# API → an answer with all that the newest version has.
ANSWERS: dict[Api, Response] = {
    Api.JOIN_GROUP: JoinGroupResponse(
        ErrorCode.NONE, 7, "consumer", "range", "m-1", "m-1", (JoinMember("m-1", "i", b"\x00" * 200),), True
    ),
    Api.SYNC_GROUP: SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS, "consumer", "range", b"\x01\x02"),
    Api.HEARTBEAT: HeartbeatResponse(ErrorCode.FENCED_INSTANCE_ID),
    Api.LEAVE_GROUP: LeaveGroupResponse(ErrorCode.NONE, (LeftMember("m-1", "i", ErrorCode.UNKNOWN_MEMBER_ID),)),
    Api.OFFSET_COMMIT: OffsetCommitResponse(((O0, ErrorCode.NONE), (O3, ErrorCode.ILLEGAL_GENERATION))),
    Api.OFFSET_FETCH: OffsetFetchResponse(ErrorCode.NONE, (FetchedOffset(O0, 2**40, 5, "note"), FetchedOffset(O3))),
    Api.OFFSET_DELETE: OffsetDeleteResponse(ErrorCode.NONE, ((O0, ErrorCode.NONE), (O3, ErrorCode.NON_EMPTY_GROUP))),
    Api.METADATA: MetadataResponse(
        ((0, "b0"), (2, "b2")),
        (
            TopicInfo("orders", ErrorCode.NONE, (PartitionInfo(3, 2, (2, 0), ("a",), 9, (2,), (0,)),), True),
            TopicInfo("unheard-of", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ),
    ),
    Api.FIND_COORDINATOR: FindCoordinatorResponse(ErrorCode.NONE, 2, "b2"),
    Api.DESCRIBE_GROUPS: DescribeGroupsResponse(
        (
            DescribedGroup(
                "g", ErrorCode.NONE, None, "Stable", "consumer", "range", (DescribedMember("m", "i", "c", "/h", b"1"),)
            ),
            DescribedGroup("h", ErrorCode.GROUP_ID_NOT_FOUND, "not found", "Dead"),
        )
    ),
    Api.LIST_GROUPS: ListGroupsResponse(ErrorCode.NONE, (ListedGroup("g", "consumer", "Stable", "classic"),)),
    Api.DELETE_GROUPS: DeleteGroupsResponse((("g", ErrorCode.NONE), ("h", ErrorCode.NON_EMPTY_GROUP))),
}


def offset_results(v: int) -> list[dict[str, Any]]:
    """What OffsetCommit tells."""
    partitions = [{"partition_index": 0, "error_code": 0}, {"partition_index": 3, "error_code": 22}]
    return [{**orders(v), "partitions": partitions}]


def orders(v: int) -> dict[str, Any]:
    """How a version names the topic."""
    return {"topic_id": str(ORDERS_UUID)} if v >= 10 else {"name": "orders"}


def fetched(v: int) -> dict[str, Any]:
    """What OffsetFetch tells of one group."""

    def offset(number: int, at: int, epoch: int, note: str) -> dict[str, Any]:
        known = {"committed_leader_epoch": epoch} if v >= 5 else {}
        return {"partition_index": number, "committed_offset": at, **known, "metadata": note, "error_code": 0}

    topics = [{**orders(v), "partitions": [offset(0, 2**40, 5, "note"), offset(3, -1, -1, "")]}]
    return {"topics": topics, "error_code": 0} if v >= 2 else {"topics": topics}


def metadata(v: int) -> dict[str, Any]:
    """What Metadata tells."""

    def broker(node: int, rack: str | None) -> dict[str, Any]:
        place = {"node_id": node, "host": "127.0.0.1", "port": 9092 + node}
        return {**place, "rack": rack} if v >= 1 else place

    partition: dict[str, Any] = {"error_code": 0, "partition_index": 3, "leader_id": 2}
    partition |= {"leader_epoch": 9} if v >= 7 else {}
    partition |= {"replica_nodes": [2, 0], "isr_nodes": [2]}
    partition |= {"offline_replicas": [0]} if v >= 5 else {}
    return {
        "brokers": [broker(0, "a"), broker(2, None)],
        **({"cluster_id": "cluster-of-22-letters-"} if v >= 2 else {}),
        **({"controller_id": 1} if v >= 1 else {}),
        "topics": [told_topic(v, "orders", [partition]), told_topic(v, "unheard-of", [])],
        **({"authorized_operations": None} if 8 <= v <= 10 else {}),
        **({"error_code": 0} if v >= 13 else {}),
    }


def told_topic(v: int, name: str, partitions: list[Any]) -> dict[str, Any]:
    """A topic of Metadata."""
    known = name == "orders"
    return {
        "error_code": 0 if known else 3,
        "name": name,
        **({"topic_id": str(ORDERS_UUID) if known else None} if v >= 10 else {}),
        **({"is_internal": known} if v >= 1 else {}),
        "partitions": partitions,
        **({"authorized_operations": None} if v >= 8 else {}),
    }


def described(v: int) -> list[dict[str, Any]]:
    """What DescribeGroups tells."""
    member = {
        "member_id": "m",
        **({"group_instance_id": "i"} if v >= 4 else {}),
        "client_id": "c",
        "client_host": "/h",
        "member_metadata": "1",
        "member_assignment": "",
    }

    def group(name: str, error: int, message: str | None, state: str, protocol: tuple[str, str], members: list[Any]):  # type: ignore[no-untyped-def]
        return {
            "error_code": error,
            **({"error_message": message} if v >= 6 else {}),
            "group_id": name,
            "group_state": state,
            "protocol_type": protocol[0],
            "protocol_data": protocol[1],
            "members": members,
            **({"authorized_operations": None} if v >= 3 else {}),
        }

    return [
        group("g", 0, None, "Stable", ("consumer", "range"), [member]),
        group("h", 69 if v >= 6 else 0, "not found", "Dead", ("", ""), []),
    ]


def expected(api: Api, v: int) -> dict[str, Any]:
    """What a client of this version is to see, throttling aside."""
    match api:
        case Api.JOIN_GROUP:
            member = {"member_id": "m-1", "metadata": "\x00" * 200}
            return {
                "error_code": 0,
                "generation_id": 7,
                **({"protocol_type": "consumer"} if v >= 7 else {}),
                "protocol_name": "range",
                "leader": "m-1",
                **({"skip_assignment": True} if v >= 9 else {}),
                "member_id": "m-1",
                "members": [member | ({"group_instance_id": "i"} if v >= 5 else {})],
            }
        case Api.SYNC_GROUP:
            named = {"protocol_type": "consumer", "protocol_name": "range"} if v >= 5 else {}
            return {"error_code": 27, **named, "assignment": "\x01\x02"}
        case Api.HEARTBEAT:
            return {"error_code": 82}
        case Api.LEAVE_GROUP:
            left = {"member_id": "m-1", "group_instance_id": "i", "error_code": 25}
            return {"error_code": 0, "members": [left]} if v >= 3 else {"error_code": 25}
        case Api.OFFSET_COMMIT:
            return {"topics": offset_results(v)}
        case Api.OFFSET_FETCH:
            return {"groups": [{"group_id": "g", **fetched(v)}]} if v >= 8 else fetched(v)
        case Api.OFFSET_DELETE:
            partitions = [{"partition_index": 0, "error_code": 0}, {"partition_index": 3, "error_code": 68}]
            return {"error_code": 0, "topics": [{"name": "orders", "partitions": partitions}]}
        case Api.METADATA:
            return metadata(v)
        case Api.FIND_COORDINATOR:
            place = {"node_id": 2, "host": "127.0.0.1", "port": 9094, "error_code": 0}
            if v >= 4:
                return {"coordinators": [{"key": "tx", **place, "error_message": ""}]}
            return {**place, "error_message": "NONE"} if v >= 1 else place
        case Api.DESCRIBE_GROUPS:
            return {"groups": described(v)}
        case Api.LIST_GROUPS:
            more = {"group_state": "Stable"} if v >= 4 else {}
            more |= {"group_type": "classic"} if v >= 5 else {}
            return {"error_code": 0, "groups": [{"group_id": "g", "protocol_type": "consumer", **more}]}
    results = [{"group_id": "g", "error_code": 0}, {"group_id": "h", "error_code": 68}]
    return {"results": results}


def without_throttling(response: Any) -> dict[str, Any]:
    """The response as a dict; every version that has a throttle time says 0."""
    fields: dict[str, Any] = response.to_dict()
    assert fields.pop("throttle_time_ms", 0) == 0
    return fields


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_a_response_says_what_its_version_can(api: Api, version: int) -> None:
    """Every version of every response is read by kafka-python as the newest one, less what the version lacks."""
    exchange = understood(CASES[api][0](version)).exchange
    data = exchange.response([normalise_response(ANSWERS[api], version)])
    response = told(api.title, version, data)
    assert response.header.correlation_id == 7
    assert without_throttling(response) == expected(api, version)


ERROR = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def errors(value: Any) -> list[int]:
    """The error codes anywhere in a response, those of its parts first."""
    if isinstance(value, dict):
        inner = [error for name, part in value.items() if name != "error_code" for error in errors(part)]
        return [*inner, *([value["error_code"]] if "error_code" in value else [])]
    return [error for part in value for error in errors(part)] if isinstance(value, list) else []


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_a_refusal_says_its_error_to_all_that_was_asked(api: Api, version: int) -> None:
    """Each refusal is a response of its version with the error in it, once for each thing that was asked for."""
    data = understood(CASES[api][0](version)).exchange.refusal(ERROR)
    said = errors(without_throttling(told(api.title, version, data)))
    asked = {Api.OFFSET_COMMIT: 2, Api.DESCRIBE_GROUPS: 2, Api.DELETE_GROUPS: 2}.get(api, 1)
    if api is Api.OFFSET_FETCH and version < 2:
        asked = 2
    if api is Api.METADATA:
        assert said.count(ERROR) == (3 if version < 13 else 4)  # one topic is named twice; the top of version 13
        return
    assert said == [ERROR] * asked


def test_a_join_without_a_protocol_names_null_from_version_7_on() -> None:
    """Older versions have no null there, and say nothing with ""."""
    for version in range(10):
        for answer in (JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID), JoinGroupResponse(protocol_name="")):
            response = told(
                "JoinGroup", version, understood(CASES[Api.JOIN_GROUP][0](version)).exchange.response([answer])
            )
            assert response.protocol_name == ("" if version < 7 else None)


@pytest.mark.parametrize("version", [4, 5, 6])
def test_coordinators_are_told_key_by_key(version: int) -> None:
    """An error of one key leaves the others alone, and says of no broker."""
    exchange = understood(frame("FindCoordinator", version, key_type=0, coordinator_keys=["a", "b"])).exchange
    answers = [FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE), FindCoordinatorResponse(node=1, host="b")]
    found = told("FindCoordinator", version, exchange.response(answers)).to_dict()["coordinators"]
    places = [(each["key"], each["error_code"], each["node_id"], each["host"], each["port"]) for each in found]
    assert places == [("a", 15, -1, "", -1), ("b", 0, 1, "127.0.0.1", 9093)]


@pytest.mark.parametrize("key_type", [2, 3])
def test_coordinators_of_share_groups_are_an_invalid_request(key_type: int) -> None:
    """As a broker answers that has no share coordinator; a key type there is not has a message to it (4.4.0)."""
    for version in (1, 6):
        data = frame("FindCoordinator", version, key="s", key_type=key_type, coordinator_keys=["s", "t"])
        exchange = understood(data).exchange
        if version == 6:
            found = told("FindCoordinator", version, exchange.response([])).coordinators
            assert {each.error_message for each in found} == {"" if key_type == 2 else "INVALID_REQUEST"}
        said = errors(without_throttling(told("FindCoordinator", version, exchange.response([]))))
        assert said == [ErrorCode.INVALID_REQUEST] * (1 if version < 4 else 2)
        said = errors(without_throttling(told("FindCoordinator", version, exchange.refusal(ERROR))))
        assert said == [ERROR] * (1 if version < 4 else 2)


@pytest.mark.parametrize("version", [8, 9])
def test_an_error_of_one_group_leaves_the_others_offsets(version: int) -> None:
    """Each group of an OffsetFetch has an error of its own, and no offsets with it."""
    parts = [part("OffsetFetch", "OffsetFetchRequestGroup", group_id=group, topics=None) for group in "gh"]
    exchange = understood(frame("OffsetFetch", version, groups=parts)).exchange
    answers = [
        OffsetFetchResponse(ErrorCode.NOT_COORDINATOR, (FetchedOffset(O0),)),
        OffsetFetchResponse(offsets=(FetchedOffset(O3, 5),)),
    ]
    groups = told("OffsetFetch", version, exchange.response(answers)).to_dict()["groups"]
    assert [(g["group_id"], g["error_code"], len(g["topics"])) for g in groups] == [("g", 16, 0), ("h", 0, 1)]
    assert groups[1]["topics"][0]["partitions"][0]["committed_offset"] == 5


def test_an_unknown_topic_id_is_answered_for_its_partitions() -> None:
    """OffsetCommit and OffsetFetch 10 answer the known topics as the broker did and the others UNKNOWN_TOPIC_ID."""
    number = {"partition_index": 3, "committed_offset": 5}
    partitions = [part("OffsetCommit", "OffsetCommitRequestPartition", **number)]
    topics = [
        topic("OffsetCommit", "OffsetCommitRequestTopic", 10, partitions=partitions),
        part("OffsetCommit", "OffsetCommitRequestTopic", topic_id=GONE_UUID, partitions=partitions),
    ]
    exchange = understood(frame("OffsetCommit", 10, group_id="g", topics=topics)).exchange
    said = told("OffsetCommit", 10, exchange.response([OffsetCommitResponse(((O3, ErrorCode.NONE),))])).to_dict()
    found = {each["topic_id"]: [p["error_code"] for p in each["partitions"]] for each in said["topics"]}
    assert found == {str(ORDERS_UUID): [0], str(GONE_UUID): [100]}
    refused = told("OffsetCommit", 10, exchange.refusal(ERROR)).to_dict()
    assert errors(refused) == [ERROR, ERROR]

    asked = [part("OffsetFetch", "OffsetFetchRequestTopics", topic_id=GONE_UUID, partition_indexes=[0, 1])]
    group = part("OffsetFetch", "OffsetFetchRequestGroup", group_id="g", topics=asked)
    exchange = understood(frame("OffsetFetch", 10, groups=[group])).exchange
    (answered,) = told("OffsetFetch", 10, exchange.response([OffsetFetchResponse()])).to_dict()["groups"]
    (only,) = answered["topics"]
    assert only["topic_id"] == str(GONE_UUID)
    assert [(p["partition_index"], p["committed_offset"], p["error_code"]) for p in only["partitions"]] == [
        (0, -1, 100),
        (1, -1, 100),
    ]


def test_a_topic_that_is_named_twice_is_answered_twice() -> None:
    """OffsetCommit and OffsetFetch tell topic by topic as they were asked, unless the broker refuses some."""
    number = [part("OffsetCommit", "OffsetCommitRequestPartition", partition_index=3, committed_offset=5)]
    orders = topic("OffsetCommit", "OffsetCommitRequestTopic", 9, partitions=number)
    empty = part("OffsetCommit", "OffsetCommitRequestTopic", name="nowhere", partitions=[])
    for topics, shape in (
        ([orders, orders], [("orders", 1), ("orders", 1)]),
        ([orders, empty, orders], [("nowhere", 0), ("orders", 2)]),
    ):
        exchange = understood(frame("OffsetCommit", 9, group_id="g", topics=topics)).exchange
        answer = OffsetCommitResponse(((O3, ErrorCode.NONE), (O3, ErrorCode.NONE)))
        said = told("OffsetCommit", 9, exchange.response([answer])).to_dict()["topics"]
        assert [(each["name"], len(each["partitions"])) for each in said] == shape
    asked = [topic("OffsetFetch", "OffsetFetchRequestTopics", 9, partition_indexes=[at]) for at in (3, 0)]
    group = part("OffsetFetch", "OffsetFetchRequestGroup", group_id="g", topics=[*asked])
    exchange = understood(frame("OffsetFetch", 9, groups=[group])).exchange
    answer = OffsetFetchResponse(offsets=(FetchedOffset(O3, 5), FetchedOffset(O0, 6)))
    (answered,) = told("OffsetFetch", 9, exchange.response([answer])).to_dict()["groups"]
    assert [[p["committed_offset"] for p in each["partitions"]] for each in answered["topics"]] == [[5], [6]]


def test_an_answer_looks_at_each_partition_once_though_some_are_refused() -> None:
    """Ten thousands of partitions in one commit, half of them unknown, must not keep a broker from other clients."""

    class Number(int):
        compared = 0
        __hash__ = int.__hash__

        def __eq__(self, other: object) -> bool:
            Number.compared += 1
            return int(self) == other

    numbers = [Number(at) for at in range(300)]
    errors = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if at % 2 else ErrorCode.NONE for at in numbers]
    [orders] = in_request_order([(Topic("orders"), numbers)], errors, FakeDirectory())
    assert [each["error_code"] for each in orders["partitions"]] == sorted(errors, reverse=True)
    assert Number.compared <= len(numbers)


def test_offsets_of_a_topic_that_is_gone_are_not_told_by_id() -> None:
    """Where all offsets are asked for in version 10, a topic without an id cannot be named."""
    group = part("OffsetFetch", "OffsetFetchRequestGroup", group_id="g", topics=None)
    exchange = understood(frame("OffsetFetch", 10, groups=[group])).exchange
    answer = OffsetFetchResponse(offsets=(FetchedOffset(TopicPartition("gone", 0), 4), FetchedOffset(O3, 5)))
    (answered,) = told("OffsetFetch", 10, exchange.response([answer])).to_dict()["groups"]
    assert [each["topic_id"] for each in answered["topics"]] == [str(ORDERS_UUID)]


@pytest.mark.parametrize("version", [12, 13])
def test_metadata_of_an_unknown_topic_id_has_no_name(version: int) -> None:
    """UNKNOWN_TOPIC_ID with the id that was asked for and a null name, beside the topics that are known."""
    ids = [part("Metadata", "MetadataRequestTopic", name=None, topic_id=i) for i in (GONE_UUID, ORDERS_UUID)]
    exchange = understood(frame("Metadata", version, topics=ids)).exchange
    response = told("Metadata", version, exchange.response([MetadataResponse((), (TopicInfo("orders"),))]))
    found = [(t.error_code, t.name, t.topic_id) for t in response.topics]
    assert found == [(100, None, GONE_UUID), (0, "orders", ORDERS_UUID)]


def test_metadata_that_names_nothing_is_answered_with_an_error() -> None:
    """An id below version 12 is invalid, neither name nor id makes a broker stumble (4.4.0); nobody is asked."""
    both = part("Metadata", "MetadataRequestTopic", name="orders", topic_id=ORDERS_UUID)
    neither = part("Metadata", "MetadataRequestTopic", name=None, topic_id=None)
    for version, asked in ((10, both), (11, both), (12, neither), (13, neither)):
        exchange = understood(frame("Metadata", version, topics=[asked])).exchange
        assert exchange.requests == ()
        response = told("Metadata", version, exchange.response([]))
        assert [t.error_code for t in response.topics] == [42 if version < 12 else -1]
        assert version < 13 or response.error_code == -1


def test_the_ids_of_the_samples_are_those_of_their_uuids() -> None:
    """Kafka prints an id as base64 without the padding, and so does the directory."""
    asked = fetch(10)
    assert ORDERS_UUID.bytes in asked
    assert (ORDERS_ID, GONE_ID) == ("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAGQ")
