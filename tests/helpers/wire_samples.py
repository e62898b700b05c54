"""What the tests of the wire share: a directory of names, and kafka-python as a client that knows nothing of kio.

kafka-python makes its messages of Kafka's own schemas, with a serialiser of its own, so it is an independent judge of
what goes over the wire.
"""

from __future__ import annotations

import struct
from random import Random
from typing import Any
from uuid import UUID

from kafka.protocol import admin, consumer, metadata, producer

from groupsim.protocol.basics import Api
from groupsim.protocol.wire import Codec, Understood
from groupsim.protocol.wire.schema import Field, Shape, request_shape
from groupsim.protocol.wire.serial import writer

ORDERS_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # 15 zero bytes and a one
GONE_ID = "AAAAAAAAAAAAAAAAAAAAGQ"
ORDERS_UUID = UUID(int=1)
GONE_UUID = UUID(int=25)


class FakeDirectory:
    """Three brokers, the first in a rack; one topic with an id, `orders`."""

    cluster_id = "cluster-of-22-letters-"
    controller = 1

    def topic_id(self, name: str) -> str | None:
        return ORDERS_ID if name == "orders" else None

    def topic_name(self, topic_id: str) -> str | None:
        return "orders" if topic_id == ORDERS_ID else None

    def address(self, node: int) -> tuple[str, int]:
        return ("127.0.0.1", 9092 + node) if node in range(3) else ("", -1)

    def rack(self, node: int) -> str | None:
        return "a" if node == 0 else None


def codec(profile: str = "4.x") -> Codec:
    """The codec of a broker that lives in the fake directory."""
    return Codec(profile, FakeDirectory())


def message(name: str) -> Any:
    """kafka-python's class of a request or response, e.g. `JoinGroupRequest`."""
    return next(getattr(module, name) for module in (consumer, producer, metadata, admin) if hasattr(module, name))


def frame(name: str, version: int, /, *, correlation: int = 7, client_id: str = "tests", **fields: Any) -> bytes:
    """A request as kafka-python writes it: `name` without "Request", fields that the version lacks are left out."""
    request = message(f"{name}Request")(version=version, **fields)
    request.with_header(correlation, client_id)
    return bytes(request.encode(header=True))


def part(name: str, part_name: str, /, **fields: Any) -> Any:
    """A part of a request, at whatever depth, e.g. a protocol of a JoinGroup."""
    around = [message(f"{name}Request")]
    for kind in around:
        if hasattr(kind, part_name):
            return getattr(kind, part_name)(**fields)
        around += [inner for inner in vars(kind).values() if isinstance(inner, type)]
    raise LookupError(f"{name} has no {part_name}")


def told(name: str, version: int, response: bytes) -> Any:
    """A response as kafka-python reads it, with `header.correlation_id`."""
    return message(f"{name}Response").decode(response, version=version, header=True)


def understood(data: bytes, profile: str = "4.x") -> Understood:
    """What the codec makes of a frame."""
    return codec(profile).understand(data)


def any_frame(api: Api, version: int, stream: Random) -> bytes:
    """A request of this API and version with whatever in its fields, a header before it."""
    shape = request_shape(api, version)
    out = bytearray(struct.pack(">hhih", api, version, stream.randrange(2**31), -1))
    if shape.flexible:
        out.append(0)
    writer(shape)(out, _any_message(shape, stream))
    return bytes(out)


def _any_message(shape: Shape, stream: Random) -> dict[str, Any]:
    return {field.name: _any_value(field, stream) for field in shape.fields}


def _any_value(field: Field, stream: Random) -> Any:
    if field.nullable and field.kind not in ("uuid", "datetime_i64") and stream.random() < 0.2:
        return None
    return [_any_one(field, stream) for _ in range(stream.randrange(4))] if field.array else _any_one(field, stream)


def _any_one(field: Field, stream: Random) -> Any:
    if field.parts:
        return _any_message(field.parts, stream)
    match field.kind:
        case "string":
            return stream.choice(("", "orders", "g", "ü"))
        case "bytes" | "records":
            return stream.randbytes(stream.choice((0, 3, 61, 80)))
        case "uuid":
            return stream.choice((None, ORDERS_ID, GONE_ID))
        case "bool":
            return stream.random() < 0.5
        case "int8":
            return stream.choice((0, 1, 2, -1, 127))
    return stream.choice((0, 1, 2, 3, -1, 100))
