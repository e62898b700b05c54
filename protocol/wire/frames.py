"""Frames: a message on the wire is its length, four bytes, and its bytes (`NetworkReceive`)."""

from __future__ import annotations

from groupsim.protocol.wire.exchange import Unreadable

LARGEST = 104_857_600
"""Kafka's `socket.request.max.bytes`."""

_SIZE = 4
_FOREIGN = {b"GET ": "HTTP", b"POST": "HTTP", b"HEAD": "HTTP", b"\x16\x03\x01": "TLS", b"\x16\x03\x03": "TLS"}
"""The first bytes of messages for another port, or for another kind of listener."""


class Frames:
    """The bytes of one connection, cut into messages. Holds the start of one message at most."""

    __slots__ = ("_held", "_limit", "_size")

    def __init__(self, limit: int = LARGEST) -> None:
        self._limit = limit
        self._held = bytearray()
        self._size = -1  # of the incomplete message; -1: its length is incomplete

    @property
    def held(self) -> int:
        """The number of bytes of the incomplete message."""
        return len(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that are complete now, without their length.

        Raises Unreadable as soon as a length is negative or above the limit; the connection cannot be used then.
        """
        held = self._held
        if (
            not held
            and len(data) >= _SIZE
            and self._checked(int.from_bytes(data[:_SIZE], "big", signed=True)) == (len(data) - _SIZE)
        ):
            return [data[_SIZE:]]  # one complete message, the usual case, is not copied
        held += data
        whole = []
        at = 0
        while self._begun(at) and len(held) - at >= _SIZE + self._size:
            end = at + _SIZE + self._size
            whole.append(bytes(memoryview(held)[at + _SIZE : end]))
            at, self._size = end, -1
        del held[:at]
        return whole

    def _begun(self, at: int) -> bool:
        """Whether the length of the message that starts at `at` is known."""
        if self._size < 0 and len(self._held) - at >= _SIZE:
            self._size = self._checked(int.from_bytes(self._held[at : at + _SIZE], "big", signed=True))
        return self._size >= 0

    def _checked(self, size: int) -> int:
        if not 0 <= size <= self._limit:
            taken = f"between 0 and {self._limit} (socket.request.max.bytes) is allowed"
            raise Unreadable(f"a message of size {size}: {taken}{_guess(size)}")
        return size


def _guess(size: int) -> str:
    """Return a note on the protocol whose messages begin with the bytes of an invalid length."""
    begins = size.to_bytes(_SIZE, "big", signed=True)
    kinds = (kind for start, kind in _FOREIGN.items() if begins.startswith(start))
    kind = next(kinds, None)
    return "" if kind is None else f"; it begins as {kind} does, and this port expects Kafka's protocol in plain text"
