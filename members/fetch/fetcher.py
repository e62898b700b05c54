"""The pulling consumer's part of a poll: hand out what has been fetched, and keep fetches under way.

A fetch brings a piece of each partition that had something. Pieces wait in a buffer, in the order they came, and polls
empty one after the other, max.poll.records at a time; what a piece turns out to be (records, or a refusal) is looked at
when a poll comes to it. A partition of which something is buffered is not fetched. All others are, while the
application works on what it has. What triggers what:

    take (poll) ──> positions that are missing or doubtful are asked for, the buffer is drained, fetches are sent
    a fetch comes back ──> its pieces into the buffer, the poll is told; nothing in it: the next one goes at once
    metadata comes ──> new leaders: positions are checked with them, then fetched from them
    a piece is a refusal ──> metadata is refreshed; the partition waits for that, or a little while

After a refusal Java sends the next fetch at once, a thousand in a second while metadata is behind. Here the partition
waits 1 ms, doubling up to retry.backoff.ms, unless newer metadata comes first.

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
_HINTS_SINCE = 16  # Fetch v16 tells where the leader that it names can be reached (KIP-951)


class Piece:
    """What one fetch brought of one partition."""

    __slots__ = ("at", "data", "last_epoch", "next_offset", "offset", "runs", "state")

    def __init__(self, state: PartitionState, data: PartitionData, offset: int) -> None:
        self.state = state
        self.data = data
        self.offset = offset  # where a poll has to stand to go on with it
        self.runs: list[Run] | None = None  # None: not looked at yet
        self.at = 0
        self.next_offset = offset
        self.last_epoch = NO_EPOCH


class PullFetcher(Fetcher):
    """Positions by partition, fetches by broker, and the buffer between them and the polls."""

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
        self._validates: bool | None = None
        self._uses_hints: bool | None = None

    # -- what is owned ------------------------------------------------------------------------------------------

    def ownership_changed(self) -> None:
        """Forget what is gone; what is new begins without a position."""
        owned, states = self._member.ownership.owned, self._states
        for partition in [partition for partition in states if partition not in owned]:
            del states[partition]
        for partition in owned:
            if partition not in states:
                states[partition] = PartitionState(partition)
        super().ownership_changed()

    def go_back(self, partitions: Iterable[TopicPartition]) -> None:
        """To the committed offsets of these partitions, looked up anew: their records come again."""
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
        """Line a partition up for the next fetch, if it can be fetched."""
        if state.state is not _FETCHING or state.buffered or state.flight is not None:
            return
        if state.not_before_us > self._member.loop.now_us or state.partition in self._held:
            return
        self._flights.ready[state.partition] = state

    # -- positions ----------------------------------------------------------------------------------------------

    def leader_epoch(self, partition: TopicPartition) -> int:
        """The leader epoch of the last record before the position, to be committed with it; -1 when unknown."""
        state = self._states.get(partition)
        return NO_EPOCH if state is None or not self._member.profile.commits.epochs else state.epoch

    def after(self, partition: TopicPartition, offset: int) -> int:
        """Where the next record is: behind what a poll has skipped, when all that it returned is finished."""
        state = self._states.get(partition)
        if state is None or offset != state.returned:
            return offset
        return max(self.positions.get(partition, offset), offset)

    def _without_position(self) -> list[TopicPartition]:
        return [state.partition for state in self._states.values() if state.state is FetchState.INITIALIZING]

    def _settle(self) -> None:
        """Ask for whatever is missing before everything owned can be fetched."""
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
        """Begin at the committed offsets; where there is none, as auto.offset.reset says."""
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
        """The reset policy has found an offset; it needs no check."""
        partition = state.partition
        if self._leaders.is_outdated(partition, entry.leader_epoch):
            self._member.metadata.outdated()
        state.seek(entry.offset, NO_EPOCH, self._leaders.of(partition), can_validate=False)
        self._emit_position(partition, entry.offset, state.why)
        self._adopt(state)

    def _valid(self, state: PartitionState, reason: str | None) -> None:
        """A position has been checked, and perhaps moved."""
        if reason is not None:
            self._emit_position(state.partition, state.offset, reason)
        self._adopt(state)

    def _adopt(self, state: PartitionState) -> None:
        self.positions[state.partition] = state.offset
        self._make_ready(state)

    def reset(self, state: PartitionState) -> None:
        """A position is out of range: find one by the reset policy."""
        state.reset()
        self.positions.pop(state.partition, None)
        self._flights.ready.pop(state.partition, None)

    # -- leaders ------------------------------------------------------------------------------------------------

    def metadata_came(self) -> None:
        """Check positions with new leaders; whoever waited for metadata may go on."""
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
        state.flight = None  # whatever the leader before still sends is taken if it fits
        if state.state is _FETCHING:
            self._adopt(state)
        else:
            self.positions.pop(state.partition, None)
            self._flights.ready.pop(state.partition, None)
            self._member.wake.set()

    def is_busy(self, node: int) -> bool:
        """Whether a question to this broker would have to wait for a fetch."""
        return self._flights.is_busy(node)

    def make_way(self, link: Connection) -> None:
        """Something is about to be sent on a connection."""
        self._flights.make_way(link)

    def come_back(self) -> None:
        """Fetches that are parked for long are to come back as those of Kafka's client do."""
        self._flights.come_back()

    def connection_dropped(self, link: Connection) -> None:
        """A connection was closed from this side."""
        self._flights.connection_dropped(link)

    # -- fetches come back --------------------------------------------------------------------------------------

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
        """A broker that refuses may say who leads now: no need to wait for metadata then (KIP-951)."""
        if self._uses_hints is None:
            self._uses_hints = self._member.version(Api.FETCH) >= _HINTS_SINCE
        hint = data.current_leader
        if hint is None or not self._uses_hints or data.error not in NAMES_LEADER:
            return
        if self._leaders.hint(state.partition, hint):
            self._look_at_leader(state)

    def _prefer(self, state: PartitionState, replica: int) -> None:
        """The leader names a closer replica: read from that one for metadata.max.age.ms (KIP-392)."""
        if replica == state.preferred:
            return
        member = self._member
        state.preferred = replica
        state.preferred_until_us = member.now_us + member.settings.metadata_max_age_ms * MS_US
        member.host.call_at(state.preferred_until_us, self._preference_over, state)

    def _preference_over(self, state: PartitionState) -> None:
        """Ask the leader again, which may name another; the fetch under way comes back first."""
        flight = state.flight
        if self._member.now_us >= state.preferred_until_us and flight is not None and flight.renew is not None:
            flight.renew()

    def _lost(self, flight: Flight) -> None:
        """A fetch without an answer: perhaps its broker leads no more."""
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

    # -- a poll -------------------------------------------------------------------------------------------------

    def has_records(self) -> bool:
        """Whether a poll would find something to do: records to return, or a fetch that is due."""
        return bool(self._buffer or self._flights.ready)

    def take(self) -> tuple[Fetched, ...]:
        """What poll returns: at most max.poll.records, from the buffer; the next fetches go out meanwhile."""
        if len(self.positions) != len(self._states):
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
            if self._is_of_use(piece):
                room = self._take_from(piece, taken, room)
                if not room:
                    break
                self._move_on(piece)
            buffer.popleft()
            piece.state.buffered -= 1
            self._make_ready(piece.state)
        return tuple(taken)

    def _is_of_use(self, piece: Piece) -> bool:
        """Whether the poll can go on with a piece; a refusal is dealt with here, when its turn has come."""
        state = piece.state
        if state.state is not _FETCHING:
            return False
        if piece.data.error:
            handle(self, self._member, state, piece.data.error, piece.offset)
            return False
        if state.offset != piece.offset or state.partition in self._held:
            return False  # about to be given up: what is committed already must stay the last (KAFKA-14196)
        if piece.runs is None:
            committed_only = self._flights.isolation == READ_COMMITTED
            found = records_in(piece.data, piece.offset, committed_only=committed_only)
            piece.runs, piece.next_offset, piece.last_epoch = found
            state.refusals = 0
        return True

    def _take_from(self, piece: Piece, taken: list[Fetched], room: int) -> int:
        """Take records until piece or room is used up; returns the room that is left."""
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
        """A piece is used up: the position goes behind whatever of it was no record of the application's."""
        if piece.next_offset > piece.offset:
            self._go_to(piece, piece.next_offset)
        if piece.last_epoch != NO_EPOCH:
            piece.state.epoch = piece.last_epoch

    def _show(self, piece: Piece, base: int, end: int) -> None:
        """Show the application the contents of records, where they have any."""
        listener = self._member.on_record
        assert listener is not None
        for offset, batch, record in contents(piece.data.batches, base, end):
            listener(piece.state.partition, offset, batch, record)

    # -- after a refusal ----------------------------------------------------------------------------------------

    def wait(self, state: PartitionState) -> None:
        """Fetch a partition again a little later, or when metadata comes."""
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

    # -- counting -----------------------------------------------------------------------------------------------

    def counts(self) -> FetchCounts:
        """The fetches so far."""
        return self._flights.counts()

    def was_away(self, since_us: int) -> None:
        """The application is back in `poll`, or the process goes on."""
        self._flights.was_away(since_us)

    def close(self) -> None:
        """Give up what is under way."""
        self._lookup_number += 1
        self._flights.close()
        self._buffer.clear()
        self._states.clear()
