"""What a client sees of a served cluster: answers in order, lives of brokers, the end of the service."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

import pytest

from groupsim.coordinator.service import GroupCoordinator
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from tests.helpers.tcp_stage import Client, serving, text

METADATA_OF_ALL = struct.pack(">i", -1)


def test_pipelined_requests_are_answered_in_order() -> None:
    """Many requests in one piece get their answers one by one, in the order they were asked."""
    with serving() as stage, stage.client() as client:
        assert client.join("g") == 0
        frames = [client.frame(Api.HEARTBEAT, 1, client.heartbeat_body("g")) for _ in range(200)]
        first = client.correlation - 199
        client.socket.sendall(b"".join(frames))
        assert [client.receive()[0] for _ in frames] == list(range(first, first + 200))


def test_metadata_names_the_ports() -> None:
    """Metadata tells every broker under the address it listens at."""
    with serving(brokers=3) as stage, stage.client() as client:
        answer = client.ask(Api.METADATA, 1, METADATA_OF_ALL)
    for port in stage.ports:
        assert text("127.0.0.1") + struct.pack(">i", port) in answer


def test_a_parked_join_holds_up_what_is_behind_it() -> None:
    """A heartbeat behind a parked JoinGroup waits; on another connection it is answered at once."""
    slow = {"group.initial.rebalance.delay.ms": "1500"}
    with serving(properties=slow) as stage, stage.client() as client, stage.client() as other:
        begun = time.monotonic()
        client.send(Api.JOIN_GROUP, 2, client.join_frame("g"))
        client.send(Api.HEARTBEAT, 1, client.heartbeat_body("g"))
        assert other.heartbeat("g") == ErrorCode.UNKNOWN_MEMBER_ID
        assert [client.receive()[0], client.receive()[0]] == [1, 2]
        assert time.monotonic() - begun > 1.4
    answered = [event for event in stage.events.events if event.kind is Kind.RESPONSE_SENT]
    assert [event.api for event in answered if event.api in ("JoinGroup", "Heartbeat")] == [
        "Heartbeat",
        "JoinGroup",
        "Heartbeat",
    ]


def test_a_member_that_went_away_stays_until_its_session_ends() -> None:
    """A client that closes while its JoinGroup is parked is a member all the same; its answer is dropped."""
    with serving(properties={"group.initial.rebalance.delay.ms": "500"}) as stage:
        client = stage.client()
        client.send(Api.JOIN_GROUP, 2, client.join_frame("g"))
        time.sleep(0.1)
        client.socket.close()
        deadline = time.monotonic() + 20
        while not (members := stage.do(lambda cluster, _: _members(cluster, "g", 1))):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert len(members) == 1


def _members(cluster: Any, group: str, generation: int) -> list[str]:
    """The members of a group in this generation; none before it."""
    snapshot = cluster.snapshot(group)
    ready = snapshot is not None and snapshot.generation >= generation
    return [member.member_id for member in snapshot.members] if ready else []


def test_members_show_their_client_and_host() -> None:
    """A member has the client id of its requests and the host as a broker prints it; the trace has both, too."""
    with serving() as stage, stage.client(client_id="billing") as client:
        assert client.join("g") == 0
        snapshot = stage.do(lambda cluster, _: cluster.snapshot("g"))
        assert [(m.client_id, m.client_host) for m in snapshot.members] == [("billing", "/127.0.0.1")]
    received = [
        event for event in stage.events.events if event.kind is Kind.REQUEST_RECEIVED and event.api == "JoinGroup"
    ]
    assert received[0].payload == {"from": "billing", "client_id": "billing"}


def test_a_dead_broker_refuses_and_comes_back_at_its_port() -> None:
    """A crash resets connections and refuses new ones; after the restart the broker is at the same port."""
    with serving(brokers=3, properties={"broker.session.timeout.ms": "2000"}) as stage:
        client = stage.client(broker=1)
        stage.do(lambda cluster, _: cluster.crash_broker(1))
        assert client.is_closed()
        with pytest.raises(ConnectionRefusedError):
            stage.client(broker=1)
        stage.do(lambda cluster, _: cluster.restart_broker(1))
        deadline = time.monotonic() + 20
        while True:
            try:
                again = stage.client(broker=1)
                break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert again.ask(Api.METADATA, 1, METADATA_OF_ALL)
        client.socket.close()
        again.socket.close()


def test_a_paused_broker_answers_when_it_goes_on() -> None:
    """What is sent to a paused broker, on old and new connections, is answered after `resume`, and not before."""
    with serving() as stage, stage.client() as client:
        assert client.join("g") == 0
        stage.do(lambda cluster, _: cluster.pause_broker(0))
        client.send(Api.HEARTBEAT, 1, client.heartbeat_body("g"))
        with stage.client() as other:
            other.send(Api.METADATA, 1, METADATA_OF_ALL)
            client.socket.settimeout(0.5)
            with pytest.raises(TimeoutError):
                client.receive()
            stage.do(lambda cluster, _: cluster.resume_broker(0))
            client.socket.settimeout(20)
            assert client.receive()[1][4:6] == b"\0\0"
            assert other.receive()[0] == 1


def test_an_error_in_a_handler_is_answered_and_the_connection_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that raises is answered with UNKNOWN_SERVER_ERROR, logged, and the next request is served."""

    def broken(self: object, call: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    with serving() as stage, stage.client() as client:
        assert client.join("g") == 0
        with monkeypatch.context() as patch:
            patch.setattr(GroupCoordinator, "handle", broken)
            answer = client.ask(Api.LIST_GROUPS, 1, b"")
        assert struct.unpack(">h", answer[4:6])[0] == ErrorCode.UNKNOWN_SERVER_ERROR
        assert client.heartbeat("g") == 0
    assert stage.notes.saying("a mistake of ours")


def test_the_end_of_the_service_answers_what_is_parked() -> None:
    """When the service ends, a parked JoinGroup is answered with NOT_COORDINATOR, then the connection is closed."""
    with serving(properties={"group.initial.rebalance.delay.ms": "60000"}) as stage:
        client = stage.client()
        client.send(Api.JOIN_GROUP, 2, client.join_frame("g"))
        deadline = time.monotonic() + 20
        while not stage.do(lambda cluster, _: _members(cluster, "g", 0)):
            assert time.monotonic() < deadline
    _, answer = client.receive()
    assert struct.unpack(">h", answer[4:6])[0] == ErrorCode.NOT_COORDINATOR
    assert client.is_closed()
    client.socket.close()


def test_more_connections_than_there_may_be_are_turned_away() -> None:
    """Above `max_connections` a connection is closed at once, with a line in the log; the others are served."""
    with serving(max_connections=3) as stage:
        clients = [stage.client() for _ in range(3)]
        assert all(client.ask(Api.METADATA, 1, METADATA_OF_ALL) for client in clients)
        with stage.client() as fourth:
            assert fourth.is_closed()
        assert clients[0].ask(Api.METADATA, 1, METADATA_OF_ALL)
        clients.pop().socket.close()
        deadline = time.monotonic() + 20
        while stage.do(lambda _, listeners: listeners.connections) == 3:
            assert time.monotonic() < deadline
        with stage.client() as fifth:
            assert fifth.ask(Api.METADATA, 1, METADATA_OF_ALL)
        for client in clients:
            client.socket.close()
    assert stage.notes.saying("max.connections")


def test_idle_connections_are_closed() -> None:
    """A connection on which nothing moves is closed after a while, with a line in the log; a busy one is not."""
    with serving(max_idle_us=2_000_000) as stage, stage.client() as idle, stage.client() as busy:
        assert busy.join("g") == 0
        idle.socket.settimeout(0.05)
        deadline = time.monotonic() + 20
        while True:
            assert busy.heartbeat("g") == 0
            try:
                assert idle.socket.recv(1) == b""
                break
            except TimeoutError:
                assert time.monotonic() < deadline
    assert stage.notes.saying("connections.max.idle.ms")


def test_the_end_of_a_connection_frees_it() -> None:
    """Connections that the client closes, or resets, are forgotten."""
    with serving() as stage:
        clients = [Client(stage.ports[0]) for _ in range(20)]
        for number, client in enumerate(clients):
            assert client.ask(Api.METADATA, 1, METADATA_OF_ALL)
            if number % 2:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.socket.close()
        deadline = time.monotonic() + 20
        while stage.do(lambda cluster, listeners: listeners.connections):
            assert time.monotonic() < deadline
        assert stage.do(lambda cluster, _: [c for c in cluster.network.connections if c.host_name == "raw"]) == []


def test_a_flood_of_nonsense_leaves_few_lines() -> None:
    """Of a hundred connections closed for nonsense ten a second get a line; a later one counts the rest."""
    with serving() as stage:
        clients = [stage.client() for _ in range(100)]
        for client in clients:  # all of them within few seconds, however slow the machine is
            client.socket.sendall(bytes(4))
        for client in clients:
            assert client.is_closed()
            client.socket.close()
        first = len(stage.notes.saying("closed a connection"))
        time.sleep(1.1)
        with stage.client() as client:
            client.socket.sendall(bytes(4))
            assert client.is_closed()
        lines = stage.notes.saying("closed a connection")
    assert first < 100
    assert first + sum(line.get("left_out", 0) for line in lines) == 100
