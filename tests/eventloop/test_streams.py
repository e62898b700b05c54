"""TCP in real time: what is written arrives, nothing a far end does ends the run."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.eventloop.realtime import RealTimeLoop, origin_of, run_realtime
from groupsim.eventloop.streams import Listener, TcpStream
from groupsim.eventloop.units import ms, seconds

PATIENCE_US = seconds(30)


class Echo:
    """Sends back what it gets; notes how it ends."""

    def __init__(self, stream: TcpStream) -> None:
        self.stream = stream
        self.got = b""
        self.end: str | None = None
        self.drains = 0

    def received(self, data: bytes) -> None:
        self.got += data
        if data == b"break":
            raise ZeroDivisionError("a receiver that raises")
        self.stream.write(data)

    def drained(self) -> None:
        self.drains += 1

    def ended(self, reason: str) -> None:
        self.end = reason


class Bench:
    """A listener whose connections echo, in a real-time loop; the client is a plain socket in non-blocking mode."""

    def __init__(self, loop: RealTimeLoop) -> None:
        self.loop = loop
        self.echoes: list[Echo] = []
        self.errors: list[str] = []
        self.listener = Listener(
            loop, "127.0.0.1", 0, self._accepted, lambda error, where: self.errors.append(repr(error))
        )

    def _accepted(self, stream: TcpStream) -> Echo:
        self.echoes.append(Echo(stream))
        return self.echoes[-1]

    async def connect(self) -> tuple[socket.socket, Echo]:
        before = len(self.echoes)
        client = socket.create_connection(("127.0.0.1", self.listener.port), timeout=30)
        client.setblocking(False)
        assert await self.loop.until(lambda: len(self.echoes) > before, PATIENCE_US)
        return client, self.echoes[-1]

    async def read(self, client: socket.socket, size: int) -> bytes:
        """So many bytes; fewer when the connection ends first."""
        data = b""
        while len(data) < size:
            try:
                piece = client.recv(size - len(data))
            except BlockingIOError:
                await self.loop.sleep(ms(1))
                continue
            except ConnectionResetError:
                return data + b"<reset>"
            if not piece:
                break
            data += piece
        return data


def bench(task: Callable[[Bench], Awaitable[None]]) -> None:
    """Run a task with a bench."""

    async def main(loop: RealTimeLoop) -> None:
        made = Bench(loop)
        try:
            await task(made)
        finally:
            made.listener.close()

    run_realtime(main)


def test_what_is_written_arrives() -> None:
    """Bytes come as they were sent, and the answer goes back; the end of the client is told."""

    async def task(made: Bench) -> None:
        client, echo = await made.connect()
        client.send(b"hello")
        assert await made.read(client, 5) == b"hello"
        client.close()
        assert await made.loop.until(lambda: echo.end is not None, PATIENCE_US)

    bench(task)


def test_what_the_kernel_does_not_take_waits_in_order() -> None:
    """A big piece leaves as the client reads it, whole and in order; then `drained` is called."""
    big = bytes(range(256)) * 80_000

    async def task(made: Bench) -> None:
        client, echo = await made.connect()
        echo.stream.write(big)
        echo.stream.write(b"end")
        assert echo.stream.unsent > 0
        assert await made.read(client, len(big) + 3) == big + b"end"
        assert await made.loop.until(lambda: echo.drains == 1, PATIENCE_US)
        assert echo.stream.unsent == 0
        client.close()

    bench(task)


def test_nothing_is_read_while_paused() -> None:
    """What is sent to a paused connection stays in the kernel until `resume`."""

    async def task(made: Bench) -> None:
        client, echo = await made.connect()
        echo.stream.pause()
        client.send(b"later")
        await made.loop.sleep(ms(50))
        assert echo.got == b""
        echo.stream.resume()
        assert await made.read(client, 5) == b"later"
        client.close()

    bench(task)


def test_an_error_in_a_receiver_ends_its_connection_alone() -> None:
    """A receiver that raises loses its connection, the error is handed over, others go on."""

    async def task(made: Bench) -> None:
        client, _ = await made.connect()
        other, _ = await made.connect()
        client.send(b"break")
        assert await made.read(client, 1) in (b"", b"<reset>")
        other.send(b"still")
        assert await made.read(other, 5) == b"still"
        assert made.errors == ["ZeroDivisionError('a receiver that raises')"]
        client.close()
        other.close()

    bench(task)


def test_abort_resets_and_close_does_not() -> None:
    """`abort` is seen as a reset at once; `close` as an end, after all that was written."""

    async def task(made: Bench) -> None:
        client, echo = await made.connect()
        echo.stream.abort()
        assert await made.read(client, 1) == b"<reset>"
        other, echo = await made.connect()
        echo.stream.write(b"bye")
        echo.stream.close()
        assert await made.read(other, 10) == b"bye"
        client.close()
        other.close()

    bench(task)


def test_a_shut_listener_refuses_and_keeps_its_port() -> None:
    """While shut, connections are refused; `listen` opens the same port again."""

    async def task(made: Bench) -> None:
        port = made.listener.port
        made.listener.shut()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=30)
        taken = socket.socket()
        with pytest.raises(OSError, match="in use"):
            taken.bind(("127.0.0.1", port))
        taken.close()
        made.listener.listen()
        client, _ = await made.connect()
        client.send(b"back")
        assert await made.read(client, 4) == b"back"
        client.close()

    bench(task)


def test_the_end_of_the_run_closes_everything() -> None:
    """When main ends, connections end, and the port is free again."""
    seen: list[Any] = []

    async def main(loop: RealTimeLoop) -> None:
        made = Bench(loop)
        client, _ = await made.connect()
        seen.extend([client, made.listener.port])

    thread = threading.Thread(target=run_realtime, args=(main,), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    client, port = seen
    client.settimeout(30)
    try:
        assert client.recv(1) == b""
    except ConnectionResetError:
        pass
    client.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=30)


def test_a_loop_may_begin_at_an_origin_and_outlive_errors() -> None:
    """`now_us` starts at the origin; with `on_error` a callback that raises is reported and the run goes on."""
    told: list[str] = []

    async def main(loop: RealTimeLoop) -> str:
        loop.on_error = lambda error, where: told.append(f"{error!r} in {where}")
        loop.call_at(loop.now_us, lambda _: 1 // 0)
        await loop.sleep(ms(5))
        return "alive"

    origin = origin_of(1_767_225_600_000)
    loop = RealTimeLoop(origin_us=origin)
    assert loop.now_us >= origin
    assert loop.run(main) == "alive"
    assert len(told) == 1
    assert told[0].startswith("ZeroDivisionError")
