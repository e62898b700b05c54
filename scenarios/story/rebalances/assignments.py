"""The owners of partitions in each generation: the assignment that the leader computed, by the names of processes.

The trace has the leader's assignment (`assignment.computed`). For a group without a leader (Kafka 0.8), and for a trace
that does not list this kind, the events of owners replace it: a partition belongs to the last process that took it in
this generation, or took it before and did not release it until the next one began.

Equal parts of two consecutive generations are one object, so that thousands of generations fit in memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from attrs import evolve

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story.facts import Facts
from groupsim.scenarios.story.model import Generation, MemberName, Outcome
from groupsim.scenarios.story.rebalances.blame import member_name
from groupsim.scenarios.story.rebalances.holdings import Holding
from groupsim.scenarios.story.rebalances.partition_set import Assignment, MemberShare, PartitionSet, partition_set

_NOTHING = PartitionSet()
Given = Mapping[MemberName, Sequence[str]]  # member → its partitions, as the trace writes them


def with_assignments(
    facts: Facts, group: str, generations: Sequence[Generation], spans: Sequence[Sequence[Holding]]
) -> list[Generation]:
    """Return the generations, each stable one with its assignment if the trace shows it."""
    computed = _Computed(facts, group)
    owned = None if computed.known else _Owned(generations, spans)
    topics, history = _Topics(facts), _History()
    found = []
    for index, generation in enumerate(generations):
        given = computed.of(generation) if owned is None else owned.of(index)
        if given is None or generation.outcome is not Outcome.STABLE:
            found.append(generation)
        else:
            sizes = topics.of([owner.host for owner in given], generation.ended_us)
            found.append(evolve(generation, assignment=history.next(given, sizes)))
    return found


# --- from the trace ---------------------------------------------------------------------------------------------------


class _Computed:
    """The assignments that the leaders of one group computed."""

    def __init__(self, facts: Facts, group: str) -> None:
        kind = Kind.ASSIGNMENT_COMPUTED
        events = [one for host in facts.hosts.values() for one in host.signals.get(kind, ()) if one.group == group]
        self._facts = facts
        self._events = sorted(events, key=lambda event: event.seq)
        self._times = [event.t_us for event in self._events]

    @property
    def known(self) -> bool:
        """Whether the trace has any."""
        return bool(self._events)

    def of(self, generation: Generation) -> Given | None:
        """Return the last one for a generation that was computed during its rebalance; None for none."""
        first = bisect_left(self._times, generation.began_us)
        last = bisect_right(self._times, generation.ended_us)
        for event in reversed(self._events[first:last]):
            if event.generation in (None, generation.number):
                return self._read(event)
        return None

    def _read(self, event: TraceEvent) -> Given | None:
        given = (event.payload or {}).get("assignment")
        if not isinstance(given, Mapping):
            return None
        return {
            member_name(self._facts, str(member)) or MemberName(str(member)): entries
            for member, entries in given.items()
        }


class _Owned:
    """The partitions that processes owned; `of` takes the generations in order."""

    def __init__(self, generations: Sequence[Generation], spans: Sequence[Sequence[Holding]]) -> None:
        begins = [generation.began_us for generation in generations]
        numbers = {generation.number: index for index, generation in enumerate(generations)}
        self._begun: dict[int, list[Holding]] = {}
        self._over: dict[int, list[Holding]] = {}
        for span in (one for of_partition in spans for one in of_partition):
            first = numbers.get(span.generation or -1, max(0, bisect_right(begins, span.owned_us) - 1))
            self._begun.setdefault(first, []).append(span)
            if span.released_us is not None:
                self._over.setdefault(max(first + 1, bisect_left(begins, span.released_us)), []).append(span)
        self._now: dict[TopicPartition, Holding] = {}

    def of(self, index: int) -> Given | None:
        """Return the partitions that processes own in this generation; None for none."""
        for span in self._over.pop(index, ()):
            if self._now.get(span.partition) is span:
                del self._now[span.partition]
        for span in sorted(self._begun.pop(index, ()), key=lambda one: one.owned_us):
            self._now[span.partition] = span
        given: dict[MemberName, list[str]] = {}
        for partition in sorted(self._now):
            span = self._now[partition]
            given.setdefault(MemberName(span.host, span.member), []).append(str(partition))
        return given or None


class _Topics:
    """The sizes of topics over time, and the topics that members of a group subscribe to."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._place = 0
        self._sizes: dict[str, int] = {}
        self._listed = not any((one.payload or {}).get("do") == "subscribe" for one in facts.actions)

    def of(self, hosts: Sequence[str], at_us: int) -> Mapping[str, int]:
        """Return topic → partitions for all that these processes subscribe to by list; `at_us` must not go back.

        Empty if the scenario has a step `subscribe`: the present lists are then not known.
        """
        changes = self._facts.metadata
        while self._place < len(changes) and changes[self._place].t_us <= at_us:
            change = changes[self._place]
            self._sizes[change.topic or ""] = int((change.payload or {}).get("partitions", 0))
            self._place += 1
        known = (self._facts.hosts.get(host) for host in hosts if self._listed)
        topics = {topic for host in known if host is not None for topic in host.topics or ()}
        return {topic: self._sizes[topic] for topic in sorted(topics) if topic in self._sizes}


# --- from one generation to the next ----------------------------------------------------------------------------------


class _History:
    """The last assignment, and the last owner of each partition."""

    def __init__(self) -> None:
        self._given: Given = {}
        self._shares: dict[MemberName, MemberShare] = {}
        self._last: dict[str, str] = {}

    def next(self, given: Given, sizes: Mapping[str, int]) -> Assignment:
        """Return the next assignment; `sizes` is topic → partitions of the topics that should have owners."""
        before = self._shares
        self._shares = {owner: self._share(owner, entries) for owner, entries in given.items()}
        moved = [(owner, entries) for owner, entries in given.items() if self._shares[owner] is not before.get(owner)]
        for owner, entries in moved:
            self._last.update(dict.fromkeys(entries, owner.host))
        self._given = given
        unowned = _without_owner(self._shares, sizes)
        had = {one for share in before.values() for one in share.partitions} if unowned.topics else set()
        return Assignment(tuple(self._shares.values()), unowned, partition_set(one for one in unowned if one in had))

    def _share(self, owner: MemberName, entries: Sequence[str]) -> MemberShare:
        before = self._shares.get(owner)
        if before is not None and self._given[owner] == entries:
            return before if not before.moved.topics else evolve(before, moved=_NOTHING)
        moved = [entry for entry in entries if self._last.get(entry, owner.host) != owner.host]
        return MemberShare(owner.host, owner.member, _read(entries), _read(moved) if moved else _NOTHING)


def _read(entries: Sequence[str]) -> PartitionSet:
    parts = (entry.rpartition("-") for entry in entries)
    return partition_set((topic, int(number)) for topic, _, number in parts)


def _without_owner(shares: Mapping[MemberName, MemberShare], sizes: Mapping[str, int]) -> PartitionSet:
    """Return the partitions of known topics that no share has."""
    if not sizes or sum(sizes.values()) == sum(len(share.partitions) for share in shares.values()):
        return _NOTHING
    owned = {one for share in shares.values() for one in share.partitions}
    every = (TopicPartition(topic, number) for topic, size in sizes.items() for number in range(size))
    return partition_set(one for one in every if one not in owned)
