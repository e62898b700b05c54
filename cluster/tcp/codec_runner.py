"""Decoding of requests and encoding of responses for one connection, without delay for the others.

A usual message is decoded, and its response encoded, at once. A message with very many elements would block the loop,
and with it every other client, for up to a second, so a thread decodes it and encodes its response. It stays the
connection's current message meanwhile, so messages stay in order.

The thread uses the bytes and the answers, which belong to the connection and do not change, and the broker's image, in
which it looks names up (see `metadata.BrokerMetadata`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from groupsim.eventloop.interface import Host
from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.protocol.messages.group import Response
from groupsim.protocol.wire import Codec, Exchange, Lengthy, Understood, Unreadable

MAX_ELEMENTS = 2_000
"""Elements of a message that is decoded at once, which takes some milliseconds."""


class CodecRunner:
    """Decodes and encodes for one connection. Callbacks are called at once, or later as an event of the host."""

    __slots__ = ("_codec", "_host", "_in_thread", "_loop", "_pending")

    def __init__(self, loop: RealTimeLoop, host: Host, codec: Codec) -> None:
        self._loop = loop
        self._host = host
        self._codec = codec
        self._in_thread = False  # whether the current message is
        self._pending: object | None = None

    @property
    def at_work(self) -> bool:
        """Whether a thread decodes or encodes at the moment."""
        return self._pending is not None

    def read(self, frame: bytes, on_read: Callable[[Understood | Exception], None]) -> None:
        """Decode a message; the callback gets Unreadable for an invalid one."""
        self._in_thread = False
        try:
            understood = self._codec.understand(frame, MAX_ELEMENTS)
        except Unreadable as error:
            on_read(error)
        except Lengthy:
            self._in_thread = True
            self._aside(partial(self._codec.understand, frame), on_read)
        else:
            on_read(understood)

    def write(
        self, exchange: Exchange, answers: Sequence[Response], on_written: Callable[[Exchange, bytes | Exception], None]
    ) -> None:
        """Encode the response to the current message; the callback gets an error when that failed."""
        if self._in_thread:
            self._aside(partial(exchange.response, answers), partial(on_written, exchange))
            return
        encoded: bytes | Exception
        try:
            encoded = exchange.response(answers)
        except Exception as error:
            encoded = error
        on_written(exchange, encoded)

    def _aside(self, compute: Callable[[], Any], on_done: Callable[[Any], None]) -> None:
        self._pending = work = object()

        def finish(result: Any) -> None:
            if self._pending is work:  # else the connection has ended or is silent
                self._pending = None
                on_done(result)

        self._loop.aside(compute, partial(self._host.deliver, finish))

    def drop(self) -> None:
        """Ignore the result of the running thread."""
        self._pending = None
