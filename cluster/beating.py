"""A member's heartbeats on its connection: the same request again and again, prepared once.

Of ten thousand members nothing is in the processor's caches when its heartbeat comes, and every object that has to be
found is waited for; so this way touches as few as it can. It is `Connection.send` and what follows from it, written
out for a heartbeat that is the only request in flight:

    again ──> on the wire ──> _arrive_again ──> Steady.heartbeat ──> on the wire ──> _all_is_well ──> the client

The prepared flight goes along untouched: which one it is, under which id and since when, are fields of the connection.
Where the coordinator keeps the member's place (`Steady`), the broker need not look at the request either. Anything out
of the ordinary (a fault near the connection, another request in flight, a place that no longer holds, a client that is
gone) leaves this way where it stands and goes on as every other request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groupsim.cluster.latency import BLOCK
from groupsim.cluster.sockets import Correlations, Flight, Wire
from groupsim.eventloop.interface import EventLoop, Host, Life
from groupsim.members.interfaces import Outcome
from groupsim.protocol.messages import HeartbeatResponse, Request, Response

if TYPE_CHECKING:
    from groupsim.coordinator.heartbeat import Steady

_ALIVE = HeartbeatResponse()


class Beating(Wire):
    """The part of a connection that carries heartbeats."""

    __slots__ = ()

    broker_host: Host
    plain: bool
    _busy: bool
    _check_us: int
    _floor_in: int
    _floor_out: int
    _ids: Correlations
    _life: Life
    _loop: EventLoop
    _oldest: Flight | None

    if TYPE_CHECKING:

        def send(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> int: ...
        def _arm(self, deadline: int) -> None: ...
        def _deadline(self, flight: Flight) -> int: ...
        def _take(self, flight: Flight) -> None: ...
        def _take_again(self) -> None: ...
        def _back(self, response: Response) -> None: ...

    def _start_beating(self) -> None:
        # The prepared heartbeat that was last sent, under which id, and when; where the broker takes it; and for which
        # one the check of timeouts is armed early enough.
        self._again: Flight | None = None
        self._again_id = 0
        self._again_us = 0
        self._steady: Steady | None = None
        self._checked_for: Flight | None = None

    def again(self, prepared: Flight) -> None:
        """See `members.interfaces.Connection.again`: as `send`, written out for when all is well."""
        if not self.plain or self._oldest is not None:
            self.send(prepared[1], prepared[2], prepared[3])
            return
        now = self._loop.now_us
        ids = self._ids
        self._again_id = ids.last = ids.last + 1
        self._again_us = now
        self._oldest = prepared
        if self._again is not prepared:
            self._again, self._steady = prepared, None
        if self._checked_for is not prepared:
            self._check_for(prepared)
        at = self._at
        if at == BLOCK:
            at = self._refill()
        self._at = at + 1
        when = now + self._latencies[at]
        if when < self._floor_out:
            when = self._floor_out
        self._floor_out = when = when + self._processing_us
        self.broker_host.life.message_at(when, _arrive_again, self)

    def _check_for(self, prepared: Flight) -> None:
        """Arm the check for a prepared request; then it is armed for what is sent again, too."""
        deadline = self._deadline(prepared)
        if deadline < self._check_us:
            self._arm(deadline)
        self._checked_for = prepared

    def _answer_alive(self) -> None:
        """Answer a quiet heartbeat while all is well, and nothing waits behind it."""
        at = self._at
        if at == BLOCK:
            at = self._refill()
        self._at = at + 1
        when = self._loop.now_us + self._latencies[at]
        if when < self._floor_in:
            when = self._floor_in
        self._floor_in = when
        self._life.message_at(when, _all_is_well, self)


def _arrive_again(connection: Beating) -> None:
    """A prepared heartbeat arrives at the broker: the last that was sent, for the next waits until it is answered."""
    if not connection.plain or connection._busy or connection._life.dead:
        prepared = connection._again
        assert prepared is not None
        connection._take((connection._again_id, *prepared[1:]))
        return
    steady = connection._steady
    if steady is not None and steady.heartbeat(connection._loop.now_us):
        connection._answer_alive()
    else:
        connection._take_again()


def _all_is_well(connection: Beating) -> None:
    """The answer to a quiet heartbeat arrives at the client."""
    connection._back(_ALIVE)
