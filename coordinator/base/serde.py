"""Encode a coordinator's records as Kafka's keys and values, and decode them (consumer groups: `consumer_serde`).

The core counts microseconds of virtual time, records hold milliseconds since 1970; virtual time 0 is `EPOCH_MS`.
Records hold whole milliseconds already, so decoding returns exactly the encoded record. The one exception is a field
that a version lacks (a value with `OffsetValue.expire_us` is written in version 1, which has no leader epoch).

An offset's producer, and the end of a transaction, are not in keys and values but in the batch around them
(`cluster/broker/offset_batches.py`).

Source: `GroupCoordinatorRecordSerde`, `GroupCoordinatorRecordHelpers`; classic-protocol reference, 3.4.
"""

from __future__ import annotations

from groupsim.coordinator.base import consumer_serde
from groupsim.coordinator.base.consumer_records import ConsumerRecord
from groupsim.coordinator.base.records import (
    ForeignRecord,
    GroupRecord,
    GroupValue,
    OffsetRecord,
    OffsetValue,
    Producer,
    StoredMember,
)
from groupsim.coordinator.base.versions import differences, parse_version
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.protocol.embedded import offset_records as bytes_of
from groupsim.protocol.embedded.consumer_group_records import ConsumerGroupKey
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import value

_NO_TIME_MS = -1
_FLEXIBLE_SINCE = (4, 1)


@value
class Form:
    """What a release writes otherwise than others: a version of the value of an offset, and a field of members."""

    offsets: int = bytes_of.FLEXIBLE_VERSION
    """The version of the value of an offset without an expiry time."""
    epochs: bool = True
    """The record of a member of a consumer group has the assignment epochs of its partitions."""


def form_of(broker_version: str) -> Form:
    """Return what a broker of this release writes; versions of offsets before 2.1 are left out."""
    flexible = parse_version(broker_version) >= _FLEXIBLE_SINCE
    version = bytes_of.FLEXIBLE_VERSION if flexible else bytes_of.CLASSIC_OFFSET_VERSION
    return Form(version, differences(broker_version).partitions_have_epochs)


NEWEST = Form()


def encode(
    record: GroupRecord | OffsetRecord | ConsumerRecord,
    form: Form = NEWEST,
    topic_id: bytes | None = None,
) -> tuple[bytes, bytes | None]:
    """Return key and value (None: a tombstone). `form` is that of the release, `topic_id` that of an offset's topic.

    Raises ProtocolError.
    """
    if isinstance(record, GroupRecord):
        key = bytes_of.encode_group_key(record.group_id)
        return key, None if record.value is None else _group_bytes(record.value)
    if not isinstance(record, OffsetRecord):
        return consumer_serde.encode(record, epochs=form.epochs)
    topic, partition = record.partition
    key = bytes_of.encode_offset_key(record.group_id, topic, partition)
    value = record.value
    if value is None:
        return key, None
    commit_ms = EPOCH_MS + value.commit_us // 1_000
    if value.expire_us is None:
        data = bytes_of.encode_offset_value(
            value.offset, value.leader_epoch, value.metadata, commit_ms, topic_id=topic_id, version=form.offsets
        )
    else:
        expire_ms = EPOCH_MS + value.expire_us // 1_000
        data = bytes_of.encode_offset_value(
            value.offset, -1, value.metadata, commit_ms, expire_ms, version=bytes_of.EXPIRING_VERSION
        )
    return key, data


def decode(
    key: bytes | None, value: bytes | None, producer: Producer | None = None
) -> GroupRecord | OffsetRecord | ConsumerRecord | ForeignRecord:
    """Decode a key and a value; `producer` is that of the transactional batch around them. Raises ProtocolError."""
    if key is None:
        raise ProtocolError("a record of __consumer_offsets", None, "a key", "null")
    decoded = bytes_of.decode_key(key)
    if isinstance(decoded, bytes_of.GroupMetadataKey):
        return GroupRecord(decoded.group, None if value is None else _group_value(bytes_of.decode_group_value(value)))
    if isinstance(decoded, bytes_of.OffsetCommitKey):
        stored = None if value is None else _offset_value(bytes_of.decode_offset_value(value))
        return OffsetRecord(decoded.group, TopicPartition(decoded.topic, decoded.partition), stored, producer)
    if isinstance(decoded, ConsumerGroupKey):
        return consumer_serde.decode(decoded, value)
    return ForeignRecord(decoded.type, decoded.name, decoded.group)


def _us(time_ms: int) -> int:
    return 1_000 * (time_ms - EPOCH_MS)


def _offset_value(value: bytes_of.OffsetCommitValue) -> OffsetValue:
    expire_ms = value.expire_timestamp_ms
    return OffsetValue(
        value.offset,
        value.leader_epoch,
        value.metadata,
        _us(value.commit_timestamp_ms),
        None if expire_ms == _NO_TIME_MS else _us(expire_ms),
    )


def _group_bytes(value: GroupValue) -> bytes:
    state_us = value.state_timestamp_us
    members = tuple(
        bytes_of.MemberMetadata(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.subscription,
            member.assignment,
        )
        for member in value.members
    )
    state_ms = _NO_TIME_MS if state_us is None else EPOCH_MS + state_us // 1_000
    return bytes_of.encode_group_value(
        bytes_of.GroupMetadataValue(
            value.protocol_type, value.generation, value.protocol, value.leader, state_ms, members
        )
    )


def _group_value(value: bytes_of.GroupMetadataValue) -> GroupValue:
    """Convert a value: without a rebalance timeout (version 0) the session timeout is used, as in Kafka."""
    members = tuple(
        StoredMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.session_timeout_ms if member.rebalance_timeout_ms == -1 else member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.subscription,
            member.assignment,
        )
        for member in value.members
    )
    state_ms = value.current_state_timestamp_ms
    state_us = None if state_ms == _NO_TIME_MS else _us(state_ms)
    return GroupValue(value.protocol_type, value.generation, value.protocol, value.leader, state_us, members)
