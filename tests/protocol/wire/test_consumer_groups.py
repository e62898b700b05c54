"""ConsumerGroupHeartbeat and ConsumerGroupDescribe on the wire, beside kio's reader and writer."""

from __future__ import annotations

import io
import struct
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from attrs import evolve
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedPartitions,
    TopicPartitions,
)
from groupsim.protocol.messages.versions import normalise_request, normalise_response
from groupsim.protocol.wire import Unreadable
from groupsim.protocol.wire.exchange import Exchange
from groupsim.protocol.wire.headers import read_header
from groupsim.protocol.wire.registry import READERS
from groupsim.protocol.wire.schema import request_shape
from groupsim.protocol.wire.serial import reader
from tests.helpers.wire_samples import GONE_ID, GONE_UUID, ORDERS_ID, ORDERS_UUID, FakeDirectory, any_frame

BEAT, DESCRIBE = Api.CONSUMER_GROUP_HEARTBEAT, Api.CONSUMER_GROUP_DESCRIBE
EVERY = [(api, version) for api in (BEAT, DESCRIBE) for version in (0, 1)]
ZERO_ID = "A" * 22
RELEASE = (4, 4)


def exchange_of(data: bytes) -> Exchange:
    """The exchange of a frame, read as the codec reads those that a release lists."""
    api, version = struct.unpack_from(">hh", data)
    shape = request_shape(Api(api), version)
    header, at = read_header(data, Api(api), shape.flexible, RELEASE)
    fields, _ = reader(shape)(data, at)
    return READERS[Api(api)](fields, header, FakeDirectory())


def by_kio(api: Api, version: int, **fields: Any) -> bytes:
    """A request as kio writes it, with a header of version 2; fields that the version lacks are left out."""
    entity = load_request_schema(api, version)
    known = {name: value for name, value in fields.items() if name in entity.__dataclass_fields__}
    out = io.BytesIO(struct.pack(">hhih", api, version, 7, 5) + b"tests\x00")
    out.seek(0, io.SEEK_END)
    entity_writer(entity)(out, entity(**known))
    return out.getvalue()


def owned(version: int, *topics: tuple[UUID | None, tuple[int, ...]]) -> tuple[Any, ...]:
    """The owned partitions of a heartbeat, in kio's classes."""
    part = __import__(f"kio.schema.consumer_group_heartbeat.v{version}.request", fromlist=["TopicPartitions"])
    return tuple(part.TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in topics)


def heartbeat(version: int) -> bytes:
    """A heartbeat with all that the version has."""
    return by_kio(
        BEAT,
        version,
        group_id="g",
        member_id="m-1",
        member_epoch=7,
        instance_id="i",
        rack_id="a",
        rebalance_timeout=timedelta(minutes=5),
        subscribed_topic_names=("orders", "ü"),
        subscribed_topic_regex="ord.*",
        server_assignor="range",
        topic_partitions=owned(version, (ORDERS_UUID, (3, 0)), (GONE_UUID, ())),
    )


def describe(version: int) -> bytes:
    """A ConsumerGroupDescribe of two groups."""
    return by_kio(DESCRIBE, version, group_ids=("g", "h"), include_authorized_operations=True)


FULL = ConsumerGroupHeartbeatRequest(
    "g",
    "m-1",
    7,
    "i",
    "a",
    300_000,
    ("orders", "ü"),
    "ord.*",
    "range",
    (TopicPartitions(ORDERS_ID, (3, 0)), TopicPartitions(GONE_ID, ())),
)
CASES = {BEAT: (heartbeat, FULL), DESCRIBE: (describe, ConsumerGroupDescribeRequest(("g", "h"), True))}


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_a_request_has_what_its_version_has(api: Api, version: int) -> None:
    """Both versions are read as the newest one, without the fields that the version lacks."""
    write, newest = CASES[api]
    (request,) = exchange_of(write(version)).requests
    assert request == normalise_request(request) == normalise_request(evolve(newest, version=version))


@pytest.mark.parametrize("version", [0, 1])
def test_a_quiet_heartbeat_has_nulls(version: int) -> None:
    """What did not change is null, a timeout is -1; an empty list of partitions is not null."""
    quiet = by_kio(BEAT, version, group_id="g", member_id="m", member_epoch=-1, topic_partitions=None)
    assert exchange_of(quiet).requests == (ConsumerGroupHeartbeatRequest("g", "m", -1, version=version),)
    nothing = by_kio(BEAT, version, group_id="g", member_id="m", member_epoch=0, topic_partitions=())
    (request,) = exchange_of(nothing).requests
    assert request == ConsumerGroupHeartbeatRequest("g", "m", 0, topic_partitions=(), version=version)


def test_the_zero_id_is_an_id_of_an_unknown_topic() -> None:
    """Kafka's zero id is no null in a list of partitions."""
    data = by_kio(BEAT, 1, group_id="g", member_id="m", member_epoch=3, topic_partitions=owned(1, (None, (2,))))
    (request,) = exchange_of(data).requests
    assert isinstance(request, ConsumerGroupHeartbeatRequest)
    assert request.topic_partitions == (TopicPartitions(ZERO_ID, (2,)),)


def test_many_groups_are_described_piece_by_piece() -> None:
    """A thousand groups are two requests, and one response in their order."""
    names = tuple(f"g-{number}" for number in range(1000))
    exchange = exchange_of(by_kio(DESCRIBE, 1, group_ids=names, include_authorized_operations=False))
    asked = [request.group_ids for request in exchange.requests]  # type: ignore[union-attr]
    assert [len(some) for some in asked] == [500, 500]
    answers = [ConsumerGroupDescribeResponse(tuple(map(DescribedConsumerGroup, some))) for some in asked]
    assert [group.group_id for group in read_by_kio(DESCRIBE, 1, exchange.response(answers)).groups] == list(names)


# --- responses ---------------------------------------------------------------------------------------------------


def read_by_kio(api: Api, version: int, response: bytes) -> Any:
    """A response as kio reads it, to its last byte; written again by kio it is the same bytes."""
    entity = load_response_schema(api, version)
    found, size = entity_reader(entity)(response, 5)
    assert 5 + size == len(response)
    again = io.BytesIO()
    entity_writer(entity)(again, found)
    assert again.getvalue() == response[5:]
    return found


PLACES = (DescribedPartitions(ORDERS_ID, "orders", (0, 3)),)
MEMBER = DescribedConsumer(
    "m-1", "i", "a", 6, "app", "/10.0.0.1", ("orders", "x"), "ord.*", PLACES, (*PLACES, *PLACES), 1
)
GROUP = DescribedConsumerGroup("g", ErrorCode.NONE, None, "Reconciling", 8, 7, "uniform", (MEMBER,), 264)
BARE = DescribedConsumerGroup("h", ErrorCode.GROUP_ID_NOT_FOUND, "Group h not found.")


@pytest.mark.parametrize("version", [0, 1])
def test_an_assignment_is_a_list_of_ids(version: int) -> None:
    """The answer has the epoch, the interval, and partitions by topic id; without an assignment it has null there."""
    exchange = exchange_of(heartbeat(version))
    answer = ConsumerGroupHeartbeatResponse(
        ErrorCode.NONE, None, "m-1", 8, 5_000, (TopicPartitions(ORDERS_ID, (0, 3)), TopicPartitions(GONE_ID, (1,)))
    )
    found = read_by_kio(BEAT, version, exchange.response([normalise_response(answer, version)]))
    assert (found.error_code, found.member_id, found.member_epoch) == (0, "m-1", 8)
    assert found.heartbeat_interval == timedelta(seconds=5)
    topics = [(entry.topic_id, entry.partitions) for entry in found.assignment.topic_partitions]
    assert topics == [(ORDERS_UUID, (0, 3)), (GONE_UUID, (1,))]
    bare = read_by_kio(BEAT, version, exchange.response([evolve(answer, assignment=None)]))
    assert bare.assignment is None
    empty = read_by_kio(BEAT, version, exchange.response([evolve(answer, assignment=())]))
    assert empty.assignment.topic_partitions == ()


@pytest.mark.parametrize("version", [0, 1])
def test_a_described_group_has_both_assignments(version: int) -> None:
    """Topics have their id and their name; the type of a member is in version 1 only."""
    exchange = exchange_of(describe(version))
    answer = normalise_response(ConsumerGroupDescribeResponse((GROUP, BARE)), version)
    group, bare = read_by_kio(DESCRIBE, version, exchange.response([answer])).groups
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 8, 7)
    assert (group.assignor_name, group.authorized_operations) == ("uniform", 264)
    (member,) = group.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("m-1", "i", "a", 6)
    assert (member.client_id, member.client_host) == ("app", "/10.0.0.1")
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (("orders", "x"), "ord.*")
    assert version == 0 or member.member_type == 1
    places = [
        [(one.topic_id, one.topic_name, one.partitions) for one in assignment.topic_partitions]
        for assignment in (member.assignment, member.target_assignment)
    ]
    assert places == [[(ORDERS_UUID, "orders", (0, 3))], [(ORDERS_UUID, "orders", (0, 3))] * 2]
    assert (bare.error_code, bare.error_message, bare.members) == (69, "Group h not found.", ())
    assert bare.authorized_operations == -(2**31)


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_a_refusal_has_the_error_of_each_group(api: Api, version: int) -> None:
    """A heartbeat has one error and no member id; a description repeats it for each group, in their order."""
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    found = read_by_kio(api, version, exchange_of(CASES[api][0](version)).refusal(error))
    if api is BEAT:
        assert (found.error_code, found.member_id, found.member_epoch, found.assignment) == (error, None, 0, None)
    else:
        assert [(group.group_id, group.error_code) for group in found.groups] == [("g", error), ("h", error)]


# --- hostile bytes -----------------------------------------------------------------------------------------------


def readable(data: bytes) -> bool:
    """Whether the bytes are a request; anything but Unreadable is a failure of the test."""
    try:
        return bool(exchange_of(data).requests)
    except Unreadable:
        return False


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_a_request_cut_short_or_changed_is_read_or_refused(api: Api, version: int) -> None:
    """No prefix is a request; every byte is changed in turn: lengths, counts, nulls, text, numbers."""
    data = CASES[api][0](version)
    assert readable(data)
    assert not any(readable(data[:cut]) for cut in range(4, len(data)))
    for at in range(4, len(data)):
        for value in (0, 0x7F, 0x80, 0xFF, data[at] + 1 & 0xFF):
            readable(data[:at] + bytes([value]) + data[at + 1 :])


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "title", value))
def test_any_values_in_any_field_can_be_refused(api: Api, version: int) -> None:
    """Nulls, empty lists, unknown ids and meaningless numbers are read, and refused with a response of the version."""
    stream = Random(11)
    refused = 0
    for _ in range(40):
        data = any_frame(api, version, stream)
        if readable(data):
            read_by_kio(api, version, exchange_of(data).refusal(ErrorCode.REQUEST_TIMED_OUT))
            refused += 1
    assert refused > 10


def test_a_million_names_are_the_most() -> None:
    """Names, and partitions of owned topics, count against the limit of a message."""
    head = by_kio(
        BEAT, 1, group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=(), topic_partitions=None
    )
    at = head.rindex(b"\x01\x00\x00\x00\x00")
    names = b"\xc2\x84\x3d" + b"\x02x" * 1_000_001  # a varint of 1,000,002
    with pytest.raises(Unreadable, match="claims 1000001 elements"):
        exchange_of(head[:at] + names + head[at + 1 :])
