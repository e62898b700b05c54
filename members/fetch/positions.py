"""Positions of owned partitions, common to all sources of records.

A newly assigned partition continues at the committed offset, which the coordinator returns. The reset without one, and
the records, depend on the source:

    light   the light cluster (`members.interfaces.Data`): one fetch, always in flight (`light.py`)
    pull    the partitions' leaders, as in Kafka's Java consumer (`fetcher.py`)

`Fetcher` is the interface of both to the rest of the member; the poll loop calls `take`.

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

_NOWHERE: dict[TopicPartition, int] = {}  # shared: only librdkafka fills it
_POSITION_SET = Kind.POSITION_SET  # bound once: access to a member of an enumeration is slow
_STABLE_SINCE = 7  # OffsetFetch v7 has require_stable (KIP-447)


class Fetcher(ABC):
    """Positions and their look-up; subclasses fetch the records."""

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
        #: First positions, for libraries that commit only partitions whose records were delivered.
        self.begun: dict[TopicPartition, int] = _NOWHERE
        self._leaving: set[TopicPartition] = set()  # pending revocation
        self._paused: set[TopicPartition] = set()  # by the application
        self._held: set[TopicPartition] = set()  # both sets: neither fetched nor delivered
        self._lookup_number = 0
        self._looking_up: frozenset[TopicPartition] = frozenset()
        self._waiting = False  # in a pause after a failed fetch or look-up
        self._given_up: frozenset[TopicPartition] = frozenset()  # not looked up again while they are owned
        self._backoff: Backoff | None = None  # of failed look-ups within one poll

    # -- records for poll ---------------------------------------------------------------------------------------

    @abstractmethod
    def has_records(self) -> bool:
        """Whether a poll has work: records to return, or a fetch to send."""

    @abstractmethod
    def take(self) -> tuple[Fetched, ...]:
        """Return at most max.poll.records from the buffer, and send the next fetches."""

    @abstractmethod
    def close(self) -> None:
        """Drop buffer and fetches."""

    # -- owned partitions ---------------------------------------------------------------------------------------

    def stop_delivering(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop fetch and delivery of partitions that are about to be given up."""
        self._leaving.update(partitions)
        self._hold()
        self._drop_unwanted()

    def pause(self, partition: TopicPartition) -> None:
        """Stop fetch and delivery of a partition until it is resumed or given up (`KafkaConsumer.pause`)."""
        if partition not in self._paused:
            self._paused.add(partition)
            self._hold()
            self._drop_unwanted()

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Resume paused partitions."""
        self._paused.difference_update(partitions)
        self._hold()
        self._drop_unwanted()

    def _hold(self) -> None:
        self._held.clear()
        self._held.update(self._leaving, self._paused)

    def ownership_changed(self) -> None:
        """Drop positions of partitions given up; `take` looks those of new ones up, after the callbacks."""
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

    # -- hooks of single sources ----------------------------------------------------------------------------------

    def metadata_came(self) -> None:
        """Handle new metadata."""
        return

    def is_busy(self, node: int) -> bool:
        """Whether another request to this broker would wait for a fetch."""
        return False

    def make_way(self, link: Connection) -> None:
        """Prepare for a request on a connection."""
        return

    def come_back(self) -> None:
        """Have parked fetches answered: a commit waits for any network event."""
        return

    def connection_dropped(self, link: Connection) -> None:
        """Handle a connection that was closed from this side."""
        return

    def counts(self) -> FetchCounts | None:
        """Return the counts of fetches; None where records do not come by fetches of this process."""
        return None

    def was_away(self, since_us: int) -> None:
        """Count long polls: the application was away from `poll` for longer than one, or the process was paused."""
        return

    def go_back(self, partitions: Iterable[TopicPartition]) -> None:
        """Return to the committed offsets of these partitions: their records are read again.

        Raises RuntimeError on the light cluster.
        """
        raise RuntimeError("going back to committed offsets needs brokers to pull from (the replicated cluster)")

    def leader_epoch(self, partition: TopicPartition) -> int:
        """Return the leader epoch of the last record before the position, for commits; -1 if unknown."""
        return NO_EPOCH

    def after(self, partition: TopicPartition, offset: int) -> int:
        """Return the offset to commit when the record before `offset` is finished."""
        return offset

    # -- committed offsets --------------------------------------------------------------------------------------

    def look_up(self) -> None:
        """Look up committed offsets of partitions without a position, unless a rebalance is pending."""
        member = self._member
        if len(self.positions) == len(member.ownership.owned) or self._waiting or member.group_comes_first:
            return
        in_order = self._without_position()
        # aiokafka and sarama request one partition after the other (`group_coordinator.py`, `offset_manager.go`).
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
        self._looking_up = missing
        self._lookup_number += 1
        member.coordinator.send(self._request(tuple(in_order)), partial(self._committed, self._lookup_number))

    def _request(self, partitions: tuple[TopicPartition, ...]) -> OffsetFetchRequest:
        """Make the request; a member of a consumer group names itself, with the newest epoch (KIP-848)."""
        member = self._member
        version = member.version(Api.OFFSET_FETCH)
        stable = version >= _STABLE_SINCE and member.profile.positions.stable
        epoch, member_id, _ = member.generation
        if epoch < 0 or member.settings.group_protocol == "classic":
            return OffsetFetchRequest(member.group, partitions, stable, version)
        return OffsetFetchRequest(member.group, partitions, stable, version, member_id, epoch)

    def _without_position(self) -> list[TopicPartition]:
        """Return the owned partitions without a committed offset or position.

        A member of a consumer group leaves out those that it is about to give up (KAFKA-19781).
        """
        member, positions = self._member, self.positions
        missing = [partition for partition in member.ownership.owned if partition not in positions]
        skipped = member.ownership.awaiting
        if self._leaving and member.settings.group_protocol != "classic":
            skipped = skipped | self._leaving
        return [partition for partition in missing if partition not in skipped] if skipped else missing

    def _committed(self, number: int, outcome: Outcome) -> None:
        if number != self._lookup_number:
            return
        asked, self._looking_up = self._looking_up, frozenset()
        if type(outcome) is Disconnected:
            self._member.coordinator.lost("coordinator unavailable", later=True)
            self._pause_longer()
        elif type(outcome) is OffsetFetchResponse:
            error = error_in(outcome)
            # aiokafka reads the errors of partitions only, and takes an error of the group for no committed offset.
            if error and self._member.profile.reaction(Api.OFFSET_FETCH, error) is Reaction.OVERLOOK:
                self._start(tuple([FetchedOffset(partition) for partition in sorted(asked)]))
            elif error:
                self._refused(error)
            else:
                self._start(outcome.offsets)

    def _refused(self, error: ErrorCode) -> None:
        member = self._member
        reaction = member.profile.reaction(Api.OFFSET_FETCH, error)
        if reaction is Reaction.BACKOFF:
            self._given_up = frozenset(self._without_position())
            return
        if reaction is Reaction.THROW:
            if member.pace.keeps_coordinator:  # librdkafka reports it, and does not repeat it (`rdkafka_assignment.c`)
                self._given_up = frozenset(self._without_position())
                moved = error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
                if moved and member.settings.group_protocol == "classic":
                    member.coordinator.lost(f"error response {error.name}")
            member.fail(ClientFailure(exception_of(Api.OFFSET_FETCH, error), f"OffsetFetch answered {error.name}"))
            return
        if reaction is Reaction.REDISCOVER:
            member.coordinator.lost(f"error response {error.name}", later=True)
        self._pause_longer()

    @abstractmethod
    def _start(self, committed: tuple[FetchedOffset, ...]) -> None:
        """Begin at the committed offsets; without one by auto.offset.reset."""

    # -- for the subclasses -------------------------------------------------------------------------------------

    def _emit_position(self, partition: TopicPartition, offset: int, reason: str) -> None:
        if self._member.profile.commits.delivered_only:
            if self.begun is _NOWHERE:
                self.begun = {}
            self.begun[partition] = offset
        if self._member.trace.wants(_POSITION_SET):
            topic, number = partition
            self._member.emit(_POSITION_SET, topic=topic, partition=number, reason=reason, payload={"offset": offset})

    def _pause(self) -> None:
        self._wait(self._member.settings.retry_backoff_ms * MS_US)

    def _pause_longer(self) -> None:
        """Wait before the next look-up, longer after each failure within one poll.

        Without a `poll_timeout` the application is taken to poll for short times, so the wait does not grow.
        """
        member = self._member
        if not member.behaviour.poll_timeout:
            self._pause()
            return
        if self._backoff is None:
            self._backoff = Backoff(member.settings, member.profile, member.stream_factory("look-up-backoff"))
        self._wait(self._backoff.next_us())

    def poll_begins(self) -> None:
        """Forget failures of the last poll."""
        self._backoff = None

    def _wait(self, us: int) -> None:
        self._waiting = True
        self._member.host.call_at(self._member.now_us + us, self._go_on)

    def _go_on(self, _: Any) -> None:
        self._waiting = False
        self._member.wake.set()


def no_offset(partitions: Iterable[TopicPartition]) -> ClientFailure:
    """Return the exception of partitions without a committed offset and reset policy."""
    names = ", ".join(map(str, partitions))
    return ClientFailure("NoOffsetForPartitionException", f"no committed offset for {names}")
