"""`roundrobin`: all partitions of all topics, given to the members in turn.

Partitions are sorted by topic and number, members in member order form a ring, and a cursor moves on by one after each
partition, past members that do not subscribe to its topic. It is never reset between topics, so with equal
subscriptions counts differ by at most one; with differing ones the skipping can make them very uneven.

Here a whole topic is given out at once: its k subscribers in ring order, beginning with the first at or after the
cursor, take every k-th partition each. That costs the same however many members have to be skipped.

Sources: `RoundRobinAssignor`; assignors reference, section 3.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import cycle

from groupsim.assignors.base.common import (
    existing_topics,
    in_line,
    in_member_order,
    note_order,
    partitions_of,
    same_topics,
    spread,
)
from groupsim.assignors.base.interface import Assignor
from groupsim.assignors.base.steps import NO_STEPS, Steps
from groupsim.assignors.partition_slices import PartitionSlices, Share
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.group import TopicPartition


class RoundRobinAssignor(Assignor):
    """Kafka's `roundrobin`: eager, without racks, without state."""

    name = "roundrobin"

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """Give out the partitions; a member's list is in the order of the grants."""
        return self.explain(topics, members, NO_STEPS)

    def explain(
        self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription], steps: Steps
    ) -> GroupAssignment:
        """Compute the same, with each partition as a step, and the members that were skipped for it."""
        known = existing_topics(topics, members)
        ring = in_member_order(members)
        seats = _seats(ring)
        shares: dict[str, list[Share]] = {member.member_id: [] for member in members}
        hands = [shares[member.member_id] for member in ring]
        counts = {name: topic.partitions for name, topic in known.items()}
        cursor = 0
        if steps:
            note_order(ring, steps)
            steps.stage("RoundRobinAssignor.assign")
            steps.note(f"partitions are taken by topic and number: {in_line(java_sorted(known))}")
        listened = bool(steps)
        for topic in java_sorted(known):
            takers = _deal(topic, counts[topic], seats[topic], cursor, hands)
            if listened:
                _report(partitions_of(topic, counts[topic]), takers, cursor, ring, steps)
            cursor = takers[(counts[topic] - 1) % len(takers)] + 1
        result = GroupAssignment(PartitionSlices(counts, shares))
        if steps:
            steps.stop(f"no partition is left; counts play no part: members hold {spread(result)}")
        return result


def _seats(ring: Sequence[MemberSubscription]) -> Mapping[str, Sequence[int]]:
    """Return for each topic the places in the ring that subscribe to it, ascending."""
    if same_topics(ring):
        return dict.fromkeys(ring[0].topics if ring else (), range(len(ring)))
    seats: dict[str, list[int]] = {}
    for place, member in enumerate(ring):
        for topic in dict.fromkeys(member.topics):
            seats.setdefault(topic, []).append(place)
    return seats


def _deal(
    topic: str, partitions: int, seats: Sequence[int], cursor: int, hands: Sequence[list[Share]]
) -> Sequence[int]:
    """Give one topic to the subscribers at `seats`, the first at or after `cursor`; return the takers, in order."""
    count = len(seats)
    first = bisect_left(seats, cursor) % count
    takers = seats[first : first + partitions]
    if len(takers) < partitions and first:
        takers = [*takers, *seats[: min(first, partitions - len(takers))]]
    for step, seat in enumerate(takers):
        hands[seat].append((topic, slice(step, partitions, count)))
    return takers


def _report(
    partitions: Sequence[TopicPartition],
    takers: Sequence[int],
    cursor: int,
    ring: Sequence[MemberSubscription],
    steps: Steps,
) -> None:
    """Report the partitions of a topic, one by one, as `takers` get them in turn."""
    for partition, seat in zip(partitions, cycle(takers)):
        passed = [ring[place % len(ring)].member_id for place in _between(cursor, seat, len(ring))]
        reason = f"next in the ring; past {in_line(passed)}, not subscribed" if passed else "next in the ring"
        steps.give((partition,), ring[seat].member_id, reason)
        cursor = seat + 1


def _between(cursor: int, seat: int, count: int) -> range:
    start = cursor % count
    return range(start, seat if seat >= start else seat + count)
