"""What a client knows of its membership: its state, its generation and its member id."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from groupsim.protocol.messages.group import NO_GENERATION


class ClientState(StrEnum):
    """The states of `AbstractCoordinator.MemberState` (classic-protocol reference, section 4.2)."""

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


class Generation(NamedTuple):
    """What the client knows of its membership; -1 and "" where it knows nothing."""

    id: int
    member_id: str
    protocol: str | None = None

    @property
    def is_lost(self) -> bool:
        """Whether generation or member id is missing: what was owned under it is lost."""
        return self.id == NO_GENERATION or not self.member_id


NO_MEMBERSHIP = Generation(NO_GENERATION, "")
_new = tuple.__new__


def generation_of(number: int, member_id: str, protocol: str | None) -> Generation:
    """A membership; made past the class's own `__new__`, which takes several times as long."""
    return _new(Generation, (number, member_id, protocol))
