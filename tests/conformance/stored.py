"""What stands in a partition of the offsets topic, byte for byte: batches taken apart and put together.

A reader and a writer of its own, made of nothing that is under test (but the checksum). Batches are of version 2
(KIP-98); keys and values of group and offset records are those of `{Group,OffsetCommit}{Metadata,}{Key,Value}.json`.
What differs between two plays is blanked out of a value: times, topic ids, the random part of member ids.
"""

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from groupsim.protocol.batch.checksum import crc32c_function

OFFSET_KEYS, GROUP_KEY = (0, 1), 2
_HEAD = struct.Struct(">qiibIhiqqqhii")  # offset, length, epoch, magic, crc, attributes, delta, times, producer, count
_CONTROL = 1 << 5
_CODEC = 7
_RANDOM = re.compile(rb"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_GZIP = 1


class Reader:
    """Bytes, and how far they are read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, size: int) -> int:
        """A big-endian integer."""
        return int.from_bytes(self.take(size), "big", signed=True)

    def take(self, size: int) -> bytes:
        """So many bytes."""
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self) -> int:
        """An unsigned one."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self) -> int:
        """A signed one."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def text(self) -> str | None:
        """Its length, and a text; None for the length -1."""
        size = self.number(2)
        return None if size < 0 else self.take(size).decode()


def records_in(data: bytes) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Key and value of each record in these batches, compressed by gzip or not at all; control batches are left out."""
    at = 0
    while at + _HEAD.size <= len(data):
        (_, length, _, _, _, attributes, *_, count) = _HEAD.unpack_from(data, at)
        if at + 12 + length > len(data):
            return
        if not attributes & _CONTROL:
            body = data[at + _HEAD.size : at + 12 + length]
            reader = Reader(gzip.decompress(body) if attributes & _CODEC == _GZIP else body)
            for _ in range(count):
                yield _record(reader)
        at += 12 + length


def end_of(data: bytes, begin: int) -> int:
    """The offset after the last whole batch in these."""
    at = 0
    while at + _HEAD.size <= len(data):
        (base, length, _, _, _, _, last, *_) = _HEAD.unpack_from(data, at)
        if at + 12 + length > len(data):
            break
        begin, at = base + last + 1, at + 12 + length
    return begin


def _record(reader: Reader) -> tuple[bytes | None, bytes | None]:
    end = reader.zigzag() + reader.at
    reader.take(1)
    reader.zigzag(), reader.zigzag()
    key, value = (None if (size := reader.zigzag()) < 0 else reader.take(size) for _ in range(2))
    reader.at = end
    return key, value


def key_of(key: bytes | None) -> dict[str, Any]:
    """A record's key: its type, and what it names."""
    reader = Reader(key or b"\xff\xff")
    kind = reader.number(2)
    if kind in OFFSET_KEYS:
        return {
            "type": kind,
            "group_id": reader.text(),
            "topic": reader.text(),
            "partition": reader.number(4),
            "rest": reader.data[reader.at :].hex(),
        }
    named = reader.text() if kind == GROUP_KEY else None
    return {"type": kind, "group_id": named, "rest": reader.data[reader.at :].hex()}


def value_of(kind: int, value: bytes | None) -> str | None:
    """A record's value as hexadecimal digits, with what differs between plays blanked out; None for a tombstone."""
    if value is None:
        return None
    blank = bytearray(_RANDOM.sub(lambda found: b"-" * len(found[0]), value))
    for at, size in _times(kind, value):
        blank[at : at + size] = bytes(size)
    return blank.hex()


def _times(kind: int, value: bytes) -> list[tuple[int, int]]:
    """Where times and topic ids stand in a value, and how long they are."""
    reader = Reader(value)
    version = reader.number(2)
    if kind == GROUP_KEY:
        reader.text(), reader.number(4), reader.text(), reader.text()
        return [(reader.at, 8)] if version >= 2 else []
    if kind not in OFFSET_KEYS:
        return []
    reader.take(12 if version >= 3 else 8)
    if version < 4:
        reader.text()
        return [(reader.at, 16 if version == 1 else 8)]
    reader.take(reader.varint() - 1)
    found = [(reader.at, 8)]
    reader.take(8)
    for _ in range(reader.varint()):
        reader.varint()
        size = reader.varint()
        found.append((reader.at, size))
        reader.take(size)
    return found


def batch_of(records: Sequence[tuple[bytes, bytes | None]], now_ms: int, *, compressed: bool = False) -> bytes:
    """One batch of these records, as a producer without an id writes it."""
    body = b"".join(_written(number, key, value) for number, (key, value) in enumerate(records))
    body = gzip.compress(body, 6) if compressed else body
    last = len(records) - 1
    checked = struct.pack(">hiqqqhii", _GZIP if compressed else 0, last, now_ms, now_ms, -1, -1, -1, last + 1) + body
    crc = crc32c_function()(checked)
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, crc) + checked


def _written(number: int, key: bytes, value: bytes | None) -> bytes:
    there = _zigzag(-1) if value is None else _zigzag(len(value)) + value
    record = b"\0" + _zigzag(0) + _zigzag(number) + _zigzag(len(key)) + key + there + _zigzag(0)
    return _zigzag(len(record)) + record


def _zigzag(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def offset_record(group: str, topic: str, partition: int, offset: int, now_ms: int) -> tuple[bytes, bytes]:
    """Key and value of a committed offset, value of version 1 without an expiry."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in (group, topic))
    return struct.pack(">h", 1) + names + struct.pack(">i", partition), struct.pack(">hqhqq", 1, offset, 0, now_ms, -1)


def group_record(group: str, instances: Sequence[str], *, protocol: str | None = "range") -> tuple[bytes, bytes]:
    """Key and value of a group of these static members, value of version 3 without the time of its state.

    Member n is `m<n>`, and leads when it is the first.
    """
    members = b"".join(
        _text(f"m{number}") + _text(instance) + _text("c") + _text("/h") + struct.pack(">ii", -1, 60_000)
        + _bytes(b"of it") + _bytes(b"for it")
        for number, instance in enumerate(instances)
    )  # fmt: skip
    value = struct.pack(">h", 3) + _text("consumer") + struct.pack(">i", 7) + _text(protocol) + _text("m0")
    return struct.pack(">h", GROUP_KEY) + _text(group), value + struct.pack(">qi", -1, len(instances)) + members


def state_time(value: bytes) -> int:
    """The time of its state in a group's value, in ms."""
    at, size = _times(GROUP_KEY, value)[0]
    return int.from_bytes(value[at : at + size], "big", signed=True)


def _text(text: str | None) -> bytes:
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text)) + text.encode()


def _bytes(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
