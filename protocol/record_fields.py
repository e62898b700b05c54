"""The fields of Kafka's generated messages as bytes, in the classic form and in the flexible one (KIP-482).

All integers are big-endian. Classic: a string has an int16 length, bytes and arrays an int32 length, -1 is null.
Flexible: lengths are unsigned varints of length + 1, 0 is null, and every structure ends with its tagged fields.

A reader stops at the first invalid field and names it, its byte, and its content.

Source: `MessageDataGenerator`, `ByteUtils`; KIP-482.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct, error

from groupsim.protocol.errors import ProtocolError

INT16 = Struct(">h")
INT32 = Struct(">i")
INT64 = Struct(">q")
_LONGEST_STRING = 0x7FFF
_VARINT_BYTES = 5
_ONE_BYTE = tuple(bytes((number,)) for number in range(0x80))


@lru_cache(maxsize=1 << 14)  # names of groups, topics and clients come again and again, one object each
def utf8(message: str, text: str, flexible: bool = False) -> bytes:
    """Return a string with its length. Raises ProtocolError when it is too long for the classic form."""
    raw = text.encode("utf-8", "replace")
    if flexible:
        return varint(len(raw) + 1) + raw
    if len(raw) > _LONGEST_STRING:
        raise ProtocolError(
            message, None, f"a string of at most {_LONGEST_STRING} bytes", f"{len(raw)}: {text[:40]!r}…"
        )
    return INT16.pack(len(raw)) + raw


def nullable_utf8(message: str, text: str | None, flexible: bool = False) -> bytes:
    """Return the same for a string that may be null."""
    if text is not None:
        return utf8(message, text, flexible)
    return b"\x00" if flexible else b"\xff\xff"


def length(count: int, flexible: bool = False) -> bytes:
    """Return the length before an array, or before bytes."""
    return varint(count + 1) if flexible else INT32.pack(count)


def varint(number: int) -> bytes:
    """Return an unsigned varint: seven bits a byte, the lowest first."""
    if number < len(_ONE_BYTE):
        return _ONE_BYTE[number]
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


class FieldReader:
    """A cursor over one message; `flexible` may be set once its version is known."""

    __slots__ = ("at", "data", "flexible", "message")

    def __init__(self, message: str, data: bytes) -> None:
        self.message = message
        self.data = data
        self.at = 0
        self.flexible = False

    def wrong(self, at: int, expected: str, found: str) -> ProtocolError:
        """Return the error for the content at a byte."""
        return ProtocolError(self.message, at, expected, found)

    def int16(self, field: str) -> int:
        """An int16."""
        return self._number(INT16, field)

    def int32(self, field: str) -> int:
        """An int32."""
        return self._number(INT32, field)

    def int64(self, field: str) -> int:
        """An int64."""
        return self._number(INT64, field)

    def varint(self, field: str) -> int:
        """An unsigned varint of at most 32 bits."""
        number = 0
        for index in range(_VARINT_BYTES):
            byte = self.take(1, field)[0]
            number |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                return number
        raise self.wrong(self.at - _VARINT_BYTES, f"a varint of at most {_VARINT_BYTES} bytes for {field}", "a longer")

    def string(self, field: str) -> str:
        """A string that is not null."""
        at = self.at
        text = self.nullable_string(field)
        if text is None:
            raise self.wrong(at, f"a string of {field}", "null")
        return text

    def nullable_string(self, field: str) -> str | None:
        """Read a string or None. Invalid UTF-8 is read as in Java: never an error."""
        size = self.varint(field) - 1 if self.flexible else self.int16(field)
        return None if size < 0 else text(self.take(size, field))

    def data_bytes(self, field: str) -> bytes:
        """Bytes that are not null."""
        at = self.at
        size = self._length(field)
        if size < 0:
            raise self.wrong(at, f"bytes of {field}", "null")
        return self.take(size, field)

    def count(self, field: str) -> int:
        """Read the length of an array: neither null nor more than the bytes that are left."""
        at = self.at
        count, left = self._length(field), len(self.data) - self.at
        if not 0 <= count <= left:
            raise self.wrong(at, f"a count of {field} between 0 and the {left} bytes left", str(count))
        return count

    def tags(self) -> dict[int, bytes]:
        """Read the tagged fields that end a flexible structure; the caller ignores unknown ones."""
        found: dict[int, bytes] = {}
        if self.flexible:
            for _ in range(self.varint("the number of tagged fields")):
                tag = self.varint("a tag")
                found[tag] = self.take(self.varint(f"the size of tagged field {tag}"), f"tagged field {tag}")
        return found

    def take(self, size: int, field: str) -> bytes:
        """Read the next bytes."""
        taken = self.data[self.at : self.at + size]
        if len(taken) < size:
            raise self._ended(size, field)
        self.at += size
        return taken

    def _length(self, field: str) -> int:
        return self.varint(field) - 1 if self.flexible else self.int32(field)

    def _number(self, form: Struct, field: str) -> int:
        try:
            number: int = form.unpack_from(self.data, self.at)[0]
        except error:
            raise self._ended(form.size, field) from None
        self.at += form.size
        return number

    def _ended(self, size: int, field: str) -> ProtocolError:
        return self.wrong(self.at, f"{size} bytes of {field}", f"the end after {len(self.data) - self.at}")


@lru_cache(maxsize=1 << 14)  # one object per name, however many records have it
def text(raw: bytes) -> str:
    """Decode UTF-8 as Java does: never an error."""
    return raw.decode("utf-8", "replace")
