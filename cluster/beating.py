"""A member's heartbeats while all is well: they go by themselves, and touch one small object.

Of ten thousand members nothing is in the processor's caches when its heartbeat comes, and every object that has to be
found is waited for. So what a quiet heartbeat needs lies in its `Rhythm`, which is the argument of its three events:

    due ──> on the wire ──> arrives, `Steady.heartbeat` ──> on the wire ──> all is well ──> due, an interval after

The member's `Heartbeat` and the `Connection` know nothing of it meanwhile: a rhythm that has begun keeps for both of
them what was sent and answered, and the latencies that are drawn next. Whatever else happens to either (another
request on the connection, a fault near it, an error, a silence, a member that stops or only looks at its own numbers)
ends it first: `end` tells both how things stand, and the same request goes on as every other. The events that are
under way then find the rhythm over, and go where they would have gone. At the next heartbeat that is due it may begin
again.

So nothing here is looked at twice: while it has begun, the connection is plain, and this its only request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from groupsim.cluster.latency import BLOCK
from groupsim.cluster.sockets import Correlations, Flight, Wire
from groupsim.eventloop.heap import due_us
from groupsim.members.interfaces import Outcome, Repeater
from groupsim.protocol.messages import HeartbeatRequest, HeartbeatResponse, Response

if TYPE_CHECKING:
    from groupsim.cluster.connection import Connection
    from groupsim.cluster.endpoint import Endpoint
    from groupsim.eventloop.interface import EventLoop, Handle, Host, Life

_ALIVE = HeartbeatResponse()

# Where the last heartbeat is; numbers, for what they are compared with lies in the code.
_OVER, _ANSWERED, _OUT, _BACK = range(4)


class _Always:
    """What each of the three events touches. Slots of a base class lie side by side, before those of its heirs."""

    __slots__ = ("_alive_us", "_arrives_us", "_at", "_loop", "_stage", "answered")


class _Often(_Always):
    """What two of them touch, or what is sent or answered by it."""

    __slots__ = ("_handle", "_id", "_ids", "_interval_us", "_latencies", "_life", "_session", "_steady")


class Rhythm(_Often):
    """The heartbeats of one member on one connection; implements `members.interfaces.Rhythm`.

    Numbers that are kept from one heartbeat to the next are objects, too, and have to be found again when they are
    dropped: so what follows from others (when the last was sent) is not kept.
    """

    __slots__ = ("_broker_host", "_connection", "_flight", "_owner", "_processing_us", "_what")

    def __init__(
        self,
        connection: Connection,
        request: HeartbeatRequest,
        on_done: Callable[[Outcome], None],
        timeout_us: int,
        interval_us: int,
        owner: Repeater,
    ) -> None:
        self._connection = connection
        self._what = request, on_done, timeout_us
        self._interval_us = interval_us
        self._owner = owner
        self._loop = connection._loop
        self._life = connection._life
        self._ids = connection._ids
        self._broker_host = connection.broker_host
        self._processing_us = connection._processing_us
        self._handle: Handle | None = None
        self._flight: Flight | None = None
        self._id = self._alive_us = self._arrives_us = self.answered = 0
        self._stage = _OVER

    @property
    def sent_us(self) -> int:
        """See `members.interfaces.Rhythm.sent_us`."""
        return 0 if self._handle is None else due_us(self._handle) - self._interval_us

    def begin(self) -> bool:
        """See `members.interfaces.Rhythm.begin`."""
        connection = self._connection
        request, _, timeout_us = self._what
        place = connection.broker.steady(request) if connection.at_rest and timeout_us >= self._interval_us else None
        if place is None:
            return False
        self._steady, self._session = place
        self._latencies, self._at = connection._latencies, connection._at
        self._stage = _ANSWERED
        connection.rhythm = self
        _due(self)
        return True

    def end(self) -> None:
        """See `members.interfaces.Rhythm.end`."""
        stage, self._stage = self._stage, _OVER
        if stage == _OVER:
            return
        answered, self.answered = self.answered, 0
        connection = self._connection
        connection.rhythm = None
        connection._at = self._at
        if stage != _ANSWERED:
            request, on_done, timeout_us = self._what
            self._flight = self._id, request, on_done, self.sent_us + timeout_us, connection
            connection.adopt(self._flight, self._arrives_us, answered=stage == _BACK)
        self._owner.resume(self._handle, self.sent_us, self._alive_us, answered, stage != _ANSWERED)

    def _refill(self) -> int:
        """Have the connection draw its next latencies; returns where they begin."""
        at = self._connection._refill()
        self._latencies = self._connection._latencies
        return at


class Beating(Wire):
    """The part of a connection that heartbeats go by themselves on. `rhythm` is the one that has begun."""

    __slots__ = (
        "_busy",
        "_check_us",
        "_floor_in",
        "_floor_out",
        "_ids",
        "_life",
        "_loop",
        "_oldest",
        "broker",
        "broker_host",
        "plain",
        "rhythm",
    )

    broker: Endpoint
    broker_host: Host
    plain: bool
    rhythm: Rhythm | None
    _busy: bool
    _check_us: int
    _floor_in: int
    _floor_out: int
    _ids: Correlations
    _life: Life
    _loop: EventLoop
    _oldest: Flight | None

    if TYPE_CHECKING:

        def _arm(self, deadline: int) -> None: ...
        def _back(self, response: Response) -> None: ...
        def _take(self, flight: Flight) -> None: ...

    def repeat(
        self,
        request: HeartbeatRequest,
        on_done: Callable[[Outcome], None],
        timeout_us: int,
        interval_us: int,
        owner: Repeater,
    ) -> Rhythm:
        """See `members.interfaces.Connection.repeat`."""
        return Rhythm(cast("Connection", self), request, on_done, timeout_us, interval_us, owner)

    @property
    def at_rest(self) -> bool:
        """Whether all is well, and nothing on its way that something could overtake."""
        return self.plain and self._oldest is None and not self._busy and not self._floor_out and not self._floor_in

    def _take_over(self) -> None:
        """From here on heartbeats are like other requests."""
        if self.rhythm is not None:
            self.rhythm.end()

    def adopt(self, flight: Flight, arrives_us: int, *, answered: bool) -> None:
        """Take over a heartbeat that went by itself: it, or its answer, is on its way and arrives at `arrives_us`."""
        self._oldest = flight
        if answered:
            self._floor_in = arrives_us
        else:
            self._floor_out = arrives_us
        if flight[3] < self._check_us:
            self._arm(flight[3])


def _due(rhythm: Rhythm) -> None:
    """A heartbeat is due: it goes out, if the last one was answered and all is still well."""
    if rhythm._stage != _ANSWERED:
        rhythm.end()
        rhythm._owner.due()
        return
    loop = rhythm._loop
    now = loop.now_us
    rhythm._handle = loop.timer_at(now + rhythm._interval_us, _due, rhythm, rhythm._life)
    ids = rhythm._ids
    rhythm._id = ids.last = ids.last + 1
    at = rhythm._at
    if at == BLOCK:
        at = rhythm._refill()
    rhythm._at = at + 1
    rhythm._stage = _OUT
    rhythm._arrives_us = when = now + rhythm._latencies[at] + rhythm._processing_us
    loop.message_at(when, _arrives, rhythm, rhythm._broker_host.life)


def _arrives(rhythm: Rhythm) -> None:
    """A heartbeat arrives at the broker."""
    loop, life = rhythm._loop, rhythm._life
    now = loop.now_us
    if rhythm._stage != _OUT or life.dead or not rhythm._steady.heartbeat(rhythm._session, now):
        rhythm.end()
        assert rhythm._flight is not None
        rhythm._connection._take(rhythm._flight)
        return
    at = rhythm._at
    if at == BLOCK:
        at = rhythm._refill()
    rhythm._at = at + 1
    rhythm._stage = _BACK
    rhythm._arrives_us = when = now + rhythm._latencies[at]
    loop.message_at(when, _all_is_well, rhythm, life)


def _all_is_well(rhythm: Rhythm) -> None:
    """The answer to a quiet heartbeat arrives at the client."""
    if rhythm._stage != _BACK:
        rhythm._connection._back(_ALIVE)
        return
    rhythm._stage = _ANSWERED
    rhythm._alive_us = rhythm._loop.now_us
    rhythm._arrives_us = 0
    rhythm.answered += 1
