"""A real client's connection, seen from the broker: frames in, one request at a time, responses in order.

    received ─▶ intake ─▶ clerk ─▶ requests, one after the other, through `broker.receive`
                                     └─▶ answers ─▶ clerk ─▶ outbox ─▶ the next message

As Kafka mutes a channel: while a message is in hand, or its response has not been taken by the kernel, nothing more is
read than what came in the same piece. So a connection holds one message and one read at most, a parked JoinGroup holds
up what is behind it, and a client that went away meanwhile is noticed when its answer is due. A client that never reads
holds up itself alone, with one response, until it has been idle for too long.

No message holds up other connections for long. One with very many elements is read, and its response written, beside
the loop (`clerk`); the requests that it is made of are carried out a few milliseconds' worth at a time.

It is one of the network's connections (`BrokerConnection`), so faults affect it like a simulated one. Without a fault
(`plain`) there is no detour; a latency or a limited bandwidth delays both ways, a stall holds back
what would be carried out or written. What a paused broker is sent it takes when it goes on.

Bytes that are no request end the connection with a line in the log. An error in a handler is answered with
UNKNOWN_SERVER_ERROR, and the connection goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from groupsim.cluster.network.endpoint import MACHINERY, Endpoint
from groupsim.cluster.network.link_faults import SILENT, Condition
from groupsim.cluster.tcp.codec_runner import Clerk
from groupsim.cluster.tcp.intake import Intake
from groupsim.cluster.tcp.memory import Memory
from groupsim.cluster.tcp.naming import Names, java_host, purpose_of
from groupsim.cluster.tcp.outbox import Outbox
from groupsim.eventloop.interface import Host, Order
from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.eventloop.streams import TcpStream
from groupsim.eventloop.units import MS_US
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import HeartbeatResponse, Request, Response
from groupsim.protocol.messages.versions import normalise_response
from groupsim.protocol.wire import Codec, Exchange, Understood, Unreadable

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Broker
    from groupsim.cluster.network.network import Network
    from groupsim.cluster.tcp.rate_limited_log import Complaints

_NOTHING: tuple[Request, ...] = ()
_AT_ONCE_US = 5 * MS_US  # how long the requests of one message are carried out without a breath for others
_BREATH_US = MS_US


class TcpConnection:
    """One connection; implements `streams.Receiver`, `BrokerConnection` and `coordinator.interfaces.Call`."""

    __slots__ = (
        "_answers",
        "_busy",
        "_carrying",
        "_clerk",
        "_complaints",
        "_exchange",
        "_forget",
        "_held_out",
        "_intake",
        "_loop",
        "_names",
        "_network",
        "_out",
        "_pumping",
        "_requests",
        "_stream",
        "_trace",
        "blame",
        "broker",
        "broker_host",
        "client_host",
        "client_id",
        "conditions",
        "correlation",
        "give_up",
        "host_name",
        "plain",
        "purpose",
        "request",
        "took_us",
        "up",
    )

    broker: Endpoint
    broker_host: Host
    request: Request

    def __init__(
        self,
        loop: RealTimeLoop,
        network: Network,
        broker: Broker,
        stream: TcpStream,
        codec: Codec,
        names: Names,
        complaints: Complaints,
        memory: Memory,
        forget: Callable[[TcpConnection], None],
    ) -> None:
        """Take a connection over; `forget` is called when it is gone."""
        self._network = network
        self._loop = loop
        self._trace = loop.trace
        self._stream = stream
        self._clerk = Clerk(loop, broker.host, codec)
        self._names = names
        self._complaints = complaints
        self._forget = forget
        self.broker = broker
        self.broker_host = broker.host
        self.client_host = java_host(stream.peer[0])
        self.host_name = ""
        self.client_id = ""
        self.purpose = ""
        self.correlation = -1
        self.took_us = self.blame = 0
        self.give_up: Callable[[], None] | None = None
        self.conditions: Sequence[Condition] = ()
        self.up = self.plain = True
        self._intake = Intake(self, stream, memory)
        self._out = Outbox(self, stream, network)
        self._exchange: Exchange | None = None
        self._requests: Sequence[Request] = _NOTHING
        self._answers: list[Response] = []
        self._busy = self._carrying = self._pumping = False
        self._held_out = False

    # --- bytes -----------------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        if self.broker_host.paused:
            self._intake.read_on(False)
        self.broker_host.deliver(self._take_in, data)

    def _take_in(self, data: bytes) -> None:
        if not self.up:
            return
        try:
            self._intake.feed(data)
        except Unreadable as error:
            self.kick(str(error))
            return
        self._pump()
        if self.up:
            self._intake.count_unfinished()

    def stop_reading(self, stopped: bool) -> None:
        self._intake.stop(stopped)
        self._read_on()

    def drained(self) -> None:
        self.broker_host.deliver(self._next, None)

    def ended(self, reason: str) -> None:
        self._end()

    def _pump(self) -> None:
        """Take the next messages, as long as each is done with at once; then read on, or not."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._intake and self._ready():
                self._clerk.read(self._intake.take(), self._take_up)
        finally:
            self._pumping = False
        if self.up:
            self._read_on()

    def _ready(self) -> bool:
        """Whether the next message may be taken: none in hand, and all responses have left."""
        return self._exchange is None and self.up and self._out.empty and not self._clerk.at_work

    def _read_on(self) -> None:
        """Read, unless there is something to be done first."""
        self._intake.read_on(not self._intake and self._ready())

    # --- one message -----------------------------------------------------------------------------------------

    def _take_up(self, understood: Understood | Exception) -> None:
        """A message has been read: begin to carry it out."""
        if isinstance(understood, Exception):
            self.kick(str(understood))
            return
        self._meet(understood.client_id, purpose_of(understood.api) or self.purpose)
        if not self.up:
            return
        self.correlation = understood.correlation
        self._exchange = exchange = understood.exchange
        self._requests = exchange.requests
        self._answers = []
        if self.plain:
            self._carry_out()
        else:
            self._carry_out_with_care()

    def _meet(self, client_id: str, purpose: str) -> None:
        """Who asks, and what for: it gives the connection its name among the network's."""
        if self.host_name and client_id == self.client_id and purpose == self.purpose:
            return
        self.client_id = client_id
        self.host_name = self._names.of(client_id, self._stream.peer[0])
        self.purpose = purpose
        self._network.renamed(self)

    def _carry_out_with_care(self) -> None:
        """The message is still on its way: a stall holds it, a latency or a limited bandwidth delays it."""
        links = self._network.links
        if links.holds_out(self):
            self._held_out = True
            return
        now = self._loop.now_us
        late = links.stretch(self, 0) + links.bytes_queue_us(self, True, self._intake.size, now)
        if late > 0:
            self.broker_host.call_at(now + late, self._arrive, self._exchange)
        else:
            self._carry_out()

    def _arrive(self, exchange: Exchange) -> None:
        if self._exchange is exchange and self.up:
            self._carry_out()

    def _carry_out(self) -> None:
        """Hand the requests of the message to the broker, one after the other; at the end comes the response."""
        if self._carrying or self._clerk.at_work:
            return
        self._carrying = True
        most, late = len(self._requests), False
        until_us = self._loop.now_us + _AT_ONCE_US if most > 1 else 0
        try:
            while self._exchange is not None and not self._busy and len(self._answers) < most and not late:
                self._hand_over(self._requests[len(self._answers)])
                late = most > 1 and self._loop.now_us >= until_us
        finally:
            self._carrying = False
        exchange = self._exchange
        if exchange is None or self._busy or not self.up:
            return
        if len(self._answers) == most:
            self._respond(exchange)
        else:
            self.broker_host.call_at(self._loop.now_us + _BREATH_US, self._next, exchange)

    def _hand_over(self, request: Request) -> None:
        self.request = request
        self._busy = True
        try:
            if self.plain or not self._network.taps.answers(self):
                self.broker.receive(self)
        except Exception as error:
            self._failed(error, request)

    def _failed(self, error: Exception, request: Request) -> None:
        """A handler raised: that is our mistake, and the client is told so, if nobody has answered him yet."""
        self._complaints.error(f"{request.API.title} failed", error, **self._who())
        exchange = self._exchange
        if self._busy and exchange is not None:
            self._busy, self.give_up = False, None
            self._write_response(exchange.refusal(ErrorCode.UNKNOWN_SERVER_ERROR) if exchange.answered else None)

    def _respond(self, exchange: Exchange) -> None:
        """Every request is answered: make the response, and send it."""
        if not exchange.answered:
            self._write_response(None)
            return
        self._clerk.write(exchange, self._answers, self._was_written)

    def _was_written(self, exchange: Exchange, data: bytes | Exception) -> None:
        """The response has been made; if it could not be, that is our mistake, too."""
        if isinstance(data, Exception):
            self._complaints.error("a response could not be written", data, **self._who())
            data = exchange.refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._write_response(data)

    def _write_response(self, data: bytes | None) -> None:
        """The message is done with; its response, if it gets one, goes out."""
        self._exchange = None
        self._requests, self._answers = _NOTHING, []
        self._intake.done()
        if data is not None:
            self._out.put(data)
        if not self._pumping:
            self._go_on()

    def _go_on(self) -> None:
        """Take what comes next after this instant's own work: never inside the call of somebody who answers."""
        if self._intake or self._exchange is not None:
            self.broker_host.call_at(self._loop.now_us, self._next, self._exchange, order=Order.MESSAGE)
        elif self.up:
            self._read_on()

    def _next(self, exchange: Exchange | None) -> None:
        if exchange is not self._exchange or not self.up:
            return
        if exchange is None:
            self._pump()
        else:
            self._carry_out()

    # --- coordinator.interfaces.Call -------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether the broker has a request in hand."""
        return self._busy

    def answer(self, response: Response) -> None:
        """Take the answer to the request in hand. Raises RuntimeError when there is none."""
        if not self._busy:
            raise RuntimeError(f"{self}: answered twice: {response}")
        trace, request = self._trace, self.request
        response = normalise_response(response, request.version)
        if trace.heartbeats or not _is_quiet(request, response):
            before = trace.cause
            self.broker.note_answer(self, response)
            self._take_answer(response)
            trace.cause = before
        else:
            self._take_answer(response)

    def _take_answer(self, response: Response) -> None:
        self._busy, self.give_up = False, None
        if not self.up:
            self.drop("the connection is gone")
        elif self.plain or not self._network.taps.takes(self, response):
            self.pass_back(response)

    def no_answer(self) -> None:
        """The request in hand gets no answer. Raises RuntimeError when there is none in hand."""
        if not self._busy:
            raise RuntimeError(f"{self}: no request in hand that could go unanswered")
        self._busy = False
        self._write_response(None)

    def pass_back(self, response: Response) -> None:
        self._answers.append(response)
        if self._carrying:
            return
        exchange = self._exchange
        if exchange is not None and len(self._answers) == len(self._requests):
            self._respond(exchange)
        else:
            self._go_on()

    def drop(self, reason: str) -> None:
        self.broker.note_dropped(self, reason)

    # --- faults ----------------------------------------------------------------------------------------------

    def delay(self, response: Response, by_us: int) -> None:
        self._out.wait(by_us)
        self.pass_back(response)

    def hush(self) -> None:
        """See `BrokerConnection.hush`: what is sent from here on is swallowed."""
        self.conditions = (*self.conditions, SILENT)
        self._out.clear()
        self._clerk.drop()
        self._write_response(None)

    def cut(self, reason: str) -> None:
        """See `BrokerConnection.cut`: the client sees a reset."""
        if self.up:
            self._stream.abort()
            self._end()

    def refuse(self) -> None:
        """See `BrokerConnection.refuse`; a client that has begun to talk is let go on."""
        if self.correlation < 0:
            self.cut("connection refused")

    def settle(self, tapped: bool) -> None:
        self.plain = self.up and not tapped and not self.conditions

    def impose(self, conditions: list[Condition]) -> None:
        silent = [condition for condition in self.conditions if condition is SILENT]
        self.conditions = (*conditions, *silent)
        if conditions:
            self.blame = conditions[-1].seq

    def release_from(self, condition: Condition) -> None:
        self.conditions = tuple(other for other in self.conditions if other is not condition)
        self._out.let_go()
        if self._held_out and not self._network.links.holds_out(self):
            self._held_out = False
            self.broker_host.deliver(self._arrive, self._exchange)
        self._pump()

    def go_by_the_clock(self) -> None:
        """See `BrokerConnection.go_by_the_clock`: real clients do already."""

    # --- the end ---------------------------------------------------------------------------------------------

    @property
    def active_us(self) -> int:
        """When bytes last moved."""
        return self._stream.active_us

    @property
    def unsent(self) -> int:
        """Bytes of responses that the kernel has not taken yet."""
        return self._stream.unsent

    @property
    def quiet(self) -> bool:
        """Whether nothing is in hand and nothing waits to be written."""
        return self._exchange is None and not (self._intake or self._stream.unsent or self._clerk.at_work)

    def kick(self, reason: str) -> None:
        """Close it, and say why in the log."""
        if self.up:
            self._complaints.warning("closed a connection", reason=reason, **self._who())
            self._stream.close()
            self._end()

    def close(self) -> None:
        """Close it in good order: what was written goes out."""
        if self.up:
            self._stream.close()
            self._end()

    def _end(self) -> None:
        """Nothing more is read or written; an answer that comes later is dropped."""
        self.up = self.plain = False
        self._intake.clear()
        self._out.clear()
        self._clerk.drop()
        self._exchange = None
        self._network.forget(self)
        self._forget(self)
        give_up, self.give_up = self.give_up, None
        if give_up is not None:
            give_up()

    def _who(self) -> dict[str, object]:
        """The connection, for the log."""
        host, port = self._stream.peer
        return {"client": f"{host}:{port}", "client_id": self.client_id, "broker": self.broker_host.name}

    def __repr__(self) -> str:
        host, port = self._stream.peer
        return f"<connection {self.host_name} ({host}:{port})->{self.broker_host.name} {self.purpose}>"


def _is_quiet(request: Request, response: Response) -> bool:
    """Whether only a full trace lists the answer."""
    if response.__class__ is HeartbeatResponse:
        return not response.error
    return request.__class__ in MACHINERY
