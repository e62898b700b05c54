"""What the tests of the wire share: a directory of names, and kafka-python as a client that knows nothing of kio.

kafka-python makes its messages of Kafka's own schemas, with a serialiser of its own, so it is an independent judge of
what goes over the wire.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafka.protocol import admin, consumer, metadata, producer

from groupsim.protocol.wire import Codec, Understood

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
