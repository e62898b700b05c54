"""Decode bytes by a shape, and encode fields: the rules of Kafka's serialisation, and a guard against hostile bytes.

A message is a dict of its fields, with kio's names: parts are dicts, arrays lists (or () for an absent tagged one),
times milliseconds (-1 stays -1), topic ids 22 characters of base64 (None for the zero id), error codes numbers. A
message to encode may have more fields than the version (they are left out) and fewer (the schema's defaults replace
them). So the code that makes a response sets all fields of the newest version, and the shape selects.

kio can read and write too, but its reader reserves memory for as many elements as an array claims to have, so that nine
bytes end the process, and it refuses unknown tagged fields, which Kafka skips. Here an array cannot claim more elements
than there are bytes left, nor all arrays of a message more than `MOST_ELEMENTS`, because an element of four bytes takes
three hundred once it is decoded. An error names the field and the byte.
The tests hold this module to kio's reader and writer, field by field. Source: `ByteBufferAccessor`, KIP-482.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeAlias

from groupsim.protocol.wire.exchange import Lengthy, Unreadable
from groupsim.protocol.wire.schema import REQUIRED, Field, Shape

MOST_ELEMENTS = 1_000_000
"""The limit of elements in all arrays of one message; our own, Kafka has only the limit of the frame."""

Fields: TypeAlias = dict[str, Any]
"""One message, or a part of one."""
Read: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
ReadMessage: TypeAlias = Callable[..., tuple[Any, int]]
Write: TypeAlias = Callable[[bytearray, Any], None]

_NO_ID = bytes(16)
_NUMBERS = {
    "int8": ">b",
    "int16": ">h",
    "int32": ">i",
    "int64": ">q",
    "uint8": ">B",
    "uint16": ">H",
    "uint32": ">I",
    "uint64": ">Q",
    "float64": ">d",
    "bool": ">?",
    "error_code": ">h",
    "timedelta_i32": ">i",
    "timedelta_i64": ">q",
    "datetime_i64": ">q",
}

# --- Reading -----------------------------------------------------------------------------------------------------


class _Budget:
    """The elements that a message may still have."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.left = self.most = most

    def take(self, count: int) -> None:
        """Count the elements of an array. Raises Lengthy above the caller's limit, ValueError above MOST_ELEMENTS."""
        self.left -= count
        if self.left >= 0:
            return
        if self.most < MOST_ELEMENTS and self.most - self.left <= MOST_ELEMENTS:
            raise Lengthy
        raise ValueError(f"claims {count} elements, the limit of a message is {MOST_ELEMENTS}")


# The message being read: it is read without interruption, and each thread has its own.
_budget: ContextVar[_Budget] = ContextVar("budget")


@cache
def reader(shape: Shape) -> ReadMessage:
    """Return the reader of one message of this shape: `(bytes, offset, elements) → (fields, offset after it)`.

    It raises Unreadable with field and byte when the bytes are no such message, and Lengthy when its arrays have more
    elements together than the limit.
    """
    read = _read_parts(shape)

    def read_message(data: bytes, at: int, most: int = MOST_ELEMENTS) -> tuple[Any, int]:
        _budget.set(_Budget(most))
        return read(data, at)

    return read_message


@cache
def _read_parts(shape: Shape) -> Read:
    """Return the reader of a message, or of a part of one."""
    plain = [(field.name, _read_field(field, shape.flexible)) for field in shape.fields if field.tag is None]
    tagged = {field.tag: (field.name, _read_field(field, True)) for field in shape.fields if field.tag is not None}
    absent = {field.name: field.default for field in shape.fields if field.tag is not None}

    def read(data: bytes, at: int) -> tuple[Fields, int]:
        found: Fields = {}
        name, start = "", at
        try:
            for name, field in plain:
                start = at
                found[name], at = field(data, at)
            if shape.flexible:
                found.update(absent)
                name = "tagged fields"
                at = _read_tags(data, at, tagged, found)
        except (struct.error, IndexError):
            raise Unreadable(f"{shape.name}.{name} at byte {start}: the message ends inside it") from None
        except ValueError as wrong:
            raise Unreadable(f"{shape.name}.{name} at byte {start}: {wrong}") from None
        return found, at

    return read


def _read_tags(data: bytes, at: int, known: Mapping[int, tuple[str, Read]], found: Fields) -> int:
    """Read the tagged fields at the end of a flexible shape; unknown tags are skipped, as in Kafka."""
    count, at = read_varint(data, at)
    for _ in range(count):
        tag, at = read_varint(data, at)
        size, at = read_varint(data, at)
        end = at + size
        if end > len(data):
            raise ValueError(f"tag {tag} claims {size} bytes of {len(data) - at}")
        if tag in known:
            name, read = known[tag]
            found[name], at = read(data, at)
            if at != end:
                raise ValueError(f"tag {tag} takes {at - end + size} bytes, not {size}")
        at = end
    return at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned number of at most five bytes, seven bits in each. Raises ValueError for a longer one."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
    raise ValueError("a number of more than five bytes")


def _read_field(field: Field, flexible: bool) -> Read:
    """Return the reader of a field."""
    element = _read_one(field.kind, field.parts, flexible, field.nullable and not field.array)
    return _read_array(element, flexible, field.nullable) if field.array else element


def _read_one(kind: str, parts: Shape | None, flexible: bool, nullable: bool) -> Read:
    if parts is not None:
        return _read_nullable(_read_parts(parts)) if nullable else _read_parts(parts)
    if kind == "uuid":
        return _read_uuid
    if kind == "bool":
        return _read_bool
    if kind in _NUMBERS:
        return _read_number(struct.Struct(_NUMBERS[kind]))
    length = _compact_length if flexible else _LENGTHS[kind]
    return _read_text(length, nullable) if kind == "string" else _read_bytes(length, nullable)


def _read_number(form: struct.Struct) -> Read:
    unpack, size = form.unpack_from, form.size

    def read(data: bytes, at: int) -> tuple[Any, int]:
        return unpack(data, at)[0], at + size

    return read


def _read_bool(data: bytes, at: int) -> tuple[bool, int]:
    return data[at] != 0, at + 1


def _read_uuid(data: bytes, at: int) -> tuple[str | None, int]:
    end = at + 16
    raw = data[at:end]
    if len(raw) < 16:
        raise IndexError
    return (None if raw == _NO_ID else urlsafe_b64encode(raw)[:22].decode()), end


def _read_nullable(read: Read) -> Read:
    def read_nullable(data: bytes, at: int) -> tuple[Any, int]:
        return (None, at + 1) if data[at] > 0x7F else read(data, at + 1)  # a negative byte (KIP-893)

    return read_nullable


def _compact_length(data: bytes, at: int) -> tuple[int, int]:
    length, at = read_varint(data, at)
    return length - 1, at


_short, _long = struct.Struct(">h"), struct.Struct(">i")
_LENGTHS: dict[str, Read] = {
    "string": _read_number(_short),
    "bytes": _read_number(_long),
    "records": _read_number(_long),
}


def _read_bytes(length: Read, nullable: bool) -> Read:
    def read(data: bytes, at: int) -> tuple[bytes | None, int]:
        size, at = length(data, at)
        if size < 0:
            return _null(nullable, at)
        end = at + size
        if end > len(data):
            raise _too_long(size, len(data) - at)
        return data[at:end], end

    return read


def _too_long(size: int, left: int) -> ValueError:
    return ValueError(f"claims {size} bytes, {left} are left")


def _read_text(length: Read, nullable: bool) -> Read:
    def read(data: bytes, at: int) -> tuple[str | None, int]:
        size, at = length(data, at)
        if size < 0:
            return _null(nullable, at)
        end = at + size
        if end > len(data):
            raise _too_long(size, len(data) - at)
        return data[at:end].decode(), end  # UnicodeDecodeError is a ValueError

    return read


def _null(nullable: bool, at: int = 0) -> tuple[None, int]:
    if not nullable:
        raise ValueError("null in a field that is not nullable")
    return None, at


def _read_array(element: Read, flexible: bool, nullable: bool) -> Read:
    length = _compact_length if flexible else _read_number(_long)

    def read(data: bytes, at: int) -> tuple[list[Any] | None, int]:
        count, at = length(data, at)
        if count < 0:
            return _null(nullable, at)
        if count > len(data) - at:
            raise ValueError(f"claims {count} elements, {len(data) - at} bytes are left")
        _budget.get().take(count)
        found = []
        for _ in range(count):
            value, at = element(data, at)
            found.append(value)
        return found, at

    return read


# --- Writing -----------------------------------------------------------------------------------------------------


@cache
def writer(shape: Shape) -> Write:
    """Return the writer of one message of this shape to the end of a buffer: `(bytearray, fields)`.

    It raises KeyError for a missing field without a default, struct.error for a number out of bounds.
    """
    plain = [(f.name, _write_field(f, shape.flexible), f.default) for f in shape.fields if f.tag is None]
    tags = sorted((f for f in shape.fields if f.tag is not None), key=lambda field: field.tag or 0)
    tagged = [(f.tag or 0, f.name, _write_field(f, True), f.default) for f in tags]

    def write(out: bytearray, message: Fields) -> None:
        for name, field, default in plain:
            value = message.get(name, default)
            if value is REQUIRED:
                raise KeyError(f"{shape.name}.{name}")
            field(out, value)
        if shape.flexible:
            _write_tags(
                out, [(tag, write, message.get(name, d)) for tag, name, write, d in tagged if _is_set(message, name, d)]
            )

    return write


def _is_set(message: Fields, name: str, default: Any) -> bool:
    """Whether a tagged field differs from its default; only then is it written."""
    value = message.get(name, default)
    return bool(value != default) and not (default == () and not value)


def _write_tags(out: bytearray, tagged: list[tuple[int, Write, Any]]) -> None:
    write_varint(out, len(tagged))
    for tag, write, value in tagged:
        body = bytearray()
        write(body, value)
        write_varint(out, tag)
        write_varint(out, len(body))
        out += body


def write_varint(out: bytearray, value: int) -> None:
    """Write an unsigned number, seven bits in each byte."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_field(field: Field, flexible: bool) -> Write:
    element = _write_one(field.kind, field.parts, flexible, field.nullable and not field.array)
    return _write_array(element, flexible, field.nullable) if field.array else element


def _write_one(kind: str, parts: Shape | None, flexible: bool, nullable: bool) -> Write:
    if parts is not None:
        return _write_nullable(writer(parts)) if nullable else writer(parts)
    if kind == "uuid":
        return _write_uuid
    if kind in _NUMBERS:
        return _write_number(struct.Struct(_NUMBERS[kind]))
    length = _write_compact if flexible else _write_short if kind == "string" else _write_long
    return _write_text(length, nullable) if kind == "string" else _write_bytes(length, nullable)


def _write_number(form: struct.Struct) -> Write:
    pack = form.pack

    def write(out: bytearray, value: Any) -> None:
        out += pack(value)

    return write


def _write_uuid(out: bytearray, value: str | None) -> None:
    out += _NO_ID if value is None else urlsafe_b64decode(value + "==")


def _write_nullable(write: Write) -> Write:
    def write_nullable(out: bytearray, value: Any) -> None:
        out.append(0xFF if value is None else 1)
        if value is not None:
            write(out, value)

    return write_nullable


def _write_short(out: bytearray, value: int) -> None:
    out += _short.pack(value)


def _write_long(out: bytearray, value: int) -> None:
    out += _long.pack(value)


def _write_compact(out: bytearray, value: int) -> None:
    write_varint(out, value + 1)


def _write_bytes(length: Write, nullable: bool) -> Write:
    def write(out: bytearray, value: Any) -> None:
        if value is None:
            _null(nullable)
            length(out, -1)
            return
        length(out, len(value))
        out += value

    return write


def _write_text(length: Write, nullable: bool) -> Write:
    write_bytes = _write_bytes(length, nullable)

    def write(out: bytearray, value: str | None) -> None:
        write_bytes(out, None if value is None else value.encode())

    return write


def _write_array(element: Write, flexible: bool, nullable: bool) -> Write:
    length = _write_compact if flexible else _write_long

    def write(out: bytearray, values: Any) -> None:
        if values is None:
            _null(nullable)
            length(out, -1)
            return
        length(out, len(values))
        for value in values:
            element(out, value)

    return write
