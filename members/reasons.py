"""Why a member joins anew, in the words of the Java client: its log and its next JoinGroup say them (KIP-800).

Source: `AbstractCoordinator`, `ConsumerCoordinator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.members.member import Member

if TYPE_CHECKING:
    from groupsim.members.metadata import Snapshot

LEAVING = "consumer pro-actively leaving the group"
SUBSCRIPTION_CHANGED = "subscription has changed"
METADATA_CHANGED = "cached metadata has changed"


def failed(exception: str) -> str:
    """After an attempt that failed."""
    return f"rebalance failed due to {exception}"


def given(member_id: str) -> str:
    """After the coordinator has named the id to join with (KIP-394)."""
    return f"need to re-join with the given member-id: {member_id}"


def modified(member: Member) -> str:
    """After one whose membership was lost between the answer and the callbacks."""
    return (
        "rebalance failed since the generation/state was modified by heartbeat thread to "
        f"{member.generation.id}/{member.state.value} before the rebalance callback triggered"
    )


def counts(snapshot: Snapshot | None) -> dict[str, int]:
    """Return the number of partitions of each topic, as the log shows changed metadata."""
    return {name: count for name, (count, _) in (snapshot or {}).items()}
