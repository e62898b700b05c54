"""The rack-aware part of `range`: balance first, then co-partitioning, then racks.

Topics are grouped by their members (with racks) and number of partitions. In a group of several topics partition p of
all of them goes to the first member that has room in each and is on a rack of each. A topic alone that passed the rack
gate gives each member, in order, the lowest partitions on its rack, up to its room. The rest is cut by room alone.

A member's room in a topic is its quota, plus one while extras remain, less its partitions.

Sources: `RangeAssignor.TopicAssignmentState` and the methods around it; KIP-881; assignors reference, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groupsim.assignors.base.common import partitions_of
from groupsim.assignors.base.racks import NO_RACKS, racks_matter, replica_racks
from groupsim.assignors.base.steps import Steps
from groupsim.protocol.embedded.assignment import TopicMetadata


class TopicState:
    """One topic during the cut: its remaining partitions, the members' counts, and the members with room."""

    def __init__(
        self, metadata: TopicMetadata, consumers: Sequence[str], racks: Mapping[str, str], steps: Steps
    ) -> None:
        self._steps = steps
        self._listened = bool(steps)
        self.topic = metadata.name
        self.count = metadata.partitions
        self.consumers = {consumer: racks.get(consumer) for consumer in consumers}
        of_members = frozenset(racks[consumer] for consumer in consumers if consumer in racks)
        self.racks = replica_racks(metadata) if of_members else [NO_RACKS] * metadata.partitions
        self.racks_matter = racks_matter(of_members, {metadata.name: self.racks})
        self.quota, self.extras = divmod(metadata.partitions, len(consumers))
        self.left = dict.fromkeys(range(metadata.partitions))
        self.given: dict[str, list[int]] = {consumer: [] for consumer in consumers}
        # Topics without a member on a rack are never placed together: they share one empty group.
        self.group = (frozenset(self.consumers.items()), metadata.partitions if of_members else 0)

    def room(self, consumer: str) -> int:
        """Return the number of partitions that a member may still get."""
        return max(0, self.quota + (self.extras > 0) - len(self.given[consumer]))

    def matches(self, consumer: str, partition: int) -> bool:
        """Whether a member has no rack or is on a rack of the partition."""
        rack = self.consumers[consumer]
        return rack is None or rack in self.racks[partition]

    def give(self, consumer: str, partitions: Sequence[int], reason: str) -> None:
        """Give partitions to a member; one grant uses up at most one extra."""
        if self._listened:
            every, room = partitions_of(self.topic, self.count), self.room(consumer)
            self._steps.give([every[number] for number in partitions], consumer, f"{reason}, and has room for {room}")
        for partition in partitions:
            del self.left[partition]
        self.given[consumer].extend(partitions)
        if len(self.given[consumer]) > self.quota:
            self.extras -= 1

    def cut(self, may_get: Callable[[str, int], bool], reason: str) -> None:
        """Give each member, in order, the lowest remaining partitions that it may get, up to its room."""
        for consumer in self.consumers:
            if not self.left:
                return
            room = self.room(consumer)
            if room:
                lowest = [partition for partition in self.left if may_get(consumer, partition)][:room]
                if lowest:
                    self.give(consumer, lowest, reason)


def place_by_rack(states: Sequence[TopicState], steps: Steps) -> None:
    """Give out all partitions of all topics; called when racks matter to at least one topic."""
    groups: dict[tuple[frozenset[tuple[str, str | None]], int], list[TopicState]] = {}
    for state in states:
        groups.setdefault(state.group, []).append(state)
    for (_, count), together in groups.items():
        if len(together) > 1:
            _place_together(together, count, steps)
        elif together[0].racks_matter:
            steps.stage("RangeAssignor.assignWithRackMatching")
            together[0].cut(together[0].matches, "the lowest that it is not off rack for")
    steps.stage("RangeAssignor.assignRanges")
    for state in states:
        state.cut(lambda consumer, partition: True, "the lowest that are left, whatever the rack")


def _place_together(states: Sequence[TopicState], count: int, steps: Steps) -> None:
    """Give partition p of all co-partitioned topics to one member with room in each and on a rack of each."""
    candidates = list(states[0].consumers)
    if steps and count:
        steps.stage("RangeAssignor.assignCoPartitionedWithRackMatching")
        names = ", ".join(state.topic for state in states)
        steps.note(f"{names} have the same members and {count} partitions each: a number goes to one member in all")
    for partition in range(count):
        chosen = _first_match(states, candidates, partition)
        if chosen is None:
            if steps:
                steps.note(f"number {partition} waits: no member has room for it and is on a rack of it in all topics")
            continue
        for state in states:
            state.give(chosen, (partition,), "the first that is not off rack for this number in all topics")
        if not any(state.room(chosen) for state in states):
            candidates.remove(chosen)


def _first_match(states: Sequence[TopicState], candidates: Sequence[str], partition: int) -> str | None:
    for consumer in candidates:
        if all(state.room(consumer) and state.matches(consumer, partition) for state in states):
            return consumer
    return None
