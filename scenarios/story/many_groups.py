"""Figures over many groups: how many were affected, how much the worst of them, how many at the same time.

From `MANY` groups on a reader asks whether, say, a rolling restart of brokers affects every group, for how long, and
whether all at the same time; single groups matter less.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from groupsim.protocol.values import frozen
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.model import GroupStory, Story
from groupsim.scenarios.story.rebalances.ownership import united

MANY = 9
"""From so many groups on a report sums them up."""

_NUMBER = re.compile(r"\d+")


@frozen
class GroupFigure:
    """One figure over the `groups` groups that have it; `most` is its largest value, that of group `worst`.

    `unit` is `us`, or empty for a count. `median` is the lower of two, `total` the sum, both over these groups alone.
    `together` is the largest number of groups that had it at the same time, from `together_us` on; None for a figure
    that has no length.
    """

    title: str
    unit: str
    groups: int
    worst: str
    most: int
    median: int
    total: int
    together: int | None = None
    together_us: int | None = None


@frozen
class ManyGroups:
    """All groups of a run: their number, how long they took to form, their figures and causes of rebalances."""

    groups: int
    formed: int
    formed_us: tuple[int, int] | None
    delivered: int
    duplicates: int
    hits: tuple[GroupFigure, ...]
    causes: tuple[tuple[Cause, int], ...]
    worst: GroupStory


def fleets(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return `MANY` or more groups whose names differ in one number, by the name without that number.

    fleet-1 to fleet-40 are `fleet`, and fleet-1-eu to fleet-40-eu are `fleet-{n}-eu`. A trace does not state which
    groups one `count` made, and groups of a real cluster have none, so the names decide.
    """
    could_be = {name: _patterns(name) for name in dict.fromkeys(names)}
    sizes = Counter(pattern for patterns in could_be.values() for pattern in patterns)
    found: dict[str, list[str]] = {}
    for name, patterns in could_be.items():
        if patterns and sizes[best := max(patterns, key=sizes.__getitem__)] >= MANY:
            found.setdefault(best.removesuffix("-{n}"), []).append(name)
    return {name: tuple(groups) for name, groups in found.items() if len(groups) >= MANY}


def _patterns(name: str) -> list[str]:
    """Return the name once for each of its numbers, with {n} in place of that number."""
    return [f"{name[: at.start()]}{{n}}{name[at.end() :]}" for at in _NUMBER.finditer(name)]


def many_groups(story: Story) -> ManyGroups | None:
    """Return the groups of a story summed up; None for fewer than `MANY`."""
    groups = story.groups
    if len(groups) < MANY:
        return None
    formed = [group.formed_us for group in groups if group.formed_us is not None]
    causes = Counter(one.cause for group in groups for one in group.rebalances)
    return ManyGroups(
        groups=len(groups),
        formed=len(formed),
        formed_us=(min(formed), max(formed)) if formed else None,
        delivered=sum(group.delivered for group in groups),
        duplicates=sum(group.duplicates for group in groups),
        hits=tuple(_hits(story)),
        causes=tuple(causes.most_common()),
        worst=hit_hardest(story, groups),
    )


def hit_hardest(story: Story, groups: Iterable[GroupStory]) -> GroupStory:
    """Return the group that stood still longest; of equals, that with most rebalances, then longest uncoordinated."""
    away = {name: _length(spans) for name, spans in without_coordinator(story).items()}
    return max(groups, key=lambda one: (one.stopped_us, len(one.rebalances), away.get(one.group, 0)))


def _hits(story: Story) -> Iterable[GroupFigure]:
    groups = story.groups
    open_: dict[str, list[tuple[int, int]]] = {}
    stood: dict[str, list[tuple[int, int]]] = {}
    for group in groups:
        open_[group.group] = [(one.began_us, one.ended_us) for one in group.rebalances]
        stood[group.group] = united((one.began_us, one.ended_us) for one in group.standstills)
    without = without_coordinator(story)
    yield from _hit("rebalances", "", {group.group: len(group.rebalances) for group in groups}, open_)
    yield from _hit("stood still", "us", {group.group: group.stopped_us for group in groups}, stood)
    yield from _hit("no coordinator", "us", {name: _length(spans) for name, spans in without.items()}, without)
    yield from _hit("members removed", "", {group.group: len(group.evictions) for group in groups})
    yield from _hit("commits failed", "", {group.group: sum(n for _, n in group.commits_failed) for group in groups})
    yield from _hit("records again", "", {group.group: group.duplicates for group in groups})
    yield from _hit("largest lag", "", {one.group: one.lag.most for one in story.totals if one.lag is not None})


def without_coordinator(story: Story) -> dict[str, list[tuple[int, int]]]:
    """Return the times in which each group had no coordinator: from the step that ended its broker to the next load."""
    found: dict[str, list[tuple[int, int]]] = {}
    for change in story.take_overs:
        if change.without_us:
            found.setdefault(change.group, []).append((change.t_us - change.without_us, change.t_us))
    return found


def _length(spans: Iterable[tuple[int, int]]) -> int:
    return sum(end - begin for begin, end in spans)


def _hit(
    title: str, unit: str, values: Mapping[str, int], spans: Mapping[str, Sequence[tuple[int, int]]] | None = None
) -> Iterable[GroupFigure]:
    """Yield one figure, or nothing if no group has it."""
    found = sorted((value, name) for name, value in values.items() if value)
    if not found:
        return
    most = found[-1][0]
    together = (None, None) if spans is None else most_together(spans)
    yield GroupFigure(
        title=title,
        unit=unit,
        groups=len(found),
        worst=next(name for value, name in found if value == most),
        most=most,
        median=found[(len(found) - 1) // 2][0],
        total=sum(value for value, _ in found),
        together=together[0],
        together_us=together[1],
    )


def most_together(spans: Mapping[str, Sequence[tuple[int, int]]]) -> tuple[int, int]:
    """Return the largest number of groups that have a span at one instant, and when that first begins."""
    every = [span for each in spans.values() for span in each]
    changes = sorted([*((begin, 1) for begin, _ in every), *((end, -1) for _, end in every)])
    now = most = since = 0
    for at, step in changes:
        now += step
        if now > most:
            most, since = now, at
    return most, since
