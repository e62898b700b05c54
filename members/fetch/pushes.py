"""Fetches of the push model: a broker continues without further requests.

The consumer sends one Fetch to each leader of its partitions. When the broker has answered it, the next one starts at
the broker at once, from the end of that answer: it does not cross the network, and does not wait for the answer to
arrive. So records leave as soon as they can be read, and a slow link queues them without a limit.

    Fetch ──> answered: records on their way ──> `went_out`: the Fetch after it ──> answered: … ──> …
                                └──> arrive in the order they were sent

With the next answer, after fetch.max.wait.ms at the latest, the broker learns which partitions the consumer has added
and dropped. A refused partition is left out until the consumer queues it again. The connection carries nothing else
(`members.links.PUSHED`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

from groupsim.members.fetch.flights import Flights
from groupsim.members.fetch.state import FetchState, Flight, PartitionState
from groupsim.members.interfaces import Disconnected, Outcome, Pushing
from groupsim.members.links import PUSHED
from groupsim.protocol.messages.data import FetchPartition, FetchRequest, FetchResponse, PartitionData
from groupsim.protocol.messages.group import TopicPartition

if TYPE_CHECKING:
    from groupsim.members.leaders import Leaders
    from groupsim.members.member import Member


class Pushes(Flights):
    """The pushed fetches of one process: the one at each broker, and the answers on their way."""

    __slots__ = ("_states", "_under_way")

    def __init__(
        self,
        member: Member,
        leaders: Leaders,
        states: Mapping[TopicPartition, PartitionState],
        on_answer: Callable[[Flight, FetchResponse], None],
        on_lost: Callable[[Flight], None],
    ) -> None:
        super().__init__(member, leaders, on_answer, on_lost)
        self._states = states
        self._under_way: dict[Flight, None] = {}

    def is_busy(self, node: int) -> bool:
        """Return False: pushed records have a connection of their own."""
        return False

    # -- sending ------------------------------------------------------------------------------------------------

    def _send_when_possible(self, node: int, states: list[PartitionState]) -> None:
        wait_us = self._member.links.wait_us(node, PUSHED)
        if wait_us:
            self.come_back_in(wait_us)
            return
        member = self._member
        link = member.links.connection(node, PUSHED)
        asked = tuple([self._asked(state, state.offset) for state in states])
        flight, request = self._take_off(node, cast("Pushing", link), states, asked)
        link.send(request, partial(self._answered, flight), member.request_timeout_us)

    def _asked(self, state: PartitionState, offset: int) -> FetchPartition:
        return FetchPartition(state.partition, offset, self._most_each, state.leader.epoch)

    def _take_off(
        self, node: int, link: Pushing, states: list[PartitionState], asked: tuple[FetchPartition, ...]
    ) -> tuple[Flight, FetchRequest]:
        flight = Flight(node, link, states, None, self._member.loop.now_us)
        flight.asked = asked
        for state in states:
            state.flight = flight
            self.ready.pop(state.partition, None)
        self._sent += 1
        self._by_node[node] = flight
        self._under_way[flight] = None
        return flight, self._request(asked, pushes=partial(self._went_out, flight))

    def _went_out(self, flight: Flight, request: FetchRequest, response: FetchResponse) -> None:
        """Start the next fetch at the broker, from the end of the answer it has sent."""
        if self._by_node.get(flight.node) is not flight:
            return
        link = cast("Pushing", flight.link)
        self._waited_us += link.waited_us
        states: list[PartitionState] = []
        asked: list[FetchPartition] = []
        for state, data, before in zip(flight.states, response.partitions, request.partitions, strict=False):
            if self._goes_on(flight, state, data):
                states.append(state)
                asked.append(self._asked(state, data.batches[-1].next_offset if data.batches else before.fetch_offset))
        for state in [state for state in self.ready.values() if state.leader.leader == flight.node]:
            states.append(state)
            asked.append(self._asked(state, state.offset))
        if states:
            after, request = self._take_off(flight.node, link, states, tuple(asked))
            link.follow(request, partial(self._answered, after), self._member.request_timeout_us)

    def _goes_on(self, flight: Flight, state: PartitionState, data: PartitionData) -> bool:
        """Whether the consumer still wants a partition from the broker's position."""
        wanted = state.flight is flight and self._states.get(state.partition) is state
        return wanted and not data.error and state.state is FetchState.FETCHING

    # -- arrivals -----------------------------------------------------------------------------------------------

    def _answered(self, flight: Flight, outcome: Outcome) -> None:
        if flight not in self._under_way:
            return
        del self._under_way[flight]
        if self._by_node.get(flight.node) is flight:
            del self._by_node[flight.node]
        links, on_network_event = self._member.links, self._member.on_network_event
        if on_network_event is not None:
            on_network_event()
        if isinstance(outcome, FetchResponse) and not outcome.error:
            links.answered(flight.link)
            self._empty += not any(data.batches or data.error for data in outcome.partitions)
            self._on_answer(flight, outcome)
            return
        if isinstance(outcome, Disconnected) and not links.wait_us(flight.node, PUSHED):
            links.failed(flight.node, PUSHED)
        self._on_lost(flight)

    def close(self) -> None:
        """Drop all fetches."""
        super().close()
        self._under_way.clear()
