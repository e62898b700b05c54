"""A member's assignment by topic ids, with the number that the client gives each target.

The number is not sent. It tells two targets with the same partitions apart: a member that was given A, then B, then A
again has to acknowledge the second A, too.

Source: `AbstractMembershipManager.LocalAssignment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from groupsim.protocol.messages.consumer_group import TopicPartitions

ByTopic = Mapping[str, tuple[int, ...]]
"""Topic id → numbers of partitions, sorted."""

_NO_NUMBER = -1


class LocalAssignment(NamedTuple):
    """Partitions by topic id, and the number of the target that they belong to; -1 before the first target."""

    number: int
    partitions: ByTopic

    @property
    def is_none(self) -> bool:
        """Whether there was no target yet; an empty target is one."""
        return self.number == _NO_NUMBER

    def followed_by(self, partitions: ByTopic) -> LocalAssignment:
        """Return the next target; the same object if it has the same partitions."""
        if not self.is_none and partitions == self.partitions:
            return self
        return LocalAssignment(self.number + 1, partitions)


NONE = LocalAssignment(_NO_NUMBER, {})


def by_topic(assignment: Iterable[TopicPartitions]) -> ByTopic:
    """Return the assignment of a response, by topic id."""
    return {entry.topic_id: tuple(sorted(entry.partitions)) for entry in assignment}


def to_message(partitions: ByTopic) -> tuple[TopicPartitions, ...]:
    """Return partitions as a heartbeat reports them."""
    return tuple([TopicPartitions(topic_id, numbers) for topic_id, numbers in partitions.items()])
