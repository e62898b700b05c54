"""The messages of a connection, cut from the bytes it reads, and the pauses of reading.

As Kafka's `SocketServer` mutes a channel, nothing is read while a message is unanswered. A long message counts in the
limit of all connections (`memory`) from its first bytes to its answer, and may have to wait for others.
"""

from __future__ import annotations

from collections import deque

from groupsim.cluster.tcp.memory import SMALL, LongMessageReader, Memory
from groupsim.eventloop.streams import TcpStream
from groupsim.protocol.wire import Frames


class Intake:
    """The waiting messages of one connection; `owner` is the key of its share of the memory."""

    __slots__ = ("_counted", "_frames", "_memory", "_owner", "_reading", "_stopped", "_stream", "_waiting", "size")

    def __init__(self, owner: LongMessageReader, stream: TcpStream, memory: Memory) -> None:
        self._owner = owner
        self._stream = stream
        self._memory = memory
        self._frames = Frames()
        self._waiting: deque[bytes] = deque()
        self._reading = True
        self._stopped = False  # by the memory
        self._counted = False  # whether the memory counts a long message
        self.size = 0  #: bytes of the current message, including the length before it

    def __bool__(self) -> bool:
        """Whether a whole message waits."""
        return bool(self._waiting)

    def feed(self, data: bytes) -> None:
        """Add bytes. Raises Unreadable for an impossible length."""
        self._waiting.extend(self._frames.feed(data))

    def take(self) -> bytes:
        """Return the next message, which becomes the current one."""
        frame = self._waiting.popleft()
        self.size = 4 + len(frame)
        if self._counted:
            self._memory.holds(self._owner, len(frame), unfinished=False)
        return frame

    def done(self) -> None:
        """End the current message."""
        if self._counted:
            self._counted = False
            self._memory.holds(self._owner, 0, unfinished=False)

    def count_unfinished(self) -> None:
        """Count a long message that is not complete yet in the memory."""
        held = self._frames.held
        if held > SMALL:
            self._counted = True
            self._memory.holds(self._owner, held, unfinished=True)

    def stop(self, stopped: bool) -> None:
        """Stop reading for the sake of the memory, or allow it again."""
        self._stopped = stopped

    def read_on(self, reading: bool) -> None:
        """Resume or pause reading from the client."""
        reading = reading and not self._stopped
        if reading != self._reading:
            self._reading = reading
            if reading:
                self._stream.resume()
            else:
                self._stream.pause()

    def clear(self) -> None:
        """Drop waiting messages and the share of the memory."""
        self._waiting.clear()
        self._memory.forget(self._owner)
