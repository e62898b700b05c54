"""Sessions, and when they expire: at the first tick that is later than the last sign of life plus the timeout.

The server does not look at every session at its own instant but at all of a bucket at once: ends are rounded up to the
next whole `tickTime`. So a session of 6 s under ticks of 2 s lives between 6 and 8 s after its last sign of life, and
sessions that fell silent at different times die at one instant. A timeout is held between 2 and 20 ticks.

Source: ZooKeeper 3.4, `SessionTrackerImpl` (`roundToInterval`, `touchSession`), `ZooKeeperServer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from attrs import Factory, define

from groupsim.eventloop.interface import EventLoop, Host
from groupsim.eventloop.units import MS_US

if TYPE_CHECKING:
    from groupsim.cluster.zookeeper.connection import SessionConnection

TICK_MS: Final = 2_000
_FEWEST_TICKS, _MOST_TICKS = 2, 20


@define(eq=False)
class Session:
    """One session: its timeout, when it ends unless its client is heard of, and what ends with it."""

    id: int
    timeout_ms: int
    client: str
    expires_us: int = 0
    connection: SessionConnection | None = None
    ephemerals: dict[str, None] = Factory(dict)


class Sessions:
    """The sessions that live."""

    def __init__(
        self, loop: EventLoop, host: Host, on_expired: Callable[[Session], None], tick_ms: int = TICK_MS
    ) -> None:
        self._loop = loop
        self._host = host
        self._on_expired = on_expired
        self._tick_us = tick_ms * MS_US
        self._last_id = 0
        self._live: dict[int, Session] = {}

    def open(self, timeout_ms: int, client: str) -> Session:
        """Begin a session, with the timeout asked for as far as the server allows it."""
        tick_ms = self._tick_us // MS_US
        self._last_id += 1
        allowed = min(max(timeout_ms, _FEWEST_TICKS * tick_ms), _MOST_TICKS * tick_ms)
        session = self._live[self._last_id] = Session(self._last_id, allowed, client)
        self.touch(session)
        self._host.call_at(session.expires_us, self._look, session)
        return session

    def get(self, number: int) -> Session | None:
        """A session that lives; None when there is none of that number (any more)."""
        return self._live.get(number)

    def touch(self, session: Session) -> None:
        """Its client was heard of. The timer stays where it is, and looks again when it comes up."""
        lives_until = self._loop.now_us + session.timeout_ms * MS_US
        session.expires_us = max(session.expires_us, (lives_until // self._tick_us + 1) * self._tick_us)

    def close(self, session: Session) -> bool:
        """End a session; False when it has ended before."""
        return self._live.pop(session.id, None) is not None

    def _look(self, session: Session) -> None:
        if session.id not in self._live:
            return
        if self._loop.now_us < session.expires_us:
            self._host.call_at(session.expires_us, self._look, session)
        elif self.close(session):
            self._on_expired(session)
