"""One TCP connection between a client process and a broker, both ends.

As with TCP, the segments of one direction arrive in the order of sending, each after a latency of its own, and none is
lost. The broker reads the next request only after it has answered the previous one (`SocketServer` mutes the
channel), so requests behind a parked JoinGroup wait. A connection ends in one of three ways:

* **broken** (by a fault or the broker's crash): segments in flight and unread requests are lost, the client notices
  after a latency, and every request in flight ends in `Disconnected`; the client cannot know whether it was handled;
* **timed out**: the client abandons an unanswered request and closes the connection, as `NetworkClient` does; sent
  requests still arrive;
* **closed** by the client: sent requests still arrive.

The object is also the coordinator's `Call`: the broker handles one request of it at a time, so request and correlation
id are fields of the connection.

A consumer's Fetch that is `renewed` stands for a series of long polls (`long_polls`).

Latencies are drawn in blocks, from a random stream per connection, so they do not depend on other connections. The
request timeout is one timer per connection: a send arms it for the earliest deadline, and when it fires it checks
whether a request has passed its deadline.
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
from groupsim.cluster.network.sockets import CorrelationIds, Flight, queued
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
        "_ids",
        "_life",
        "_more",
        "_oldest",
        "_queue",
        "_ready_us",
        "_stalled_requests",
        "_stalled_responses",
        "_trace",
        "broker",
        "cause_seq",
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
        ids: CorrelationIds,
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
        self._processing_draws = None if isinstance(processing, int) else processing
        self._processing_us = processing if isinstance(processing, int) else 0
        self._ids = ids
        self._start()

    def _start(self) -> None:
        self.open = True
        self.up = True
        self.plain = self._processing_draws is None
        self._broken = False
        self.conditions: Sequence[Condition] = ()
        self.cause_seq = 0
        self.give_up = None
        self._long_poll = None
        self.correlation = -1
        self.took_us = 0
        self.waited_us = 0  #: the time that the last answered Fetch had waited at the broker
        self._busy = False
        # Most connections have one request in flight: the oldest has a field of its own, queues are made on demand.
        self._oldest: Flight | None = None
        self._more: deque[Flight] | None = None
        self._queue: deque[Flight] | None = None
        self._stalled_requests: deque[Flight] | None = None
        self._stalled_responses: deque[Response] | None = None
        self._check_us = _NEVER
        self._check_handle: Handle | None = None
        # The arrival of the last response and of the last request: later messages arrive after these.
        self._floor_in = 0
        self._floor_out = 0
        self._ready_us = 0

    def handshake(self) -> None:
        """Open the connection: the first request arrives after the handshake's round trip and its own latency."""
        there, back, first = self._draw(), self._draw(), self._draw()
        if self.conditions:
            links, now = self._network.link_faults, self._loop.now_us
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
            elif request.acks == 0:  # type: ignore[union-attr]  # a Produce with acks=0 has no answer
                self._send_without_answer((correlation, request, on_done, deadline, self), now)
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
            self._send_under_faults(flight, now)
            return correlation
        # The following lines are `_forward`, inlined for speed.
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
        self.broker_host.call_at(now + self._processing_time_us(), self._request_arrived, flight, order=_MESSAGE)

    def _send_without_answer(self, flight: Flight, now: int) -> None:
        """Send a Produce with acks=0: `NetworkClient` completes it as soon as it is sent."""
        if self.plain:
            self._forward(flight, now)
        else:
            self._send_under_faults(flight, now)
        self.client.call_at(now, flight[2], ProduceResponse(), order=_MESSAGE)

    def _send_under_faults(self, flight: Flight, now: int) -> None:
        if not self.up:
            return
        if not self._network.link_faults.stalls_requests(self):
            self._forward(flight, now)
        else:
            self._stalled_requests = queued(self._stalled_requests, flight)

    def _forward(self, flight: Flight, now: int) -> None:
        """Put a segment on the wire to the broker."""
        when = now + self._network.link_faults.stretch(self, self._draw())
        if self.conditions:
            when += self._network.link_faults.request_queues_us(self, flight[1], now)
        self._floor_out = when = max(when, self._floor_out) + self._processing_time_us()
        self.broker_host.call_at(when, self._request_arrived, flight, order=_MESSAGE)

    def close(self) -> None:
        if self.open:
            self._end()

    def _end(self) -> list[Flight]:
        """Close the connection at the client; return the requests in flight."""
        self.open = self.up = self.plain = False
        flights = self._flights()
        self._oldest = self._more = self._stalled_requests = None
        self._disarm()
        self._network.remove(self)
        self._give_up()
        return flights

    def _give_up(self) -> None:
        """Call `give_up`, so that the handler of the current request can drop it."""
        give_up, self.give_up = self.give_up, None
        if give_up is not None:
            give_up()

    def _flights(self) -> list[Flight]:
        """Return the requests in flight, oldest first."""
        return [] if self._oldest is None else [self._oldest, *(self._more or ())]

    def _response_arrived(self, response: Response) -> None:
        """Deliver a response to the client."""
        if self.up:
            flight, more = self._oldest, self._more
            assert flight is not None
            if more:
                self._oldest = more.popleft()
            else:  # nothing is in flight, so the next message cannot overtake another
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
        """Disconnect if a request has passed its deadline, else arm the timer again."""
        self._check_us, self._check_handle = _NEVER, None
        if self._oldest is None:
            return
        deadline = min(self._deadline(flight) for flight in self._flights())
        if deadline > self._loop.now_us:
            if deadline < _NEVER:
                self._arm(deadline)
            return
        if self.cause_seq:
            self._trace.begin(self.cause_seq)
        self._disconnected(Disconnected("a request timed out", timed_out=True))

    def _deadline(self, flight: Flight) -> int:
        poll = self._long_poll
        return poll.deadline_us if poll is not None and poll.correlation == flight[0] else flight[3]

    def _disconnected(self, outcome: Disconnected) -> None:
        """Let the client notice the end of the connection: every request in flight fails."""
        if self.open:
            for flight in self._end():
                flight[2](outcome)

    # --- the broker's end ------------------------------------------------------------------------------------

    def _request_arrived(self, flight: Flight) -> None:
        """Deliver a request to the broker, or queue it behind an unanswered one."""
        if self._broken:
            return
        if self._busy:
            self._queue = queued(self._queue, flight)
            return
        self._busy = True
        self.correlation = flight[0]
        self.request = flight[1]
        if self.plain or not self._network.message_faults.answer_error(self):
            self.broker.receive(self)

    def answer(self, response: Response) -> None:
        """Send the response to the current request; see `coordinator.interfaces.Call.answer`.

        Raises `RuntimeError` without a request: every request is answered at most once.
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
        self.broker.emit_answer(self, response)
        self._reply(response)
        trace.cause = before

    @property
    def busy(self) -> bool:
        """Whether the broker has an unanswered request."""
        return self._busy

    def no_answer(self) -> None:
        """Read the next request without an answer to the current one (Produce with acks=0). Raises like `answer`."""
        if not self._busy:
            raise RuntimeError(f"{self}: no request that could go unanswered")
        self._busy = False
        if self._queue and not self._broken:
            self._next(self._queue.popleft())

    def _reply(self, response: Response) -> None:
        self._busy = False
        self.give_up = None
        if not self.plain or self._life.dead:
            self._reply_under_faults(response)
        else:
            # The following lines are `_backward`, inlined for speed.
            at = self._at
            if at == BLOCK:
                at = self._refill()
            self._at = at + 1
            when = self._loop.now_us + self._latencies[at]
            if when < self._floor_in:
                when = self._floor_in
            self._floor_in = when
            self._loop.message_at(when, self._response_arrived, response, self._life)
        if self._queue and not self._broken:
            self._next(self._queue.popleft())

    def _reply_under_faults(self, response: Response) -> None:
        if not self.up or self.client.life is not self._life:
            self.drop("the connection is gone")
        elif self.plain or not self._network.message_faults.affect_response(self, response):
            self.pass_back(response)

    def _next(self, flight: Flight) -> None:
        """Schedule the next request from the socket buffer, after the current event."""
        self._busy = True
        self.broker_host.call_at(
            self._loop.now_us + self._processing_time_us(), self._read_next, flight, order=_MESSAGE
        )

    def _read_next(self, flight: Flight) -> None:
        self._busy = False
        self._request_arrived(flight)

    def pass_back(self, response: Response) -> None:
        """Send a response, or hold it while a stall lasts."""
        if self._stalled_responses or self._network.link_faults.stalls_responses(self):
            self._stalled_responses = queued(self._stalled_responses, response)
        else:
            self._backward(response, self._loop.now_us)

    def _backward(self, response: Response, now: int) -> None:
        """Put a segment on the wire to the client."""
        late = self._network.link_faults.stretch(self, self._draw())
        if self.conditions:
            late += self._network.link_faults.response_queues_us(self, response, now)
        self._floor_in = when = max(now + late, self._floor_in)
        self.client.call_at(when, self._response_arrived, response, order=_MESSAGE)

    def drop(self, reason: str) -> None:
        """Emit that the current answer reaches no client."""
        if self._trace.wants(Kind.REQUEST_DROPPED):
            self.broker.emit_dropped(self, reason)

    # --- faults ----------------------------------------------------------------------------------------------

    def cut(self, reason: str, after_us: int | None = None) -> None:
        """Break the connection now; the client notices after `after_us` (default: a latency)."""
        if not self.up:
            return
        self._broken = True
        self.up = self.plain = False
        self._queue = self._stalled_requests = self._stalled_responses = None
        self._give_up()
        delay = self._draw() if after_us is None else after_us
        self.client.call_at(self._loop.now_us + delay, self._disconnected, Disconnected(reason), order=_MESSAGE)

    def delay(self, response: Response, by_us: int) -> None:
        """Send a response that arrives after `by_us` at the earliest; later responses arrive after it."""
        self._floor_in = max(self._floor_in, self._loop.now_us + by_us)
        self.pass_back(response)

    def silence(self) -> None:
        """Send no further responses on this connection, which stays up."""
        self.conditions = (*self.conditions, SILENT)

    def refuse(self) -> None:
        """Refuse the connection; the client notices after the handshake's round trip."""
        self.cut(REFUSED, self._ready_us - self._loop.now_us)

    def update_plain(self, message_faults: bool) -> None:
        """Recompute whether the connection is plain: up, and without faults."""
        self.plain = self.up and not message_faults and not self.conditions and self._processing_draws is None

    def impose(self, conditions: list[Condition]) -> None:
        """Replace the link faults that affect this connection."""
        silent = [c for c in self.conditions if c is SILENT]
        self.conditions = (*conditions, *silent)
        if conditions:
            self.cause_seq = conditions[-1].seq

    def release_from(self, condition: Condition) -> None:
        """Send what an ended fault has stalled, in order."""
        self.conditions = tuple(c for c in self.conditions if c is not condition)
        if self._oldest is None:
            self.cause_seq = 0
        now, links = self._loop.now_us, self._network.link_faults
        while self._stalled_requests and not links.stalls_requests(self):
            self._forward(self._stalled_requests.popleft(), now)
        while self._stalled_responses and not links.stalls_responses(self):
            self._backward(self._stalled_responses.popleft(), now)

    def __repr__(self) -> str:
        return f"<connection {self.host_name}->{self.broker_host.name} {self.purpose} {self.number}>"


# A plain function: a bound method would be one more object for every message.


def _arrive(flight: Flight) -> None:
    """Deliver a request to the broker: `_request_arrived`, inlined for a plain connection."""
    connection = flight[4]
    if connection.plain and not connection._busy:
        connection._busy = True
        connection.correlation = flight[0]
        connection.request = flight[1]
        connection.broker.receive(connection)
    else:
        connection._request_arrived(flight)
