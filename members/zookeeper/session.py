"""One process's session with ZooKeeper, as ZooKeeper's client and zkclient keep it.

* A ping is sent after a third of the session timeout without a request. After two thirds without an answer the client
  closes the connection, and reconnects after a random wait of up to a second.
* Only the server knows whether the session has expired. The client learns it when it reconnects; until then it keeps
  what it owned. Then a new session begins, and `on_new_session` is called.
* A request whose connection is lost, or whose session has expired, is sent again on the next one, without end. The
  first attempt may have been carried out: callers must accept NODE_EXISTS and NO_NODE that they caused themselves.
* Watches and their listeners are in `watches.py`.

        start ──> CONNECTING ──> CONNECTED ──> (lost) ──> CONNECTING ──> CONNECTED …
                      ^                                        │ the session has expired
                      └──────────── a new session ─────────────┘

Sources: ZooKeeper 3.4, `ClientCnxn`; zkclient 0.3, `ZkClient.retryUntilConnected`, `process`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from groupsim.eventloop.units import MS_US
from groupsim.members.interfaces import Connection, Disconnected, Outcome
from groupsim.members.zookeeper.watches import Listener, Watches
from groupsim.protocol.messages.zookeeper import (
    CloseSession,
    OpenSession,
    Ping,
    WatchEvent,
    ZkAnswer,
    ZkError,
    ZkRequest,
)

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Event, EventLoop, Host

EXPIRED: Final = "the ZooKeeper session has expired"
_RECONNECT_MS: Final = 1_000  # upper bound of the wait before a reconnect
_OF_THE_WAY: Final = (ZkError.CONNECTION_LOSS, ZkError.SESSION_EXPIRED)
_NEVER_US: Final = 1 << 50  # only the connection has a timeout, not a request


class SessionLink(Connection, Protocol):
    """A connection over which the other side sends events without a request."""

    def listen(self, on_event: Callable[[WatchEvent], None], on_lost: Callable[[Disconnected], None]) -> None:
        """Set the callbacks for events, and for the loss of the connection."""


class ZooKeeperSession:
    """The session of one process, over all its connections, and its successors.

    `on_change` is called when a connection is made (True) and lost (False), with the reason.
    """

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        connect: Callable[[], SessionLink],
        timeout_ms: int,
        on_new_session: Listener,
        on_change: Callable[[bool, str], None],
    ) -> None:
        self._loop = loop
        self._host = host
        self._connect = connect
        self._timeout_us = timeout_ms * MS_US
        self._on_new_session = on_new_session
        self._on_change = on_change
        self._draws = loop.stream("zookeeper-reconnect", host.name, host.incarnation)
        self._link: SessionLink | None = None
        self._session = 0
        self._zxid = 0
        self._received_us = self._sent_us = 0
        self._connected = loop.event()
        self._closing = False
        self._in_flight: list[_Waiting] = []
        self.watches = Watches(loop, self.ask)
        self.pings = 0

    # -- start and end ------------------------------------------------------------------------------------------

    @property
    def session(self) -> int:
        """The session id; 0 before the first one."""
        return self._session

    def start(self) -> None:
        """Connect, and start the task that calls listeners."""
        self._host.start_soon(self.watches.run, name=f"zookeeper events of {self._host.name}")
        self._open(None)
        self._host.call_at(self._loop.now_us + self._timeout_us // 3, self._look)

    async def close(self) -> None:
        """End the session, so that its ephemeral nodes are deleted at once; wait for the answer while connected."""
        link = self._link
        self._closing = True
        if link is not None and self._connected.is_set():
            await self._send(link, CloseSession())
        self.drop()

    def drop(self) -> None:
        """Close the connection without ending the session."""
        self._closing = True
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _open(self, _: Any) -> None:
        if self._closing:
            return
        link = self._link = self._connect()
        self._received_us = self._sent_us = self._loop.now_us
        link.listen(self._event, lambda outcome: self._lost(link, outcome.reason))
        request = OpenSession(self._timeout_us // MS_US, self._session)
        link.send(request, lambda outcome: self._opened(link, outcome), _NEVER_US)

    def _opened(self, link: SessionLink, outcome: Outcome) -> None:
        if link is not self._link or not isinstance(outcome, ZkAnswer):
            return
        self._received_us = self._loop.now_us
        if outcome.error is ZkError.SESSION_EXPIRED:
            self._expired(link)
            return
        fresh, self._session = self._session != outcome.session, outcome.session
        self._timeout_us = outcome.timeout_ms * MS_US
        again = None if fresh else self.watches.to_restore(self._zxid)
        if again is not None:
            link.send(again, lambda outcome: None, _NEVER_US)
        self._zxid = max(self._zxid, outcome.zxid)
        self._on_change(True, "a new session" if fresh else "the session goes on")
        self._connected.set()

    def _expired(self, link: SessionLink) -> None:
        """Begin a new session at once: nodes and watches of the expired one are gone."""
        self._on_change(False, EXPIRED)
        self._session = 0
        link.close()
        self._give_up()
        self.watches.restart(self._on_new_session)
        self._open(None)

    def _lost(self, link: SessionLink, reason: str) -> None:
        if link is not self._link or self._closing:
            return
        self._link = None
        self._connected.clear()
        self._give_up()
        self._on_change(False, f"the connection to ZooKeeper is lost: {reason}")
        wait_us = self._draws.below(_RECONNECT_MS) * MS_US
        self._host.call_at(self._loop.now_us + wait_us, self._open)

    # -- pings --------------------------------------------------------------------------------------------------

    def _look(self, _: Any) -> None:
        """Ping after a third of the timeout without a request; disconnect after two thirds without an answer."""
        if self._closing:
            return
        now, link = self._loop.now_us, self._link
        third = self._timeout_us // 3
        patience = 2 * third if self._connected.is_set() else self._timeout_us
        if link is not None and now - self._received_us >= patience:
            link.close()
            self._lost(link, f"nothing heard for {(now - self._received_us) // MS_US} ms")
        elif link is not None and self._connected.is_set() and now - self._sent_us >= third:
            self._sent_us = now
            link.send(Ping(), self._pinged, _NEVER_US)
        due = [now + third]
        if self._link is not None:
            due = [self._received_us + patience]
            if self._connected.is_set():
                due.append(self._sent_us + third)
        self._host.call_at(max(min(due), now + MS_US), self._look)

    def _pinged(self, outcome: Outcome) -> None:
        if isinstance(outcome, ZkAnswer):
            self._received(outcome)
            self.pings += 1

    def _event(self, event: WatchEvent) -> None:
        self._received_us = self._loop.now_us
        self._zxid = max(self._zxid, event.zxid)
        self.watches.fired(event)

    def _received(self, answer: ZkAnswer) -> None:
        self._received_us = self._loop.now_us
        self._zxid = max(self._zxid, answer.zxid)

    # -- requests -----------------------------------------------------------------------------------------------

    async def ask(self, request: ZkRequest) -> ZkAnswer:
        """Send until an answer arrives that is an error of neither connection nor session."""
        while True:
            await self._connected.wait()
            link = self._link
            if link is None:
                self._connected.clear()
                continue
            answer = await self._send(link, request)
            if answer is not None and answer.error not in _OF_THE_WAY:
                self.watches.record(request, answer)
                return answer
            if link is self._link and self._connected.is_set():
                link.close()
                self._lost(link, "a request failed")

    async def _send(self, link: SessionLink, request: ZkRequest) -> ZkAnswer | None:
        """Send once; None without an answer."""
        waiting = _Waiting(self._loop.event())
        self._in_flight.append(waiting)
        self._sent_us = self._loop.now_us
        link.send(request, waiting.answered, _NEVER_US)
        await waiting.done.wait()
        if waiting in self._in_flight:
            self._in_flight.remove(waiting)
        if waiting.answer is not None:
            self._received(waiting.answer)
        return waiting.answer

    def _give_up(self) -> None:
        """Wake the requests that wait for an answer, without one."""
        waiting, self._in_flight = self._in_flight, []
        for one in waiting:
            one.done.set()


class _Waiting:
    __slots__ = ("answer", "done")

    def __init__(self, done: Event) -> None:
        self.done = done
        self.answer: ZkAnswer | None = None

    def answered(self, outcome: Outcome) -> None:
        if isinstance(outcome, ZkAnswer):
            self.answer = outcome
        self.done.set()
