"""The push model, for comparison: a broker pushes records as they arrive, whether or not the consumer has room.

Kafka's consumers pull: a partition with buffered records is not fetched, so a slow consumer holds one piece of each
partition, and the rest stays in the log. Here the broker sends records as soon as they can be read (`pushes.py`), even
if earlier ones have not arrived and the application does not poll. Records beyond the network's capacity wait on the
link, ahead of other traffic; records beyond the application's capacity stay in the client's memory. Past a limit the
process is killed, as by a container's memory limit. None of those records was committed, so the next owners receive
all of them again.

No Kafka client works like this. Buffered records are dropped and pushed again when a partition's leader changes. Here
`state.offset` is the offset of the next arriving record; `positions` are those of the application, as elsewhere.

Source: Kafka documentation, design: push vs. pull.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from groupsim.eventloop.trace.events import Kind
from groupsim.members.fetch.fetcher import Piece, PullFetcher
from groupsim.members.fetch.pushes import Pushes
from groupsim.members.fetch.state import FetchState, Flight, PartitionState
from groupsim.members.interfaces import Fetched
from groupsim.members.member import Member
from groupsim.protocol.messages.data import FetchResponse

_MARKS = 8  # an event at each eighth of the limit


class PushFetcher(PullFetcher):
    """A buffer that grows as records arrive; `overflow` is called once when it exceeds `limit` bytes."""

    __slots__ = ("_bytes", "_limit", "_mark", "_overflow")

    def __init__(self, member: Member, limit: int, overflow: Callable[[str], None]) -> None:
        super().__init__(member)
        self._flights = Pushes(member, self._leaders, self._states, self._arrived, self._lost)
        self._limit = limit
        self._overflow = overflow
        self._bytes = 0  # bytes of the buffered pieces
        self._mark = 0

    # -- arrivals -----------------------------------------------------------------------------------------------

    def _arrived(self, flight: Flight, response: FetchResponse) -> None:
        super()._arrived(flight, response)
        for piece in self._new(response):
            if piece.data.batches:
                self._take_in(piece)
            self._make_ready(piece.state)
        self._emit_growth()
        if self._flights.ready and not self._member.closing:
            self._flights.send()

    def _new(self, response: FetchResponse) -> list[Piece]:
        """Return the pieces of this response, which are the last of the buffer."""
        last = list(islice(reversed(self._buffer), len(response.partitions)))
        return [piece for piece in reversed(last) if any(piece.data is data for data in response.partitions)]

    def _take_in(self, piece: Piece) -> None:
        """Count a piece; drop one that does not continue the last: an old leader sent it, and it comes again."""
        state = piece.state
        if piece.offset == state.offset:
            state.offset = max(state.offset, piece.data.batches[-1].next_offset)
            self._bytes += _size(piece)
        else:
            self._buffer.remove(piece)
            state.buffered -= 1

    def _emit_growth(self) -> None:
        """Emit each eighth of the limit once; end the process at the limit."""
        mark = min(self._bytes * _MARKS // self._limit, _MARKS)
        if mark <= self._mark:
            return
        self._mark = mark
        member = self._member
        payload = {"bytes": self._bytes, "limit": self._limit, "pieces": len(self._buffer)}
        member.emit(Kind.BUFFER_GREW, payload=payload)
        if mark == _MARKS:
            member.host.call_at(member.now_us, self._exceed_limit)

    def _exceed_limit(self, _: Any) -> None:
        self._overflow(f"out of memory: {self._bytes:,} bytes pushed and not handled, the limit is {self._limit:,}")

    def _make_ready(self, state: PartitionState) -> None:
        """Queue a partition for more records, even if some are buffered."""
        if state.state is not FetchState.FETCHING or state.flight is not None:
            return
        if state.not_before_us > self._member.loop.now_us or state.partition in self._held:
            return
        self._flights.ready[state.partition] = state

    def _look_at_leader(self, state: PartitionState) -> None:
        """Continue with a new leader from the application's position: the rest is pushed again."""
        ahead, before = state.offset, state.leader
        state.offset = self.positions.get(state.partition, ahead)
        super()._look_at_leader(state)
        if state.leader == before:
            state.offset = max(state.offset, ahead)
        else:
            self._forget(state)

    def _forget(self, state: PartitionState) -> None:
        kept = [piece for piece in self._buffer if piece.state is not state]
        self._buffer.clear()
        self._buffer.extend(kept)
        state.buffered = 0
        self._bytes = sum(map(_size, kept))

    # -- poll ---------------------------------------------------------------------------------------------------

    def _drain(self) -> tuple[Fetched, ...]:
        taken = super()._drain()
        self._bytes = sum(map(_size, self._buffer))
        return taken

    def _drop_unwanted(self) -> None:
        super()._drop_unwanted()
        self._bytes = sum(map(_size, self._buffer))

    def _is_usable(self, piece: Piece) -> bool:
        """Check a piece as when pulling, with the application's position in place of that of arrivals."""
        state, ahead = piece.state, piece.state.offset
        if state.state is not FetchState.FETCHING:
            return False
        state.offset = self.positions.get(state.partition, piece.offset)
        try:
            return super()._is_usable(piece)
        finally:
            if state.state is FetchState.FETCHING:
                state.offset = max(state.offset, ahead)

    def _go_to(self, piece: Piece, offset: int) -> None:
        piece.offset = self.positions[piece.state.partition] = offset

    def _adopt(self, state: PartitionState) -> None:
        """Apply a position; the application's own stays while records are buffered."""
        if not state.buffered or state.partition not in self.positions:
            self.positions[state.partition] = state.offset
        self._make_ready(state)


def _size(piece: Piece) -> int:
    return sum(batch.size for batch in piece.data.batches)
