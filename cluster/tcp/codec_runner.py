"""Bytes to requests and answers to bytes, for one connection, without holding up the others.

A usual message is read and its response written on the spot. One with very many elements would hold the loop, and with
it every other client, for as long as a second: it is read, and its response written, in a thread beside the loop. The
connection has it in hand all the while, so its messages stay in order.

What the thread touches: the bytes and the answers, which are the connection's own and change no more, and the broker's
image, in which it looks names up (`metadata.BrokerMetadata` says what that asks of it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from groupsim.eventloop.interface import Host
from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.protocol.messages.group import Response
from groupsim.protocol.wire import Codec, Exchange, Lengthy, Understood, Unreadable

MOST_ELEMENTS = 2_000
"""Of a message that is read and answered on the spot: that takes some milliseconds."""


class Clerk:
    """Reads and writes for one connection. What is told comes on the spot, or later as an event of the host."""

    __slots__ = ("_codec", "_host", "_lengthy", "_loop", "_under_way")

    def __init__(self, loop: RealTimeLoop, host: Host, codec: Codec) -> None:
        self._loop = loop
        self._host = host
        self._codec = codec
        self._lengthy = False  # the message in hand
        self._under_way: object | None = None

    @property
    def at_work(self) -> bool:
        """Whether something is being read or written beside the loop."""
        return self._under_way is not None

    def read(self, frame: bytes, told: Callable[[Understood | Exception], None]) -> None:
        """Tell what a message says; Unreadable when it is none."""
        self._lengthy = False
        try:
            understood = self._codec.understand(frame, MOST_ELEMENTS)
        except Unreadable as error:
            told(error)
        except Lengthy:
            self._lengthy = True
            self._aside(partial(self._codec.understand, frame), told)
        else:
            told(understood)

    def write(
        self, exchange: Exchange, answers: Sequence[Response], told: Callable[[Exchange, bytes | Exception], None]
    ) -> None:
        """Tell the response to the message in hand; an error when it could not be made."""
        if self._lengthy:
            self._aside(partial(exchange.response, answers), partial(told, exchange))
            return
        made: bytes | Exception
        try:
            made = exchange.response(answers)
        except Exception as error:
            made = error
        told(exchange, made)

    def _aside(self, compute: Callable[[], Any], told: Callable[[Any], None]) -> None:
        self._under_way = work = object()

        def finish(result: Any) -> None:
            if self._under_way is work:  # else the connection has ended, or fallen silent
                self._under_way = None
                told(result)

        self._loop.aside(compute, partial(self._host.deliver, finish))

    def drop(self) -> None:
        """Nobody waits any more for what is under way."""
        self._under_way = None
