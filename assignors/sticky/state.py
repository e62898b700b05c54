"""The state of the general sticky algorithm: members and partitions as numbers, and the owners.

Members are numbered in the order of their ids, topics by (subscribers, name), and partitions run through the topics in
that order, which is the order in which the algorithm treats them. Claims to partitions that a topic does not have get
numbers after all others: they stay with their member, and count, but are never given out (assignors reference, 10.4).

Source: `AbstractStickyAssignor.GeneralAssignmentBuilder`; assignors reference, section 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupsim.assignors.base.common import partitions_of
from groupsim.assignors.base.errors import JavaFailure
from groupsim.assignors.sticky.claims import Claim
from groupsim.assignors.sticky.load import Load
from groupsim.protocol.embedded.assignment import TopicMetadata
from groupsim.protocol.javahash import java_sorted, java_string_key
from groupsim.protocol.messages.group import TopicPartition

NO_OWNER = -1


class State:
    """Members, topics and partitions by number, and the present assignment.

    `held[m]` lists partitions in Java's order (removal closes the gap, additions go to the end); `owner[p]` is the last
    receiver. They agree except for partitions that a smaller topic no longer has, which can be held twice.
    """

    def __init__(self, known: Mapping[str, TopicMetadata], claims: Sequence[Claim]) -> None:
        self.ids = java_sorted(claim.member.member_id for claim in claims)
        self.number = {member_id: member for member, member_id in enumerate(self.ids)}
        self.in_hash_order = [self.number[claim.member.member_id] for claim in claims]
        wanted = {
            self.number[claim.member.member_id]: [topic for topic in claim.member.topics if topic in known]
            for claim in claims
        }
        subscribers: dict[str, list[int]] = {topic: [] for topic in known}
        for member in self.in_hash_order:
            for topic in wanted[member]:
                subscribers[topic].append(member)
        self.topics = sorted(known, key=lambda topic: (len(subscribers[topic]), java_string_key(topic)))
        self.topic_number = {topic: number for number, topic in enumerate(self.topics)}
        #: By topic: its subscribers (twice for a member that names it twice), and the same as a set.
        self.subscribers = [subscribers[topic] for topic in self.topics]
        self.subscriber_set = [frozenset(members) for members in self.subscribers]
        #: By member: its topics that exist, in its own order.
        self.wanted = [[self.topic_number[topic] for topic in wanted[m]] for m in range(len(self.ids))]
        self._lay_out(known)
        self.held: list[list[int]] = [[] for _ in self.ids]
        self.owner: list[int] = [NO_OWNER] * self.total
        self.load = Load([0] * len(self.ids))
        self.takes_part = [True] * len(self.ids)

    def _lay_out(self, known: Mapping[str, TopicMetadata]) -> None:
        """Number the partitions, topic by topic."""
        self.start = [0]
        self.partitions: list[TopicPartition] = []
        self.topic_of: list[int] = []
        for number, topic in enumerate(self.topics):
            count = known[topic].partitions
            self.partitions.extend(partitions_of(topic, count))
            self.topic_of.extend([number] * count)
            self.start.append(len(self.partitions))
        self.total = len(self.partitions)
        self._phantoms: dict[TopicPartition, int] = {}

    def place(self, partition: TopicPartition) -> int:
        """Return the number of a partition of a known topic; an unknown partition gets a number of its own."""
        topic = self.topic_number[partition[0]]
        number = self.start[topic] + partition[1]
        if partition[1] >= 0 and number < self.start[topic + 1]:
            return number
        if partition not in self._phantoms:
            self._phantoms[partition] = len(self.partitions)
            self.partitions.append(partition)
            self.topic_of.append(topic)
            self.owner.append(NO_OWNER)
        return self._phantoms[partition]

    def size(self, topic: int) -> int:
        """Return the number of partitions of a topic."""
        return self.start[topic + 1] - self.start[topic]

    @property
    def has_phantoms(self) -> bool:
        """Whether a member claims partitions that their topic does not have."""
        return bool(self._phantoms)

    def contested(self, topic: int) -> bool:
        """Whether a topic has two or more subscribers, so that its partitions can move."""
        return len(self.subscribers[topic]) >= 2

    def most_possible(self, member: int) -> int:
        """Return the number of partitions that a member could hold: all of its topics."""
        wanted = self.wanted[member]
        if len(wanted) == len(self.topics):
            return self.total  # as Kafka counts, also when a topic is named twice and another one not at all
        return sum(self.size(topic) for topic in wanted)

    def count(self, member: int) -> int:
        """Return the count of a participating member. Raises JavaFailure for one that was set aside."""
        if member == NO_OWNER or not self.takes_part[member]:
            raise JavaFailure("java.lang.NullPointerException", "the member does not take part in the reassignment")
        return self.load.count[member]

    def hand_over(self, place: int, to: int) -> int:
        """Move a partition to another member; return the former owner."""
        giver = self.owner[place]
        self.held[giver].remove(place)
        self.held[to].append(place)
        self.owner[place] = to
        self.load.add(giver, -1)
        self.load.add(to, 1)
        return giver
