"""What an assignor is: the interface between a consumer and its partition assignor, built-in or the user's own.

The consumer asks `user_data` for what goes into its next subscription, tells `on_assignment` what it got, and, when
it is the leader of its group, calls `assign`. An assignor object belongs to one consumer and may keep state between
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
    """How members give partitions up: all before they join, or only those that move (KIP-429)."""

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

        `topics` is what the leader's metadata knows (a subscribed topic may be missing), `members` come in the order
        of the JoinGroup response; both are read-only. Every member must be a key of the result, with an empty tuple
        when it gets nothing.
        """

    def explain(
        self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription], steps: Steps
    ) -> GroupAssignment:
        """Compute what `assign` computes and report each step to `steps` (`groupsim assign --explain`).

        Optional: this one reports nothing. An assignor that defines it computes here and lets `assign` call it with
        NO_STEPS, so that there is one computation. A subclass that replaces `assign` alone explains nothing.
        """
        return self.assign(topics, members)

    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """Bytes for the next subscription to `topics`, which the leader finds in `MemberSubscription.user_data`."""
        return None

    def on_assignment(  # noqa: B027 (most assignors remember nothing)
        self, partitions: Sequence[TopicPartition], generation: int
    ) -> None:
        """Called on every member when it got its assignment, after revocations and before the listener."""
