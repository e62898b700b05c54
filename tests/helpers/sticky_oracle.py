"""The general sticky path written down step by step, as slow as it reads: what the fast one is compared with.

Partitions and members are their names, lists are searched, and *balanced* looks at everything each time. Nothing here
is shared with the product but the order of Java's hash maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from groupsim.protocol.embedded.assignment import MemberSubscription, TopicMetadata
from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.messages.group import TopicPartition


class SlowGeneralPath:
    """One run for members whose claims do not conflict; `previous` maps partitions to a recorded previous owner."""

    def __init__(
        self,
        topics: Mapping[str, TopicMetadata],
        members: Sequence[MemberSubscription],
        previous: Mapping[TopicPartition, str] | None = None,
    ) -> None:
        subscribed = {topic for member in members for topic in member.topics}
        self.sizes = {name: topic.partitions for name, topic in topics.items() if name in subscribed}
        self.wants = {member.member_id: [t for t in member.topics if t in self.sizes] for member in members}
        self.members = members
        self.previous = previous or {}
        self.held: dict[str, list[TopicPartition]] = {}
        self.moves: dict[str, JavaHashMap[TopicPartition, None]] = {}
        self.moved: dict[TopicPartition, tuple[str, str]] = {}

    def run(self) -> dict[str, list[TopicPartition]]:
        """The assignment by member id."""
        revoked = self._keep()
        everything = self._in_order()
        taken = {partition for held in self.held.values() for partition in held}
        left = [partition for partition in everything if partition not in taken]
        initializing = not max(self.held.values(), key=len)
        for partition in left:
            taker = min(self._subscribers(partition.topic), key=lambda m: (len(self.held[m]), m))
            self.held[taker].append(partition)
        aside = self._set_aside()
        before = {member: list(held) for member, held in self.held.items()}
        if not revoked:
            self._reassign([partition for partition in left if self._movable(partition)])
        moved = self._reassign([partition for partition in everything if self._movable(partition)])
        if moved and not initializing and self._score(self.held) >= self._score(before):
            self.held = before
        return {**self.held, **aside}

    def _keep(self) -> bool:
        revoked = False
        for member in self.members:
            owned = [partition for partition in member.owned if partition.topic in self.sizes]
            kept = [partition for partition in owned if partition.topic in member.topics]
            revoked |= kept != owned
            self.held[member.member_id] = kept
        return revoked

    def _subscribers(self, topic: str) -> list[str]:
        return [member for member in self.held if topic in self.wants[member]]

    def _in_order(self) -> list[TopicPartition]:
        names = sorted(self.sizes, key=lambda topic: (len(self._subscribers(topic)), topic))
        return [TopicPartition(topic, number) for topic in names for number in range(self.sizes[topic])]

    def _movable(self, partition: TopicPartition) -> bool:
        return sum(partition.topic in wanted for wanted in self.wants.values()) >= 2

    def _could_hold(self, member: str) -> int:
        return sum(self.sizes[topic] for topic in self.wants[member])

    def _set_aside(self) -> dict[str, list[TopicPartition]]:
        full = [
            member
            for member, held in self.held.items()
            if len(held) >= self._could_hold(member) and not any(map(self._movable, held))
        ]
        return {member: self.held.pop(member) for member in full}

    @staticmethod
    def _score(held: Mapping[str, Sequence[TopicPartition]]) -> int:
        counts = [len(partitions) for partitions in held.values()]
        return sum(abs(one - other) for place, one in enumerate(counts) for other in counts[:place])

    def _owner(self, partition: TopicPartition) -> str:
        return next(member for member, held in self.held.items() if partition in held)

    def _balanced(self) -> bool:
        counts = {member: len(held) for member, held in self.held.items()}
        if not counts or min(counts.values()) >= max(counts.values()) - 1:
            return True
        for member, wanted in self.wants.items():
            if member not in counts or counts[member] == self._could_hold(member):
                continue
            for topic in wanted:
                for number in range(self.sizes[topic]):
                    if counts[self._owner(TopicPartition(topic, number))] > counts[member] + 1:
                        return False
        return True

    def _reassign(self, partitions: Iterable[TopicPartition]) -> bool:
        listed = list(partitions)
        moved = False
        while True:
            again = False
            for partition in listed:
                if self._balanced():
                    break
                again |= self._visit(partition)
            if not again:
                return moved
            moved = True

    def _visit(self, partition: TopicPartition) -> bool:
        owner = self._owner(partition)
        count = len(self.held[owner])
        before = self.previous.get(partition)
        if before is not None and count > len(self.held[before]) + 1:
            self._move(partition, before)
            return True
        takers = self._subscribers(partition.topic)
        if all(count <= len(self.held[taker]) + 1 for taker in takers):
            return False
        self._move(partition, min(takers, key=lambda member: (len(self.held[member]), member)))
        return True

    def _move(self, partition: TopicPartition, to: str) -> None:
        origin = self.moved[partition][0] if partition in self.moved else self._owner(partition)
        back = self._pair(partition.topic, to, origin)
        if self.moves.get(back):
            partition = next(iter(self.moves[back]))
        owner = self._owner(partition)
        self._remember(partition, owner, to)
        self.held[owner].remove(partition)
        self.held[to].append(partition)

    def _remember(self, partition: TopicPartition, owner: str, to: str) -> None:
        if partition in self.moved:
            origin, last = self.moved.pop(partition)
            pair = self._pair(partition.topic, origin, last)
            del self.moves[pair][partition]
            if not self.moves[pair]:
                del self.moves[pair]
            if origin == to:
                return
            owner = origin
        self.moved[partition] = (owner, to)
        self.moves.setdefault(self._pair(partition.topic, owner, to), JavaHashMap())[partition] = None

    @staticmethod
    def _pair(topic: str, source: str, target: str) -> str:
        return "\n".join((topic, source, target))
