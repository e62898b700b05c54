"""A limit on the memory of long messages, over all connections of a cluster: `queued.max.request.bytes`.

A message up to one read is not counted, so small requests are always served. A long message counts from its first bytes
to its answer. Beyond the limit only one connection with an incomplete long message is read: so messages complete one
after the other and free their memory. When that connection sends nothing for too long it has to be closed (`blocking`),
because all others wait for it.

Kafka reserves the whole size of every message when its length is known, and its default is without limit.
"""

from __future__ import annotations

from typing import Final, Protocol

from groupsim.eventloop.streams import READ_BYTES

MAX_QUEUED_BYTES: Final = 512 << 20
SMALL: Final = READ_BYTES


class LongMessageReader(Protocol):
    """A reader of long messages."""

    def stop_reading(self, stopped: bool) -> None:
        """Stop or resume reading."""


class Memory:
    """The memory of long messages; `held` is in bytes."""

    def __init__(self, limit: int = MAX_QUEUED_BYTES) -> None:
        self.held = 0
        self._limit = limit
        self._sizes: dict[LongMessageReader, int] = {}
        self._stopped: dict[LongMessageReader, None] = {}  # in the order of their resumption
        self._alone: LongMessageReader | None = None

    @property
    def blocking(self) -> LongMessageReader | None:
        """The reader that others wait for; None when none waits."""
        return self._alone if self._stopped else None

    def holds(self, reader: LongMessageReader, size: int, *, unfinished: bool) -> None:
        """Set the bytes of a reader; `unfinished` means that its message is incomplete."""
        before = self._sizes.pop(reader, 0)
        if size <= SMALL:
            size = 0
        else:
            self._sizes[reader] = size
        self.held += size - before
        if not (size and unfinished):
            self._leave(reader)
        elif self.held > self._limit and reader is not self._alone:
            self._wait(reader)
        self._resume()

    def forget(self, reader: LongMessageReader) -> None:
        """Remove a reader and its bytes."""
        if reader in self._sizes:
            self.holds(reader, 0, unfinished=False)

    def _wait(self, reader: LongMessageReader) -> None:
        if self._alone is None:
            self._alone = reader
        elif reader not in self._stopped:
            self._stopped[reader] = None
            reader.stop_reading(True)

    def _leave(self, reader: LongMessageReader) -> None:
        self._stopped.pop(reader, None)
        if self._alone is reader:
            self._alone = None

    def _resume(self) -> None:
        """Resume all stopped readers below the limit, else the one that has waited longest."""
        if self.held <= self._limit:
            self._alone = None
        while self._stopped and (self.held <= self._limit or self._alone is None):
            first = next(iter(self._stopped))
            del self._stopped[first]
            if self.held > self._limit:
                self._alone = first
            first.stop_reading(False)
