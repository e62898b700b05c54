"""A pulling consumer's records: hand out what has been fetched, and keep fetches in flight.

A fetch brings a piece of each partition with records. Pieces wait in a buffer in the order they arrived; polls empty
them one by one, max.poll.records at a time, and a piece (records, or a refusal) is parsed when a poll comes to it. A
partition with a buffered piece is not fetched; all others are, while the application works. What triggers what:

    take (poll) ──> request missing and unvalidated positions, drain the buffer, send fetches
    a fetch is answered ──> buffer its pieces and wake the poll; without pieces, send the next fetch
    metadata arrive ──> validate positions with new leaders, then fetch from them
    a piece is a refusal ──> refresh metadata; the partition waits for them, or for a short pause

After a refusal Java sends the next fetch at once, a thousand in a second while metadata are outdated. Here the
partition waits 1 ms, doubling up to retry.backoff.ms, unless newer metadata arrive first.

Sources: `Fetcher`, `AbstractFetch.handleFetchSuccess`, `FetchCollector`, `SubscriptionState`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from groupsim.eventloop.units import MS_US
from groupsim.members.fetch.completed import Run, contents, records_in
from groupsim.members.fetch.flights import Flights
from groupsim.members.fetch.positions import Fetcher, no_offset
from groupsim.members.fetch.refusals import NAMES_LEADER, handle
from groupsim.members.fetch.resets import Resets
from groupsim.members.fetch.state import NO_REPLICA, FetchState, Flight, PartitionState
from groupsim.members.fetch.validation import Validations, can_validate
from groupsim.members.fetch_counts import FetchCounts
from groupsim.members.interfaces import Connection, Fetched
from groupsim.members.leaders import Leaders
from groupsim.members.links import SHARED
from groupsim.members.member import Member
from groupsim.protocol.messages.data import READ_COMMITTED, FetchResponse, OffsetListed, PartitionData
from groupsim.protocol.messages.group import NO_EPOCH, NO_OFFSET, Api, FetchedOffset, TopicPartition

_FETCHING = FetchState.FETCHING
_HINTS_SINCE = 16  # Fetch v16 answers with the endpoint of the leader that it names (KIP-951)


class Piece:
    """One partition of one Fetch answer."""

    __slots__ = ("at", "data", "last_epoch", "next_offset", "offset", "runs", "state")

    def __init__(self, state: PartitionState, data: PartitionData, offset: int) -> None:
        self.state = state
        self.data = data
        self.offset = offset  # the position at which a poll continues it
        self.runs: list[Run] | None = None  # None: not parsed yet
        self.at = 0
        self.next_offset = offset
        self.last_epoch = NO_EPOCH


class PullFetcher(Fetcher):
    """Positions by partition, fetches by broker, and the buffer between fetches and polls."""

    __slots__ = (
        "_buffer",
        "_empty_pause_us",
        "_flights",
        "_leaders",
        "_resets",
        "_states",
        "_uses_hints",
        "_validates",
        "_validations",
        "settles_apart",
    )

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self._leaders = member.metadata.leaders or Leaders()
        self._states: dict[TopicPartition, PartitionState] = {}
        self._buffer: deque[Piece] = deque()
        self._flights = Flights(member, self._leaders, self._arrived, self._lost)
        self._resets = Resets(member, self._states, self._leaders, self._flights.isolation, self._reset_to)
        self._validations = Validations(member, self._states, self._valid)
        self._empty_pause_us = member.profile.positions.empty_fetch_pause_ms * MS_US
        self.settles_apart = False  #: positions are looked up by `settle` alone, not by `take`
        self._validates: bool | None = None
        self._uses_hints: bool | None = None

    # -- owned partitions ---------------------------------------------------------------------------------------

    def ownership_changed(self) -> None:
        """Drop the state of partitions given up; new ones start without a position."""
        owned, states = self._member.ownership.owned, self._states
        for partition in [partition for partition in states if partition not in owned]:
            del states[partition]
        for partition in owned:
            if partition not in states:
                states[partition] = PartitionState(partition)
        super().ownership_changed()

    def go_back(self, partitions: Iterable[TopicPartition]) -> None:
        """Return to the committed offsets of these partitions: their records are read again."""
        for partition in partitions:
            if partition in self._states:
                self._states[partition] = PartitionState(partition)
                self.positions.pop(partition, None)
        self._drop_unwanted()
        self._member.wake.set()

    def _drop_unwanted(self) -> None:
        held, states = self._held, self._states
        self._buffer = deque(
            piece
            for piece in self._buffer
            if states.get(piece.state.partition) is piece.state and piece.state.partition not in held
        )
        for state in states.values():
            state.buffered = 0
        for piece in self._buffer:
            piece.state.buffered += 1
        self._flights.ready.clear()
        for state in states.values():
            self._make_ready(state)

    def _make_ready(self, state: PartitionState) -> None:
        """Queue a partition for the next fetch, if it can be fetched."""
        if state.state is not _FETCHING or state.buffered or state.flight is not None:
            return
        if state.not_before_us > self._member.loop.now_us or state.partition in self._held:
            return
        self._flights.ready[state.partition] = state

    # -- positions ----------------------------------------------------------------------------------------------

    def leader_epoch(self, partition: TopicPartition) -> int:
        """Return the leader epoch of the last record before the position, for commits; -1 if unknown."""
        state = self._states.get(partition)
        return NO_EPOCH if state is None or not self._member.profile.commits.epochs else state.epoch

    def after(self, partition: TopicPartition, offset: int) -> int:
        """Return the next offset after `offset`: past skipped offsets when all returned records are finished."""
        state = self._states.get(partition)
        if state is None or offset != state.returned:
            return offset
        return max(self.positions.get(partition, offset), offset)

    def _without_position(self) -> list[TopicPartition]:
        missing = [state.partition for state in self._states.values() if state.state is FetchState.INITIALIZING]
        if self.settles_apart:  # also while callbacks run
            skipped = self._member.ownership.awaiting | self._leaving
            missing = [partition for partition in missing if partition not in skipped]
        return missing

    def _settle(self) -> None:
        """Request what is missing before all owned partitions can be fetched."""
        if self._member.group_comes_first:
            return
        self.look_up()
        self._resets.send()
        self._validations.send()

    @property
    def _can_validate(self) -> bool:
        if self._validates is None:
            self._validates = can_validate(self._member)
        return self._validates

    def _start(self, committed: tuple[FetchedOffset, ...]) -> None:
        """Begin at the committed offsets; without one by auto.offset.reset."""
        without = []
        for entry in committed:
            state = self._states.get(entry.partition)
            if state is None or state.state is not FetchState.INITIALIZING:
                continue
            if entry.offset == NO_OFFSET:
                without.append(state)
            else:
                self._begin(state, entry)
        if without and self._member.settings.auto_offset_reset == "none":
            self._member.fail(no_offset(state.partition for state in without))
        else:
            for state in without:
                state.reset()
        self._member.wake.set()

    def _begin(self, state: PartitionState, committed: FetchedOffset) -> None:
        partition = state.partition
        if self._leaders.is_outdated(partition, committed.leader_epoch):
            self._member.metadata.outdated()
        leader = self._leaders.of(partition)
        state.seek(committed.offset, committed.leader_epoch, leader, can_validate=self._can_validate)
        self._emit_position(partition, committed.offset, "committed")
        if state.state is _FETCHING:
            self._adopt(state)

    def _reset_to(self, state: PartitionState, entry: OffsetListed) -> None:
        """Begin at the offset of the reset policy, which needs no validation."""
        partition = state.partition
        if self._leaders.is_outdated(partition, entry.leader_epoch):
            self._member.metadata.outdated()
        state.seek(entry.offset, NO_EPOCH, self._leaders.of(partition), can_validate=False)
        self._emit_position(partition, entry.offset, state.why)
        self._adopt(state)

    def _valid(self, state: PartitionState, reason: str | None) -> None:
        """Continue at a validated position; with a `reason` it has moved."""
        if reason is not None:
            self._emit_position(state.partition, state.offset, reason)
        self._adopt(state)

    def _adopt(self, state: PartitionState) -> None:
        self.positions[state.partition] = state.offset
        self._make_ready(state)

    def reset(self, state: PartitionState) -> None:
        """Request a position by the reset policy: this one is out of range."""
        state.reset()
        self.positions.pop(state.partition, None)
        self._flights.ready.pop(state.partition, None)

    # -- leaders ------------------------------------------------------------------------------------------------

    def metadata_came(self) -> None:
        """Validate positions with new leaders, and end the pauses that wait for metadata."""
        for state in self._states.values():
            if state.state is _FETCHING:
                state.not_before_us = 0
                self._make_ready(state)
            self._look_at_leader(state)
        if len(self.positions) != len(self._states):
            self._member.wake.set()
        self._flights.send_if_inside()

    def _look_at_leader(self, state: PartitionState) -> None:
        if not state.leader_changed(self._leaders.of(state.partition), can_validate=self._can_validate):
            return
        state.flight = None  # an answer of the old leader still counts if its offset fits
        if state.state is _FETCHING:
            self._adopt(state)
        else:
            self.positions.pop(state.partition, None)
            self._flights.ready.pop(state.partition, None)
            self._member.wake.set()

    def is_busy(self, node: int) -> bool:
        """Whether another request to this broker would wait for a fetch."""
        return self._flights.is_busy(node)

    def make_way(self, link: Connection) -> None:
        """Have a parked Fetch answered before another request is sent on its connection."""
        self._flights.make_way(link)

    def come_back(self) -> None:
        """Have parked fetches answered at the end of their current long poll."""
        self._flights.come_back()

    def connection_dropped(self, link: Connection) -> None:
        """Fail the fetch on a connection that was closed from this side."""
        self._flights.connection_dropped(link)

    # -- answers ------------------------------------------------------------------------------------------------

    def _arrived(self, flight: Flight, response: FetchResponse) -> None:
        states, buffer = self._states, self._buffer
        before = len(buffer)
        for state, asked, data in zip(flight.states, flight.asked, response.partitions, strict=False):
            if state.flight is flight:
                state.flight = None
            if states.get(state.partition) is not state:
                continue
            if data.error:
                self._learn_leader(state, data)
            elif data.preferred_read_replica != NO_REPLICA:
                self._prefer(state, data.preferred_read_replica)
            if data.error or data.batches:
                buffer.append(Piece(state, data, asked.fetch_offset))
                state.buffered += 1
            else:
                state.refusals = 0
                if self._empty_pause_us:
                    self._rest(state, self._empty_pause_us)
                else:
                    self._make_ready(state)
        if len(buffer) > before:
            self._member.rounds.records_came()
        else:
            self._flights.send_if_inside()

    def _learn_leader(self, state: PartitionState, data: PartitionData) -> None:
        """Apply the leader that a refusing broker names, instead of waiting for metadata (KIP-951)."""
        if self._uses_hints is None:
            self._uses_hints = self._member.version(Api.FETCH) >= _HINTS_SINCE
        hint = data.current_leader
        if hint is None or not self._uses_hints or data.error not in NAMES_LEADER:
            return
        if self._leaders.hint(state.partition, hint):
            self._look_at_leader(state)

    def _prefer(self, state: PartitionState, replica: int) -> None:
        """Read from the closer replica that the leader named, for metadata.max.age.ms (KIP-392)."""
        if replica == state.preferred:
            return
        member = self._member
        state.preferred = replica
        state.preferred_until_us = member.now_us + member.settings.metadata_max_age_ms * MS_US
        member.host.call_at(state.preferred_until_us, self._preference_over, state)

    def _preference_over(self, state: PartitionState) -> None:
        """Return to the leader, which may name another replica; have the fetch under way answered first."""
        flight = state.flight
        if self._member.now_us >= state.preferred_until_us and flight is not None and flight.renew is not None:
            flight.renew()

    def _lost(self, flight: Flight) -> None:
        """Handle a fetch without an answer: refresh metadata, its broker may lead no more."""
        member = self._member
        for state in flight.states:
            state.preferred = NO_REPLICA
            if state.flight is flight:
                state.flight = None
                if self._states.get(state.partition) is state:
                    self._make_ready(state)
        member.metadata.outdated()
        if not member.closing:
            self._flights.come_back_in(max(member.links.wait_us(flight.node, SHARED), MS_US))

    # -- poll ---------------------------------------------------------------------------------------------------

    def has_records(self) -> bool:
        """Whether a poll has work: records to return, or a fetch to send."""
        return bool(self._buffer or self._flights.ready)

    @property
    def has_pieces(self) -> bool:
        """Whether there are answers that no poll has seen."""
        return bool(self._buffer)

    def settle(self) -> bool:
        """Look up missing positions of partitions that are consumed; True if there are none, and fetches go out."""
        if len(self.positions) != len(self._states):
            self._settle()
        if self._flights.ready:
            self._flights.send()
        awaiting = self._member.ownership.awaiting
        return all(partition in self.positions or partition in awaiting for partition in self._states)

    def take(self) -> tuple[Fetched, ...]:
        """Return at most max.poll.records from the buffer, and send the next fetches."""
        if len(self.positions) != len(self._states) and not self.settles_apart:
            self._settle()
        taken: tuple[Fetched, ...] = self._drain() if self._buffer else ()
        if self._flights.ready:
            self._flights.send()
        return taken

    def _drain(self) -> tuple[Fetched, ...]:
        buffer, taken = self._buffer, list[Fetched]()
        room = self._member.settings.max_poll_records
        while buffer and room:
            piece = buffer[0]
            if self._is_usable(piece):
                room = self._take_from(piece, taken, room)
                if not room:
                    break
                self._move_on(piece)
            buffer.popleft()
            piece.state.buffered -= 1
            self._make_ready(piece.state)
        return tuple(taken)

    def _is_usable(self, piece: Piece) -> bool:
        """Whether a poll can use a piece; a refusal is handled here, in its turn (`FetchCollector.collectFetch`)."""
        state = piece.state
        if state.state is not _FETCHING:
            return False
        if piece.data.error:
            handle(self, self._member, state, piece.data.error, piece.offset)
            return False
        # `FetchCollector.fetchRecords` drops records whose partition is not fetchable or whose position has moved.
        if state.offset != piece.offset or state.partition in self._held:
            return False  # pending revocation: its committed position must stay the last (KAFKA-14196)
        if piece.runs is None:
            committed_only = self._flights.isolation == READ_COMMITTED
            found = records_in(piece.data, piece.offset, committed_only=committed_only)
            piece.runs, piece.next_offset, piece.last_epoch = found
            state.refusals = 0
        return True

    def _take_from(self, piece: Piece, taken: list[Fetched], room: int) -> int:
        """Take records until the piece or the room is used up; return the remaining room."""
        state, runs = piece.state, piece.runs
        assert runs is not None
        while room and piece.at < len(runs):
            base, end, epoch = runs[piece.at]
            if end - base > room:
                runs[piece.at] = Run(base + room, end, epoch)
                end = base + room
            else:
                piece.at += 1
            room -= end - base
            taken.append(Fetched(state.partition, base, end - base))
            state.epoch = epoch
            self._go_to(piece, end)
            state.returned = end
            if self._member.on_record is not None:
                self._show(piece, base, end)
        return room

    def _go_to(self, piece: Piece, offset: int) -> None:
        state = piece.state
        piece.offset = state.offset = self.positions[state.partition] = offset

    def _move_on(self, piece: Piece) -> None:
        """End a piece: move the position past offsets without a record for the application."""
        if piece.next_offset > piece.offset:
            self._go_to(piece, piece.next_offset)
        if piece.last_epoch != NO_EPOCH:
            piece.state.epoch = piece.last_epoch

    def _show(self, piece: Piece, base: int, end: int) -> None:
        """Call `on_record` with the contents of records, where they have any."""
        listener = self._member.on_record
        assert listener is not None
        for offset, batch, record in contents(piece.data.batches, base, end):
            listener(piece.state.partition, offset, batch, record)

    # -- refused fetches ----------------------------------------------------------------------------------------

    def wait(self, state: PartitionState) -> None:
        """Fetch a partition again after a pause, or when metadata arrive."""
        member = self._member
        longest_us = member.settings.retry_backoff_ms * MS_US
        pause_us = min(MS_US << min(state.refusals, 20), longest_us)
        state.refusals += 1
        self._rest(state, pause_us)

    def _rest(self, state: PartitionState, pause_us: int) -> None:
        member = self._member
        state.not_before_us = member.now_us + pause_us
        member.host.call_at(state.not_before_us, self._wait_over, state)

    def _wait_over(self, state: PartitionState) -> None:
        if self._states.get(state.partition) is state:
            self._make_ready(state)
            self._flights.send_if_inside()

    # -- counts -------------------------------------------------------------------------------------------------

    def counts(self) -> FetchCounts:
        """Return the counts of fetches so far."""
        return self._flights.counts()

    def was_away(self, since_us: int) -> None:
        """Count long polls: the application has returned to `poll`, or the process has resumed."""
        self._flights.was_away(since_us)

    def close(self) -> None:
        """Drop buffer and fetches."""
        self._lookup_number += 1
        self._flights.close()
        self._buffer.clear()
        self._states.clear()
