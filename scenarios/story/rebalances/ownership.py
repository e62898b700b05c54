"""The owners of each partition over time, and its unserved time between two owners.

Unserved time is the one measure of a stopped partition: no process could work on it. It begins when the old owner
begins to release the partition (the callback included), crashes or is paused, and ends when the new owner can fetch.
Traffic does not matter: a partition without records is served, and so is one whose owner is busy in a handler, which is
lag. An owner that is evicted and goes on working serves its partition until the next owner can fetch; what it processes
after that is an overlap.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story.facts import Facts
from groupsim.scenarios.story.model import Move, Overlap, Span, Standstill
from groupsim.scenarios.story.rebalances.holdings import Holding, Key


def holdings(facts: Facts) -> dict[Key, list[Holding]]:
    """Return all spans by group and partition, in order, each with the begin of the callback that released it."""
    for spans in facts.holdings.spans.values():
        for one in spans:
            if one.released_alive and one.released_us is not None:
                one.flushing_us = facts.host(one.host).releasing_since(one.released_us)
    return facts.holdings.spans


def standstills(spans: Iterable[Holding], end_us: int) -> list[Standstill]:
    """Return the times in which one partition was unserved, from its spans in order."""
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
    """Return whether the owner closed at the very end of the trace, which is no standstill."""
    return holding.release == "closed" and (holding.released_us or 0) >= end_us


def _between(old: Holding, new: Holding) -> Standstill:
    fetchable = new.fetchable_us or new.owned_us
    begun, basis = old.unserved_from(fetchable)
    return Standstill(old.partition, old.host, new.host, new.generation, begun, fetchable, basis)


def overlaps(spans: list[Holding]) -> list[Overlap]:
    """Return the times in which an old owner went on processing after the new one could fetch."""
    found = []
    for old, new in pairwise(spans):
        if old.host == new.host or new.fetchable_us is None or not old.processed:
            continue
        if old.processed[-1] > new.fetchable_us:
            found.append(Overlap(old.partition, old.host, new.host, new.fetchable_us, old.processed[-1]))
    return found


def owned_twice_us(spans: Iterable[Span], end_us: int) -> int:
    """Return how long partitions had two owners or more, summed over partitions."""
    total = 0
    reached: dict[TopicPartition, int] = {}
    for span in sorted(spans, key=lambda one: (one.owned_us, one.host)):
        until = end_us if span.released_us is None else span.released_us
        before = reached.get(span.partition, 0)
        total += max(0, min(before, until) - span.owned_us)
        reached[span.partition] = max(before, until)
    return total


def moves(spans: list[Holding]) -> list[tuple[int | None, int, Move]]:
    """Return the moves of one partition between processes: generation, instant, move."""
    found: list[tuple[int | None, int, Move]] = []
    for index in range(1, len(spans)):
        old, new = spans[index - 1], spans[index]
        if old.host == new.host:
            continue
        back = index >= 2 and _came_from(spans, index - 1) == new.host
        found.append((new.generation, new.owned_us, Move(new.partition, old.host, new.host, back)))
    return found


def _came_from(spans: list[Holding], index: int) -> str | None:
    """Return the process that owned the partition before the owner at `index`."""
    owner = spans[index].host
    return next((spans[i].host for i in range(index - 1, -1, -1) if spans[i].host != owner), None)


def union_us(stretches: Iterable[tuple[int, int]]) -> int:
    """Return the length of the union of [begin, end) stretches."""
    return sum(end - begin for begin, end in united(stretches))


def united(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of [begin, end) stretches, as stretches that do not touch, in order."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(stretches):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif end > begin:
            found.append((begin, end))
    return found
