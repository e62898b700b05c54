"""What a connection reads: bytes cut into messages, and when to read on.

As Kafka mutes a channel, so nothing is read while a message is in hand. A long message counts in the memory of all
(`memory`) from when it begins to come until it is done with, and may be told to wait for others.
"""

from __future__ import annotations

from collections import deque

from groupsim.cluster.tcp.memory import SMALL, LongMessageReader, Memory
from groupsim.eventloop.streams import TcpStream
from groupsim.protocol.wire import Frames


class Intake:
    """The messages of one connection that wait to be taken; `owner` is whom the memory knows."""

    __slots__ = ("_counted", "_frames", "_memory", "_owner", "_reading", "_stopped", "_stream", "_waiting", "size")

    def __init__(self, owner: LongMessageReader, stream: TcpStream, memory: Memory) -> None:
        self._owner = owner
        self._stream = stream
        self._memory = memory
        self._frames = Frames()
        self._waiting: deque[bytes] = deque()
        self._reading = True
        self._stopped = False  # by the memory
        self._counted = False  # the memory has been told of a long message
        self.size = 0  #: of the message in hand, with the length that goes before it, in bytes

    def __bool__(self) -> bool:
        """Whether a whole message waits."""
        return bool(self._waiting)

    def feed(self, data: bytes) -> None:
        """Take bytes in. Raises Unreadable for a length that cannot be."""
        self._waiting.extend(self._frames.feed(data))

    def take(self) -> bytes:
        """The next message, which is in hand from now on."""
        frame = self._waiting.popleft()
        self.size = 4 + len(frame)
        if self._counted:
            self._memory.holds(self._owner, len(frame), unfinished=False)
        return frame

    def done(self) -> None:
        """The message in hand is done with."""
        if self._counted:
            self._counted = False
            self._memory.holds(self._owner, 0, unfinished=False)

    def count_unfinished(self) -> None:
        """Tell the memory of a long message that is not whole yet."""
        held = self._frames.held
        if held > SMALL:
            self._counted = True
            self._memory.holds(self._owner, held, unfinished=True)

    def stop(self, stopped: bool) -> None:
        """The memory says that nothing is to be read, or that it may be."""
        self._stopped = stopped

    def read_on(self, reading: bool) -> None:
        """Read from the far end from now on, or do not."""
        reading = reading and not self._stopped
        if reading != self._reading:
            self._reading = reading
            if reading:
                self._stream.resume()
            else:
                self._stream.pause()

    def clear(self) -> None:
        """Forget what waits, and what the memory counts."""
        self._waiting.clear()
        self._memory.forget(self._owner)
