"""`sticky`: as balanced as roundrobin, with as few moves as that allows; eager.

A member's user data contains its last assignment and that generation. It therefore also claims
partitions of topics that it has unsubscribed from meanwhile.

Sources: `StickyAssignor`; KIP-54, KIP-341; assignors reference, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.assignors.sticky.base import StickyBase
from groupsim.assignors.sticky.claims import NO_GENERATION, Claim
from groupsim.protocol.embedded.assignment import MemberSubscription
from groupsim.protocol.embedded.sticky_data import decode_sticky_user_data, encode_sticky_user_data
from groupsim.protocol.messages.group import TopicPartition


class StickyAssignor(StickyBase):
    """Kafka's `sticky`."""

    name = "sticky"

    def __init__(self) -> None:
        super().__init__()
        self._last: tuple[tuple[TopicPartition, ...], int] | None = None

    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """Return the last assignment and its generation (schema v1); None before the first."""
        return None if self._last is None else encode_sticky_user_data(*self._last)

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """Store the assignment for the next subscription."""
        self._last = (tuple(partitions), generation)

    def claim(self, member: MemberSubscription) -> Claim:
        """Return the claims in the user data; none when it is missing or unreadable."""
        read = decode_sticky_user_data(member.user_data) if member.user_data else None
        return Claim(member, *read) if read is not None else Claim(member, (), NO_GENERATION)
