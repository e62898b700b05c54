"""Classic members of a consumer group: what they say in the protocol embedded in JoinGroup (`ConsumerProtocol`)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from tests.conformance.basics import Topic
from tests.conformance.consumer.member import Member
from tests.conformance.script import Script

Owned = Mapping[Topic, Sequence[int]]


def subscription(
    *topics: Topic | str,
    owned: Owned | None = None,
    generation: int = -1,
    rack: str | None = None,
    user_data: bytes | None = None,
    version: int = 3,
) -> bytes:
    """A ConsumerProtocolSubscription; what a version does not have is left out."""
    data = struct.pack(">hi", version, len(topics))
    data += b"".join(_text(one if isinstance(one, str) else one.name) for one in topics) + _bytes(user_data)
    if version >= 1:
        data += _partitions(owned or {})
    if version >= 2:
        data += struct.pack(">i", generation)
    if version >= 3:
        data += _text(rack)
    return data


def assignment(owned: Owned, *, user_data: bytes | None = None, version: int = 3) -> bytes:
    """A ConsumerProtocolAssignment."""
    return struct.pack(">h", version) + _partitions(owned) + _bytes(user_data)


async def classic(
    s: Script,
    name: str,
    *topics: Topic | str,
    protocol: str = "range",
    instance: str | None = None,
    session: int = 60_000,
    rebalance: int = 60_000,
    version: int = 3,
) -> Member:
    """A classic member joins a consumer group under an id of its own choice, and has not synced yet."""
    member = await s.member(name, instance=instance, known_as="" if instance else name)
    offer = subscription(*topics, version=version)
    await member.join(protocols={protocol: offer}, session=session, rebalance=rebalance)
    return member


async def rejoin(member: Member, *topics: Topic | str, owned: Owned | None = None, protocol: str = "range") -> None:
    """It joins again and says what it owns."""
    offer = subscription(*topics, owned=owned, generation=member.generation)
    await member.join(protocols={protocol: offer})


def _partitions(owned: Owned) -> bytes:
    each = (
        _text(topic.name) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
        for topic, numbers in owned.items()
    )
    return struct.pack(">i", len(owned)) + b"".join(each)


def _text(text: str | None) -> bytes:
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text.encode())) + text.encode()


def _bytes(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
