"""The header of a message: its API and version, the correlation id of the answer, the client id.

Versions of an API that are flexible (KIP-482) have a header with tagged fields. Two exceptions: the client id has its
two-byte length in all of them, and the response to ApiVersions always has the oldest header, because a client reads it
before it knows the broker's versions. Source: `RequestHeader`, `RequestHeader.json`, `ApiMessageType`.
"""

from __future__ import annotations

import struct

from groupsim.protocol.basics import Api
from groupsim.protocol.messages.releases import BASELINE
from groupsim.protocol.values import frozen
from groupsim.protocol.wire.exchange import Unreadable
from groupsim.protocol.wire.schema import response_shape
from groupsim.protocol.wire.serial import Fields, read_varint, writer

_START = struct.Struct(">hhih")
_KIND = struct.Struct(">hh")
_CORRELATION = struct.Struct(">i")
NEWEST = tuple(int(part) for part in BASELINE.split("."))


@frozen
class Header:
    """The header of one request; a null client id becomes "" (as in Kafka). `release`: the broker's."""

    api: Api
    version: int
    correlation: int
    client_id: str
    release: tuple[int, ...] = NEWEST


def read_kind(frame: bytes) -> tuple[int, int]:
    """Return API key and version of a request, checked by no table. Raises Unreadable for less than four bytes."""
    if len(frame) < _KIND.size:
        raise Unreadable(f"a message of {len(frame)} bytes: too short for a header")
    key, version = _KIND.unpack_from(frame)
    return key, version


def read_header(frame: bytes, api: Api, flexible: bool, release: tuple[int, ...]) -> tuple[Header, int]:
    """Return the header of a request to a broker of that release, and the start of its body. Raises Unreadable."""
    try:
        _, version, correlation, length = _START.unpack_from(frame)
        at = _START.size + max(length, 0)
        client_id = frame[_START.size : at].decode()
        if at > len(frame):
            raise ValueError(f"the client id claims {length} bytes")
        header = Header(api, version, correlation, client_id, release)
        return header, (_after_tags(frame, at) if flexible else at)
    except (struct.error, IndexError, ValueError) as wrong:
        raise Unreadable(f"{api.title}, header: {wrong}") from None


def _after_tags(frame: bytes, at: int) -> int:
    """Return the position after the tagged fields; no header knows any."""
    count, at = read_varint(frame, at)
    for _ in range(count):
        _, at = read_varint(frame, at)
        size, at = read_varint(frame, at)
        at += size
        if at > len(frame):
            raise ValueError("its tagged fields end after it")
    return at


def encode_response(header: Header, body: Fields) -> bytes:
    """Return the response to a request: header and body, in the request's version, without its length prefix."""
    shape = response_shape(header.api, header.version)
    out = bytearray(_CORRELATION.pack(header.correlation))
    if shape.flexible and header.api is not Api.API_VERSIONS:
        out.append(0)  # no tagged fields
    writer(shape)(out, body)
    return bytes(out)
