"""Positions and records: where to begin in each owned partition, one fetch always under way, and what `poll` returns.

A newly assigned partition asks the coordinator for its committed offset; without one, auto.offset.reset decides by the
log's ends. Records come as ranges into a buffer; the next fetch is sent as soon as a poll has taken some, as the Java
client does, so that records travel while the application works. In a quiet group one fetch waits without end and costs
nothing. All of it is events; `take` is all the poll loop asks.

Sources: `ConsumerCoordinator.refreshCommittedOffsetsIfNeeded`, `OffsetFetcher`, `Fetcher`; classic-protocol reference,
section 4.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from groupsim.eventloop.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.failures import ClientFailure, exception_name
from groupsim.members.interfaces import Disconnected, Fetched, FetchFailed, Outcome
from groupsim.members.member import Member
from groupsim.members.reactions import Reaction
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    NO_OFFSET,
    Api,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicPartition,
)

_SMALLEST_FETCH = 500
_STABLE_SINCE = 7  # OffsetFetch v7 carries require_stable


class Fetcher:
    """Positions, the one fetch, and the buffer."""

    __slots__ = (
        "_buffer",
        "_fetch",
        "_fetch_number",
        "_held",
        "_looking_up",
        "_lookup_number",
        "_member",
        "_most",
        "_waiting",
        "positions",
    )

    def __init__(self, member: Member) -> None:
        self._member = member
        self._most = max(_SMALLEST_FETCH, member.settings.max_poll_records)
        #: Partition → the next offset that poll will return.
        self.positions: dict[TopicPartition, int] = {}
        self._held: set[TopicPartition] = set()  # pending revocation: nothing of them is delivered any more
        self._buffer: list[Fetched] = []
        self._fetch: Callable[[], None] | None = None
        self._fetch_number = 0
        self._lookup_number = 0
        self._looking_up: frozenset[TopicPartition] = frozenset()
        self._waiting = False  # a pause after a failed fetch or look-up

    # -- what is owned ------------------------------------------------------------------------------------------

    def stop_delivering(self, partitions: Iterable[TopicPartition]) -> None:
        """These are about to be given up: neither fetch nor deliver them."""
        self._held.update(partitions)
        self._drop_unwanted()

    def ownership_changed(self) -> None:
        """Forget positions of what is gone; those of what is new are looked up after the callbacks, in `take`."""
        owned = self._member.ownership.owned
        self._held.clear()
        self.positions = {partition: at for partition, at in self.positions.items() if partition in owned}
        self._drop_unwanted()

    def _drop_unwanted(self) -> None:
        owned = self._member.ownership.owned
        self._buffer = [
            found for found in self._buffer if found.partition in owned and found.partition not in self._held
        ]
        self._give_up_fetch()

    # -- positions ----------------------------------------------------------------------------------------------

    def look_up(self) -> None:
        """Ask for the committed offsets of owned partitions without a position."""
        member = self._member
        if len(self.positions) == len(member.ownership.owned) or self._waiting:
            return
        missing = [partition for partition in member.ownership.owned if partition not in self.positions]
        if frozenset(missing) == self._looking_up:
            return
        if not member.coordinator.known:
            member.coordinator.ensure()
            return
        version = member.version(Api.OFFSET_FETCH)
        self._looking_up = frozenset(missing)
        self._lookup_number += 1
        request = OffsetFetchRequest(member.group, tuple(missing), version >= _STABLE_SINCE, version)
        member.coordinator.send(request, partial(self._committed, self._lookup_number))

    def _committed(self, number: int, outcome: Outcome) -> None:
        if number != self._lookup_number:
            return
        self._looking_up = frozenset()
        if isinstance(outcome, Disconnected):
            self._member.coordinator.lost("coordinator unavailable")
            self._pause()
        elif isinstance(outcome, OffsetFetchResponse):
            error = outcome.error or next((entry.error for entry in outcome.offsets if entry.error), ErrorCode.NONE)
            if error:
                self._refused(error)
            else:
                self._start({entry.partition: entry.offset for entry in outcome.offsets})

    def _refused(self, error: ErrorCode) -> None:
        member = self._member
        reaction = member.profile.reaction(Api.OFFSET_FETCH, error)
        if reaction is Reaction.THROW:
            member.fail(ClientFailure(exception_name(error), f"OffsetFetch answered {error.name}"))
            return
        if reaction is Reaction.REDISCOVER:
            member.coordinator.lost(f"error response {error.name}")
        self._pause()

    def _start(self, committed: Mapping[TopicPartition, int]) -> None:
        """Begin at the committed offsets; ask for the ends of the log where there is none."""
        without = []
        for partition, offset in committed.items():
            if offset == NO_OFFSET:
                without.append(partition)
            else:
                self._set_position(partition, offset, "committed")
        if without:
            self._reset(tuple(without))
        self._widen_fetch()

    def _reset(self, partitions: tuple[TopicPartition, ...]) -> None:
        member = self._member
        if member.settings.auto_offset_reset == "none":
            names = ", ".join(map(str, partitions))
            member.fail(ClientFailure("NoOffsetForPartitionException", f"no committed offset for {names}"))
            return
        self._looking_up = frozenset(partitions)
        self._lookup_number += 1
        member.data.offsets(member.host.name, partitions, partial(self._ends, self._lookup_number))

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
        """New positions: the fetch under way does not ask for them."""
        self._give_up_fetch()
        self._member.wake.set()

    def _set_position(self, partition: TopicPartition, offset: int, reason: str) -> None:
        member = self._member
        if partition not in member.ownership.owned or partition in self.positions:
            return
        self.positions[partition] = offset
        member.say(
            Kind.POSITION_SET,
            topic=partition.topic,
            partition=partition.partition,
            reason=reason,
            payload={"offset": offset},
        )

    def _pause(self) -> None:
        """Wait for retry.backoff.ms before the next fetch or look-up."""
        self._waiting = True
        member = self._member
        member.host.call_at(member.now_us + member.settings.retry_backoff_ms * MS_US, self._go_on)

    def _go_on(self, _: Any) -> None:
        self._waiting = False
        self._member.wake.set()

    # -- records ------------------------------------------------------------------------------------------------

    @property
    def has_records(self) -> bool:
        """Whether a poll would return records."""
        return bool(self._buffer)

    def take(self) -> tuple[Fetched, ...]:
        """What poll returns: at most max.poll.records, from the buffer; the next fetch goes out meanwhile."""
        if len(self.positions) != len(self._member.ownership.owned):
            self.look_up()
        taken = self._take_from_buffer() if self._buffer else ()
        if self._fetch is None and not (self._buffer or self._waiting):
            self._send_fetch()
        return taken

    def _take_from_buffer(self) -> tuple[Fetched, ...]:
        buffer, positions = self._buffer, self.positions
        taken: list[Fetched] = []
        room = self._member.settings.max_poll_records
        while buffer and room:
            found = buffer[0]
            partition, base, count = found.partition, found.base, found.count
            if count > room:
                buffer[0] = Fetched(partition, base + room, count - room)
                found, count = Fetched(partition, base, room), room
            else:
                del buffer[0]
            taken.append(found)
            positions[partition] = base + count
            room -= count
        return tuple(taken)

    def _send_fetch(self) -> None:
        """Fetch from the positions; they stay as they are while the fetch is under way, so it needs no copy."""
        wanted, held = self.positions, self._held
        if held:
            wanted = {partition: at for partition, at in wanted.items() if partition not in held}
        if not wanted:
            return
        member = self._member
        self._fetch_number += 1
        on_done = partial(self._fetched, self._fetch_number)
        self._fetch = member.data.fetch(member.host.name, wanted, self._most, None, on_done)

    def _give_up_fetch(self) -> None:
        """The set of partitions has changed: the fetch under way asks for the wrong ones."""
        give_up, self._fetch = self._fetch, None
        self._fetch_number += 1
        if give_up is not None:
            give_up()

    def _fetched(self, number: int, found: tuple[Fetched, ...] | FetchFailed) -> None:
        if number != self._fetch_number:
            return
        self._fetch = None
        if isinstance(found, FetchFailed):
            self._member.metadata.refresh()
            self._pause()
            return
        at = self.positions.get
        self._buffer += [entry for entry in found if at(entry.partition) == entry.base]
        self._member.rounds.records_came()

    def close(self) -> None:
        """Give up what is under way."""
        self._lookup_number += 1
        self._give_up_fetch()
        self._buffer.clear()
