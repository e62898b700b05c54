"""Why a member joins anew, in the words of the Java client: its log and its next JoinGroup say them (KIP-800).

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
    """After an attempt that failed."""
    return f"rebalance failed due to {exception}"


def given(member_id: str) -> str:
    """After the coordinator has named the id to join with (KIP-394)."""
    return f"need to re-join with the given member-id: {member_id}"


def modified(member: Ports) -> str:
    """After one whose membership was lost between the answer and the callbacks."""
    return (
        "rebalance failed since the generation/state was modified by heartbeat thread to "
        f"{member.generation.id}/{member.state.value} before the rebalance callback triggered"
    )


def shown(version: int, snapshot: Snapshot | None) -> Mapping[str, Any]:
    """Return a snapshot of metadata as events have it: its version, and by topic the racks of each partition."""
    return {"version": version, "topics": {name: _racks(*seen) for name, seen in (snapshot or {}).items()}}


def _racks(count: int, racks: tuple[Racks, ...]) -> list[list[str]]:
    """The racks of each partition's replicas; none where the client asks for no rack."""
    return [sorted({rack for _, rack in online if rack}) for online, _ in racks] or [[] for _ in range(count)]
