"""Who owned which partition when, and how long each was unserved between two owners.

Unserved time is the one measure of standing still: no process could work on the partition. It begins when the old
owner begins to release the partition (the callback included), crashes or is paused, and ends when the new owner can
fetch. The traffic does not matter: a partition without records is served, and so is one whose owner is busy in a
handler, which is lag. An owner that is evicted and goes on working serves its partition until the next one can fetch:
what it processes after that is an overlap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise

from attrs import Factory, define

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story.facts import At, Facts
from groupsim.scenarios.story.model import Move, Overlap, Span, Standstill

ENDS = {Kind.PROCESS_CRASHED: "crashed", Kind.PROCESS_STOPPED: "closed", Kind.PROCESS_FAILED: "failed"}


@define
class Holding:
    """A span while it is being read."""

    partition: TopicPartition
    group: str
    host: str
    member: str | None
    generation: int | None
    owned_us: int
    fetchable_us: int | None = None
    released_us: int | None = None
    release: str | None = None
    flushing_us: int | None = None  # when the callback began at whose end it was released
    silenced_us: int | None = None  # the last pause
    resumed_us: int | None = None  # its end
    place: int = 0  # of the event that began it, among those of ownership
    processed: list[int] = Factory(list)

    def processed_before(self, at_us: int) -> int | None:
        """When the last record was processed, not after `at_us`."""
        index = bisect_right(self.processed, at_us)
        return self.processed[index - 1] if index else None

    def unserved_from(self, until_us: int) -> tuple[int, str]:
        """When it could no longer be worked on, and how that came about; `until_us` itself if it could until then.

        Records whose handling ends during the revocation callback are served.
        """
        if self.silenced_us is not None and not self._came_back(until_us):
            return self.silenced_us, "paused"
        if self.released_us is None or self.released_us > until_us:
            return until_us, "released"
        if self.release == "crashed":
            return self.released_us, "crashed"
        begun = self.released_us if self.flushing_us is None else min(self.released_us, self.flushing_us)
        return max(begun, self.processed_before(until_us) or 0), "released"

    def _came_back(self, at_us: int) -> bool:
        """Whether it worked again after its pause, or could have: not if it woke up only to find the partition lost."""
        silenced = self.silenced_us or 0
        if (self.processed_before(at_us) or 0) > silenced:
            return True
        return self.resumed_us is not None and self.resumed_us <= at_us and self.release != "lost"

    def frozen(self) -> Span:
        """The span as a value."""
        return Span(
            self.partition,
            self.host,
            self.member,
            self.generation,
            self.owned_us,
            self.fetchable_us,
            self.released_us,
            self.release,
            tuple(self.processed),
        )


Key = tuple[str, TopicPartition]
_OWNED = Kind.PARTITION_OWNED  # looked up once: members of an enumeration are found slowly


def holdings(facts: Facts) -> dict[Key, list[Holding]]:
    """All spans by group and partition, in the order they began."""
    spans: dict[Key, list[Holding]] = {}
    current: dict[At, Holding] = {}
    for place, event in enumerate(facts.ownership):
        if event.topic is None or event.partition is None:
            _whole_process(facts, current, event, place)
            continue
        at = (event.host or "?", (event.topic, event.partition))
        if event.kind is _OWNED:
            _own(facts, spans, current, at, event, place)
        elif at in current:
            _continue(facts, current, at, event, place)
    for held, holding in current.items():
        _worked(facts, held, holding, len(facts.ownership))
    return spans


def _own(
    facts: Facts,
    spans: dict[Key, list[Holding]],
    current: dict[At, Holding],
    at: At,
    event: TraceEvent,
    place: int,
) -> None:
    if at in current:  # told again what it has: the same span goes on
        return
    group = event.group or facts.host(at[0]).group or "?"
    partition = TopicPartition(event.topic or "", event.partition or 0)
    holding = Holding(partition, group, at[0], event.member, event.generation, event.t_us, place=place)
    current[at] = holding
    spans.setdefault((group, partition), []).append(holding)


def _worked(facts: Facts, at: At, holding: Holding, place: int) -> None:
    """Up to this event of ownership it was held: so what was processed in that time was processed under it."""
    work = facts.work.get(at)
    if work is not None:
        holding.processed = work.between(holding.place, place)


def _continue(facts: Facts, current: dict[At, Holding], at: At, event: TraceEvent, place: int) -> None:
    holding = current[at]
    if event.kind is Kind.POSITION_SET:
        if holding.fetchable_us is None:
            holding.fetchable_us = event.t_us
    elif event.kind is Kind.PARTITION_RELEASED:
        holding.released_us, holding.release = event.t_us, event.reason
        holding.flushing_us = facts.host(at[0]).giving_up_since(event.t_us)
        _worked(facts, at, current.pop(at), place)


def _whole_process(facts: Facts, current: dict[At, Holding], event: TraceEvent, place: int) -> None:
    """A pause silences, an end releases, all that the process holds."""
    for at in [at for at in current if at[0] == event.host]:
        if event.kind is Kind.PROCESS_PAUSED:
            current[at].silenced_us, current[at].resumed_us = event.t_us, None
        elif event.kind is Kind.PROCESS_RESUMED:
            current[at].resumed_us = event.t_us
        elif event.kind in ENDS:
            current[at].released_us, current[at].release = event.t_us, ENDS[event.kind]
            _worked(facts, at, current.pop(at), place)


def standstills(spans: Iterable[Holding], end_us: int) -> list[Standstill]:
    """The times one partition was unserved, from its spans in order."""
    found: list[Standstill] = []
    worked: Holding | None = None  # the last owner that could fetch
    for holding in spans:
        if holding.fetchable_us is None:
            continue
        if worked is not None:
            found.append(_between(worked, holding))
        worked = holding
    if worked is not None and worked.released_us is not None and not _at_the_end(worked, end_us):
        begun, basis = worked.unserved_from(end_us)
        found.append(Standstill(worked.partition, worked.host, None, None, begun, end_us, basis, open=True))
    return [one for one in found if one.length_us > 0]


def _at_the_end(holding: Holding, end_us: int) -> bool:
    """An orderly end at the very end of the trace leaves nothing standing."""
    return holding.release == "closed" and (holding.released_us or 0) >= end_us


def _between(old: Holding, new: Holding) -> Standstill:
    fetchable = new.fetchable_us or new.owned_us
    begun, basis = old.unserved_from(fetchable)
    return Standstill(old.partition, old.host, new.host, new.generation, begun, fetchable, basis)


def overlaps(spans: list[Holding]) -> list[Overlap]:
    """Where an old owner went on processing after the new one could fetch."""
    found = []
    for old, new in pairwise(spans):
        if old.host == new.host or new.fetchable_us is None or not old.processed:
            continue
        if old.processed[-1] > new.fetchable_us:
            found.append(Overlap(old.partition, old.host, new.host, new.fetchable_us, old.processed[-1]))
    return found


def owned_twice_us(spans: Iterable[Span], end_us: int) -> int:
    """How long partitions had two owners or more, summed over partitions."""
    total = 0
    reached: dict[TopicPartition, int] = {}
    for span in sorted(spans, key=lambda one: (one.owned_us, one.host)):
        until = end_us if span.released_us is None else span.released_us
        before = reached.get(span.partition, 0)
        total += max(0, min(before, until) - span.owned_us)
        reached[span.partition] = max(before, until)
    return total


def moves(spans: list[Holding]) -> list[tuple[int | None, int, Move]]:
    """Changes of process of one partition: generation, instant, move."""
    found: list[tuple[int | None, int, Move]] = []
    for index in range(1, len(spans)):
        old, new = spans[index - 1], spans[index]
        if old.host == new.host:
            continue
        back = index >= 2 and _came_from(spans, index - 1) == new.host
        found.append((new.generation, new.owned_us, Move(new.partition, old.host, new.host, back)))
    return found


def _came_from(spans: list[Holding], index: int) -> str | None:
    """The process that had the partition before the owner at `index`."""
    owner = spans[index].host
    return next((spans[i].host for i in range(index - 1, -1, -1) if spans[i].host != owner), None)


def union_us(stretches: Iterable[tuple[int, int]]) -> int:
    """Length of the union of [begin, end) stretches."""
    return sum(end - begin for begin, end in united(stretches))


def united(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of [begin, end) stretches, as stretches that do not touch, in order."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(stretches):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif end > begin:
            found.append((begin, end))
    return found
