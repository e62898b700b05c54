"""One socket, one request at a time, as fast as answers come: a member's heartbeats, and produce/fetch pairs.

The frames are written here by hand, in versions that all three servers take and that have no tagged fields, so that the
client costs next to nothing and the same for each server.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from groupsim.protocol.batch.batch import HEADER_BYTES, Batch, LogRecord
from groupsim.protocol.batch.codec import encode, encode_records

PRODUCE, FETCH, FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 0, 1, 10, 11, 12, 13, 14
MEMBER_ID_REQUIRED = 79
NOT_YET = frozenset({14, 15, 16})  # the coordinator has just been named, and does not know it yet
RECORDS, RECORD_BYTES = 10, 100
CLIENT = b"\x00\x03raw"


def text(value: str) -> bytes:
    """A STRING."""
    data = value.encode()
    return struct.pack(">h", len(data)) + data


class Raw:
    """A connection on which each request waits for its answer."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation = 0

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, api: int, version: int, body: bytes) -> bytes:
        """The body of the answer. Raises ConnectionError when the connection ends instead."""
        self._correlation += 1
        header = struct.pack(">hhi", api, version, self._correlation) + CLIENT
        self._socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        (length,) = struct.unpack(">i", self._exactly(4))
        answer = self._exactly(length)
        assert struct.unpack_from(">i", answer) == (self._correlation,), "an answer to another request"
        return answer[4:]

    def _exactly(self, size: int) -> bytes:
        data = self._socket.recv(size)
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise ConnectionError("the server closed the connection")
            data += more
        return data


def heartbeats(bootstrap: str, seconds: float) -> float:
    """Heartbeats per second of one member of one group, answered without an error. Raises RuntimeError."""
    with _beating(bootstrap) as once:
        return _rate(once, seconds)


def heartbeat_times(bootstrap: str, count: int, pause: float) -> list[float]:
    """Seconds that each of so many heartbeats took, with a pause (seconds) after each. Raises RuntimeError."""
    found = []
    with _beating(bootstrap) as once:
        for _ in range(count):
            began = time.perf_counter()
            once()
            found.append(time.perf_counter() - began)
            time.sleep(pause)
    return found


@contextmanager
def _beating(bootstrap: str) -> Iterator[Callable[[], None]]:
    """One heartbeat of the one member of a new group, to be called; it leaves at the end."""
    group = text(f"raw-{time.time_ns()}")
    with Raw(_coordinator(bootstrap, group)) as raw:
        generation, member = _joined(raw, group)
        beat = group + struct.pack(">i", generation) + text(member) + b"\xff\xff"

        def once() -> None:
            answer = raw.ask(HEARTBEAT, 3, beat)
            if answer[4:6] != b"\0\0":
                raise RuntimeError(f"a heartbeat was answered with {answer!r}")

        yield once
        raw.ask(LEAVE_GROUP, 1, group + text(member))


def _coordinator(bootstrap: str, group: bytes) -> str:
    """Where the group's coordinator is. Raises RuntimeError when there is none after a while."""
    with Raw(bootstrap) as raw:
        for _ in range(100):
            answer = raw.ask(FIND_COORDINATOR, 0, group)
            if answer[:2] == b"\0\0":
                (size,) = struct.unpack_from(">h", answer, 6)
                (port,) = struct.unpack_from(">i", answer, 8 + size)
                return f"{answer[8 : 8 + size].decode()}:{port}"
            time.sleep(0.1)
    raise RuntimeError(f"FindCoordinator was answered with {answer!r}")


def _joined(raw: Raw, group: bytes) -> tuple[int, str]:
    """Join and sync, as the one member; returns generation and member id."""
    error, member, generation = MEMBER_ID_REQUIRED, "", -1
    for _ in range(100):
        if error in NOT_YET:
            time.sleep(0.1)
        elif error != MEMBER_ID_REQUIRED:
            break
        error, generation, member = _join(raw, group, member)
    if error:
        raise RuntimeError(f"JoinGroup was answered with error {error}")
    plan = struct.pack(">i", 1) + text(member) + struct.pack(">i", 4) + b"plan"
    answer = raw.ask(SYNC_GROUP, 3, group + struct.pack(">i", generation) + text(member) + b"\xff\xff" + plan)
    if answer[4:6] != b"\0\0":
        raise RuntimeError(f"SyncGroup was answered with {answer!r}")
    return generation, member


def _join(raw: Raw, group: bytes, member: str) -> tuple[int, int, str]:
    protocols = text("consumer") + struct.pack(">i", 1) + text("range") + struct.pack(">i", 6) + bytes(6)
    body = group + struct.pack(">ii", 30_000, 30_000) + text(member) + b"\xff\xff" + protocols
    answer = raw.ask(JOIN_GROUP, 5, body)
    error, generation = struct.unpack_from(">hi", answer, 4)
    at = 10
    for _ in range(2):  # over protocol and leader
        (size,) = struct.unpack_from(">h", answer, at)
        at += 2 + max(size, 0)
    (size,) = struct.unpack_from(">h", answer, at)
    return error, generation, answer[at + 2 : at + 2 + size].decode()


def produce_fetch(bootstrap: str, topic: str, seconds: float) -> float:
    """Requests per second: Produce (acks=all, ten records of 100 bytes) and the Fetch of that batch, by turns.

    Raises RuntimeError when one is answered with an error, or the fetch with less than the batch.
    """
    batch = _batch()
    place = text(topic) + struct.pack(">ii", 1, 0)
    produce = b"\xff\xff" + struct.pack(">hi", -1, 30_000) + struct.pack(">i", 1) + place
    produce += struct.pack(">i", len(batch)) + batch
    fetch = struct.pack(">iiiibii", -1, 500, 1, 1 << 20, 0, 0, -1) + struct.pack(">i", 1) + place
    at = 4 + len(text(topic)) + 4 + 4  # of the error code in an answer to Produce
    with Raw(bootstrap) as raw:

        def once() -> None:
            answer = raw.ask(PRODUCE, 7, produce)
            error, offset = struct.unpack_from(">hq", answer, at)
            if error:
                raise RuntimeError(f"Produce was answered with error {error}")
            rest = struct.pack(">iqqi", -1, offset, -1, 1 << 20) + struct.pack(">i", 0) + b"\0\0"
            answer = raw.ask(FETCH, 11, fetch + rest)
            if len(answer) < len(batch):
                raise RuntimeError(f"the Fetch of what was produced was answered with {answer[:80]!r}")

        return 2 * _rate(once, seconds)


def _batch() -> bytes:
    now = int(time.time() * 1_000)
    records = tuple(LogRecord(number, None, bytes(RECORD_BYTES)) for number in range(RECORDS))
    size = HEADER_BYTES + len(encode_records(records))
    return encode(Batch(0, RECORDS, size, now, now, records=records))


def _rate(once: Callable[[], None], seconds: float) -> float:
    """How often per second, after a short while to warm up."""
    warm = time.perf_counter() + seconds / 4
    while time.perf_counter() < warm:
        once()
    count, began = 0, time.perf_counter()
    end = began + seconds
    while (now := time.perf_counter()) < end or not count:
        for _ in range(20):
            once()
        count += 20
    return count / (now - began)
