"""`roundrobin`: all partitions of all topics, dealt to the members as around a table.

Partitions are sorted by topic and number, members in member order form a ring, and a cursor moves on by one after each
partition, past members that do not subscribe to its topic. It is never reset between topics, so with equal
subscriptions counts differ by at most one; with differing ones the skipping can make them very uneven.

Here a whole topic is dealt at once: its k subscribers in ring order, beginning with the first at or behind the cursor,
take every k-th partition each. That costs the same however many members have to be skipped.

Sources: `RoundRobinAssignor`; assignors reference, section 3.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from groupsim.members.assignors.common import existing_topics, in_member_order, same_topics
from groupsim.members.assignors.dealt import Dealt, Share
from groupsim.members.assignors.interface import Assignor
from groupsim.protocol.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.javahash import java_sorted


class RoundRobinAssignor(Assignor):
    """Kafka's `roundrobin`: eager, without racks, without memory."""

    name = "roundrobin"

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """Deal the partitions out; a member's list stands in the order in which it was dealt."""
        known = existing_topics(topics, members)
        ring = in_member_order(members)
        seats = _seats(ring)
        shares: dict[str, list[Share]] = {member.member_id: [] for member in members}
        hands = [shares[member.member_id] for member in ring]
        counts = {name: topic.partitions for name, topic in known.items()}
        cursor = 0
        for topic in java_sorted(known):
            cursor = _deal(topic, counts[topic], seats[topic], cursor, hands)
        return GroupAssignment(Dealt(counts, shares))


def _seats(ring: Sequence[MemberSubscription]) -> Mapping[str, Sequence[int]]:
    """For each topic the places in the ring that subscribe to it, ascending."""
    if same_topics(ring):
        return dict.fromkeys(ring[0].topics if ring else (), range(len(ring)))
    seats: dict[str, list[int]] = {}
    for place, member in enumerate(ring):
        for topic in dict.fromkeys(member.topics):
            seats.setdefault(topic, []).append(place)
    return seats


def _deal(topic: str, partitions: int, seats: Sequence[int], cursor: int, hands: Sequence[list[Share]]) -> int:
    """Deal one topic to the subscribers at `seats`, the first at or behind `cursor`; returns the new cursor."""
    count = len(seats)
    first = bisect_left(seats, cursor) % count
    for step in range(min(count, partitions)):
        hands[seats[(first + step) % count]].append((topic, slice(step, partitions, count)))
    return seats[(first + partitions - 1) % count] + 1
