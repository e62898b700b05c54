"""A cluster that serves on loopback ports, in a thread of the test's process, and a client that speaks bytes."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from attrs import define, field

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.tcp import TcpListeners
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import FULL, Trace
from groupsim.eventloop.units import ms, seconds
from groupsim.protocol.basics import Api

PATIENCE_S = 30.0
QUICK = {"group.initial.rebalance.delay.ms": "0"}


class Notes:
    """A log that remembers its lines."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def info(self, event: str, **values: Any) -> None:
        self.lines.append({"event": event, **values})

    warning = error = info

    def saying(self, text: str) -> list[dict[str, Any]]:
        """The lines in which this text stands."""
        return [line for line in self.lines if text in " ".join(str(value) for value in line.values())]


@define
class Stage:
    """A running server, seen from outside; `do` carries something out inside its loop."""

    notes: Notes = field(factory=Notes)
    events: MemorySink = field(factory=MemorySink)
    ports: list[int] = field(factory=list)
    errors: list[str] = field(factory=list)
    deeds: SimpleQueue[Callable[[Cluster, TcpListeners], None]] = field(factory=SimpleQueue)
    stop: threading.Event = field(factory=threading.Event)
    up: threading.Event = field(factory=threading.Event)

    def do(self, deed: Callable[[Cluster, TcpListeners], Any]) -> Any:
        """Carry `deed(cluster, listeners)` out in the loop and return what it returns; raises what it raises."""
        done = threading.Event()
        result: list[Any] = []

        def carry_out(cluster: Cluster, listeners: TcpListeners) -> None:
            try:
                result.append(deed(cluster, listeners))
            except Exception as error:
                result.append(error)
            done.set()

        self.deeds.put(carry_out)
        assert done.wait(PATIENCE_S)
        if isinstance(result[0], Exception):
            raise result[0]
        return result[0]

    def client(self, broker: int = 0, client_id: str = "raw") -> Client:
        """A new connection."""
        return Client(self.ports[broker], client_id)


@contextmanager
def serving(brokers: int = 1, properties: dict[str, str] | None = None, **listening: Any) -> Iterator[Stage]:
    """A cluster with the topic `orders` (4 partitions) behind ports, until the block ends; no error may be left."""
    stage = Stage()
    config = ClusterConfig.from_properties(
        {**QUICK, **(properties or {})},
        brokers=brokers,
        latency=parse_distribution("20us"),
        processing=parse_distribution("0us"),
    )
    trace = Trace(FULL)
    trace.subscribe(stage.events)
    loop = RealTimeLoop(trace=trace)
    loop.on_error = lambda error, where: stage.errors.append(f"{where}: {error!r}")

    async def serve(loop: RealTimeLoop) -> None:
        cluster = Cluster(loop, config)
        cluster.create_topic("orders", 4, replication=min(3, brokers))
        listeners = TcpListeners(cluster, log=stage.notes, **listening)
        await listeners.open()
        stage.ports.extend(port for _, port in listeners.addresses.values())
        stage.up.set()
        while not stage.stop.is_set():
            try:
                stage.deeds.get_nowait()(cluster, listeners)
            except Empty:
                await loop.sleep(ms(2))
        await listeners.close(seconds(5))

    thread = threading.Thread(target=loop.run, args=(serve,), daemon=True)
    thread.start()
    try:
        assert stage.up.wait(PATIENCE_S)
        yield stage
    finally:
        stage.stop.set()
        thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert stage.errors == []


def text(value: str | None) -> bytes:
    """A string of the old versions."""
    return b"\xff\xff" if value is None else struct.pack(">h", len(value)) + value.encode()


def framed(data: bytes) -> bytes:
    """With its length in front."""
    return struct.pack(">i", len(data)) + data


class Client:
    """One connection; requests in the oldest versions, whose bytes are plain to see."""

    def __init__(self, port: int, client_id: str = "raw") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.client_id = client_id
        self.correlation = 0
        self.group = ""
        self.member = ""
        self.generation = -1

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    # --- bytes -----------------------------------------------------------------------------------------------

    def frame(self, api: int, version: int, body: bytes) -> bytes:
        """A request, with the next correlation id."""
        self.correlation += 1
        return framed(struct.pack(">hhi", api, version, self.correlation) + text(self.client_id) + body)

    def send(self, api: int, version: int, body: bytes) -> int:
        """Send a request; returns its correlation id."""
        self.socket.sendall(self.frame(api, version, body))
        return self.correlation

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise ConnectionResetError("the server closed the connection")
            data += piece
        return data

    def receive(self) -> tuple[int, bytes]:
        """The next response: correlation id and body. Raises ConnectionResetError at the end."""
        size = struct.unpack(">i", self._exactly(4))[0]
        data = self._exactly(size)
        return struct.unpack(">i", data[:4])[0], data[4:]

    def ask(self, api: int, version: int, body: bytes) -> bytes:
        """Send a request and wait for its response."""
        sent = self.send(api, version, body)
        correlation, answer = self.receive()
        assert correlation == sent
        return answer

    def is_closed(self) -> bool:
        """Whether the server closes the connection, or has done so."""
        try:
            while self.socket.recv(65_536):
                pass
        except ConnectionError:
            pass
        return True

    # --- groups ----------------------------------------------------------------------------------------------

    def join_frame(self, group: str, session_ms: int = 30_000) -> bytes:
        """The body of JoinGroup 2."""
        protocols = struct.pack(">i", 1) + text("range") + framed(b"meta")
        return text(group) + struct.pack(">ii", session_ms, 60_000) + text(self.member) + text("consumer") + protocols

    def join(self, group: str) -> int:
        """Join (JoinGroup 2) and lead the group alone (SyncGroup 1); returns the error of the first that fails."""
        error = self.joined(self.ask(Api.JOIN_GROUP, 2, self.join_frame(group)))
        if error:
            return error
        body = text(group) + struct.pack(">i", self.generation) + text(self.member) + struct.pack(">i", 1)
        answer = self.ask(Api.SYNC_GROUP, 1, body + text(self.member) + framed(b"mine"))
        return int(struct.unpack(">h", answer[4:6])[0])

    def joined(self, answer: bytes) -> int:
        """Read a JoinGroup response."""
        error, self.generation = struct.unpack(">hi", answer[4:10])
        at = 10
        for _ in range(3):  # protocol, leader, member
            length = struct.unpack(">h", answer[at : at + 2])[0]
            value = answer[at + 2 : at + 2 + length].decode()
            at += 2 + length
        self.member = value
        return int(error)

    def heartbeat_body(self, group: str) -> bytes:
        """The body of Heartbeat 1."""
        return text(group) + struct.pack(">i", self.generation) + text(self.member)

    def heartbeat(self, group: str) -> int:
        """The error that a heartbeat is answered with."""
        return int(struct.unpack(">h", self.ask(Api.HEARTBEAT, 1, self.heartbeat_body(group))[4:6])[0])
