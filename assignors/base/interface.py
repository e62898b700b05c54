"""The interface between a consumer and its partition assignor, built-in or the user's own.

The consumer calls `user_data` for the bytes of its next subscription, `on_assignment` with its new assignment, and,
when it is the leader of its group, `assign`. An assignor object belongs to one consumer and may have state between
calls. It must be deterministic: no clock, no `random`, no iteration over a set, or the same seed gives two traces.

Sources: `ConsumerPartitionAssignor`; KIP-429 (rebalance protocols); assignors reference, sections 1 and 8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import IntEnum

from groupsim.assignors.base.steps import Steps
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.messages.group import TopicPartition


class RebalanceProtocol(IntEnum):
    """The way in which members revoke partitions: all before they join, or only the moved ones (KIP-429)."""

    EAGER = 0
    COOPERATIVE = 1


class Assignor(ABC):
    """A partition assignor; a user's own one inherits from this class and defines `name` and `assign`."""

    #: The name under which members vote for it, as in `partition.assignment.strategy`.
    name: str
    #: The rebalance protocols it supports; a consumer uses the highest that all its assignors have in common.
    protocols: frozenset[RebalanceProtocol] = frozenset({RebalanceProtocol.EAGER})

    @abstractmethod
    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """Give every partition of the subscribed topics to a member that subscribes to it.

        `topics` is the leader's metadata (a subscribed topic may be missing), `members` are in the order of the
        JoinGroup response; both are read-only. Every member must be a key of the result, with an empty tuple when it
        gets no partition.
        """

    def explain(
        self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription], steps: Steps
    ) -> GroupAssignment:
        """Compute the same result as `assign` and report each step to `steps` (`groupsim assign --explain`).

        Optional: this default reports nothing. An assignor that defines it computes here and lets `assign` call it with
        NO_STEPS, so that there is one computation. A subclass that replaces `assign` alone explains nothing.
        """
        return self.assign(topics, members)

    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """Return bytes for the next subscription to `topics`, for the leader: `MemberSubscription.user_data`."""
        return None

    def on_assignment(  # noqa: B027 (most assignors have no state)
        self, partitions: Sequence[TopicPartition], generation: int
    ) -> None:
        """Take this member's new assignment; called after revocations and before the listener."""
