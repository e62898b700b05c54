"""One TCP connection between a client process and a broker, seen from both ends.

What holds of TCP holds here: segments of one direction arrive in the order they were sent, each
after a latency of its own; nothing is lost one by one. The broker reads the next request only after it has answered
the previous one, so a parked JoinGroup holds up what is queued behind it. A connection dies in one of three ways:

* **broken** (cut by a fault, by the broker's crash): what is on the wire or unread in the broker's buffer is lost, the
  client learns of it a latency later, and everything in flight ends in `Disconnected`; whether it was carried out the
  client cannot know;
* **timed out**: the client gives up a request that nobody answered and closes; what it had sent still arrives;
* **closed** by the client: as before, but silently.

The object is also the `Call` that the coordinator sees: because one request is handled at a time, request,
correlation and the way back are fields of the connection.

A consumer's Fetch that is `renewed` stands for all its long polls (`long_polls`).

Latencies are drawn in blocks, from a stream per connection, so the luck of one connection does not depend on what
others do. The request timeout is one event per connection that is looked at lazily: it is armed for
the earliest deadline when something is sent, and when it comes up it only looks whether that request still waits.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from groupsim.cluster.network.endpoint import MACHINERY
from groupsim.cluster.network.latency import BLOCK, Draws
from groupsim.cluster.network.link_faults import SILENT, Condition
from groupsim.cluster.network.long_polls import NEVER as _NEVER
from groupsim.cluster.network.long_polls import LongPoll, Polling
from groupsim.cluster.network.sockets import Correlations, Flight, queued
from groupsim.eventloop.interface import Handle, Host, Order
from groupsim.eventloop.randomness import Stream
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import OFF
from groupsim.members.interfaces import REFUSED, Disconnected, Outcome
from groupsim.protocol.messages.data import FetchRequest, ProduceRequest, ProduceResponse
from groupsim.protocol.messages.group import HeartbeatResponse, Request, Response
from groupsim.protocol.messages.versions import normalise_response

if TYPE_CHECKING:
    from groupsim.cluster.network.endpoint import Endpoint
    from groupsim.cluster.network.network import Network

_MESSAGE = Order.MESSAGE
_OF_RECORDS = frozenset({FetchRequest, ProduceRequest})
_NONE_YET: array[int] = array("Q")


class Connection(Polling):
    """Both ends of one connection; implements `members.interfaces.Connection` and `coordinator.interfaces.Call`."""

    __slots__ = (
        "_broken",
        "_check_handle",
        "_floor_in",
        "_floor_out",
        "_held_in",
        "_held_out",
        "_ids",
        "_life",
        "_more",
        "_oldest",
        "_queue",
        "_ready_us",
        "_trace",
        "blame",
        "broker",
        "client",
        "client_host",
        "client_id",
        "conditions",
        "host_name",
        "number",
        "open",
        "plain",
        "purpose",
        "took_us",
        "up",
        "waited_us",
    )

    def __init__(
        self,
        network: Network,
        broker: Endpoint,
        client: Host,
        client_id: str,
        *,
        purpose: str,
        number: int,
        stream: Stream,
        processing: Draws | int,
        ids: Correlations,
    ) -> None:
        self._network = network
        self._loop = network.loop
        self._trace = network.loop.trace
        self.broker = broker
        self.broker_host = broker.host
        self.client = client
        self.host_name = client.name
        self.client_id = client_id
        self.client_host = "/" + client.name
        self.purpose = purpose
        self.number = number
        self._life = client.life
        self._stream = stream
        self._latencies = _NONE_YET
        self._at = BLOCK
        self._thinking = None if isinstance(processing, int) else processing
        self._processing_us = processing if isinstance(processing, int) else 0
        self._ids = ids
        self._start()

    def _start(self) -> None:
        self.open = True
        self.up = True
        self.plain = self._thinking is None
        self._broken = False
        self.conditions: Sequence[Condition] = ()
        self.blame = 0
        self.give_up = None
        self._long_poll = None
        self.correlation = -1
        self.took_us = 0
        self.waited_us = 0  #: how long the last Fetch that was answered had waited at the broker
        self._busy = False
        # Most connections have one request in flight: the oldest has a place of its own, queues are made when needed.
        self._oldest: Flight | None = None
        self._more: deque[Flight] | None = None
        self._queue: deque[Flight] | None = None
        self._held_out: deque[Flight] | None = None
        self._held_in: deque[Response] | None = None
        self._check_us = _NEVER
        self._check_handle: Handle | None = None
        # When the last response will have arrived, and when the broker will have got to the last request: what is sent
        # next comes after that.
        self._floor_in = 0
        self._floor_out = 0
        self._ready_us = 0

    def handshake(self) -> None:
        """Open it: what is sent waits for one round trip, so that nothing arrives before there and back and there."""
        there, back, first = self._draw(), self._draw(), self._draw()
        if self.conditions:
            links, now = self._network.links, self._loop.now_us
            there, back, first = (links.stretch(self, one) for one in (there, back, first))
            there += links.waits_us(self, True, now)
            back += links.waits_us(self, False, now)
        self._ready_us = self._loop.now_us + there + back
        self._floor_out = self._ready_us + first

    @property
    def next_correlation(self) -> int:
        """The correlation id of the next `send`."""
        return self._ids.last + 1

    # --- the client's end ------------------------------------------------------------------------------------

    def send(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> int:
        now, ids = self._loop.now_us, self._ids
        ids.last = correlation = ids.last + 1
        if not self.open:
            self.client.call_at(now, on_done, Disconnected("the connection is closed"), order=_MESSAGE)
            return correlation
        deadline = now + timeout_us
        if request.__class__ in _OF_RECORDS:
            if request.__class__ is FetchRequest:
                if request.renewed:
                    self._long_poll = LongPoll(self, correlation, now, request, timeout_us)
                    deadline = _NEVER
            elif request.acks == 0:  # type: ignore[union-attr]  # no answer is ever sent to it
                self._post((correlation, request, on_done, deadline, self), now)
                return correlation
        flight = (correlation, request, on_done, deadline, self)
        if self._oldest is None:
            self._oldest = flight
        elif self._more is None:
            self._more = deque((flight,))
        else:
            self._more.append(flight)
        if deadline < self._check_us:
            self._arm(deadline)
        if not self.plain:
            self._send_with_care(flight, now)
            return correlation
        # What follows is `_forward`, written out.
        at = self._at
        if at == BLOCK:
            at = self._refill()
        self._at = at + 1
        when = now + self._latencies[at]
        if when < self._floor_out:
            when = self._floor_out
        self._floor_out = when = when + self._processing_us
        self._loop.message_at(when, _arrive, flight, self.broker_host.life)
        return correlation

    def follow(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> None:
        if not self.up or self._life.dead:
            return
        now = self._loop.now_us
        self._ids.last = correlation = self.next_correlation
        flight = (correlation, request, on_done, now + timeout_us, self)
        if self._oldest is None:
            self._oldest = flight
        else:
            self._more = queued(self._more, flight)
        if flight[3] < self._check_us:
            self._arm(flight[3])
        self.broker_host.call_at(now + self._think_us(), self._take, flight, order=_MESSAGE)

    def _post(self, flight: Flight, now: int) -> None:
        """Send what gets no answer: to the client it is done as soon as it is on the wire."""
        if self.plain:
            self._forward(flight, now)
        else:
            self._send_with_care(flight, now)
        self.client.call_at(now, flight[2], ProduceResponse(), order=_MESSAGE)

    def _send_with_care(self, flight: Flight, now: int) -> None:
        if not self.up:
            return
        if not self._network.links.holds_out(self):
            self._forward(flight, now)
        else:
            self._held_out = queued(self._held_out, flight)

    def _forward(self, flight: Flight, now: int) -> None:
        """Put a segment on the wire to the broker."""
        when = now + self._network.links.stretch(self, self._draw())
        if self.conditions:
            when += self._network.links.request_queues_us(self, flight[1], now)
        self._floor_out = when = max(when, self._floor_out) + self._think_us()
        self.broker_host.call_at(when, self._take, flight, order=_MESSAGE)

    def close(self) -> None:
        if self.open:
            self._end()

    def _end(self) -> list[Flight]:
        """Nothing is sent or received from here on; returns what was in flight."""
        self.open = self.up = self.plain = False
        flights = self._flights()
        self._oldest = self._more = self._held_out = None
        self._disarm()
        self._network.forget(self)
        self._give_up()
        return flights

    def _give_up(self) -> None:
        """Nobody waits any longer for the request in hand: whoever parked it may forget it."""
        give_up, self.give_up = self.give_up, None
        if give_up is not None:
            give_up()

    def _flights(self) -> list[Flight]:
        """What is in flight, oldest first."""
        return [] if self._oldest is None else [self._oldest, *(self._more or ())]

    def _back(self, response: Response) -> None:
        """A response arrives at the client."""
        if self.up:
            flight, more = self._oldest, self._more
            assert flight is not None
            if more:
                self._oldest = more.popleft()
            else:  # nothing is on its way that could be overtaken
                self._oldest = None
                self._floor_out = self._floor_in = 0
            flight[2](response)

    def _arm(self, deadline: int) -> None:
        self._disarm()
        self._check_us = deadline
        self._check_handle = self.client.call_at(deadline, self._check)

    def _disarm(self) -> None:
        if self._check_handle is not None:
            self.client.cancel(self._check_handle)
            self._check_handle = None
        self._check_us = _NEVER

    def _check(self, _: object) -> None:
        """The earliest deadline once armed for has come: does somebody still wait past his own?"""
        self._check_us, self._check_handle = _NEVER, None
        if self._oldest is None:
            return
        deadline = min(self._deadline(flight) for flight in self._flights())
        if deadline > self._loop.now_us:
            if deadline < _NEVER:
                self._arm(deadline)
            return
        if self.blame:
            self._trace.begin(self.blame)
        self._lose(Disconnected("a request timed out", timed_out=True))

    def _deadline(self, flight: Flight) -> int:
        poll = self._long_poll
        return poll.deadline_us if poll is not None and poll.correlation == flight[0] else flight[3]

    def _lose(self, outcome: Disconnected) -> None:
        """The client knows now that the connection is gone."""
        if self.open:
            for flight in self._end():
                flight[2](outcome)

    # --- the broker's end ------------------------------------------------------------------------------------

    def _take(self, flight: Flight) -> None:
        """A request arrives at the broker."""
        if self._broken:
            return
        if self._busy:
            self._queue = queued(self._queue, flight)
            return
        self._busy = True
        self.correlation = flight[0]
        self.request = flight[1]
        if self.plain or not self._network.taps.answers(self):
            self.broker.receive(self)

    def answer(self, response: Response) -> None:
        """Send the response to the request in hand; see `coordinator.interfaces.Call.answer`.

        Raises `RuntimeError` when there is none: every request is answered at most once.
        """
        if not self._busy:
            raise RuntimeError(f"{self}: answered twice: {response}")
        request, trace = self.request, self._trace
        if response.__class__ is HeartbeatResponse and not response.error and not trace.heartbeats:
            self._reply(response)
            return
        response = normalise_response(response, request.version)
        if request.__class__ is FetchRequest:
            self.waited_us = self._loop.now_us - self.took_us
        if trace.level is OFF or (request.__class__ in MACHINERY and not trace.heartbeats):
            self._reply(response)
            return
        before = trace.cause
        self.broker.note_answer(self, response)
        self._reply(response)
        trace.cause = before

    @property
    def busy(self) -> bool:
        """Whether the far end has a request in hand."""
        return self._busy

    def no_answer(self) -> None:
        """The request in hand gets no answer (Produce with acks=0): read the next. Raises as `answer` does."""
        if not self._busy:
            raise RuntimeError(f"{self}: no request in hand that could go unanswered")
        self._busy = False
        if self._queue and not self._broken:
            self._next(self._queue.popleft())

    def _reply(self, response: Response) -> None:
        self._busy = False
        self.give_up = None
        if not self.plain or self._life.dead:
            self._reply_with_care(response)
        else:
            # What follows is `_backward`, written out.
            at = self._at
            if at == BLOCK:
                at = self._refill()
            self._at = at + 1
            when = self._loop.now_us + self._latencies[at]
            if when < self._floor_in:
                when = self._floor_in
            self._floor_in = when
            self._loop.message_at(when, self._back, response, self._life)
        if self._queue and not self._broken:
            self._next(self._queue.popleft())

    def _reply_with_care(self, response: Response) -> None:
        if not self.up or self.client.life is not self._life:
            self.drop("the connection is gone")
        elif self.plain or not self._network.taps.takes(self, response):
            self.pass_back(response)

    def _next(self, flight: Flight) -> None:
        """Read the next request out of the socket buffer: after this instant's own work, never inside it."""
        self._busy = True
        self.broker_host.call_at(self._loop.now_us + self._think_us(), self._take_next, flight, order=_MESSAGE)

    def _take_next(self, flight: Flight) -> None:
        self._busy = False
        self._take(flight)

    def pass_back(self, response: Response) -> None:
        """Send towards the client, or hold back while a stall lasts."""
        if self._held_in or self._network.links.holds_in(self):
            self._held_in = queued(self._held_in, response)
        else:
            self._backward(response, self._loop.now_us)

    def _backward(self, response: Response, now: int) -> None:
        """Put a segment on the wire to the client."""
        late = self._network.links.stretch(self, self._draw())
        if self.conditions:
            late += self._network.links.response_queues_us(self, response, now)
        self._floor_in = when = max(now + late, self._floor_in)
        self.client.call_at(when, self._back, response, order=_MESSAGE)

    def drop(self, reason: str) -> None:
        """Say in the trace that the answer in hand reaches nobody."""
        if self._trace.wants(Kind.REQUEST_DROPPED):
            self.broker.note_dropped(self, reason)

    # --- what the network does to it -------------------------------------------------------------------------

    def cut(self, reason: str, after_us: int | None = None) -> None:
        """Break the connection now; the client sees it `after_us` (a latency, unless given) later."""
        if not self.up:
            return
        self._broken = True
        self.up = self.plain = False
        self._queue = self._held_out = self._held_in = None
        self._give_up()
        delay = self._draw() if after_us is None else after_us
        self.client.call_at(self._loop.now_us + delay, self._lose, Disconnected(reason), order=_MESSAGE)

    def delay(self, response: Response, by_us: int) -> None:
        """Send a response so late that it arrives after `by_us` at the earliest; what follows stays behind it."""
        self._floor_in = max(self._floor_in, self._loop.now_us + by_us)
        self.pass_back(response)

    def hush(self) -> None:
        """Nothing comes back on this connection any more, though it stays up."""
        self.conditions = (*self.conditions, SILENT)

    def refuse(self) -> None:
        """The handshake comes to nothing: seen after its round trip."""
        self.cut(REFUSED, self._ready_us - self._loop.now_us)

    def settle(self, tapped: bool) -> None:
        """See anew whether the connection is plain: up, and no fault near it."""
        self.plain = self.up and not tapped and not self.conditions and self._thinking is None

    def impose(self, conditions: list[Condition]) -> None:
        """The faults of links that concern this connection from now on."""
        silent = [c for c in self.conditions if c is SILENT]
        self.conditions = (*conditions, *silent)
        if conditions:
            self.blame = conditions[-1].seq

    def release_from(self, condition: Condition) -> None:
        """A fault has ended: what it held back goes out, in order."""
        self.conditions = tuple(c for c in self.conditions if c is not condition)
        if self._oldest is None:
            self.blame = 0
        now, links = self._loop.now_us, self._network.links
        while self._held_out and not links.holds_out(self):
            self._forward(self._held_out.popleft(), now)
        while self._held_in and not links.holds_in(self):
            self._backward(self._held_in.popleft(), now)

    def __repr__(self) -> str:
        return f"<connection {self.host_name}->{self.broker_host.name} {self.purpose} {self.number}>"


# What arrives calls plain functions: a bound method for every message would be one more object to make and to find.


def _arrive(flight: Flight) -> None:
    """A request arrives at the broker: `_take`, written out for a connection that is plain."""
    connection = flight[4]
    if connection.plain and not connection._busy:
        connection._busy = True
        connection.correlation = flight[0]
        connection.request = flight[1]
        connection.broker.receive(connection)
    else:
        connection._take(flight)
