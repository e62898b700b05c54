"""The records of `__transaction_state` as bytes. The vectors were written by Kafka 4.4.0's own generated classes."""

from __future__ import annotations

import pytest
from attrs import evolve

from groupsim.cluster.transactions.marker_writes import marker_batch
from groupsim.cluster.transactions.records import Txn, decode_key, decode_value, encode_key, encode_value
from groupsim.cluster.transactions.states import TxnState
from groupsim.protocol.batch.batch import HEADER_BYTES
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.messages.transactions import TxnMarker

_ONGOING = Txn(
    "x",
    4_001,
    3,
    60_000,
    TxnState.ONGOING,
    (TopicPartition("__consumer_offsets", 7), TopicPartition("t", 0), TopicPartition("t", 3)),
    start_ms=1_767_225_600_100,
    update_ms=1_767_225_600_123,
)
_TAGGED = evolve(_ONGOING, previous_producer_id=4_000, next_producer_id=5_000, client_version=2)
_EMPTY = Txn("x", 1, 0, 1_000, TxnState.EMPTY, (), -1, 5)
_VECTORS = {
    "ongoing, version 0": (
        _ONGOING,
        0,
        "00000000000000000fa100030000ea60010000000200125f5f636f6e73756d65725f6f66667365747300000001000000070001"
        "740000000200000000000000030000019b76daa87b0000019b76daa864",
    ),
    "ongoing, version 1": (
        _ONGOING,
        1,
        "00010000000000000fa100030000ea600103135f5f636f6e73756d65725f6f6666736574730200000007000274030000000000"
        "000003000000019b76daa87b0000019b76daa86400",
    ),
    "tagged fields": (
        _TAGGED,
        1,
        "00010000000000000fa100030000ea600103135f5f636f6e73756d65725f6f6666736574730200000007000274030000000000"
        "000003000000019b76daa87b0000019b76daa8640300080000000000000fa00108000000000000138802020002",
    ),
    "empty, version 0": (_EMPTY, 0, "000000000000000000010000000003e800ffffffff0000000000000005ffffffffffffffff"),
    "empty, version 1": (_EMPTY, 1, "000100000000000000010000000003e800000000000000000005ffffffffffffffff00"),
}


@pytest.mark.parametrize("name", _VECTORS)
def test_values_are_kafkas_bytes(name: str) -> None:
    """A value has the bytes that Kafka writes, and reading them gives it back."""
    txn, version, expected = _VECTORS[name]
    assert encode_value(txn, version).hex() == expected
    assert decode_value("x", bytes.fromhex(expected)) == txn


def test_keys_are_kafkas_bytes() -> None:
    """The key of a transactional id, both ways."""
    raw = bytes.fromhex("0000000b6f72646572732d74782d31")
    assert encode_key("orders-tx-1") == raw
    assert decode_key(raw) == "orders-tx-1"


@pytest.mark.parametrize("cut", [1, 9, 17, 30])
def test_a_torn_value_says_where_it_ends(cut: int) -> None:
    """Bytes that stop early are refused with the field that is missing."""
    with pytest.raises(ProtocolError, match="TransactionLogValue at byte"):
        decode_value("x", encode_value(_ONGOING)[:cut])


def test_unknown_versions_and_states_are_refused() -> None:
    """The error for an unknown version or status names its place."""
    raw = encode_value(_EMPTY)
    with pytest.raises(ProtocolError, match="expected version 0 or 1, found 7"):
        decode_value("x", b"\x00\x07" + raw[2:])
    with pytest.raises(ProtocolError, match="a transaction status from 0 to 7"):
        decode_value("x", raw[:16] + b"\x09" + raw[17:])
    with pytest.raises(ProtocolError, match="expected version 0"):
        decode_key(b"\x00\x01\x00\x00")


def test_a_marker_is_a_control_batch() -> None:
    """Commit and abort markers: control type in the key, the coordinator's epoch in the value (78 bytes in all)."""
    commit = marker_batch(TxnMarker(9, 2, True, (), 5), 1_000)
    assert commit.is_control
    assert commit.is_transactional
    assert (commit.producer_id, commit.producer_epoch, commit.base_sequence) == (9, 2, -1)
    (record,) = commit.records or ()
    assert (record.key, record.value) == (bytes([0, 0, 0, 1]), bytes([0, 0, 0, 0, 0, 5]))
    assert commit.size == HEADER_BYTES + 17
    (record,) = marker_batch(TxnMarker(9, 2, False, (), 5), 1_000).records or ()
    assert record.key == bytes(4)
