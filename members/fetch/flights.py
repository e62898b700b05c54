"""Fetches in flight: the partitions that wait for one, and the one of each broker.

Each broker has at most one Fetch in flight, on the "data" connection, for all its partitions that could be fetched when
it was sent: those with a valid position and an empty buffer. A partition that becomes fetchable while its broker has a
Fetch waits for the answer to that.

*Quiet long polls.* A broker answers a Fetch without records after fetch.max.wait.ms, and the client sends it again,
twice a second without end. Where the connection allows (`interfaces.Renewing`) and one byte is enough for an answer,
one Fetch stands for all of them: it is marked `renewed`, and parked without a timer. When another request follows on
the connection, or a partition is added, `renew` has it answered at the end of its current long poll. A full trace,
which lists every request, has all long polls. Those left out are counted anyway (`members/fetch_counts.py`), except
while the application is away from `poll`, when the next one would not have been sent.

Fetch sessions (KIP-227) are not modelled: they save bytes, not answers.

Source: `AbstractFetch.prepareFetchRequests`, `handleFetchFailure`, `selectReadReplica`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.units import MS_US
from groupsim.members.fetch.state import NO_REPLICA, Flight, PartitionState
from groupsim.members.fetch_counts import FetchCounts
from groupsim.members.interfaces import Connection, Disconnected, Outcome
from groupsim.members.links import SHARED
from groupsim.protocol.messages.data import (
    CONSUMER,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from groupsim.protocol.messages.group import Api, TopicPartition

if TYPE_CHECKING:
    from groupsim.members.leaders import Leaders
    from groupsim.members.member import Member

Pushed = Callable[[FetchRequest, FetchResponse], None]


class Flights:
    """The fetches in flight of one process."""

    __slots__ = (
        "_by_node",
        "_come_back_us",
        "_empty",
        "_leaders",
        "_max_bytes",
        "_max_wait_ms",
        "_member",
        "_min_bytes",
        "_most_each",
        "_on_answer",
        "_on_lost",
        "_rack",
        "_renews",
        "_sent",
        "_waited_us",
        "isolation",
        "ready",
    )

    def __init__(
        self,
        member: Member,
        leaders: Leaders,
        on_answer: Callable[[Flight, FetchResponse], None],
        on_lost: Callable[[Flight], None],
    ) -> None:
        settings = member.settings
        self._member = member
        self._leaders = leaders
        self._on_answer = on_answer
        self._on_lost = on_lost
        self._by_node: dict[int, Flight] = {}
        self._come_back_us = 0
        self._sent = self._empty = self._waited_us = 0
        self._max_wait_ms = settings.fetch_max_wait_ms
        self._min_bytes = settings.fetch_min_bytes
        self._max_bytes = settings.fetch_max_bytes
        self._most_each = settings.max_partition_fetch_bytes
        self._rack = settings.client_rack
        self.isolation = READ_COMMITTED if settings.isolation_level == "read_committed" else READ_UNCOMMITTED
        self._renews = (
            settings.fetch_min_bytes <= 1
            and 0 < settings.fetch_max_wait_ms < settings.request_timeout_ms
            and not member.profile.coordinator.shared_connection
            and not member.trace.heartbeats
        )
        #: Partitions that can be fetched now, the longest-waiting first.
        self.ready: dict[TopicPartition, PartitionState] = {}

    def is_busy(self, node: int) -> bool:
        """Whether a broker has a Fetch in flight."""
        return node in self._by_node

    # -- sending ------------------------------------------------------------------------------------------------

    def send(self) -> None:
        """Send a Fetch to every idle broker with partitions to fetch."""
        by_node: dict[int, list[PartitionState]] = {}
        for state in self.ready.values():
            node = state.leader[0]
            if state.preferred != NO_REPLICA or node < 0:
                node = self._target(state)
            if node in by_node:
                by_node[node].append(state)
            elif node >= 0:
                by_node[node] = [state]
        for node, states in by_node.items():
            flight = self._by_node.get(node)
            if flight is None:
                self._send_when_possible(node, states)
            elif flight.renew is not None:
                flight.renew()

    def _target(self, state: PartitionState) -> int:
        """Return the broker to read from: preferred replica or leader (`selectReadReplica`); -1 if unknown."""
        member = self._member
        if state.preferred != NO_REPLICA:
            if member.now_us >= state.preferred_until_us:
                state.preferred = NO_REPLICA
            elif state.preferred in self._leaders.brokers:
                return state.preferred
            else:
                member.metadata.outdated()
                state.preferred = NO_REPLICA
        leader = state.leader.leader
        if leader < 0:
            member.metadata.outdated()
        return leader

    def _send_when_possible(self, node: int, states: list[PartitionState]) -> None:
        wait_us = self._member.links.wait_us(node, SHARED)
        if wait_us:
            self.come_back_in(wait_us)
        else:
            self._send(node, states)

    def _send(self, node: int, states: list[PartitionState]) -> None:
        member, ready = self._member, self.ready
        link = member.links.connection(node, SHARED)
        flight = Flight(node, link, states, getattr(link, "renew", None) if self._renews else None, member.loop.now_us)
        self._sent += 1
        most = self._most_each
        flight.asked = asked = tuple(
            [FetchPartition(state.partition, state.offset, most, state.leader.epoch) for state in states]
        )
        for state in states:
            state.flight = flight
            del ready[state.partition]
        self._by_node[node] = flight
        request = self._request(asked, renewed=flight.renew is not None)
        on_done = partial(self._answered, flight)
        if member.trace.heartbeats:
            member.links.send(link, node, request, on_done, member.request_timeout_us)
        else:
            link.send(request, on_done, member.request_timeout_us)

    def _request(
        self, asked: tuple[FetchPartition, ...], *, renewed: bool = False, pushes: Pushed | None = None
    ) -> FetchRequest:
        return FetchRequest(
            self._max_wait_ms,
            self._min_bytes,
            asked,
            self._max_bytes,
            self.isolation,
            CONSUMER,
            -1,
            self._rack,
            self._member.version(Api.FETCH),
            renewed=renewed,
            pushes=pushes,
        )

    def come_back_in(self, wait_us: int) -> None:
        """Try again after `wait_us`; the earliest such time counts."""
        member = self._member
        when = member.now_us + wait_us
        if not member.now_us < self._come_back_us <= when:
            self._come_back_us = when
            member.host.call_at(when, self._come_back)

    def _come_back(self, _: Any) -> None:
        self.send_if_inside()

    def send_if_inside(self) -> None:
        """Send if the application is in `poll`; else `poll` sends later."""
        member = self._member
        if self.ready and member.membership.in_poll and not member.closing:
            self.send()

    # -- answers ------------------------------------------------------------------------------------------------

    def _answered(self, flight: Flight, outcome: Outcome) -> None:
        if self._by_node.get(flight.node) is not flight:
            return
        del self._by_node[flight.node]
        if self._member.on_network_event is not None:
            self._member.on_network_event()
        if isinstance(outcome, FetchResponse) and not outcome.error:
            self._member.links.answered(flight.link)
            self._count(flight, outcome)
            self._on_answer(flight, outcome)
            return
        self._count_long_polls(flight)
        if isinstance(outcome, Disconnected) and not self._member.links.wait_us(flight.node, SHARED):
            self._member.links.failed(flight.node, SHARED)
        self._on_lost(flight)

    def make_way(self, link: Connection) -> None:
        """Have a parked Fetch answered before another request is sent on its connection."""
        for flight in self._by_node.values():
            if flight.link is link and flight.renew is not None:
                flight.renew()

    def come_back(self) -> None:
        """Have parked fetches answered at the end of their current long poll, for a commit that waits for any event."""
        for flight in self._by_node.values():
            if flight.renew is not None:
                flight.renew()

    def connection_dropped(self, link: Connection) -> None:
        """Fail the Fetch on a connection that was closed from this side."""
        for flight in [flight for flight in self._by_node.values() if flight.link is link]:
            self._member.host.call_at(self._member.now_us, partial(self._dropped, flight))

    def _dropped(self, flight: Flight, _: Any) -> None:
        self._answered(flight, Disconnected("the connection was closed"))

    # -- counts -------------------------------------------------------------------------------------------------

    def counts(self) -> FetchCounts:
        """Return the counts so far, with the finished long polls of fetches in flight."""
        found = FetchCounts(self._sent, self._empty, self._waited_us)
        for flight in self._by_node.values():
            found = found.and_(self._long_polls(flight))
        return found

    def was_away(self, since_us: int) -> None:
        """Skip the long polls that were not sent while the application was away: one was answered, none followed."""
        for flight in self._by_node.values():
            if flight.renew is not None:
                flight.skipped += self._missed(flight, since_us)

    def _missed(self, flight: Flight, since_us: int) -> int:
        """Return the number of long polls that were not sent since `since_us`."""
        period_us, begun_us = self._max_wait_ms * MS_US, flight.sent_us
        over = (self._member.now_us - begun_us) // period_us - max(since_us - begun_us, 0) // period_us
        return max(over - 1, 0)

    def _skipped(self, flight: Flight) -> int:
        membership = self._member.membership
        return flight.skipped + (0 if membership.in_poll else self._missed(flight, membership.away_since_us))

    def _count(self, flight: Flight, response: FetchResponse) -> None:
        waited_us: int = getattr(flight.link, "waited_us", 0)
        if flight.renew is not None:
            period_us = self._max_wait_ms * MS_US
            before = max(waited_us // period_us - self._skipped(flight), 0)
            waited_us = before * period_us + waited_us % period_us
            self._sent += before
            self._empty += before
        self._waited_us += waited_us
        for data in response.partitions:
            if data.batches or data.error:
                return
        self._empty += 1

    def _count_long_polls(self, flight: Flight) -> None:
        before = self._long_polls(flight)
        self._sent += before.sent
        self._empty += before.empty
        self._waited_us += before.waited_us

    def _long_polls(self, flight: Flight) -> FetchCounts:
        """Return the counts that a Fetch without an answer stands for."""
        if flight.renew is None:
            return FetchCounts()
        over = max(flight.link.long_polls() - self._skipped(flight), 0)  # type: ignore[attr-defined]
        return FetchCounts(over, over, over * self._max_wait_ms * MS_US)

    def close(self) -> None:
        """Drop all fetches."""
        for flight in self._by_node.values():
            self._count_long_polls(flight)
        self._by_node.clear()
        self.ready.clear()
