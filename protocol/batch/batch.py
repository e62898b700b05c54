"""A record batch as a value, from the producer through logs and followers to the consumer.

It has the fields of Kafka's format v2 (magic 2). Offsets and times inside a batch are relative to its first record, so
a batch that moves from a producer to a log changes its base offset and its leader epoch and nothing else.

Two kinds of content exist. `records` holds keys and values as bytes, from coordinators and real clients. A *counted*
batch (`records` None) holds only the number of its records and the bytes that they would take: simulated traffic, whose
content is never read. Both have the size of Kafka's encoding, which fetches, segments and retention count. `codec`
encodes and decodes both.

A batch in a log never changes; the logs of several brokers share one object.

Source: `DefaultRecordBatch`, `DefaultRecord`; KIP-98.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from groupsim.protocol.values import define, value

NO_PRODUCER: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
EPOCH_MS: Final = 1_767_225_600_000
"""Virtual time 0 as a timestamp of records: 2026-01-01T00:00:00Z."""

HEADER_BYTES: Final = 61
"""Bytes of a batch before its first record."""

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40


def timestamp_ms(now_us: int) -> int:
    """Return the timestamp of an instant of virtual time."""
    return EPOCH_MS + now_us // 1_000


@value
class LogRecord:
    """One record inside a batch. A value of None is a tombstone; offset and timestamp are relative to the batch's."""

    offset_delta: int
    key: bytes | None
    value: bytes | None
    timestamp_delta: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()


@define(eq=True, unsafe_hash=True)
class Batch:
    """One record batch; `count` is the number of offsets it spans, `size` its bytes in the log.

    After compaction fewer records than offsets may be left: `len(records) <= count`. Not frozen, because there is one
    for every few records and a frozen one takes twice as long to make; no code changes one.
    """

    base_offset: int
    count: int
    size: int
    timestamp_ms: int  # of the first record (the base timestamp; with DELETE_HORIZON: the horizon)
    max_timestamp_ms: int
    leader_epoch: int = -1
    producer_id: int = NO_PRODUCER
    producer_epoch: int = -1
    base_sequence: int = NO_SEQUENCE
    attributes: int = 0
    records: tuple[LogRecord, ...] | None = None
    raw: bytes | None = None  # compressed records as they came, when `attributes` says they are compressed

    @property
    def last_offset(self) -> int:
        """The offset of its last record."""
        return self.base_offset + self.count - 1

    @property
    def next_offset(self) -> int:
        """The offset after its last record."""
        return self.base_offset + self.count

    @property
    def is_control(self) -> bool:
        """Whether it is a control batch: a commit or abort marker."""
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    def stamped(self, max_timestamp_ms: int, attributes: int) -> Batch:
        """Return the batch with another maximum timestamp and other attributes (LogAppendTime)."""
        return evolve(self, max_timestamp_ms=max_timestamp_ms, attributes=attributes)

    def placed(self, base_offset: int, leader_epoch: int) -> Batch:
        """Return the batch with the offsets of the leader's log."""
        return Batch(  # by position: a copy by name takes four times as long, and there is one per append
            base_offset,
            self.count,
            self.size,
            self.timestamp_ms,
            self.max_timestamp_ms,
            leader_epoch,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.attributes,
            self.records,
            self.raw,
        )
