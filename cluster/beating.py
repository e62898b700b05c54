"""A member's heartbeats while all is well: they go by themselves.

    due ──> on the wire ──> arrives, `Steady.ready` ──> on the wire ──> all is well ──> due, an interval after

The member's `Heartbeat`, the `Connection` and the session's `Timer` know nothing of it meanwhile: a `Rhythm` that has
begun has a row in a choir (`choir.py`), which keeps for all of them what was sent and answered, the latencies that are
drawn next, and the deadline. Whatever else happens to any of them (another request on the connection, a fault near it,
an error, a silence, a host that is paused or dies, a member that stops or only looks at its own numbers) ends it first:
`end` tells them how things stand, and the same request goes on as every other, and so does the timer of the next. At
the next heartbeat that is due it may begin again.

So nothing here is looked at twice: while it has begun, the connection is plain, and this its only request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from groupsim.cluster.choir import ANSWERED, BACK, Choir
from groupsim.cluster.sockets import Correlations, Flight, Wire
from groupsim.eventloop.heap import MESSAGE_RANK, TIMER_RANK
from groupsim.members.interfaces import Outcome, Repeater
from groupsim.protocol.messages import HeartbeatRequest, HeartbeatResponse, Response

if TYPE_CHECKING:
    from groupsim.cluster.connection import Connection
    from groupsim.cluster.endpoint import Endpoint
    from groupsim.coordinator.steady import Steady
    from groupsim.coordinator.timers import Timer
    from groupsim.eventloop.interface import EventLoop, Handle, Host, Life

_ALIVE = HeartbeatResponse()


class Rhythm:
    """The heartbeats of one member on one connection.

    Implements `members.interfaces.Rhythm`, and `coordinator.timers.Keeper` of the session's deadline.
    """

    __slots__ = (
        "_begun_us",
        "_choir",
        "_interval_us",
        "_life",
        "_loop",
        "_owner",
        "_row",
        "_session",
        "_what",
        "cause",
        "connection",
    )

    _session: Timer

    def __init__(
        self,
        connection: Connection,
        request: HeartbeatRequest,
        on_done: Callable[[Outcome], None],
        timeout_us: int,
        interval_us: int,
        owner: Repeater,
    ) -> None:
        self.connection = connection
        self._what = request, on_done, timeout_us
        self._interval_us = interval_us
        self._owner = owner
        self._loop = connection._loop
        self._life = connection._life
        self._choir: Choir | None = None
        self._row = self._begun_us = self.cause = 0

    @property
    def sent_us(self) -> int:
        """See `members.interfaces.Rhythm.sent_us`."""
        return 0 if self._choir is None else self._choir.sent_us[self._row]

    @property
    def answered(self) -> int:
        """See `members.interfaces.Rhythm.answered`: it sends one every interval, and all but the last are answered."""
        choir = self._choir
        if choir is None:
            return 0
        sent_us, stage = choir.sent_us[self._row], choir.stage[self._row]
        return (sent_us - self._begun_us) // self._interval_us + (stage == ANSWERED)

    @property
    def deadline(self) -> tuple[int, int]:
        """See `coordinator.timers.Keeper.deadline`."""
        assert self._choir is not None
        return self._choir.judged_us[self._row] + self._choir.session_us, self._choir.judged[self._row]

    def watch(self) -> None:
        """See `coordinator.timers.Keeper.watch`."""
        assert self._choir is not None
        self._choir.watch(self._row)

    def begin(self) -> bool:
        """See `members.interfaces.Rhythm.begin`."""
        connection, now = self.connection, self._loop.now_us
        request, _, timeout_us = self._what
        if not connection.at_rest or not 0 < self._interval_us <= timeout_us:
            return False
        place = connection.broker.steady(request)
        if place is None:
            return False
        steady, session = place
        judged_us, judged = session.due_us - steady.session_us, session.ticket
        if not session.running or judged_us > now:
            return False
        self._session = session
        connection.rhythm = self
        self._begun_us = now
        self.cause = self._loop.trace.cause
        self._life.tell(self.end)
        self._choir = choir = self._choir_of(steady)
        self._row = choir.enter(self, connection._ids, judged_us, judged)
        self._session.lend(self)
        return True

    def _choir_of(self, steady: Steady) -> Choir:
        """Those with whom it has everything in common."""
        connection = self.connection
        key = connection.broker_host.life, self._interval_us, connection._processing_us
        choir: Choir | None = steady.kept.get(key)
        if choir is None:
            choir = steady.kept[key] = Choir(self._loop, steady, *key, connection._ids.numbers)
        return choir

    def end(self) -> None:
        """See `members.interfaces.Rhythm.end`."""
        choir, row, connection = self._choir, self._row, self.connection
        if choir is None:
            return
        stage, sent_us = choir.stage[row], choir.sent_us[row]
        answered = (sent_us - self._begun_us) // self._interval_us + (stage == ANSWERED)
        self._session.give_back()
        self._life.tell_no_more(self.end)
        self._choir = connection.rhythm = None
        connection._at = choir.at[row]
        if stage != ANSWERED:
            request, on_done, timeout_us = self._what
            flight = choir.ids[row], request, on_done, sent_us + timeout_us, connection
            self._hand_over(choir, row, flight)
            connection.adopt(flight, choir.arrives_us(row), answered=stage == BACK)
        due_us, alive_us = sent_us + self._interval_us, choir.alive_us[row]
        handle = self._in_place(due_us, TIMER_RANK + choir.asked[row], _due, self._owner, self._life)
        choir.leave(row)
        self._owner.resume(handle, sent_us, alive_us, answered, stage != ANSWERED)

    def _hand_over(self, choir: Choir, row: int, flight: Flight) -> None:
        """What is on its way arrives as any other request or answer."""
        when = choir.arrives_us(row)
        if choir.stage[row] == BACK:
            self._in_place(when, MESSAGE_RANK + choir.judged[row], self.connection._back, _ALIVE, self._life)
        else:
            self._in_place(when, MESSAGE_RANK + choir.asked[row], self.connection._take, flight, choir.life)

    def _in_place(self, when: int, rank: int, callback: Callable[[Any], None], arg: Any, life: Life) -> Handle:
        return self._loop.set_in_place(when, rank, callback, arg, life, self.cause)


def _due(owner: Repeater) -> None:
    """The heartbeat after one that went by itself is due."""
    owner.due()


class Beating(Wire):
    """The part of a connection that heartbeats go by themselves on. `rhythm` is the one that has begun.

    It is a base class, for a connection is to be one object: of ten thousand each has to be found. Rhythm and choir
    know the connection's own fields, and nobody else does.
    """

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
        """Whether all is well, and nothing on its way that something could overtake.

        What is in flight has left a floor behind, which goes with the last answer (`Connection._back`).
        """
        return self.plain and not self._busy and not self._floor_out and not self._floor_in

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
