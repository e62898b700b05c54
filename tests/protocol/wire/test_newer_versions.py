"""The versions that kio and kafka-python lack, beside bytes that Kafka's own classes wrote (kafka-clients 4.4.0)."""

from __future__ import annotations

import struct

import pytest
from kio.schema.index import api_key_map, schema_name_map

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.transactions import OffsetInTxn, TxnOffsetCommitRequest, TxnOffsetCommitResponse
from groupsim.protocol.wire import Unreadable
from groupsim.protocol.wire.schema import NEWER, known_versions, request_shape, response_shape
from tests.helpers.wire_samples import codec, understood

# `MessageUtil.toByteBufferAccessor`, with the fields of `REQUEST` below.
HEAD = "03747802670000000000000009000200000007046d2d31026902"
ORDERS = "00000000000000000000000000000001"
PARTS = "0300000000000001000000000000000005056e6f7465000000000300000100000000030000000500000000"
BODY = bytes.fromhex(HEAD + ORDERS + PARTS)
# The same, with a partition of another topic, whose id is 25.
TWO_TOPICS = bytes.fromhex(
    HEAD[:-2] + "03" + ORDERS + PARTS[:-2] + "00000000000000000000000000000019"
    "02000000010000000000000004ffffffff01000000"
)
RESPONSE = bytes.fromhex("000000000200000000000000000000000000000001030000000000000000000003007100" + "0000")
O0, O3 = TopicPartition("orders", 0), TopicPartition("orders", 3)
OFFSETS = (OffsetInTxn(O0, 2**40, 5, "note"), OffsetInTxn(O3, 2**40 + 3, 5))
REQUEST = TxnOffsetCommitRequest("tx", "g", 9, 2, OFFSETS, 7, "m-1", "i", 6)


def frame(body: bytes) -> bytes:
    """A TxnOffsetCommit 6 with a header."""
    return struct.pack(">hhih", Api.TXN_OFFSET_COMMIT, 6, 7, 5) + b"tests\x00" + body


def body_of(response: bytes) -> bytes:
    """A response without its header: the correlation id, and no tagged fields."""
    assert response[:5] == struct.pack(">ib", 7, 0)
    return response[5:]


def test_a_transactional_commit_6_has_topic_ids() -> None:
    """The bytes of Kafka's class are read as the request, and our response has the bytes of Kafka's class."""
    exchange = understood(frame(BODY)).exchange
    assert exchange.requests == (REQUEST,)
    answer = TxnOffsetCommitResponse(((O0, ErrorCode.NONE), (O3, ErrorCode.STALE_MEMBER_EPOCH)))
    assert body_of(exchange.response([answer])) == RESPONSE


def test_an_unknown_topic_id_is_answered_without_the_broker() -> None:
    """UNKNOWN_TOPIC_ID for its partitions, the broker's answer for the rest; with such ids only no broker is asked."""
    exchange = understood(frame(TWO_TOPICS)).exchange
    assert exchange.requests == (REQUEST,)
    answer = TxnOffsetCommitResponse(((O0, ErrorCode.NONE), (O3, ErrorCode.NONE)))
    body = body_of(exchange.response([answer]))
    assert body.count(struct.pack(">ih", 1, ErrorCode.UNKNOWN_TOPIC_ID)) == 1
    refused = body_of(exchange.refusal(ErrorCode.NOT_COORDINATOR))
    assert refused.count(struct.pack(">h", ErrorCode.NOT_COORDINATOR)) == 3
    other = BODY.replace(bytes.fromhex(ORDERS), bytes(15) + b"\x19")
    gone = understood(frame(other)).exchange
    assert gone.requests == ()
    assert body_of(gone.response([])).count(struct.pack(">h", ErrorCode.UNKNOWN_TOPIC_ID)) == 2


def test_a_commit_cut_short_or_changed_is_read_or_refused() -> None:
    """No prefix is a request, and no changed byte breaks the reader."""
    data = frame(TWO_TOPICS)

    def readable(changed: bytes) -> bool:
        try:
            return bool(codec().understand(changed).exchange)
        except Unreadable:
            return False

    assert readable(data)
    assert not any(readable(data[:cut]) for cut in range(len(data)))
    for at in range(4, len(data)):
        for value in (0, 0x7F, 0x80, 0xFF):
            readable(data[:at] + bytes([value]) + data[at + 1 :])


@pytest.mark.parametrize("api", NEWER, ids=lambda api: api.title)
def test_a_version_that_kio_has_is_not_listed_as_newer(api: Api) -> None:
    """A row of `NEWER` is to be removed when kio has its version; the versions follow those of kio."""
    theirs = max(schema_name_map[api_key_map[api]])
    assert sorted(NEWER[api]) == list(range(theirs + 1, known_versions(api).newest + 1))
    for version, newer in NEWER[api].items():
        for shape in (request_shape, response_shape):
            assert shape(api, version) is not shape(api, newer.like)
