"""`rack-first`: an example of a custom assignor. A partition goes to a member on one of its racks, if there is one.

Kafka's assignors put balance before racks. A user who pays for traffic between zones may prefer the opposite: every
partition that *can* be read within its rack is, members on one rack share those partitions evenly, and only the rest
goes to the least loaded members. docs/writing-an-assignor.md explains this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from groupsim.assignors.base.interface import Assignor
from groupsim.assignors.base.steps import NO_STEPS, Steps
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.messages.group import TopicPartition


class RackFirstAssignor(Assignor):
    """Racks before balance; eager, without state."""

    name = "rack-first"

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """Give each partition to the least loaded subscriber on its racks, or, without one, of all."""
        return self.explain(topics, members, NO_STEPS)

    def explain(
        self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription], steps: Steps
    ) -> GroupAssignment:
        """Compute the same, with each grant as a step.

        Partitions without a subscriber on their racks are given last, so that they even out the differences.
        """
        given: dict[str, list[TopicPartition]] = {member.member_id: [] for member in members}
        waiting = []
        steps.stage("members on a rack of the partition")
        for partition, racks, subscribers in _partitions(topics, members):
            near = [member for member in subscribers if member.rack in racks]
            if near:
                _give(partition, near, given, steps)
            else:
                steps.set_aside((partition,), "no subscriber is on a rack of it")
                waiting.append((partition, subscribers))
        steps.stage("all subscribers")
        for partition, subscribers in waiting:
            _give(partition, subscribers, given, steps)
        steps.stop("no partition is left")
        return GroupAssignment({member_id: tuple(partitions) for member_id, partitions in given.items()})


def _partitions(
    topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]
) -> Iterable[tuple[TopicPartition, frozenset[str], list[MemberSubscription]]]:
    """Return all partitions with subscribers, with the racks of their replicas."""
    for name in sorted({topic for member in members for topic in member.topics}):
        topic = topics.get(name)
        if topic is None:
            continue  # a subscribed topic that does not exist (yet)
        subscribers = [member for member in members if name in member.topics]
        for number in range(topic.partitions):
            racks = topic.racks[number] if number < len(topic.racks) else ()
            yield TopicPartition(name, number), frozenset(racks), subscribers


def _give(
    partition: TopicPartition,
    candidates: Iterable[MemberSubscription],
    given: Mapping[str, list[TopicPartition]],
    steps: Steps,
) -> None:
    """Give a partition to the least loaded candidate; the member id decides between equals."""
    taker = min(candidates, key=lambda member: (len(given[member.member_id]), member.member_id))
    if steps:
        steps.give((partition,), taker.member_id, f"it has the fewest, {len(given[taker.member_id])}")
    given[taker.member_id].append(partition)
