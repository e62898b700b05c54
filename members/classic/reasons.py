"""Reasons of a rejoin in the words of the Java client, for its log and its next JoinGroup (KIP-800).

Source: `AbstractCoordinator`, `ConsumerCoordinator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groupsim.members.ports import Ports

if TYPE_CHECKING:
    from groupsim.members.parts import Racks, Snapshot

LEAVING = "consumer pro-actively leaving the group"
SUBSCRIPTION_CHANGED = "subscription has changed"
METADATA_CHANGED = "cached metadata has changed"


def failed(exception: str) -> str:
    """Return the reason after a failed attempt."""
    return f"rebalance failed due to {exception}"


def given(member_id: str) -> str:
    """Return the reason after MEMBER_ID_REQUIRED (KIP-394)."""
    return f"need to re-join with the given member-id: {member_id}"


def modified(member: Ports) -> str:
    """Return the reason after a membership was lost between SyncGroup and the callbacks."""
    return (
        "rebalance failed since the generation/state was modified by heartbeat thread to "
        f"{member.generation.id}/{member.state.value} before the rebalance callback triggered"
    )


def shown(version: int, snapshot: Snapshot | None) -> Mapping[str, Any]:
    """Return a snapshot of metadata as a payload: its version, and by topic the racks of each partition."""
    return {"version": version, "topics": {name: _racks(*seen) for name, seen in (snapshot or {}).items()}}


def _racks(count: int, racks: tuple[Racks, ...]) -> list[list[str]]:
    """Return the racks of each partition's replicas; none without client.rack."""
    return [sorted({rack for _, rack in online if rack}) for online, _ in racks] or [[] for _ in range(count)]
