"""The limit of memory for long messages, and clients that others would wait for."""

from __future__ import annotations

import struct
import threading
import time

import pytest
from attrs import define, field

from groupsim.cluster.tcp.memory import Memory
from groupsim.eventloop.units import SECOND_US
from groupsim.protocol.basics import Api
from tests.helpers.tcp_stage import Client, Stage, serving, text

LIST_ALL = struct.pack(">i", -1)
MEGABYTE = 1 << 20


@define(eq=False)
class Sink:
    """A reader that notes whether it may read."""

    reading: bool = True
    changes: list[bool] = field(factory=list)

    def stop_reading(self, stopped: bool) -> None:
        self.reading = not stopped
        self.changes.append(self.reading)


def test_beyond_the_limit_one_message_after_the_other_becomes_whole() -> None:
    """Over the limit only one reader goes on; when it is done the next does, and below the limit all do."""
    memory, (a, b, c) = Memory(3 * MEGABYTE), (Sink(), Sink(), Sink())
    for sink in (a, b, c):
        memory.holds(sink, MEGABYTE, unfinished=True)
    assert (a.reading, b.reading, c.reading) == (True, True, True)
    for sink in (a, b, c):
        memory.holds(sink, 2 * MEGABYTE, unfinished=True)
    assert (a.reading, b.reading, c.reading, memory.blocking) == (True, False, False, a)
    memory.holds(a, 4 * MEGABYTE, unfinished=False)
    assert (b.reading, c.reading, memory.blocking) == (True, False, b)
    memory.forget(b)
    memory.holds(a, 0, unfinished=False)
    assert (c.reading, memory.blocking, memory.held) == (True, None, 2 * MEGABYTE)


def test_small_messages_are_not_counted() -> None:
    """A message of one read is neither counted nor stopped."""
    memory, (large, small) = Memory(MEGABYTE), (Sink(), Sink())
    memory.holds(large, 2 * MEGABYTE, unfinished=True)
    memory.holds(small, 1_000, unfinished=True)
    assert (memory.held, small.changes) == (2 * MEGABYTE, [])


def _long_frame(client: Client, size: int) -> bytes:
    """A Metadata request that names one topic many times, in about so many bytes."""
    name = text("x" * 200)
    count = size // len(name)
    return client.frame(Api.METADATA, 1, struct.pack(">i", count) + name * count)


def _until(stage: Stage, queued: int) -> None:
    deadline = time.monotonic() + 20
    while stage.do(lambda _, listeners: listeners.queued) < queued:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_long_messages_beyond_the_limit_wait_their_turn() -> None:
    """Three messages of three megabytes under a limit of two: all become whole, one by one, and small ones pass by."""
    with serving(max_queued_bytes=2 * MEGABYTE) as stage, stage.client() as witness:
        clients = [stage.client() for _ in range(3)]
        frames = [_long_frame(client, 3 * MEGABYTE) for client in clients]
        for client, frame in zip(clients, frames, strict=True):
            client.socket.sendall(frame[:MEGABYTE])
        _until(stage, 2 * MEGABYTE)
        assert witness.ask(Api.METADATA, 1, LIST_ALL)
        rests = [
            threading.Thread(target=client.socket.sendall, args=(frame[MEGABYTE:],), daemon=True)
            for client, frame in zip(clients, frames, strict=True)
        ]
        for rest in rests:
            rest.start()
        for client in clients:
            assert client.receive()[0] == client.correlation
        for rest in rests:
            rest.join(20)
        assert stage.do(lambda _, listeners: listeners.queued) == 0
        for client in clients:
            client.socket.close()


def test_who_keeps_others_waiting_and_sends_nothing_is_closed() -> None:
    """A message that is begun and not ended, while others wait for the memory, costs its sender the connection."""
    limits = {"max_queued_bytes": MEGABYTE, "max_unread_us": SECOND_US // 2}
    with serving(**limits) as stage, stage.client() as idler, stage.client() as worker:
        idler.socket.sendall(_long_frame(idler, 3 * MEGABYTE)[: 2 * MEGABYTE])
        _until(stage, 2 * MEGABYTE - 70_000)
        worker.socket.sendall(_long_frame(worker, 3 * MEGABYTE))
        assert worker.receive()[0] == 1
        assert idler.is_closed()
    assert stage.notes.saying("others wait for the rest of its message")


def test_unread_responses_have_one_limit_together() -> None:
    """Beyond the limit the client that has read nothing for longest is cut off; a later one still gets its response."""
    names = b"".join(text(f"{number:0200}") for number in range(100_000))  # the response repeats the names: 20 MB
    with serving(max_unsent_bytes=21 * MEGABYTE) as stage, stage.client() as first, stage.client() as second:
        first.send(Api.METADATA, 4, struct.pack(">i", 100_000) + names + b"\0")
        while not stage.do(lambda _, listeners: listeners.unsent):
            time.sleep(0.02)
        second.send(Api.METADATA, 4, struct.pack(">i", 100_000) + names + b"\0")
        deadline = time.monotonic() + 30
        while not stage.notes.saying("hold too much memory"):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert len(second.receive()[1]) > 20_000_000
        with pytest.raises(ConnectionResetError):
            first.receive()


def test_a_client_that_never_reads_is_closed_in_the_end() -> None:
    """A response that is unread for too long closes its connection; Kafka would wait until the connection is idle."""
    with serving(max_unread_us=SECOND_US // 2) as stage, stage.client() as client:
        client.socket.setblocking(False)
        frames = b"".join(client.frame(Api.METADATA, 1, LIST_ALL) for _ in range(2_000))
        deadline = time.monotonic() + 30
        while not stage.notes.saying("its responses are not read"):
            assert time.monotonic() < deadline
            try:
                client.socket.send(frames)
            except BlockingIOError:
                time.sleep(0.01)
            except ConnectionError:
                break
        assert stage.notes.saying("its responses are not read")
