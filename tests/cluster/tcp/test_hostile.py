"""Hostile bytes: the connection that sends them is closed, with a line that says why; other clients are served."""

from __future__ import annotations

import os
import resource
import select
import socket
import struct
import time
from collections.abc import Iterator
from itertools import count

import pytest

from groupsim.cluster.tcp import rate_limited_log
from groupsim.protocol.basics import Api
from tests.helpers.tcp_stage import Client, Stage, framed, serving, text

CONNECTIONS = int(os.environ.get("HOSTILE_CONNECTIONS", "1000"))
_WITNESSES = count()
LIST_ALL = struct.pack(">i", -1)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """One server for all of this module: what one test does to it the next would see."""
    with pytest.MonkeyPatch.context() as patch, serving() as made:
        patch.setattr(rate_limited_log, "PER_SECOND", 1_000_000)  # the tests look for their lines
        yield made


@pytest.fixture
def witness(stage: Stage) -> Iterator[Client]:
    """Another client, the member of a group, whose heartbeats must be answered before and after."""
    with stage.client(client_id="witness") as client:
        client.group = f"w{next(_WITNESSES)}"
        assert client.join(client.group) == 0
        yield client
        assert is_served(client)


def is_served(witness: Client) -> bool:
    """Whether the witness's heartbeat is answered as it should be."""
    return witness.heartbeat(witness.group) == 0


GARBAGE = {
    "a length of 2 GiB": (struct.pack(">i", 2**31 - 1), "size 2147483647"),
    "a length just above the limit": (struct.pack(">i", 104_857_601), "size 104857601"),
    "a negative length": (struct.pack(">i", -5), "size -5"),
    "an HTTP request": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "size 1195725856"),
    "a TLS greeting": (bytes.fromhex("16030102000100") + os.urandom(64), "size 369295618"),
    "no bytes at all in a frame": (framed(b""), "too short for a header"),
    "half a header": (framed(struct.pack(">hh", 3, 1)), "header"),
    "an unknown API": (framed(struct.pack(">hhi", 4_711, 0, 1) + text("x")), "4711"),
    "a negative API": (framed(struct.pack(">hhi", -1, 0, 1) + text("x")), "-1"),
    "an unknown version": (framed(struct.pack(">hhi", Api.HEARTBEAT, 99, 1) + text("x")), "99"),
    "a client id longer than the frame": (framed(struct.pack(">hhih", 3, 1, 1, 30_000)), "header"),
    "a body that ends early": (framed(struct.pack(">hhi", 11, 2, 1) + text("x") + text("group")), "JoinGroup"),
    "an array of two billion": (
        framed(struct.pack(">hhi", 3, 1, 1) + text("x") + struct.pack(">i", 2**31 - 1)),
        "Metadata",
    ),
    "a text that is none": (
        framed(struct.pack(">hhi", 12, 0, 1) + text("x") + b"\0\2\xff\xfe" + bytes(8)),
        "Heartbeat",
    ),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_closes_its_own_connection(stage: Stage, witness: Client, name: str) -> None:
    """Bytes that are no request close the connection, the log has the reason, and another client stays served."""
    data, reason = GARBAGE[name]
    with stage.client() as client:
        client.socket.sendall(data)
        assert client.is_closed()
    assert is_served(witness)
    deadline = time.monotonic() + 10
    while not any(reason in line["reason"] for line in stage.notes.saying("closed a connection")):
        assert time.monotonic() < deadline, stage.notes.lines[-3:]


def test_a_too_new_api_versions_is_answered(stage: Stage, witness: Client) -> None:
    """ApiVersions of a version from the future is answered in version 0 with UNSUPPORTED_VERSION, and goes on."""
    with stage.client() as client:
        answer = client.ask(Api.API_VERSIONS, 99, b"\0")  # no tagged fields in the header
        assert struct.unpack(">h", answer[:2])[0] == 35
        assert client.ask(Api.METADATA, 1, LIST_ALL)


def test_a_truncated_request_waits_and_dies_with_its_client(stage: Stage, witness: Client) -> None:
    """Half a request is waited for; when its client closes it is forgotten."""
    client = stage.client()
    frame = client.frame(Api.METADATA, 1, LIST_ALL)
    client.socket.sendall(frame[:-2])
    assert is_served(witness)
    client.socket.close()


def test_a_slow_drip_is_put_together(stage: Stage, witness: Client) -> None:
    """A request that comes byte by byte is answered like any other, and delays no other client."""
    with stage.client() as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in client.frame(Api.METADATA, 1, LIST_ALL):
            client.socket.sendall(bytes([byte]))
            assert is_served(witness)
        assert client.receive()[0] == 1


def test_thousands_of_connections_opened_and_dropped(stage: Stage, witness: Client) -> None:
    """Connections that are opened and dropped in great numbers leave nothing behind."""
    reset = struct.pack("ii", 1, 0)
    for number in range(CONNECTIONS):
        sock = socket.create_connection(("127.0.0.1", stage.ports[0]), timeout=30)
        if number % 3 == 1:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        elif number % 3 == 2:
            sock.sendall(b"\0\0")
        sock.close()
        if number % 100 == 0:
            assert is_served(witness)
    _until_alone(stage)


def _until_alone(stage: Stage) -> None:
    """Wait until the witness's is the only connection."""
    deadline = time.monotonic() + 30
    while stage.do(lambda _, listeners: listeners.connections) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_thousand_connections_at_once(stage: Stage, witness: Client) -> None:
    """A thousand open connections, each answered once, are held together, and dropped together."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3_000:
        pytest.skip("the system grants too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3_000), hard))
    clients = [stage.client() for _ in range(1_000)]
    for client in clients:
        client.send(Api.METADATA, 1, LIST_ALL)
    assert all(client.receive()[0] == 1 for client in clients)
    assert is_served(witness)
    for client in clients:
        client.socket.close()
    _until_alone(stage)


def test_a_message_of_very_many_requests_leaves_room_for_others(stage: Stage, witness: Client) -> None:
    """FindCoordinator of tens of thousands of keys is many requests of ours; others are served between them."""
    keys = 30_000
    header = struct.pack(">hhih", Api.FIND_COORDINATOR, 4, 1, 1) + b"k\0"  # flexible: no tagged fields
    with stage.client() as client:
        client.socket.sendall(framed(header + b"\0" + _varint(keys + 1) + b"\2g" * keys + b"\0"))
        served = 0
        while not _has_come(client):
            assert is_served(witness)
            served += 1
        assert served > 5
        assert client.receive()[0] == 1


LONG = 20_000  # entries


def _named(count: int) -> bytes:
    """An array of names, as the old versions write it."""
    return struct.pack(">i", count) + b"".join(text(f"name-{number}") for number in range(count))


def _partitions(count: int) -> bytes:
    """A ListOffsets of so many partitions of one topic."""
    asked = b"".join(struct.pack(">iq", number, -1) for number in range(count))
    return struct.pack(">ii", -1, 1) + text("orders") + struct.pack(">i", count) + asked


@pytest.mark.parametrize(
    ("api", "version", "body", "least"),
    [
        (Api.DESCRIBE_GROUPS, 0, _named(LONG), 20 * LONG),
        (Api.DELETE_GROUPS, 0, _named(LONG), 10 * LONG),
        (Api.METADATA, 4, _named(LONG) + b"\0", 15 * LONG),  # none is to be made
        (Api.LIST_OFFSETS, 1, _partitions(LONG), 22 * LONG),
    ],
    ids=["DescribeGroups", "DeleteGroups", "Metadata", "ListOffsets"],
)
def test_a_message_of_very_many_entries_leaves_room_for_others(
    stage: Stage, witness: Client, api: Api, version: int, body: bytes, least: int
) -> None:
    """A message of tens of thousands of entries is answered, in order, and others are served meanwhile."""
    with stage.client() as client:
        first = client.send(api, version, body)
        second = client.send(Api.LIST_GROUPS, 0, b"")
        served = 0
        while not _has_come(client):
            assert is_served(witness)
            served += 1
        correlation, answer = client.receive()
        assert correlation == first
        assert len(answer) >= least
        assert client.receive()[0] == second
        assert served > 2


@pytest.mark.parametrize("count", [90_000, 900_000])
def test_a_subscription_to_very_many_names_leaves_room_for_others(stage: Stage, witness: Client, count: int) -> None:
    """As many topic names as a record can hold are a subscription; ten times as many are UNKNOWN_SERVER_ERROR.

    Others are served while the message is read, and when it has been answered.
    """
    names = b"".join(b"\x0a%09d" % number for number in range(count))
    header = struct.pack(">hhih", Api.CONSUMER_GROUP_HEARTBEAT, 1, 1, 1) + b"k\0"
    begin = b"\x03of\x02m" + struct.pack(">i", 0) + b"\0\0" + struct.pack(">i", 1_000)
    with stage.client() as client:
        client.socket.sendall(framed(header + begin + _varint(count + 1) + names + b"\0\0\x01\0"))
        served = 0
        while not _has_come(client):
            assert is_served(witness)
            served += 1
        answer = client.receive()[1]
        assert struct.unpack(">h", answer[5:7])[0] == (0 if count < 100_000 else -1)
        assert served > 5


def test_a_client_that_goes_while_its_long_message_is_read_harms_nobody(stage: Stage, witness: Client) -> None:
    """A message that was decoded in a thread is dropped when its connection is closed."""
    for _ in range(3):
        client = stage.client()
        client.send(Api.DESCRIBE_GROUPS, 0, _named(LONG))
        client.socket.close()
        assert is_served(witness)


def test_a_long_message_that_is_none_closes_its_own_connection(stage: Stage, witness: Client) -> None:
    """A mistake far behind in a long message is found in the thread and logged."""
    with stage.client() as client:
        client.send(Api.DESCRIBE_GROUPS, 0, _named(LONG)[:-3])
        assert client.is_closed()
    assert stage.notes.saying("DescribeGroupsRequest.groups")
    assert is_served(witness)


def _varint(value: int) -> bytes:
    """A length as the flexible versions write it."""
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + _varint(value >> 7)


def _has_come(client: Client) -> bool:
    """Whether there is something to be received."""
    return bool(select.select([client.socket], [], [], 0)[0])


def test_a_client_that_never_reads_holds_up_itself_alone(stage: Stage, witness: Client) -> None:
    """A client that sends without end and reads no answer: the server stops reading and has one answer at most."""
    with stage.client() as client:
        client.socket.setblocking(False)
        frames = b"".join(client.frame(Api.METADATA, 1, LIST_ALL) for _ in range(2_000))
        sent, quiet = 0, 0
        while quiet < 20:
            try:
                sent += client.socket.send(frames)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.01)
            assert is_served(witness)
            assert sent < 1 << 28, "the server reads on and on"
        unsent = stage.do(lambda _, listeners: listeners.unsent)
        assert 0 < unsent < 1 << 20


@pytest.mark.slow
def test_ten_thousand_connections(stage: Stage, witness: Client) -> None:
    """Ten thousand connections opened and dropped: as with a thousand."""
    for _ in range(10_000 // CONNECTIONS):
        test_thousands_of_connections_opened_and_dropped(stage, witness)
