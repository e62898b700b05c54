"""The sizes that a limited link counts, beside those of real encodings."""

from __future__ import annotations

import pytest
from attrs import evolve

from groupsim.protocol.basics import Api
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatResponse, TopicPartitions
from groupsim.protocol.messages.data import FetchResponse, PartitionData
from groupsim.protocol.messages.group import HeartbeatRequest
from groupsim.protocol.messages.sizes import request_bytes, response_bytes
from groupsim.protocol.wire.schema import response_shape
from groupsim.protocol.wire.serial import writer
from tests.helpers.data_samples import BATCH, CASES, EVERY, O0, O3, fetch, records
from tests.helpers.wire_samples import ORDERS_ID, understood

NEAR = 24
"""How many bytes a computed size may be wrong by: a version's fields that our values do not have, or the reverse."""


def test_a_fetch_counts_its_batches_exactly() -> None:
    """A batch more makes the answer larger by the bytes the batch has, in the encoding and in the size."""
    assert BATCH.size == len(records())
    answer, encoded = {}, {}
    for count in (1, 2):
        found = PartitionData(O0, high_watermark=9, batches=(BATCH,) * count), PartitionData(O3, high_watermark=4)
        answer[count] = FetchResponse(partitions=found)
        encoded[count] = 4 + len(understood(fetch(12)).exchange.response([answer[count]]))
    assert encoded[2] - encoded[1] == BATCH.size
    assert abs(response_bytes(answer[2]) - response_bytes(answer[1]) - BATCH.size) <= 1
    assert abs(response_bytes(answer[1]) - encoded[1]) <= NEAR


@pytest.mark.parametrize("api", [Api.FETCH, Api.PRODUCE, Api.LIST_OFFSETS], ids=lambda api: api.title)
def test_requests_have_about_the_size_of_real_encodings(api: Api) -> None:
    """What kafka-python sends in the newest version that it knows has the size computed of our value, nearly."""
    make, request = CASES[api]
    frame = make(max(version for other, version in EVERY if other is api))
    assert abs(request_bytes(request, "tests") - len(frame)) <= NEAR


def test_a_longer_text_counts_its_bytes() -> None:
    """A group id of five letters more makes a heartbeat five bytes longer; a letter of two bytes counts two."""
    short, long, wide = (request_bytes(HeartbeatRequest(name, 1, "m"), "c") for name in ("g", "g-long", "ü"))
    assert (long - short, wide - short) == (5, 1)


def test_a_topic_id_counts_its_sixteen_bytes() -> None:
    """An assignment of a member has the size of its encoding, nearly: topics are ids of 16 bytes, not text."""
    places = tuple(TopicPartitions(ORDERS_ID, (number, number + 1)) for number in range(20))
    answer = ConsumerGroupHeartbeatResponse(member_id="m", assignment=places)
    encoded = bytearray()
    topics = [{"topic_id": one.topic_id, "partitions": list(one.partitions)} for one in places]
    assigned = {"throttle_time": 0, "error_code": 0, "member_id": "m", "member_epoch": 0, "heartbeat_interval": 0}
    writer(response_shape(answer.API, 1))(encoded, {**assigned, "assignment": {"topic_partitions": topics}})
    assert abs(response_bytes(answer) - 4 - 5 - len(encoded)) <= NEAR
    fewer = evolve(answer, assignment=places[:10])
    assert response_bytes(answer) - response_bytes(fewer) == 10 * (16 + 1 + 8 + 1)


def test_what_is_not_sent_does_not_count() -> None:
    """The version is in the header already, and a callback is none of Kafka's fields."""
    request = CASES[Api.FETCH][1]
    assert request_bytes(evolve(request, pushes=print), "c") == request_bytes(request, "c")
