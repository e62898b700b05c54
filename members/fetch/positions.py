"""Positions: where to go on in each owned partition, whichever way its records come.

A newly assigned partition asks the coordinator for its committed offset, and goes on there. Everything else, the reset
where there is none as much as the records themselves, depends on where records come from, and there are two answers:

    light   from a stand-in for the topics' data (`members.interfaces.Data`): one fetch, always under way (`light.py`)
    pull    from the partitions' leaders over connections, as Kafka's Java consumer does (`pull/`)

`Fetcher` is what both have in common and what the rest of the member knows: `take` is all the poll loop asks.

Sources: `ConsumerCoordinator.initWithCommittedOffsetsIfNeeded`, `refreshCommittedOffsets`; classic-protocol reference,
section 4.10.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.backoff import Backoff
from groupsim.members.failures import ClientFailure
from groupsim.members.interfaces import Disconnected, Fetched, Outcome
from groupsim.members.member import Member
from groupsim.members.profiles.reactions import Reaction, exception_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    NO_EPOCH,
    Api,
    FetchedOffset,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from groupsim.protocol.messages.response_errors import error_in

if TYPE_CHECKING:
    from groupsim.members.fetch_counts import FetchCounts
    from groupsim.members.interfaces import Connection

_NOWHERE: dict[TopicPartition, int] = {}  # one for all: most libraries have no use for it
_POSITION_SET = Kind.POSITION_SET  # looked up once: members of an enumeration are found slowly
_STABLE_SINCE = 7  # OffsetFetch v7 carries require_stable


class Fetcher(ABC):
    """Positions and their look-up; a subclass knows how records come."""

    __slots__ = (
        "_backoff",
        "_given_up",
        "_held",
        "_leaving",
        "_looking_up",
        "_lookup_number",
        "_member",
        "_paused",
        "_waiting",
        "begun",
        "positions",
    )

    def __init__(self, member: Member) -> None:
        self._member = member
        #: Partition → the next offset that poll will return.
        self.positions: dict[TopicPartition, int] = {}
        #: Where partitions began, for a library that commits only what the application was given.
        self.begun: dict[TopicPartition, int] = _NOWHERE
        self._leaving: set[TopicPartition] = set()  # pending revocation
        self._paused: set[TopicPartition] = set()  # by the application
        self._held: set[TopicPartition] = set()  # both: nothing of them is fetched or delivered
        self._lookup_number = 0
        self._looking_up: frozenset[TopicPartition] = frozenset()
        self._waiting = False  # a pause after a failed fetch or look-up
        self._given_up: frozenset[TopicPartition] = frozenset()  # not asked for again while they are owned
        self._backoff: Backoff | None = None  # while look-ups fail, within one poll

    # -- what records are to a poll -----------------------------------------------------------------------------

    @abstractmethod
    def has_records(self) -> bool:
        """Whether a poll would find something to do: records to return, or a fetch that is due."""

    @abstractmethod
    def take(self) -> tuple[Fetched, ...]:
        """What poll returns: at most max.poll.records, from the buffer; the next fetches go out meanwhile."""

    @abstractmethod
    def close(self) -> None:
        """Give up what is under way."""

    # -- what is owned ------------------------------------------------------------------------------------------

    def stop_delivering(self, partitions: Iterable[TopicPartition]) -> None:
        """These are about to be given up: neither fetch nor deliver them."""
        self._leaving.update(partitions)
        self._hold()
        self._drop_unwanted()

    def pause(self, partition: TopicPartition) -> None:
        """Neither fetch nor deliver a partition until it is resumed or given up (`KafkaConsumer.pause`)."""
        if partition not in self._paused:
            self._paused.add(partition)
            self._hold()
            self._drop_unwanted()

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Go on with paused partitions."""
        self._paused.difference_update(partitions)
        self._hold()
        self._drop_unwanted()

    def _hold(self) -> None:
        self._held.clear()
        self._held.update(self._leaving, self._paused)

    def ownership_changed(self) -> None:
        """Forget positions of what is gone; those of what is new are looked up after the callbacks, in `take`."""
        owned = self._member.ownership.owned
        self._leaving.clear()
        self._paused.intersection_update(owned)
        self._hold()
        self._given_up = frozenset()
        if self.begun:
            self.begun = {partition: at for partition, at in self.begun.items() if partition in owned}
        if self.positions:
            self.positions = {partition: at for partition, at in self.positions.items() if partition in owned}
        self._drop_unwanted()

    @abstractmethod
    def _drop_unwanted(self) -> None:
        """Drop buffered records of partitions that are not owned, or about to be given up."""

    # -- what only one of the ways has a use for ------------------------------------------------------------------

    def metadata_came(self) -> None:
        """The view of topics and leaders was refreshed."""
        return

    def is_busy(self, node: int) -> bool:
        """Whether a question to this broker would have to wait for a fetch."""
        return False

    def make_way(self, link: Connection) -> None:
        """Something is about to be sent on a connection."""
        return

    def come_back(self) -> None:
        """Somebody waits for anything to come over a connection."""
        return

    def connection_dropped(self, link: Connection) -> None:
        """A connection was closed from this side."""
        return

    def counts(self) -> FetchCounts | None:
        """The fetches this process has sent; None where records do not come by fetches of its own."""
        return None

    def was_away(self, since_us: int) -> None:
        """The application was away from `poll` since then for longer than a fetch waits, or the process stood still."""
        return

    def go_back(self, partitions: Iterable[TopicPartition]) -> None:
        """To the committed offsets of these partitions, looked up anew: their records come again.

        Raises RuntimeError where records are not pulled from brokers.
        """
        raise RuntimeError("going back to committed offsets needs brokers to pull from (the replicated cluster)")

    def leader_epoch(self, partition: TopicPartition) -> int:
        """The leader epoch of the last record before the position, to be committed with it; -1 when unknown."""
        return NO_EPOCH

    def after(self, partition: TopicPartition, offset: int) -> int:
        """Where the next record is, for an application that has finished the one before `offset`."""
        return offset

    # -- committed offsets --------------------------------------------------------------------------------------

    def look_up(self) -> None:
        """Ask for the committed offsets of owned partitions without a position, once no rebalance is in the works."""
        member = self._member
        if len(self.positions) == len(member.ownership.owned) or self._waiting or member.group_comes_first:
            return
        in_order = self._without_position()
        if member.profile.positions.one_by_one:
            in_order = in_order[:1]
        missing = frozenset(in_order)
        if not missing or missing == self._looking_up or (self._given_up and self._given_up.issuperset(missing)):
            return
        if not member.coordinator.known:
            member.coordinator.ensure()
            return
        if not member.coordinator.ready:
            self._pause()
            return
        version = member.version(Api.OFFSET_FETCH)
        stable = version >= _STABLE_SINCE and member.profile.positions.stable
        self._looking_up = missing
        self._lookup_number += 1
        request = OffsetFetchRequest(member.group, tuple(in_order), stable, version)
        member.coordinator.send(request, partial(self._committed, self._lookup_number))

    def _without_position(self) -> list[TopicPartition]:
        """The owned partitions whose committed offset is not known yet."""
        return [partition for partition in self._member.ownership.owned if partition not in self.positions]

    def _committed(self, number: int, outcome: Outcome) -> None:
        if number != self._lookup_number:
            return
        asked, self._looking_up = self._looking_up, frozenset()
        if type(outcome) is Disconnected:
            self._member.coordinator.lost("coordinator unavailable", later=True)
            self._pause_longer()
        elif type(outcome) is OffsetFetchResponse:
            error = error_in(outcome)
            if error and self._member.profile.reaction(Api.OFFSET_FETCH, error) is Reaction.OVERLOOK:
                self._start(tuple([FetchedOffset(partition) for partition in sorted(asked)]))
            elif error:
                self._refused(error)
            else:
                self._start(outcome.offsets)

    def _refused(self, error: ErrorCode) -> None:
        member = self._member
        reaction = member.profile.reaction(Api.OFFSET_FETCH, error)
        if reaction is Reaction.THROW:
            if member.pace.keeps_coordinator:  # it tells the application, and that is all it does
                self._given_up = frozenset(self._without_position())
                if error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                    member.coordinator.lost(f"error response {error.name}")
            member.fail(ClientFailure(exception_of(Api.OFFSET_FETCH, error), f"OffsetFetch answered {error.name}"))
            return
        if reaction is Reaction.REDISCOVER:
            member.coordinator.lost(f"error response {error.name}", later=True)
        self._pause_longer()

    @abstractmethod
    def _start(self, committed: tuple[FetchedOffset, ...]) -> None:
        """Begin at the committed offsets; where there is none, as auto.offset.reset says."""

    # -- for the subclasses -------------------------------------------------------------------------------------

    def _emit_position(self, partition: TopicPartition, offset: int, reason: str) -> None:
        if self._member.pace.commits_delivered_only:
            if self.begun is _NOWHERE:
                self.begun = {}
            self.begun[partition] = offset
        if self._member.trace.wants(_POSITION_SET):
            topic, number = partition
            self._member.emit(_POSITION_SET, topic=topic, partition=number, reason=reason, payload={"offset": offset})

    def _pause(self) -> None:
        """Wait for retry.backoff.ms before the next fetch or look-up."""
        self._wait(self._member.settings.retry_backoff_ms * MS_US)

    def _pause_longer(self) -> None:
        """Wait before the next look-up: the longer, the more have failed within one poll.

        An application of which it is not said how long it polls does so for short times, again and again.
        """
        member = self._member
        if not member.behaviour.poll_timeout:
            self._pause()
            return
        if self._backoff is None:
            self._backoff = Backoff(member.settings, member.profile, member.stream_factory("look-up-backoff"))
        self._wait(self._backoff.next_us())

    def poll_begins(self) -> None:
        """The application polls anew: what failed before is forgotten."""
        self._backoff = None

    def _wait(self, us: int) -> None:
        self._waiting = True
        self._member.host.call_at(self._member.now_us + us, self._go_on)

    def _go_on(self, _: Any) -> None:
        self._waiting = False
        self._member.wake.set()


def no_offset(partitions: Iterable[TopicPartition]) -> ClientFailure:
    """What poll throws where there is neither a committed offset nor a reset policy."""
    names = ", ".join(map(str, partitions))
    return ClientFailure("NoOffsetForPartitionException", f"no committed offset for {names}")
