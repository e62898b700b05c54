"""The records of `__transaction_state`: TransactionLogKey and TransactionLogValue as bytes.

The key has a version and the transactional id. The value has the state of the id. Version 1 of the value is flexible;
its tagged fields (previous and next producer id, the client's transaction version) are omitted at their defaults. A
null value is a tombstone of an expired id.

Source: `TransactionLogKey.json`, `TransactionLogValue.json`, `TransactionLog.valueToBytes`.
"""

from __future__ import annotations

from typing import Final

from attrs import field

from groupsim.cluster.transactions.states import TxnState
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.record_fields import INT16, INT32, INT64, FieldReader, length, utf8, varint
from groupsim.protocol.values import frozen

KEY_VERSION: Final = 0
VALUE_VERSION: Final = 1
_KEY, _VALUE = "TransactionLogKey", "TransactionLogValue"
_PREVIOUS_ID, _NEXT_ID, _CLIENT_VERSION = 0, 1, 2
_NULL_ARRAY: Final = -1


@frozen
class Txn:
    """The state of a transactional id; times are timestamps in ms."""

    transactional_id: str
    producer_id: int
    producer_epoch: int = -1
    timeout_ms: int = 60_000
    state: TxnState = TxnState.EMPTY
    partitions: tuple[TopicPartition, ...] = ()
    start_ms: int = -1
    update_ms: int = -1
    last_epoch: int = -1  # not in the log: the epoch before the last bump
    previous_producer_id: int = field(default=-1)
    next_producer_id: int = field(default=-1)
    client_version: int = field(default=0)


def encode_key(transactional_id: str) -> bytes:
    """Encode the key of a transactional id. Raises ProtocolError if the id is too long."""
    return INT16.pack(KEY_VERSION) + utf8(_KEY, transactional_id)


def decode_key(data: bytes) -> str:
    """Decode the transactional id of a key. Raises ProtocolError for other data."""
    reader = FieldReader(_KEY, data)
    version = reader.int16("the version")
    if version != KEY_VERSION:
        raise reader.wrong(0, f"version {KEY_VERSION}", str(version))
    return reader.string("the transactional id")


def encode_value(txn: Txn, version: int = VALUE_VERSION) -> bytes:
    """Encode a value; in state Empty the partitions are null, as in Kafka. Raises ProtocolError for other versions."""
    if version not in (0, 1):
        raise ProtocolError(_VALUE, None, "version 0 or 1", str(version))
    flexible = version == 1
    parts = [
        INT16.pack(version),
        INT64.pack(txn.producer_id),
        INT16.pack(txn.producer_epoch),
        INT32.pack(txn.timeout_ms),
        bytes([txn.state]),
        _partitions(txn, flexible),
        INT64.pack(txn.update_ms),
        INT64.pack(txn.start_ms),
    ]
    if flexible:
        parts.append(_tags(txn))
    return b"".join(parts)


def _partitions(txn: Txn, flexible: bool) -> bytes:
    if txn.state is TxnState.EMPTY:
        return length(_NULL_ARRAY, flexible)
    topics: dict[str, list[int]] = {}
    for partition in txn.partitions:
        topics.setdefault(partition.topic, []).append(partition.partition)
    parts = [length(len(topics), flexible)]
    for topic, numbers in topics.items():
        parts += [utf8(_VALUE, topic, flexible), length(len(numbers), flexible)]
        parts += [INT32.pack(number) for number in numbers]
        if flexible:
            parts.append(b"\x00")
    return b"".join(parts)


def _tags(txn: Txn) -> bytes:
    found = []
    if txn.previous_producer_id != -1:
        found.append((_PREVIOUS_ID, INT64.pack(txn.previous_producer_id)))
    if txn.next_producer_id != -1:
        found.append((_NEXT_ID, INT64.pack(txn.next_producer_id)))
    if txn.client_version:
        found.append((_CLIENT_VERSION, INT16.pack(txn.client_version)))
    return varint(len(found)) + b"".join(varint(tag) + varint(len(raw)) + raw for tag, raw in found)


def decode_value(transactional_id: str, data: bytes) -> Txn:
    """Decode a value. Raises ProtocolError that names field and byte for other data."""
    reader = FieldReader(_VALUE, data)
    version = reader.int16("the version")
    if version not in (0, 1):
        raise reader.wrong(0, "version 0 or 1", str(version))
    reader.flexible = version == 1
    producer_id, epoch = reader.int64("the producer id"), reader.int16("the producer epoch")
    timeout_ms = reader.int32("the timeout")
    at = reader.at
    number = reader.take(1, "the status")[0]
    if number not in TxnState.__members__.values():
        raise reader.wrong(at, "a transaction status from 0 to 7", str(number))
    partitions = _read_partitions(reader)
    update_ms, start_ms = reader.int64("the time of update"), reader.int64("the time of start")
    tags = reader.tags()
    return Txn(
        transactional_id,
        producer_id,
        epoch,
        timeout_ms,
        TxnState(number),
        partitions,
        start_ms,
        update_ms,
        previous_producer_id=INT64.unpack(tags[_PREVIOUS_ID])[0] if _PREVIOUS_ID in tags else -1,
        next_producer_id=INT64.unpack(tags[_NEXT_ID])[0] if _NEXT_ID in tags else -1,
        client_version=INT16.unpack(tags[_CLIENT_VERSION])[0] if _CLIENT_VERSION in tags else 0,
    )


def _read_partitions(reader: FieldReader) -> tuple[TopicPartition, ...]:
    count = reader.varint("the topics") - 1 if reader.flexible else reader.int32("the topics")
    found: list[TopicPartition] = []
    for _ in range(max(count, 0)):
        topic = reader.string("a topic")
        count = reader.count("the partitions")
        found += [TopicPartition(topic, reader.int32("a partition")) for _ in range(count)]
        reader.tags()
    return tuple(found)
