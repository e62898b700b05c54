"""Where both twins are looked at: the broker's end of their connections, whatever is at the other end.

`Tap` stands in the place of the network's message faults: every request passes by it before the broker sees it, every
answer before it goes out. It writes down the group requests of the consumers that it knows, and puts their stories'
rules in the way. So what is compared was seen by the same eyes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

from attrs import define, field

from groupsim.cluster.network.broker_connection import BrokerConnection
from groupsim.cluster.network.message_faults import MessageFaults
from groupsim.cluster.network.network import Network
from groupsim.eventloop.interface import EventLoop
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from groupsim.protocol.messages.group import (
    Api,
    FetchedOffset,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    Response,
)
from groupsim.protocol.messages.refusals import refusal
from tests.twins.story import Answer, Deed, Slow, Story, Strike

_GROUP = frozenset(
    {
        Api.FIND_COORDINATOR,
        Api.JOIN_GROUP,
        Api.SYNC_GROUP,
        Api.HEARTBEAT,
        Api.LEAVE_GROUP,
        Api.OFFSET_COMMIT,
        Api.OFFSET_FETCH,
        Api.CONSUMER_GROUP_HEARTBEAT,
    }
)


class Coordinator(Protocol):
    """What answers a story's group requests in the place of the broker."""

    def answers(self, connection: BrokerConnection, number: int) -> bool:
        """Answer a request, the `number`-th of its API; False for one that the broker answers itself."""

    def does(self, deed: Deed) -> bool:
        """Carry out what concerns the group; False for what does not."""

    def symbols(self) -> Mapping[str, str]:
        """Return the names of topics, by their ids."""


@define(eq=False)
class Seen:
    """One request, and what became of it: an answer, or `struck` says what instead; neither: it was still waiting."""

    request: Request
    at_us: int
    response: Response | None = None
    answered_us: int | None = None
    struck: str = ""
    late_us: int = 0  #: a rule delays its answer by so much


@define(eq=False)
class Play:
    """A story while it is played by one consumer. `carry_out` does what the story says is to be done; requests of the
    APIs `unseen` meet the story's rules and are not written down. `held_up_us`: so long the machine held it up.
    `coordinator`: what answers the group's requests in the place of the broker.
    """

    loop: EventLoop
    story: Story
    carry_out: Callable[[Play, Deed], None]
    unseen: frozenset[Api] = frozenset()
    coordinator: Coordinator | None = None
    seen: list[Seen] = field(factory=list)
    over: bool = False
    began_us: int | None = None
    connection: BrokerConnection | None = None
    at_the_end: Callable[[], None] | None = None
    held_up_us: int = 0
    _count: Counter[Api] = field(factory=Counter)
    _in_hand: dict[int, Seen] = field(factory=dict)

    def wants(self, api: Api) -> bool:
        """Whether requests of this kind are part of the story."""
        ruled = self.story.metadata or any(rule.api is Api.METADATA for rule in self.story.all_rules)
        return not self.over and (api in _GROUP or (ruled and api is Api.METADATA))

    def came(self, connection: BrokerConnection) -> bool:
        """A request has come in; True when a rule has seen to it."""
        if self.began_us is None:
            self.began_us = self.loop.now_us
            self.loop.call_at(self.began_us + self.story.ends_ms * 1_000, self._end)
        api = connection.request.API
        if api is not Api.FIND_COORDINATOR and api is not Api.METADATA:
            self.connection = connection
        seen = Seen(connection.request, self.loop.now_us)
        if api not in self.unseen and (self.story.metadata or api is not Api.METADATA):
            self.seen.append(seen)
        self._in_hand[id(connection)] = seen
        self._count[api] += 1
        number = self._count[api]
        for rule in self.story.all_rules:
            if isinstance(rule, Slow) and rule.api is api and rule.at <= number < rule.at + rule.times:
                seen.late_us = rule.by_ms * 1_000
            if isinstance(rule, Deed) and rule.api is api and rule.at == number:
                self.loop.call_at(self.loop.now_us + rule.wait_ms * 1_000, self._due, rule)
        if any(self._struck(rule, number, connection) for rule in self.story.all_rules):
            return True
        return self.coordinator is not None and self.coordinator.answers(connection, number)

    def _due(self, deed: Deed) -> None:
        if self.over or (self.coordinator is not None and self.coordinator.does(deed)):
            return
        self.carry_out(self, deed)

    def _struck(self, rule: object, number: int, connection: BrokerConnection) -> bool:
        if not isinstance(rule, Answer | Strike) or rule.api is not connection.request.API:
            return False
        if not rule.at <= number < rule.at + rule.times:
            return False
        connection.broker.emit_received(connection)
        if isinstance(rule, Answer):
            connection.answer(_refused(connection.request, rule.error))
            return True
        seen = self._in_hand.pop(id(connection))
        seen.struck = "the connection breaks" if rule.breaks else "silence"
        if rule.breaks:
            connection.cut("connection reset")
        else:
            connection.silence()
        return True

    def went(self, connection: BrokerConnection, response: Response) -> int:
        """An answer goes out; the microseconds by which a rule delays it."""
        seen = self._in_hand.pop(id(connection), None)
        if seen is None or self.over:
            return 0
        seen.response, seen.answered_us = response, self.loop.now_us + seen.late_us
        return seen.late_us

    def _end(self, _: object) -> None:
        self.over = True
        if self.at_the_end is not None:
            self.at_the_end()


def _refused(request: Request, error: ErrorCode) -> Response:
    """As a broker says it: offsets that are not stable are so by partition."""
    if isinstance(request, OffsetFetchRequest) and error is ErrorCode.UNSTABLE_OFFSET_COMMIT:
        return OffsetFetchResponse(offsets=tuple(FetchedOffset(one, error=error) for one in request.partitions or ()))
    if isinstance(request, ConsumerGroupHeartbeatRequest):
        return ConsumerGroupHeartbeatResponse(error, error_message=error.name)
    answer: Response = refusal(request, error)
    return answer


class Tap(MessageFaults):
    """All plays of a cluster, by client id; there is always something to look at."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.plays: dict[str, Play] = {}
        network.message_faults = self
        for watcher in network.watchers:
            watcher()

    def __len__(self) -> int:
        return 1

    def answer_error(self, connection: BrokerConnection) -> bool:
        play = self.plays.get(connection.client_id)
        if play is None or not play.wants(connection.request.API):
            return super().answer_error(connection)
        return play.came(connection)

    def affect_response(self, connection: BrokerConnection, response: Response) -> bool:
        play = self.plays.get(connection.client_id)
        late_us = 0 if play is None else play.went(connection, response)
        if late_us:
            connection.delay(response, late_us)
            return True
        return super().affect_response(connection, response)
