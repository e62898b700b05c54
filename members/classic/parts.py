"""Protocols of the parts of a classic membership; `ClassicMembership` puts the parts together."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from groupsim.members.classic.leader import Leader
from groupsim.members.classic.ownership import Ownership
from groupsim.members.classic.stages import Stage
from groupsim.members.interfaces import Outcome
from groupsim.members.ports import Ports


class Beats(Protocol):
    """The heartbeats (`heartbeat.py`)."""

    last_sent_us: int
    blocked_until_us: int

    def enable(self) -> None: ...
    def disable(self) -> None: ...
    def once(self) -> None: ...


class PollTime(Protocol):
    """The application's time inside and outside `poll` (`poll_clock.py`)."""

    inside: bool

    def restart(self) -> None: ...
    def look(self) -> None: ...
    def holds_join(self) -> bool: ...


class RebalanceSteps(Protocol):
    """The rebalance of this member (`rebalance.py`)."""

    stage: Stage
    busy: bool
    needs_prepare: bool
    rejoin_needed: bool

    @property
    def outcome(self) -> Outcome | None: ...
    @property
    def leader(self) -> Leader: ...
    @property
    def assigns(self) -> bool: ...
    def request(self, reason: str, payload: Mapping[str, Any] | None = None) -> None: ...
    def reset(self, reason: str, *, member_id_too: bool) -> None: ...
    def leave(
        self, reason: str, *, on_done: Callable[[Outcome], None] | None = None, static_too: bool = False
    ) -> bool: ...
    def hold(self, until_us: int) -> None: ...
    def step(self) -> Coroutine[Any, Any, None] | None: ...


class WithoutPoll(Protocol):
    """Rebalances while the application is away (`away.py`)."""

    def loses_at_once(self) -> bool: ...


class Group(Protocol):
    """The membership that a part belongs to."""

    @property
    def member(self) -> Ports: ...
    @property
    def ownership(self) -> Ownership: ...
    @property
    def heartbeat(self) -> Beats: ...
    @property
    def poll_clock(self) -> PollTime: ...
    @property
    def rebalance(self) -> RebalanceSteps: ...
    @property
    def away(self) -> WithoutPoll: ...
    def forget(self, reason: str, *, member_id_too: bool) -> None: ...
    def go_on(self) -> None: ...
