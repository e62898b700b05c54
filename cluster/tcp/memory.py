"""How much memory long messages may take, over all connections of a cluster: `queued.max.request.bytes`.

A message up to one read is not counted: small requests are served whatever happens. Of long ones each counts from when
it begins to come until it is answered. Beyond the limit, connections amid a long message are not read from, but for
one: so messages become whole one after the other, and memory is free again. Whoever is read from alone and sends
nothing for too long is to be closed (`in_the_way`), for all others wait for him.

Kafka reserves a message's whole size when its length is known, small ones too, and its default is no limit.
"""

from __future__ import annotations

from typing import Final, Protocol

from groupsim.eventloop.streams import READ_BYTES

MAX_QUEUED_BYTES: Final = 512 << 20
SMALL: Final = READ_BYTES


class LongMessageReader(Protocol):
    """Who takes long messages in."""

    def stop_reading(self, stopped: bool) -> None:
        """Read nothing from now on, or read on."""


class Memory:
    """What long messages hold. `held` is told in bytes."""

    def __init__(self, limit: int = MAX_QUEUED_BYTES) -> None:
        self.held = 0
        self._limit = limit
        self._sizes: dict[LongMessageReader, int] = {}
        self._stopped: dict[LongMessageReader, None] = {}  # in the order in which they will go on
        self._alone: LongMessageReader | None = None

    @property
    def in_the_way(self) -> LongMessageReader | None:
        """For whom others wait, if any do."""
        return self._alone if self._stopped else None

    def holds(self, who: LongMessageReader, size: int, *, unfinished: bool) -> None:
        """A reader holds so many bytes now; `unfinished` when it needs more to make a message whole."""
        before = self._sizes.pop(who, 0)
        if size <= SMALL:
            size = 0
        else:
            self._sizes[who] = size
        self.held += size - before
        if not (size and unfinished):
            self._leave(who)
        elif self.held > self._limit and who is not self._alone:
            self._wait(who)
        self._let_on()

    def forget(self, who: LongMessageReader) -> None:
        """A reader is gone, with all that it held."""
        if who in self._sizes:
            self.holds(who, 0, unfinished=False)

    def _wait(self, who: LongMessageReader) -> None:
        if self._alone is None:
            self._alone = who
        elif who not in self._stopped:
            self._stopped[who] = None
            who.stop_reading(True)

    def _leave(self, who: LongMessageReader) -> None:
        self._stopped.pop(who, None)
        if self._alone is who:
            self._alone = None

    def _let_on(self) -> None:
        """Whoever may read on does: all of them, or the one who has waited longest."""
        if self.held <= self._limit:
            self._alone = None
        while self._stopped and (self.held <= self._limit or self._alone is None):
            first = next(iter(self._stopped))
            del self._stopped[first]
            if self.held > self._limit:
                self._alone = first
            first.stop_reading(False)
