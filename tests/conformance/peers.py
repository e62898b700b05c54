"""What a script is played on: something that takes frames on connections and tells the time.

`TcpPeer` is any broker behind a socket: the real one, or `groupsim serve`. `core.CorePeer` is the coordinator and the
cluster in virtual time, behind the same codec as behind a socket.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import trio

from tests.conformance.bodies import Body, decode, encode

LATE_US = 250_000
Address = tuple[str, int]


class Closed(Exception):
    """The broker has closed the connection."""


class Line(Protocol):
    """One connection. Times are microseconds of the peer's clock."""

    async def send(self, frame: bytes) -> None: ...
    async def receive(self, within_us: int) -> tuple[bytes, int] | None:
        """The next response and when it arrived; None when there is none yet. Raises Closed."""
        ...

    async def close(self) -> None: ...


class Peer(Protocol):
    """A broker, wherever it runs."""

    @property
    def now_us(self) -> int: ...
    async def connect(self, name: str, node: int = 0, host: str | None = None) -> Line:
        """Connect; `host` is the loopback address to connect from, where it matters."""
        ...

    async def sleep(self, us: int) -> None: ...
    async def create_topic(self, name: str, partitions: int) -> str:
        """Make a topic, wait until it is known and its logs are there, and tell its id as a UUID."""
        ...

    async def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until nobody knows it any more."""
        ...

    async def await_acls(self, entries: Sequence[Body]) -> None:
        """Wait until ACLs that were made, as CreateAcls takes them, are in force; those who ask may do everything."""
        ...


class TcpLine:
    """A connection over TCP. A task of its own reads, so that every arrival has its true time."""

    def __init__(self, stream: trio.SocketStream, nursery: trio.Nursery) -> None:
        self._stream = stream
        self._arrived, self._taken = trio.open_memory_channel[tuple[bytes, int]](1_000)
        nursery.start_soon(self._read)

    async def send(self, frame: bytes) -> None:
        try:
            await self._stream.send_all(len(frame).to_bytes(4, "big") + frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise Closed from error

    async def receive(self, within_us: int) -> tuple[bytes, int] | None:
        with trio.move_on_after(within_us / 1e6):
            try:
                return await self._taken.receive()
            except trio.EndOfChannel:
                raise Closed from None
        return None

    async def _read(self) -> None:
        buffer = bytearray()
        with self._arrived:
            try:
                async for data in self._stream:
                    now = _now_us()
                    buffer += data
                    while len(buffer) >= 4 and len(buffer) >= (size := 4 + int.from_bytes(buffer[:4], "big")):
                        self._arrived.send_nowait((bytes(buffer[4:size]), now))
                        del buffer[:size]
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass

    async def close(self) -> None:
        """Close it; what the broker still answers is lost."""
        with trio.move_on_after(1):
            await self._stream.aclose()


class TcpPeer:
    """Brokers behind sockets; see `tcp_peer`."""

    metadata, create_topics, list_offsets = 10, 6, 5  #: versions of requests
    replicas = -1  #: of a new topic

    def __init__(self, addresses: Sequence[Address], nursery: trio.Nursery) -> None:
        self._addresses = addresses
        self._nursery = nursery
        self._lines: list[TcpLine] = []

    async def close(self) -> None:
        """Close every connection."""
        for line in self._lines:
            await line.close()

    @property
    def now_us(self) -> int:
        return _now_us()

    async def connect(self, name: str, node: int = 0, host: str | None = None) -> TcpLine:
        stream = await trio.open_tcp_stream(*self._addresses[node], local_address=host)
        line = TcpLine(stream, self._nursery)
        self._lines.append(line)
        return line

    async def sleep(self, us: int) -> None:
        await trio.sleep(us / 1e6)

    async def create_topic(self, name: str, partitions: int) -> str:
        line = await self.connect("admin")
        topic = {"name": name, "num_partitions": partitions, "replication_factor": self.replicas}
        topic |= {"assignments": (), "configs": ()}
        body: Body = {"topics": [topic], "timeout": 20_000, "validate_only": False}
        await self._ask(line, "CreateTopics", self.create_topics, body)
        told = await self._await_topic(line, name, partitions)
        if len(self._addresses) == 1:
            await self._await_logs(line, name, partitions)
        await line.close()
        return str(told.get("topic_id", uuid.UUID(int=0)))

    async def delete_topic(self, name: str) -> None:
        line = await self.connect("admin")
        await self._ask(line, "DeleteTopics", 5, {"topic_names": [name], "timeout": 20_000})
        await self._await_topic(line, name, 0)
        await line.close()

    async def await_acls(self, entries: Sequence[Body]) -> None:
        line = await self.connect("admin")
        for entry in entries:
            await self._await_acl(line, entry)
        await line.close()

    async def _await_acl(self, line: TcpLine, entry: Body) -> None:
        """CreateAcls is answered when the controller has them: a busy broker goes by what held before for a while."""
        asked: Body = {"resource_type_filter": entry["resource_type"], "resource_name_filter": entry["resource_name"]}
        asked |= {"pattern_type_filter": entry["resource_pattern_type"], "operation": entry["operation"]}
        asked |= {"principal_filter": entry["principal"], "host_filter": entry["host"]}
        asked |= {"permission_type": entry["permission_type"]}
        for _ in range(500):
            if (await self._ask(line, "DescribeAcls", 3, asked))["resources"]:
                return
            await trio.sleep(0.02)
        raise TimeoutError(f"the ACL {entry} is not in force after 10 s")

    async def _await_topic(self, line: TcpLine, name: str, partitions: int) -> Body:
        """What Metadata tells of a topic once it has so many partitions, all of them led."""
        body: Body = {"topics": [{"topic_id": None, "name": name}], "allow_auto_topic_creation": False}
        body |= {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
        for _ in range(500):
            (told,) = (await self._ask(line, "Metadata", self.metadata, body))["topics"]
            leaders = [partition["leader_id"] for partition in told["partitions"]]
            if len(leaders) == partitions and all(leader >= 0 for leader in leaders):
                return dict(told)
            await trio.sleep(0.02)
        raise TimeoutError(f"the topic {name!r} has not {partitions} partitions after 10 s: {told}")

    async def _await_logs(self, line: TcpLine, name: str, partitions: int) -> None:
        """Wait until the only node has all logs of a topic: Kafka tells of it first, then makes them one by one."""
        asked = [{"partition_index": n, "current_leader_epoch": -1, "timestamp": -1} for n in range(partitions)]
        body: Body = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": name, "partitions": asked}]}
        for _ in range(500):
            (told,) = (await self._ask(line, "ListOffsets", self.list_offsets, body))["topics"]
            if all(partition["error_code"] != "NOT_LEADER_OR_FOLLOWER" for partition in told["partitions"]):
                return
            await trio.sleep(0.02)
        raise TimeoutError(f"the topic {name!r} has not all its logs after 10 s: {told}")

    async def _ask(self, line: TcpLine, api: str, version: int, body: Body) -> Body:
        await line.send(encode(api, version, 1, "admin", body))
        got = await line.receive(30_000_000)
        if got is None:
            raise TimeoutError(f"{api} was not answered in 30 s")
        return decode(api, version, got[0])[1]


@asynccontextmanager
async def tcp_peer(addresses: Sequence[Address], kind: type[TcpPeer] = TcpPeer) -> AsyncIterator[TcpPeer]:
    """Brokers behind sockets, by number; connections live as long as the context.

    Where a broker that is started again listens elsewhere, `addresses` are changed.
    """
    async with trio.open_nursery() as nursery:
        peer = kind(addresses, nursery)
        try:
            yield peer
        finally:
            with trio.CancelScope(shield=True):
                await peer.close()
            nursery.cancel_scope.cancel()


def _now_us() -> int:
    return round(trio.current_time() * 1e6)
