"""Encode the records of consumer groups as Kafka's keys and values, and decode them.

Times are virtual in the records and milliseconds since 1970 in the bytes (`serde.py`). A target without a time has 0
there, as in Kafka.

Source: `GroupCoordinatorRecordSerde`, `GroupCoordinatorRecordHelpers` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupsim.coordinator.base.consumer_records import (
    ConsumerRecord,
    CurrentRecord,
    EpochRecord,
    MemberRecord,
    RegexRecord,
    ResolvedRegex,
    TargetEpochRecord,
    TargetEpochValue,
    TargetRecord,
    TopicsRecord,
)
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.protocol.embedded import consumer_group_records as bytes_of
from groupsim.protocol.embedded.consumer_group_records import ConsumerGroupKey


def encode(record: ConsumerRecord, *, epochs: bool = True) -> tuple[bytes, bytes | None]:
    """Return key and value (None: a tombstone); without `epochs` partitions have none. Raises ProtocolError."""
    kind, last, encode_value = _ENCODE[type(record)]
    key = bytes_of.encode_key(kind, record.group_id, last(record))
    if isinstance(record, CurrentRecord) and record.value is not None:
        return key, bytes_of.encode_current(record.value, epochs=epochs)
    return key, None if record.value is None else encode_value(record.value)


def decode(key: ConsumerGroupKey, value: bytes | None) -> ConsumerRecord:
    """Decode the value under a key. Raises ProtocolError."""
    made, decode_value = _DECODE[key.type]
    read = None if value is None else decode_value(value)
    record: ConsumerRecord = made(key.group, key.member, read) if key.type in _WITH_MEMBER else made(key.group, read)
    return record


def type_name(record: ConsumerRecord) -> str:
    """Return Kafka's name of the type of the record (`CoordinatorRecordType`)."""
    return bytes_of.NAMES[_ENCODE[type(record)][0]]


def key_end(record: ConsumerRecord) -> str:
    """Return the last field of the key: the member id, the regular expression, or "" where the type has none."""
    return _ENCODE[type(record)][1](record)


def _ms(time_us: int) -> int:
    return EPOCH_MS + time_us // 1_000


def _us(time_ms: int) -> int:
    return 1_000 * (time_ms - EPOCH_MS)


def _target_epoch_bytes(value: TargetEpochValue) -> bytes:
    return bytes_of.encode_target_epoch(value.epoch, 0 if value.time_us is None else _ms(value.time_us))


def _target_epoch(data: bytes) -> TargetEpochValue:
    epoch, time_ms = bytes_of.decode_target_epoch(data)
    return TargetEpochValue(epoch, None if time_ms == 0 else _us(time_ms))


def _regex_bytes(value: ResolvedRegex) -> bytes:
    return bytes_of.encode_regex(value.topics, value.version, _ms(value.time_us))


def _regex(data: bytes) -> ResolvedRegex:
    topics, version, time_ms = bytes_of.decode_regex(data)
    return ResolvedRegex(topics, version, _us(time_ms))


def _member_of(record: Any) -> str:
    member_id: str = record.member_id
    return member_id


def _regex_of(record: Any) -> str:
    regex: str = record.regex
    return regex


def _nothing(record: Any) -> str:
    return ""


_ENCODE: Mapping[type[Any], tuple[int, Callable[[Any], str], Callable[[Any], bytes]]] = {
    EpochRecord: (bytes_of.GROUP, _nothing, bytes_of.encode_epoch),
    TopicsRecord: (bytes_of.TOPICS, _nothing, bytes_of.encode_topics),
    MemberRecord: (bytes_of.MEMBER, _member_of, bytes_of.encode_member),
    TargetEpochRecord: (bytes_of.TARGET_EPOCH, _nothing, _target_epoch_bytes),
    TargetRecord: (bytes_of.TARGET, _member_of, bytes_of.encode_target),
    CurrentRecord: (bytes_of.CURRENT, _member_of, bytes_of.encode_current),
    RegexRecord: (bytes_of.REGEX, _regex_of, _regex_bytes),
}
_DECODE: Mapping[int, tuple[Callable[..., Any], Callable[[bytes], Any]]] = {
    bytes_of.GROUP: (EpochRecord, bytes_of.decode_epoch),
    bytes_of.TOPICS: (TopicsRecord, bytes_of.decode_topics),
    bytes_of.MEMBER: (MemberRecord, bytes_of.decode_member),
    bytes_of.TARGET_EPOCH: (TargetEpochRecord, _target_epoch),
    bytes_of.TARGET: (TargetRecord, bytes_of.decode_target),
    bytes_of.CURRENT: (CurrentRecord, bytes_of.decode_current),
    bytes_of.REGEX: (RegexRecord, _regex),
}
_WITH_MEMBER = (bytes_of.MEMBER, bytes_of.TARGET, bytes_of.CURRENT, bytes_of.REGEX)
"""The types whose key has a third field."""
