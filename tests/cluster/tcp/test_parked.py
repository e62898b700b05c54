"""Requests that wait, or are passed on: long polls at the end of the service, pipelines to the controller."""

from __future__ import annotations

import struct
import time

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from tests.helpers.tcp_stage import Client, Stage, serving, text


def _fetch(max_wait_ms: int) -> bytes:
    """Fetch 4 of a partition that is empty."""
    head = struct.pack(">iiiib", -1, max_wait_ms, 1, 1 << 20, 0)
    return head + struct.pack(">i", 1) + text("orders") + struct.pack(">iiqi", 1, 0, 0, 1 << 20)


def _until_received(stage: Stage, api: str, count: int) -> None:
    """So many requests of an API have reached their broker."""
    deadline = time.monotonic() + 20
    while stage.do(lambda *_: _received(stage, api)) < count:
        assert time.monotonic() < deadline


def _received(stage: Stage, api: str) -> int:
    return sum(event.kind is Kind.REQUEST_RECEIVED and event.api == api for event in stage.events.events)


def _fetched(answer: bytes) -> tuple[int, int, int]:
    """Error, high watermark and length of the records of that partition."""
    at = 4 + 4 + len(text("orders")) + 4 + 4
    error, high, _stable, _aborted, length = struct.unpack(">hqqii", answer[at : at + 26])
    return error, high, length


def test_the_end_of_the_service_answers_parked_fetches() -> None:
    """A Fetch that waits for records gets an empty answer when the service ends, then the connection is closed."""
    with serving() as stage:
        client = stage.client()
        assert _fetched(client.ask(Api.FETCH, 4, _fetch(0))) == (0, 0, 0)
        client.send(Api.FETCH, 4, _fetch(60_000))
        _until_received(stage, "Fetch", 2)
    error, _, length = _fetched(client.receive()[1])
    assert (error, max(length, 0)) == (0, 0)
    assert client.is_closed()
    client.socket.close()


def test_the_end_of_the_service_answers_joins_and_fetches_alike() -> None:
    """On connections of their own a parked JoinGroup is answered NOT_COORDINATOR and a parked Fetch with nothing."""
    with serving(properties={"group.initial.rebalance.delay.ms": "60000"}) as stage:
        fetching, joining = stage.client(), stage.client()
        fetching.send(Api.FETCH, 4, _fetch(60_000))
        joining.send(Api.JOIN_GROUP, 2, joining.join_frame("g"))
        _until_received(stage, "Fetch", 1)
        _until_received(stage, "JoinGroup", 1)
    assert struct.unpack(">h", joining.receive()[1][4:6])[0] == ErrorCode.NOT_COORDINATOR
    assert _fetched(fetching.receive()[1])[0] == 0
    for client in (fetching, joining):
        assert client.is_closed()
        client.socket.close()


def test_a_fetch_that_would_wait_for_less_than_nothing_is_answered_at_once() -> None:
    """A negative `max_wait_ms` is none; what comes behind it is answered, too."""
    with serving() as stage, stage.client() as client:
        begun = time.monotonic()
        for wait_ms in (-1, -(2**31), -5):
            assert _fetched(client.ask(Api.FETCH, 4, _fetch(wait_ms)))[0] == 0
        assert client.join("g") == 0
        assert time.monotonic() - begun < 10


def _create(client: Client, name: str) -> bytes:
    """A frame of CreateTopics 2."""
    topic = text(name) + struct.pack(">ihii", 1, 1, 0, 0)
    return client.frame(Api.CREATE_TOPICS, 2, struct.pack(">i", 1) + topic + struct.pack(">ib", 30_000, 0))


def _delete(client: Client, name: str) -> bytes:
    """A frame of DeleteTopics 1."""
    return client.frame(Api.DELETE_TOPICS, 1, struct.pack(">i", 1) + text(name) + struct.pack(">i", 30_000))


def test_pipelined_requests_to_the_controller_get_their_own_answers() -> None:
    """Topics made and deleted in one piece, at each of three brokers at once: every answer is that of its request."""
    with serving(brokers=3) as stage:
        clients = [stage.client(broker) for broker in range(3)]
        asked: list[list[str]] = []
        for number, client in enumerate(clients):
            names = [f"t-{number}-{index}" for index in range(12)]
            frames = [make(client, name) for name in names for make in (_create, _create, _delete)]
            client.socket.sendall(b"".join(frames))
            asked.append([name for name in names for _ in range(3)])
        for client, names in zip(clients, asked, strict=True):
            errors = []
            for correlation, name in enumerate(names, 1):
                number, answer = client.receive()
                size = len(text(name))
                assert (number, answer[8 : 8 + size]) == (correlation, text(name))
                errors.append(struct.unpack(">h", answer[8 + size : 10 + size])[0])
            assert errors == [0, ErrorCode.TOPIC_ALREADY_EXISTS, 0] * 12
            client.socket.close()
