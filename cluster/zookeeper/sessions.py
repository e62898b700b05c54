"""Sessions and their expiry: at the first tick after the last request plus the timeout.

The server expires sessions in buckets: the end is rounded up to the next multiple of `tickTime`. With ticks of 2 s a
session of 6 s expires 6 to 8 s after its last request, and sessions with different last requests can expire at the same
instant. A timeout is limited to 2 to 20 ticks.

Source: ZooKeeper 3.4, `SessionTrackerImpl` (`roundToInterval`, `touchSession`), `ZooKeeperServer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from attrs import Factory

from groupsim.eventloop.interface import EventLoop, Host
from groupsim.eventloop.units import MS_US
from groupsim.protocol.values import define

if TYPE_CHECKING:
    from groupsim.cluster.zookeeper.connection import SessionConnection

TICK_MS: Final = 2_000
_TICK_US: Final = TICK_MS * MS_US
_FEWEST_TICKS, _MOST_TICKS = 2, 20


@define(eq=False)
class Session:
    """One session: its timeout, its expiry unless it is renewed, its connection and its ephemeral nodes."""

    id: int
    timeout_ms: int
    client: str
    expires_us: int = 0
    connection: SessionConnection | None = None
    ephemerals: dict[str, None] = Factory(dict)


class Sessions:
    """The live sessions."""

    def __init__(self, loop: EventLoop, host: Host, on_expired: Callable[[Session], None]) -> None:
        self._loop = loop
        self._host = host
        self._on_expired = on_expired
        self._last_id = 0
        self._live: dict[int, Session] = {}

    def open(self, timeout_ms: int, client: str) -> Session:
        """Open a session with the requested timeout, within the server's limits."""
        self._last_id += 1
        allowed = min(max(timeout_ms, _FEWEST_TICKS * TICK_MS), _MOST_TICKS * TICK_MS)
        session = self._live[self._last_id] = Session(self._last_id, allowed, client)
        self.touch(session)
        self._host.call_at(session.expires_us, self._check, session)
        return session

    def get(self, number: int) -> Session | None:
        """Return a live session; None if there is none with this id."""
        return self._live.get(number)

    def touch(self, session: Session) -> None:
        """Renew a session after a request. The timer stays, and checks the expiry again when it fires."""
        lives_until = self._loop.now_us + session.timeout_ms * MS_US
        session.expires_us = max(session.expires_us, (lives_until // _TICK_US + 1) * _TICK_US)

    def close(self, session: Session) -> bool:
        """End a session; return False if it has ended before."""
        return self._live.pop(session.id, None) is not None

    def _check(self, session: Session) -> None:
        if session.id not in self._live:
            return
        if self._loop.now_us < session.expires_us:
            self._host.call_at(session.expires_us, self._check, session)
        elif self.close(session):
            self._on_expired(session)
