"""Records on the light cluster: one fetch in flight for all partitions.

Ranges of records arrive in a buffer. The next fetch is sent as soon as a poll has taken some, as in Java, so records
travel while the application works. In a quiet group one fetch waits without a timeout and costs nothing. Fetch settings
have no effect: there are no bytes, leaders or long polls.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from groupsim.members.fetch.positions import Fetcher, no_offset
from groupsim.members.interfaces import Data, Fetched, FetchFailed
from groupsim.members.member import Member
from groupsim.protocol.messages.group import NO_OFFSET, FetchedOffset, TopicPartition

_SMALLEST_FETCH = 500


class LightFetcher(Fetcher):
    """The one fetch and the buffer."""

    __slots__ = ("_buffer", "_data", "_fetching", "_most_a_poll", "_reader")

    def __init__(self, member: Member, data: Data) -> None:
        super().__init__(member)
        self._data = data
        self._most_a_poll = member.settings.max_poll_records
        most = max(_SMALLEST_FETCH, self._most_a_poll)
        self._reader = data.reader(member.host.name, most, self._fetched)
        self._fetching = False
        self._buffer: list[Fetched] = []

    def _drop_unwanted(self) -> None:
        if self._buffer:
            owned, held = self._member.ownership.owned, self._held
            self._buffer = [found for found in self._buffer if found.partition in owned and found.partition not in held]
        self._give_up_fetch()

    # -- positions ----------------------------------------------------------------------------------------------

    def _start(self, committed: tuple[FetchedOffset, ...]) -> None:
        """Begin at the committed offsets; without one request the ends of the log."""
        without = []
        for entry in committed:
            if entry.offset == NO_OFFSET:
                without.append(entry.partition)
            else:
                self._set_position(entry.partition, entry.offset, "committed")
        if without:
            self._reset(tuple(without))
        member = self._member
        owes = member.membership.owes_heartbeat or member.commits.owed  # a check of `poll` sends them
        if owes or self.positions or len(self._looking_up) != len(member.ownership.owned):
            self._widen_fetch()  # else no partition has a position yet

    def _reset(self, partitions: tuple[TopicPartition, ...]) -> None:
        member = self._member
        if member.settings.auto_offset_reset == "none":
            member.fail(no_offset(partitions))
            return
        self._looking_up = frozenset(partitions)
        self._lookup_number += 1
        self._data.offsets(member.host.name, partitions, partial(self._ends, self._lookup_number))

    def _ends(self, number: int, ends: Mapping[TopicPartition, tuple[int, int]] | FetchFailed) -> None:
        if number != self._lookup_number:
            return
        self._looking_up = frozenset()
        if isinstance(ends, FetchFailed):
            self._pause()
            return
        latest = self._member.settings.auto_offset_reset == "latest"
        for partition, (start, end) in ends.items():
            self._set_position(partition, end if latest else start, "reset")
        self.look_up()
        self._widen_fetch()

    def _widen_fetch(self) -> None:
        """Replace the fetch under way, which lacks new positions."""
        self._give_up_fetch()
        self._member.wake.set()

    def _set_position(self, partition: TopicPartition, offset: int, reason: str) -> None:
        if partition not in self._member.ownership.owned or partition in self.positions:
            return
        self.positions[partition] = offset
        self._emit_position(partition, offset, reason)

    # -- records ------------------------------------------------------------------------------------------------

    def has_records(self) -> bool:
        """Whether a poll would return records."""
        return bool(self._buffer)

    def take(self) -> tuple[Fetched, ...]:
        """Return at most max.poll.records from the buffer, and send the next fetch."""
        if len(self.positions) != len(self._member.ownership.owned):
            self.look_up()
        taken = self._take_from_buffer() if self._buffer else ()
        if not (self._fetching or self._buffer or self._waiting):
            # Positions do not change while a fetch is in flight, so it needs no copy of them.
            wanted, held = self.positions, self._held
            if held:
                wanted = {partition: at for partition, at in wanted.items() if partition not in held}
            if wanted:
                self._fetching = True
                self._reader.fetch(wanted)
        return taken

    def _take_from_buffer(self) -> tuple[Fetched, ...]:
        buffer, positions, room = self._buffer, self.positions, self._most_a_poll
        if len(buffer) == 1 and buffer[0].count <= room:  # the usual case
            found = buffer.pop()
            positions[found.partition] = found.base + found.count
            return (found,)
        taken: list[Fetched] = []
        for found in buffer:
            count = found.count
            if count > room:
                break
            taken.append(found)
            positions[found.partition] = found.base + count
            room -= count
        del buffer[: len(taken)]
        if buffer and room:
            taken.append(self._split(room))
        return tuple(taken)

    def _split(self, room: int) -> Fetched:
        """Split `room` records off the first range of the buffer."""
        partition, base, count = self._buffer[0].partition, self._buffer[0].base, self._buffer[0].count
        self._buffer[0] = Fetched(partition, base + room, count - room)
        self.positions[partition] = base + room
        return Fetched(partition, base, room)

    def _give_up_fetch(self) -> None:
        """Cancel the fetch in flight: the set of partitions has changed."""
        if self._fetching:
            self._fetching = False
            self._reader.give_up()

    def _fetched(self, found: tuple[Fetched, ...] | FetchFailed) -> None:
        self._fetching = False
        if isinstance(found, FetchFailed):
            self._member.metadata.refresh()
            self._pause()
            return
        buffer, at = self._buffer, self.positions
        for entry in found:
            if at.get(entry.partition) == entry.base:
                buffer.append(entry)
        self._member.rounds.records_came()

    def close(self) -> None:
        """Drop buffer and fetch."""
        self._lookup_number += 1
        self._give_up_fetch()
        self._buffer.clear()
