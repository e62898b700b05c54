"""TCP in real time: listening sockets and connections as callbacks, so that no other room needs trio.

A listener calls `accepted` with every new connection, which returns its `Receiver`; from then on bytes come as calls of
`received`, and written bytes leave in their order. Nothing here waits: `write` gives the bytes to the kernel at once,
and the rest stays with the connection until the kernel takes it (`unsent`; `drained` is called when all of it has
gone). A receiver that cannot keep up calls `pause`, and nothing is read until `resume`: the peer's bytes stay in the
kernel then, and TCP slows it down.

Each listening socket, and each connection, has one task of the loop for reading, and one more while bytes are unsent;
they are cancelled with all the others when the run ends. An error of a socket (a reset, a closed peer) ends that
connection and calls `ended`; an error in a receiver ends its connection too, and is passed to the `on_error` of the
listener. No action of a peer can end the run.

A listener that refuses connections but keeps its port (`shut`) has a bound socket
that does not listen.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import Protocol

import trio

from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.eventloop.units import MS_US, SECOND_US

READ_BYTES = 65_536
_ACCEPTS_PER_TURN = 64
_WAIT_FOR_FILES_US = 100 * MS_US
_OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: on, for no time
_LINGER_US = 10 * SECOND_US
_END = "the client closed the connection"


class Receiver(Protocol):
    """The owner of a connection, called with its events."""

    def received(self, data: bytes) -> None:
        """Take bytes."""

    def drained(self) -> None:
        """Take notice that all written bytes are with the kernel, after some of them had to wait."""

    def ended(self, reason: str) -> None:
        """Take notice of the end of the connection, by the peer or an error; not called after a `close` of our own."""


class TcpStream:
    """One connection; `peer` is the peer's address and port, `active_us` when bytes last moved."""

    __slots__ = (
        "_closing",
        "_flushing",
        "_gone",
        "_loop",
        "_reading",
        "_receiver",
        "_resumed",
        "_siblings",
        "_socket",
        "_unsent",
        "active_us",
        "on_error",
        "peer",
        "unsent",
    )

    def __init__(
        self,
        loop: RealTimeLoop,
        sock: socket.socket,
        on_error: Callable[[Exception, str], None],
        siblings: dict[TcpStream, None],
    ) -> None:
        """`siblings` are the open connections of a listener: this one adds and removes itself."""
        self._loop = loop
        self._socket = sock
        self._receiver: Receiver | None = None
        self._unsent: deque[memoryview] = deque()
        self._flushing = False
        self._closing = False
        self._gone = False
        self._reading = True
        self._resumed: trio.Event | None = None
        self.on_error = on_error
        self.peer = _peer(sock)
        self.unsent = 0
        self.active_us = loop.now_us
        self._siblings = siblings
        siblings[self] = None

    def start(self, receiver: Receiver) -> None:
        """Begin to read; nothing happens when it was closed meanwhile."""
        if self._gone:
            return
        self._receiver = receiver
        self._loop.start_soon(self._read, name=f"read {self.peer[0]}:{self.peer[1]}")

    @property
    def open(self) -> bool:
        """Whether bytes can still be written."""
        return not self._gone and not self._closing

    # --- writing -----------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send bytes, now or when the kernel takes them; dropped when the connection is closed."""
        if not self.open:
            return
        sent = 0
        if not self._unsent:
            try:
                sent = self._socket.send(data)
                self.active_us = self._loop.now_us
            except (BlockingIOError, InterruptedError):
                pass
            except OSError as error:
                self._lost(_words(error))
                return
        if sent < len(data):
            self._unsent.append(memoryview(data)[sent:])
            self.unsent += len(data) - sent
            if not self._flushing:
                self._flushing = True
                self._loop.start_soon(self._flush, name=f"write {self.peer[0]}:{self.peer[1]}")

    async def _flush(self) -> None:
        """Send the bytes that the kernel did not take at once."""
        try:
            while self._unsent and self._receiver is not None:
                await trio.lowlevel.wait_writable(self._socket)
                self._send_some()
        except (OSError, trio.ClosedResourceError) as error:
            self._lost(_words(error))
        finally:
            self._flushing = False
        if self._receiver is None:
            return
        if self._closing:
            self._shut()
        else:
            self._guarded(self._receiver.drained)

    def _send_some(self) -> None:
        """Send once; drop the views that have gone."""
        try:
            sent = self._socket.send(self._unsent[0])
        except (BlockingIOError, InterruptedError):
            return
        self.active_us = self._loop.now_us
        self.unsent -= sent
        if sent == len(self._unsent[0]):
            self._unsent.popleft()
        else:
            self._unsent[0] = self._unsent[0][sent:]

    # --- reading -----------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Read nothing until `resume`."""
        self._reading = False

    def resume(self) -> None:
        """Read again."""
        self._reading = True
        if self._resumed is not None:
            self._resumed.set()

    async def _read(self) -> None:
        """Read until either side closes."""
        try:
            while self._receiver is not None:
                if not self._reading:
                    self._resumed = trio.Event()
                    await self._resumed.wait()
                    self._resumed = None
                    continue
                await trio.lowlevel.wait_readable(self._socket)
                if self._reading and self._receiver is not None:
                    self._read_some(self._receiver)
        except (OSError, trio.ClosedResourceError) as error:
            self._lost(_words(error))
        finally:
            if self._receiver is not None:  # the run is over
                self._shut()

    def _read_some(self, receiver: Receiver) -> None:
        try:
            data = self._socket.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        if not data:
            self._lost(_END)
            return
        self.active_us = self._loop.now_us
        self._guarded(receiver.received, data)

    def _guarded(self, call: Callable[..., None], *args: object) -> None:
        """Call the receiver; its error ends this connection and nothing else."""
        try:
            self._loop.from_outside(call, *args)
        except Exception as error:
            self.on_error(error, f"connection of {self.peer[0]}:{self.peer[1]}")
            self._lost("an error in this process")

    # --- the end -----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close after all written bytes have gone, at most ten seconds from now; nothing more is read."""
        if not self.open:
            return
        self.pause()
        if self._unsent:
            self._closing = True
            self._loop.call_at(self._loop.now_us + _LINGER_US, lambda _: self.abort())
        else:
            self._shut()

    def abort(self) -> None:
        """Close at once; the peer sees a reset."""
        if self._gone:
            return
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        except OSError:  # it is gone already
            pass
        self._shut()

    def _lost(self, reason: str) -> None:
        receiver = self._receiver
        if receiver is not None:
            self._shut()
            try:
                self._loop.from_outside(receiver.ended, reason)
            except Exception as error:
                self.on_error(error, f"end of the connection of {self.peer[0]}:{self.peer[1]}")

    def _shut(self) -> None:
        """Close the socket and let its tasks end."""
        self._gone = True
        self._receiver = None
        self._siblings.pop(self, None)
        self._unsent.clear()
        self.unsent = 0
        trio.lowlevel.notify_closing(self._socket)
        self._socket.close()
        self.resume()


class Listener:
    """A port. `accepted` is called with every new connection; it returns the receiver, or None to refuse."""

    def __init__(
        self,
        loop: RealTimeLoop,
        host: str,
        port: int,
        accepted: Callable[[TcpStream], Receiver | None],
        on_error: Callable[[Exception, str], None],
        *,
        backlog: int = 512,
    ) -> None:
        """Bind and listen. `port` 0 takes any free one; `on_error` is called with errors in receivers, and the place.

        Raises OSError when the address is not available.
        """
        self._loop = loop
        self._accepted = accepted
        self._on_error = on_error
        self._backlog = backlog
        self._streams: dict[TcpStream, None] = {}
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self._family, self._address = family[0], family[4]
        self._socket: socket.socket | None = self._bound()
        self.host, self.port = self._socket.getsockname()[:2]
        self._address = self._socket.getsockname()
        self.listening = False
        self.listen()

    def _bound(self) -> socket.socket:
        sock = socket.socket(self._family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(self._address)
        except OSError:
            sock.close()
            raise
        return sock

    def listen(self) -> None:
        """Accept connections (again); nothing happens when it does already."""
        if self.listening or self._socket is None:
            return
        self._socket.listen(self._backlog)
        self.listening = True
        self._loop.start_soon(self._accept, self._socket, name=f"accept at {self.host}:{self.port}")

    def shut(self) -> None:
        """Refuse connections, and keep the port; `listen` opens it again. Raises OSError when it was taken."""
        if not self.listening or self._socket is None:
            return
        self._let_go(self._socket)
        self._socket = self._bound()

    def close(self) -> None:
        """Release the port."""
        if self._socket is not None:
            self._let_go(self._socket)
            self._socket = None

    def _let_go(self, sock: socket.socket) -> None:
        if self.listening:
            self.listening = False
            trio.lowlevel.notify_closing(sock)
        sock.close()

    async def _accept(self, sock: socket.socket) -> None:
        """Take connections until the socket is closed."""
        try:
            while self.listening and sock is self._socket:
                await trio.lowlevel.wait_readable(sock)
                if not self._accept_some(sock):
                    await self._loop.sleep(_WAIT_FOR_FILES_US)
        except trio.ClosedResourceError:
            pass
        finally:
            if sock is self._socket and self.listening:  # the run is over, also for tasks that never began
                self.close()
                for stream in tuple(self._streams):
                    stream.abort()

    def _accept_some(self, sock: socket.socket) -> bool:
        """Accept the waiting connections, a few at a time; return False when no file descriptor is left."""
        for _ in range(_ACCEPTS_PER_TURN):
            if sock is not self._socket or not self.listening:
                return True
            try:
                taken, _address = sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return True
            except OSError as error:
                if error.errno in _OUT_OF_FILES:
                    self._on_error(error, f"port {self.port}")
                    return False
                return True
            self._begin(taken)
        return True

    def _begin(self, sock: socket.socket) -> None:
        """Pass on a new connection."""
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = TcpStream(self._loop, sock, self._on_error, self._streams)
        except OSError:  # reset before it was accepted
            sock.close()
            return
        try:
            receiver = self._loop.from_outside(self._accepted, connection)
        except Exception as error:
            self._on_error(error, f"port {self.port}")
            receiver = None
        if receiver is None:
            connection.close()
        else:
            connection.start(receiver)


def _peer(sock: socket.socket) -> tuple[str, int]:
    """Return address and port of the peer. Raises OSError when it is closed."""
    name = sock.getpeername()
    return str(name[0]), int(name[1])


def _words(error: BaseException) -> str:
    """Return the reason for which a socket failed, for the log."""
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
