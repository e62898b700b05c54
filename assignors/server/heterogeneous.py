"""`uniform` for a group whose members subscribe to different topics.

1. Each member keeps its target, without topics to which it no longer subscribes.
2. Topic by topic, partitions without an owner go to the subscribers with the fewest partitions. Topics with the most
   partitions per subscriber come first, then those with fewer subscribers, then by id.
3. Up to 16 rounds over the topics move partitions of a topic from its subscribers with the most partitions to those
   with the fewest, until these differ by at most one. A whole round without a move ends it.

Where subscriptions overlap, the result may miss the best balance: each topic is balanced by itself.

Source: `UniformHeterogeneousAssignmentBuilder`; consumer-protocol reference, 1.11.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from groupsim.assignors.server.balancer import Balancer
from groupsim.assignors.server.interface import AssignmentFailed, ServerGroup, Target, Topics, partition_count
from groupsim.assignors.server.partition_sets import PartitionSet, sized_table
from groupsim.assignors.server.topic_order import CopiedTopics
from groupsim.protocol.topic_ids import topic_id_order

_MOST_ROUNDS = 16
_NO_OWNER = -1


class Heterogeneous:
    """One computation. Members are numbers, in the order of the group. Raises AssignmentFailed."""

    def __init__(self, group: ServerGroup, topics: Topics) -> None:
        self._group = group
        self._subscribers: dict[str, list[int]] = {}
        self._owners: dict[str, list[int]] = {}
        for number, member in enumerate(group.members):
            for topic in member.topics:
                if topic not in self._owners:
                    self._owners[topic] = [_NO_OWNER] * partition_count(topics, topic)
                self._subscribers.setdefault(topic, []).append(number)
        self._sizes = [0] * len(group.members)
        self._orders: dict[int, CopiedTopics] = {}  # of the members whose targets change
        self._sets: dict[tuple[int, str], PartitionSet] = {}  # of the topics that do

    def targets(self) -> Mapping[str, Target]:
        """Return the targets."""
        if not self._owners:
            return {}
        self._keep()
        self._grant()
        self._balance()
        return self._collected()

    def _keep(self) -> None:
        for number, member in enumerate(self._group.members):
            for topic, partitions in member.target.items():
                if topic in member.topics:
                    self._sizes[number] += len(partitions)
                    owners = self._owners[topic]
                    for partition in partitions:
                        if partition >= len(owners):  # Kafka's class throws ArrayIndexOutOfBoundsException
                            raise AssignmentFailed(f"a target has partition {partition} of {len(owners)} of a topic")
                        owners[partition] = number
                else:
                    self._order(number).remove(topic)

    def _grant(self) -> None:
        free = {
            topic: [partition for partition, owner in enumerate(owners) if owner == _NO_OWNER]
            for topic, owners in self._owners.items()
        }
        for topic in self._sorted(topic for topic, partitions in free.items() if partitions):
            balancer = Balancer(self._subscribers[topic], self._sizes)
            for partition in free[topic]:
                self._move(topic, partition, balancer.next_low())

    def _balance(self) -> None:
        topics = self._sorted(topic for topic, members in self._subscribers.items() if len(members) > 1)
        last_moved: str | None = None
        for _ in range(_MOST_ROUNDS if topics else 0):
            for topic in topics:
                if topic == last_moved:
                    return
                if self._balance_topic(topic) or last_moved is None:
                    last_moved = topic

    def _balance_topic(self, topic: str) -> bool:
        """Move partitions of one topic; return whether one was moved."""
        balancer = Balancer(self._subscribers[topic], self._sizes)
        if balancer.imbalance <= 1:
            return False
        owned: dict[int, list[int]] = {}  # what each member had at the beginning and has not given away
        for partition, owner in enumerate(self._owners[topic]):
            owned.setdefault(owner, []).append(partition)
        moved = False
        while not balancer.is_balanced():
            giver = balancer.next_high()
            while giver is not None and not owned.get(giver):
                balancer.exclude_high()
                giver = balancer.next_high()
            if giver is None:
                break
            partition = owned[giver].pop()
            taker = balancer.next_low()
            if balancer.is_balanced():
                break
            self._move(topic, partition, taker)
            moved = True
        return moved

    def _move(self, topic: str, partition: int, taker: int) -> None:
        giver = self._owners[topic][partition]
        self._owners[topic][partition] = taker
        if giver != _NO_OWNER:
            self._sizes[giver] -= 1
            self._order(giver).take(topic)
            self._set(giver, topic).remove(partition)
        self._sizes[taker] += 1
        self._order(taker).grant(topic)
        self._set(taker, topic).add(partition)

    def _set(self, number: int, topic: str) -> PartitionSet:
        """Return the set of a topic: a copy of that of the member's target, or (also once it is empty) a new one."""
        found = self._sets.get((number, topic))
        if found is None and (old := self._group.members[number].target.get(topic)):
            found = self._sets[number, topic] = PartitionSet(old)
        if not found:
            each = -(-len(self._owners[topic]) // len(self._subscribers[topic]))
            found = self._sets[number, topic] = PartitionSet((), sized_table(each))
        return found

    def _order(self, number: int) -> CopiedTopics:
        order = self._orders.get(number)
        if order is None:
            order = self._orders[number] = CopiedTopics(self._group.members[number].target)
        return order

    def _sorted(self, topics: Iterable[str]) -> list[str]:
        return sorted(topics, key=self._rank)

    def _rank(self, topic: str) -> tuple[float, int, tuple[int, int]]:
        subscribers = len(self._subscribers[topic])
        return -len(self._owners[topic]) / subscribers, subscribers, topic_id_order(topic)

    def _collected(self) -> dict[str, Target]:
        found: list[dict[str, list[int]]] = [{} for _ in self._group.members]
        for topic, owners in self._owners.items():
            for partition, owner in enumerate(owners):
                if owner != _NO_OWNER:
                    found[owner].setdefault(topic, []).append(partition)
        return {
            member.member_id: {
                topic: self._partitions(number, topic, target[topic]) for topic in self._in_order(number, target)
            }
            for number, (member, target) in enumerate(zip(self._group.members, found, strict=True))
        }

    def _partitions(self, number: int, topic: str, found: list[int]) -> tuple[int, ...]:
        """Return the partitions of a topic in the order of their set; `found` has them ascending."""
        changed = self._sets.get((number, topic))
        order = self._group.members[number].target.get(topic, ()) if changed is None else changed.in_order()
        return order if len(order) == len(found) else tuple(found)

    def _in_order(self, number: int, target: Collection[str]) -> Collection[str]:
        order = self._orders.get(number)
        return target if order is None or len(target) < 2 else order.in_order()
