"""What a client knows of its membership: client state, generation and member id."""

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
    """Generation id, member id and assignor; -1 and "" where unknown."""

    id: int
    member_id: str
    protocol: str | None = None

    @property
    def is_lost(self) -> bool:
        """Whether the generation or the member id is missing: partitions owned under it are lost."""
        return self.id == NO_GENERATION or not self.member_id


NO_MEMBERSHIP = Generation(NO_GENERATION, "")
_new = tuple.__new__


def generation_of(number: int, member_id: str, protocol: str | None) -> Generation:
    """Return a Generation; bypasses its `__new__`, which is several times as slow."""
    return _new(Generation, (number, member_id, protocol))
