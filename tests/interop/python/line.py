"""What the Python member programs share: lines of JSON in and out (README.md of the suite)."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any

Place = tuple[str, int]


class Unsupported(Exception):
    """The client does not have what the config asks for."""


def say(event: str, **more: Any) -> None:
    """Report an event."""
    sys.stdout.write(json.dumps({"event": event, **more}) + "\n")
    sys.stdout.flush()


def error(what: object, command: str | None = None) -> None:
    """Report an error; with the command that failed, if one did."""
    more = {} if command is None else {"command": command}
    say("error", error=f"{type(what).__name__}: {what}" if isinstance(what, Exception) else str(what), **more)


def consumed(
    topic: str,
    partition: int,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]],
    timestamp: int,
) -> None:
    """Report a record."""
    rows = [[name, text(data)] for name, data in headers]
    say(
        "consumed",
        topic=topic,
        partition=partition,
        offset=offset,
        key=text(key),
        value=text(value),
        headers=rows,
        timestamp=timestamp,
    )


def text(data: bytes | None) -> str | None:
    """Bytes as base64."""
    return None if data is None else b64encode(bytes(data)).decode()


def data(encoded: str | None) -> bytes | None:
    """Base64 as bytes."""
    return None if encoded is None else b64decode(encoded)


def headers_of(record: dict[str, Any]) -> list[tuple[str, bytes | None]]:
    """The headers of a record to send."""
    return [(name, data(value)) for name, value in record.get("headers") or ()]


def commands() -> queue.SimpleQueue[dict[str, Any]]:
    """What is told on stdin, as it comes; the end of stdin ends the process."""
    told: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            told.put(json.loads(line))
        os._exit(3)

    threading.Thread(target=read, daemon=True).start()
    return told


class Owned:
    """What a consumer owns, and up to where it has reported what it read."""

    def __init__(self) -> None:
        self.partitions: set[Place] = set()
        self.positions: dict[Place, int] = {}

    def assigned(self, added: Iterable[Place], whole: Iterable[Place] | None = None) -> None:
        """Partitions came; `whole` is everything owned, where the client says that."""
        rows = sorted(added)
        self.partitions = self.partitions | set(rows) if whole is None else set(whole)
        say("assigned", partitions=rows, owned=sorted(self.partitions))

    def revoked(self, lost: Iterable[Place]) -> None:
        """Partitions went."""
        rows = sorted(lost)
        self.partitions -= set(rows)
        for place in rows:
            self.positions.pop(place, None)
        say("revoked", partitions=rows, owned=sorted(self.partitions))

    def to_commit(self, among: Iterable[Place] | None = None) -> dict[Place, int]:
        """Next offsets of what was read, of the partitions owned (and named)."""
        named = self.partitions if among is None else set(among)
        return {place: offset for place, offset in sorted(self.positions.items()) if place in named}


def rows(positions: dict[Place, int]) -> list[list[Any]]:
    """Positions as an event shows them."""
    return [[topic, partition, offset] for (topic, partition), offset in positions.items()]


def main(consumer: Any, producer: Any) -> None:
    """Run the role that the config names: `consumer(config)` or `producer(config)`."""
    config = json.loads(sys.argv[1])
    try:
        (consumer if config["role"] == "consumer" else producer)(config)
    except Unsupported as what:
        say("unsupported", what=str(what))
    sys.stdout.flush()
    os._exit(0)
