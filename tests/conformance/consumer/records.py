"""Records of groups on `__consumer_offsets` (types 2 to 8, and 16), taken apart and put together.

A reader and a writer of its own, made of nothing that is under test. A record that is put together from what was read
has to have the same bytes: then two records that read alike are alike byte for byte. `plain` blanks out what differs
between two plays: times, the version of a regex's image; hashes of topics are numbered in the order in which they come.

Source: `ConsumerGroup*{Key,Value}.json` of 4.4, that of type 4 of 4.0.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.conformance.bodies import as_bytes, as_text
from tests.conformance.stored import Reader


class Kind(NamedTuple):
    """How a type is read and written."""

    read: Callable[[Reader], Any]
    write: Callable[[Any], bytes]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _number(size: int) -> Kind:
    return Kind(lambda reader: reader.number(size), lambda value: value.to_bytes(size, "big", signed=True))


def _read_text(reader: Reader) -> str | None:
    size = reader.varint()
    return None if size == 0 else reader.take(size - 1).decode()


def _write_text(text: str | None) -> bytes:
    return b"\0" if text is None else _varint(len(text.encode()) + 1) + text.encode()


def _array(of: Kind) -> Kind:
    def read(reader: Reader) -> list[Any] | None:
        size = reader.varint()
        return None if size == 0 else [of.read(reader) for _ in range(size - 1)]

    def write(items: list[Any] | None) -> bytes:
        return b"\0" if items is None else _varint(len(items) + 1) + b"".join(map(of.write, items))

    return Kind(read, write)


def _struct(
    fields: dict[str, Kind], tagged: dict[int, tuple[str, Kind]] | None = None, *, flexible: bool = True
) -> Kind:
    """Fields in order; then those with a tag, of which each stands there only when it is not the default."""
    tags = tagged or {}

    def read(reader: Reader) -> dict[str, Any]:
        found = {name: kind.read(reader) for name, kind in fields.items()}
        for _ in range(reader.varint() if flexible else 0):
            tag, _size = reader.varint(), reader.varint()
            name, kind = tags[tag]
            found[name] = kind.read(reader)
        return found

    def write(value: dict[str, Any]) -> bytes:
        body = b"".join(kind.write(value[name]) for name, kind in fields.items())
        there = [(tag, kind.write(value[name])) for tag, (name, kind) in tags.items() if name in value]
        end = [_varint(tag) + _varint(len(data)) + data for tag, data in there]
        return body + (_varint(len(end)) + b"".join(end) if flexible else b"")

    return Kind(read, write)


_TEXT = Kind(_read_text, _write_text)


def _write_old_text(text: str | None) -> bytes:
    return b"\xff\xff" if text is None else len(text.encode()).to_bytes(2, "big") + text.encode()


def _old_array(of: Kind) -> Kind:
    return Kind(
        lambda reader: [of.read(reader) for _ in range(reader.number(4))],
        lambda items: len(items).to_bytes(4, "big") + b"".join(map(of.write, items)),
    )


_OLD_TEXT = Kind(lambda reader: reader.text(), _write_old_text)  # keys, and records of classic groups
_OLD_BYTES = Kind(
    lambda reader: as_text(reader.take(reader.number(4))),
    lambda text: len(as_bytes(text)).to_bytes(4, "big") + as_bytes(text),
)
_BYTES = Kind(
    lambda reader: as_text(reader.take(reader.varint() - 1)),
    lambda text: _varint(len(as_bytes(text)) + 1) + as_bytes(text),
)
_BYTE, _INT, _LONG = _number(1), _number(4), _number(8)
_UUID = Kind(lambda reader: str(uuid.UUID(bytes=reader.take(16))), lambda text: uuid.UUID(text).bytes)
_TARGET_OF_TOPIC = _struct({"topic_id": _UUID, "partitions": _array(_INT)})
_PARTITIONS = _array(_struct({"topic_id": _UUID, "partitions": _array(_INT)}, {0: ("assignment_epochs", _array(_INT))}))
_RACKS = _array(_struct({"partition": _INT, "racks": _array(_TEXT)}))
_TOPIC = _struct({"topic_id": _UUID, "name": _TEXT, "partitions": _INT, "racks": _RACKS})
_PROTOCOLS = _struct({"session_timeout": _INT, "protocols": _array(_struct({"name": _TEXT, "metadata": _BYTES}))})
_CLASSIC = Kind(  # one byte says whether it is null, which is written as well
    lambda reader: _PROTOCOLS.read(reader) if reader.number(1) else None,
    lambda value: b"\0" if value is None else b"\1" + _PROTOCOLS.write(value),
)

_OLD_MEMBER = _struct(
    {
        "member_id": _OLD_TEXT,
        "instance_id": _OLD_TEXT,
        "client_id": _OLD_TEXT,
        "client_host": _OLD_TEXT,
        "rebalance_timeout": _INT,
        "session_timeout": _INT,
        "subscription": _OLD_BYTES,
        "assignment": _OLD_BYTES,
    },
    flexible=False,
)

_OF_GROUP = {"group_id": _OLD_TEXT}
_OF_MEMBER = {"group_id": _OLD_TEXT, "member_id": _OLD_TEXT}
_KEYS: dict[int, Kind] = {
    2: _struct(_OF_GROUP, flexible=False),
    3: _struct(_OF_GROUP, flexible=False),
    4: _struct(_OF_GROUP, flexible=False),
    5: _struct(_OF_MEMBER, flexible=False),
    6: _struct(_OF_GROUP, flexible=False),
    7: _struct(_OF_MEMBER, flexible=False),
    8: _struct(_OF_MEMBER, flexible=False),
    16: _struct({"group_id": _OLD_TEXT, "regex": _OLD_TEXT}, flexible=False),
}
_VALUES: dict[int, Kind] = {
    2: _struct(
        {
            "protocol_type": _OLD_TEXT,
            "generation": _INT,
            "protocol": _OLD_TEXT,
            "leader": _OLD_TEXT,
            "time": _LONG,
            "members": _old_array(_OLD_MEMBER),
        },
        flexible=False,
    ),
    3: _struct({"epoch": _INT}, {0: ("metadata_hash", _LONG)}),
    4: _struct({"topics": _array(_TOPIC)}),
    5: _struct(
        {
            "instance_id": _TEXT,
            "rack_id": _TEXT,
            "client_id": _TEXT,
            "client_host": _TEXT,
            "names": _array(_TEXT),
            "regex": _TEXT,
            "rebalance_timeout": _INT,
            "assignor": _TEXT,
        },
        {0: ("classic", _CLASSIC)},
    ),
    6: _struct({"epoch": _INT}, {0: ("time", _LONG)}),
    7: _struct({"target": _array(_TARGET_OF_TOPIC)}),
    8: _struct(
        {"epoch": _INT, "previous_epoch": _INT, "state": _BYTE, "assigned": _PARTITIONS, "pending": _PARTITIONS}
    ),
    16: _struct({"topics": _array(_TEXT), "version": _LONG, "time": _LONG}),
}
TYPES = tuple(_KEYS)
NAMES = {
    2: "classic group",
    3: "group epoch",
    4: "topics",
    5: "member",
    6: "target epoch",
    7: "target",
    8: "current",
    16: "regex",
}


def _whole(kind: Kind, data: bytes) -> Any:
    reader = Reader(data)
    read = kind.read(reader)
    if reader.at != len(data) or kind.write(read) != data:
        raise ValueError(f"{data.hex()} reads as {read}, which is written {kind.write(read).hex()}")
    return read


def key_of(key: bytes) -> dict[str, Any]:
    """A record's key with its type and its name. Raises ValueError when it does not have Kafka's own bytes."""
    kind = int.from_bytes(key[:2], "big")
    return {"type": kind, "name": NAMES[kind], **_whole(_KEYS[kind], key[2:])}


def value_of(kind: int, value: bytes | None) -> dict[str, Any] | None:
    """A record's value; None for a tombstone. Raises ValueError when it does not have Kafka's own bytes."""
    if value is None:
        return None
    version = int.from_bytes(value[:2], "big")
    return {"version_of_schema": version, **_whole(_VALUES[kind], value[2:])}


def plain(kind: int, value: dict[str, Any] | None, hashes: dict[int, str]) -> dict[str, Any] | None:
    """A value without what differs between two plays; `hashes` has those that came before."""
    if value is None:
        return None
    blank = dict(value)
    if kind == 3 and "metadata_hash" in blank:
        blank["metadata_hash"] = hashes.setdefault(blank["metadata_hash"], f"$hash{len(hashes) + 1}")
    for name in ("time", "version"):
        if name in blank:
            blank[name] = f"${name}" if blank[name] > 0 else blank[name]
    return blank
