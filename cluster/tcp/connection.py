"""A real client's connection, at the broker: frames in, one request at a time, responses in order.

    received ─▶ intake ─▶ decoded ─▶ requests, one after the other, through `broker.receive`
                                       └─▶ answers ─▶ encoded ─▶ outbox ─▶ the next message

As Kafka's `SocketServer` mutes a channel, the connection is not read while a message is unanswered or its response is
not yet in the kernel. So a connection holds at most one message and one read, requests behind a parked JoinGroup wait,
and a client that has gone is noticed at its answer. A client that never reads delays only itself, with one response,
until the connection is closed as idle.

No message delays other connections for long. A message with very many elements is decoded, and its response encoded, in
a thread (`codec_runner`); its requests are handled in slices of a few milliseconds.

It is one of the network's connections (`BrokerConnection`), so faults affect it like a simulated one. Without a fault
(`plain`) requests and responses pass at once; a latency or a limited bandwidth delays both ways, a stall holds them.
A paused broker reads what it was sent when it resumes.

Bytes that are no request close the connection, with a line in the log. An exception in a handler is answered with
UNKNOWN_SERVER_ERROR, and the connection stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from groupsim.cluster.network.endpoint import MACHINERY, Endpoint
from groupsim.cluster.network.link_faults import SILENT, Condition
from groupsim.cluster.tcp.codec_runner import CodecRunner
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
    from groupsim.cluster.tcp.rate_limited_log import RateLimitedLog

_NOTHING: tuple[Request, ...] = ()
_SLICE_US = 5 * MS_US  # time for the requests of one message before other connections get a turn
_PAUSE_US = MS_US


class TcpConnection:
    """One connection; implements `streams.Receiver`, `BrokerConnection` and `coordinator.interfaces.Call`."""

    __slots__ = (
        "_answers",
        "_busy",
        "_codec_runner",
        "_exchange",
        "_handling",
        "_intake",
        "_log",
        "_loop",
        "_names",
        "_network",
        "_on_closed",
        "_out",
        "_pumping",
        "_request_stalled",
        "_requests",
        "_stream",
        "_trace",
        "broker",
        "broker_host",
        "cause_seq",
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
        log: RateLimitedLog,
        memory: Memory,
        on_closed: Callable[[TcpConnection], None],
    ) -> None:
        """Take over a socket; `on_closed` is called at the end of the connection."""
        self._network = network
        self._loop = loop
        self._trace = loop.trace
        self._stream = stream
        self._codec_runner = CodecRunner(loop, broker.host, codec)
        self._names = names
        self._log = log
        self._on_closed = on_closed
        self.broker = broker
        self.broker_host = broker.host
        self.client_host = java_host(stream.peer[0])
        self.host_name = ""
        self.client_id = ""
        self.purpose = ""
        self.correlation = -1
        self.took_us = self.cause_seq = 0
        self.give_up: Callable[[], None] | None = None
        self.conditions: Sequence[Condition] = ()
        self.up = self.plain = True
        self._intake = Intake(self, stream, memory)
        self._out = Outbox(self, stream, network)
        self._exchange: Exchange | None = None
        self._requests: Sequence[Request] = _NOTHING
        self._answers: list[Response] = []
        self._busy = self._handling = self._pumping = False
        self._request_stalled = False

    # --- bytes -----------------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        if self.broker_host.paused:
            self._intake.read_on(False)
        self.broker_host.deliver(self._feed, data)

    def _feed(self, data: bytes) -> None:
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
        """Handle messages until one is not answered at once; then resume or pause reading."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._intake and self._ready():
                self._codec_runner.read(self._intake.take(), self._message_decoded)
        finally:
            self._pumping = False
        if self.up:
            self._read_on()

    def _ready(self) -> bool:
        """Whether the next message can be handled: none is unanswered, and all responses are in the kernel."""
        return self._exchange is None and self.up and self._out.empty and not self._codec_runner.at_work

    def _read_on(self) -> None:
        """Read, unless a message waits or is unanswered."""
        self._intake.read_on(not self._intake and self._ready())

    # --- one message -----------------------------------------------------------------------------------------

    def _message_decoded(self, understood: Understood | Exception) -> None:
        """Begin to handle a decoded message."""
        if isinstance(understood, Exception):
            self.kick(str(understood))
            return
        self._set_client(understood.client_id, purpose_of(understood.api) or self.purpose)
        if not self.up:
            return
        self.correlation = understood.correlation
        self._exchange = exchange = understood.exchange
        self._requests = exchange.requests
        self._answers = []
        if self.plain:
            self._handle_requests()
        else:
            self._handle_under_faults()

    def _set_client(self, client_id: str, purpose: str) -> None:
        """Name the connection in the network by the client and the purpose of its requests."""
        if self.host_name and client_id == self.client_id and purpose == self.purpose:
            return
        self.client_id = client_id
        self.host_name = self._names.of(client_id, self._stream.peer[0])
        self.purpose = purpose
        self._network.renamed(self)

    def _handle_under_faults(self) -> None:
        """Handle a message after the delay of its link faults, or after a stall."""
        links = self._network.link_faults
        if links.stalls_requests(self):
            self._request_stalled = True
            return
        now = self._loop.now_us
        late = links.stretch(self, 0) + links.bytes_queue_us(self, True, self._intake.size, now)
        if late > 0:
            self.broker_host.call_at(now + late, self._arrive, self._exchange)
        else:
            self._handle_requests()

    def _arrive(self, exchange: Exchange) -> None:
        if self._exchange is exchange and self.up:
            self._handle_requests()

    def _handle_requests(self) -> None:
        """Let the broker handle the requests of the message, one after the other; then send the response."""
        if self._handling or self._codec_runner.at_work:
            return
        self._handling = True
        most, late = len(self._requests), False
        until_us = self._loop.now_us + _SLICE_US if most > 1 else 0
        try:
            while self._exchange is not None and not self._busy and len(self._answers) < most and not late:
                self._handle(self._requests[len(self._answers)])
                late = most > 1 and self._loop.now_us >= until_us
        finally:
            self._handling = False
        exchange = self._exchange
        if exchange is None or self._busy or not self.up:
            return
        if len(self._answers) == most:
            self._respond(exchange)
        else:
            self.broker_host.call_at(self._loop.now_us + _PAUSE_US, self._next, exchange)

    def _handle(self, request: Request) -> None:
        self.request = request
        self._busy = True
        try:
            if self.plain or not self._network.message_faults.answer_error(self):
                self.broker.receive(self)
        except Exception as error:
            self._failed(error, request)

    def _failed(self, error: Exception, request: Request) -> None:
        """Log an exception of a handler, a defect of this program, and answer UNKNOWN_SERVER_ERROR if unanswered."""
        self._log.error(f"{request.API.title} failed", error, **self._log_fields())
        exchange = self._exchange
        if self._busy and exchange is not None:
            self._busy, self.give_up = False, None
            self._write_response(exchange.refusal(ErrorCode.UNKNOWN_SERVER_ERROR) if exchange.answered else None)

    def _respond(self, exchange: Exchange) -> None:
        """Encode and send the response to a message whose requests are all answered."""
        if not exchange.answered:
            self._write_response(None)
            return
        self._codec_runner.write(exchange, self._answers, self._response_encoded)

    def _response_encoded(self, exchange: Exchange, data: bytes | Exception) -> None:
        """Send an encoded response, or UNKNOWN_SERVER_ERROR if encoding failed, which is a defect of this program."""
        if isinstance(data, Exception):
            self._log.error("a response could not be written", data, **self._log_fields())
            data = exchange.refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._write_response(data)

    def _write_response(self, data: bytes | None) -> None:
        """End the current message; send its response, if it has one."""
        self._exchange = None
        self._requests, self._answers = _NOTHING, []
        self._intake.done()
        if data is not None:
            self._out.put(data)
        if not self._pumping:
            self._schedule_next()

    def _schedule_next(self) -> None:
        """Schedule the next work after the current event, never inside the call of `answer`."""
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
            self._handle_requests()

    # --- coordinator.interfaces.Call -------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether the broker has an unanswered request."""
        return self._busy

    def answer(self, response: Response) -> None:
        """Accept the answer to the current request. Raises RuntimeError without a request."""
        if not self._busy:
            raise RuntimeError(f"{self}: answered twice: {response}")
        trace, request = self._trace, self.request
        response = normalise_response(response, request.version)
        if trace.heartbeats or not _is_quiet(request, response):
            before = trace.cause
            self.broker.emit_answer(self, response)
            self._accept_answer(response)
            trace.cause = before
        else:
            self._accept_answer(response)

    def _accept_answer(self, response: Response) -> None:
        self._busy, self.give_up = False, None
        if not self.up:
            self.drop("the connection is gone")
        elif self.plain or not self._network.message_faults.affect_response(self, response):
            self.pass_back(response)

    def no_answer(self) -> None:
        """End the current request without an answer. Raises RuntimeError without a request."""
        if not self._busy:
            raise RuntimeError(f"{self}: no request that could go unanswered")
        self._busy = False
        self._write_response(None)

    def pass_back(self, response: Response) -> None:
        self._answers.append(response)
        if self._handling:
            return
        exchange = self._exchange
        if exchange is not None and len(self._answers) == len(self._requests):
            self._respond(exchange)
        else:
            self._schedule_next()

    def drop(self, reason: str) -> None:
        self.broker.emit_dropped(self, reason)

    # --- faults ----------------------------------------------------------------------------------------------

    def delay(self, response: Response, by_us: int) -> None:
        self._out.wait(by_us)
        self.pass_back(response)

    def silence(self) -> None:
        """See `BrokerConnection.silence`: later responses are dropped."""
        self.conditions = (*self.conditions, SILENT)
        self._out.clear()
        self._codec_runner.drop()
        self._write_response(None)

    def cut(self, reason: str) -> None:
        """See `BrokerConnection.cut`: the client sees a reset."""
        if self.up:
            self._stream.abort()
            self._end()

    def refuse(self) -> None:
        """See `BrokerConnection.refuse`; a client that has sent a request stays connected."""
        if self.correlation < 0:
            self.cut("connection refused")

    def update_plain(self, message_faults: bool) -> None:
        self.plain = self.up and not message_faults and not self.conditions

    def impose(self, conditions: list[Condition]) -> None:
        silent = [condition for condition in self.conditions if condition is SILENT]
        self.conditions = (*conditions, *silent)
        if conditions:
            self.cause_seq = conditions[-1].seq

    def release_from(self, condition: Condition) -> None:
        self.conditions = tuple(other for other in self.conditions if other is not condition)
        self._out.release()
        if self._request_stalled and not self._network.link_faults.stalls_requests(self):
            self._request_stalled = False
            self.broker_host.deliver(self._arrive, self._exchange)
        self._pump()

    def time_long_poll(self) -> None:
        """See `BrokerConnection.time_long_poll`: long polls of real clients have their deadlines already."""

    # --- the end ---------------------------------------------------------------------------------------------

    @property
    def active_us(self) -> int:
        """The time of the last read or write."""
        return self._stream.active_us

    @property
    def unsent(self) -> int:
        """Bytes of responses that are not yet in the kernel."""
        return self._stream.unsent

    @property
    def quiet(self) -> bool:
        """Whether no message is unanswered and no response waits."""
        return self._exchange is None and not (self._intake or self._stream.unsent or self._codec_runner.at_work)

    def kick(self, reason: str) -> None:
        """Close the connection and log the reason."""
        if self.up:
            self._log.warning("closed a connection", reason=reason, **self._log_fields())
            self._stream.close()
            self._end()

    def close(self) -> None:
        """Close the connection after its written responses."""
        if self.up:
            self._stream.close()
            self._end()

    def _end(self) -> None:
        """Stop reading and writing; later answers are dropped."""
        self.up = self.plain = False
        self._intake.clear()
        self._out.clear()
        self._codec_runner.drop()
        self._exchange = None
        self._network.remove(self)
        self._on_closed(self)
        give_up, self.give_up = self.give_up, None
        if give_up is not None:
            give_up()

    def _log_fields(self) -> dict[str, object]:
        """Return the fields of log lines about this connection."""
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
