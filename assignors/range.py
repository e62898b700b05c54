"""`range`: each topic by itself, cut into consecutive ranges, one for each of its members.

n partitions over k members in member order: each member gets n div k, the first n mod k one more. Over many small
topics the leftovers always hit the same first members, by design. Topics with the same members and as many partitions
give the same numbers to the same member (co-partitioning), with racks too (`range_racks`).

Sources: `RangeAssignor`; KIP-881; assignors reference, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupsim.assignors.base.common import (
    existing_topics,
    group_assignment,
    in_member_order,
    note_order,
    partitions_of,
    same_topics,
    spread,
)
from groupsim.assignors.base.interface import Assignor
from groupsim.assignors.base.racks import member_racks
from groupsim.assignors.base.steps import NO_STEPS, Steps
from groupsim.assignors.partition_slices import PartitionSlices, Share
from groupsim.assignors.range_racks import TopicState, place_by_rack
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.javahash import java_string_key
from groupsim.protocol.messages.group import TopicPartition


class RangeAssignor(Assignor):
    """Kafka's `range`: eager, rack-aware, without state."""

    name = "range"

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """Cut every topic; with racks, lists are sorted, else topics are in hash map order as in Java."""
        return self.explain(topics, members, NO_STEPS)

    def explain(
        self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription], steps: Steps
    ) -> GroupAssignment:
        """Compute the same, with the range of each member in each topic as a step, and with racks each grant."""
        known = existing_topics(topics, members)
        consumers = _consumers(known, members)
        racks = member_racks(members)
        if steps:
            note_order(in_member_order(members), steps)
        if racks:
            states = [TopicState(known[topic], ids, racks, steps) for topic, ids in consumers.items()]
            if any(state.racks_matter for state in states):
                return _by_rack(members, states, steps)
            steps.stage("RangeAssignor.useRackAwareAssignment")
            steps.note("no topic has replicas on members' racks and off them, so racks decide nothing")
        steps.stage("RangeAssignor.assignRanges")
        counts = {name: topic.partitions for name, topic in known.items()}
        shares: dict[str, list[Share]] = {member.member_id: [] for member in members}
        for topic, ids in consumers.items():
            _cut(topic, counts[topic], ids, shares, steps)
        result = GroupAssignment(PartitionSlices(counts, shares))
        if steps:
            steps.stop(f"every topic is cut, each by itself: members hold {spread(result)}")
        return result


def _consumers(
    known: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]
) -> Mapping[str, Sequence[str]]:
    """Return for each topic its subscribers in member order; topics in the order of `known`."""
    ordered = in_member_order(members)
    if same_topics(members):
        return dict.fromkeys(known, tuple(member.member_id for member in ordered))
    consumers: dict[str, list[str]] = {topic: [] for topic in known}
    for member in ordered:
        for topic in dict.fromkeys(member.topics):
            if topic in consumers:
                consumers[topic].append(member.member_id)
    return consumers


def _cut(topic: str, count: int, consumers: Sequence[str], shares: dict[str, list[Share]], steps: Steps) -> None:
    quota, extras = divmod(count, len(consumers))
    listened = bool(steps)
    if listened:
        steps.note(
            f"{topic}: {count} partitions for {len(consumers)} members make {quota} each"
            + (f", and one more for the first{f' {extras}' if extras > 1 else ''}" if extras else "")
        )
    start = 0
    for place, consumer in enumerate(consumers):
        end = start + quota + (place < extras)
        if start == end:
            break  # more members than partitions
        shares[consumer].append((topic, slice(start, end)))
        if listened:
            reason = f"member {place + 1} of {len(consumers)}: {quota}{' and one more' if place < extras else ''}"
            steps.give(partitions_of(topic, count)[start:end], consumer, reason)
        start = end


def _by_rack(members: Sequence[MemberSubscription], states: list[TopicState], steps: Steps) -> GroupAssignment:
    place_by_rack(states, steps)
    given: dict[str, list[TopicPartition]] = {member.member_id: [] for member in members}
    for state in sorted(states, key=lambda state: java_string_key(state.topic)):
        partitions = partitions_of(state.topic, state.count)
        for consumer, numbers in state.given.items():
            given[consumer].extend(partitions[number] for number in sorted(numbers))
    result = group_assignment(members, given)
    if steps:
        steps.stop(f"no partition is left: members hold {spread(result)}")
    return result
