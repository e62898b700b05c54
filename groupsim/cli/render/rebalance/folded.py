"""The lines of a rebalance of many members, folded: what many do alike between two changes is one line.

Whom the story names (the leader, whose doing it was, who held it open) keeps lines of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from groupsim.cli.render.rebalance.lines import Course, Line, What
from groupsim.scenarios.story.words import clock, count, listed, span

MANY = 8  # up to so many members each has its own lines
LANDMARKS = (What.STATE, What.NOTE)


@frozen
class Fold:
    """Lines that say the same of different members, in order; of one line it is the line alone."""

    lines: tuple[Line, ...]

    @property
    def first(self) -> Line:
        """The one it stands for."""
        return self.lines[0]

    @property
    def until_us(self) -> int:
        """When the last of them was."""
        return self.lines[-1].at_us

    @property
    def who(self) -> str:
        """The process, or how many there are."""
        return self.first.host or "" if self.members == 1 else count(self.members, "member")

    @property
    def members(self) -> int:
        """How many processes it is about."""
        return len({line.host for line in self.lines})

    @property
    def text(self) -> str:
        """What they say; of parked requests when they were answered, and how long they waited."""
        if len(self.lines) == 1:
            return self.first.text
        names = f" ({listed(list(dict.fromkeys(line.host or '?' for line in self.lines)), 2)})"
        names = names if self.members > 1 else f", {len(self.lines)} times"
        answered = [line for line in self.lines if line.parked_us is not None and line.parked_us >= 0]
        never = sum(line.parked_us == -1 for line in self.lines)
        if not answered and not never:
            return self.first.words + names
        words = f"{self.first.words}: parked"
        if answered:
            last = max(line.parked_us or 0 for line in answered)
            waits = sorted((line.parked_us or 0) - line.at_us for line in answered)
            words += f" until {clock(last)} ({span(waits[0])} to {span(waits[-1])})"
        return words + (f", {never} of them never answered" if never else "") + names


def folded(course: Course, *, every: bool) -> tuple[Fold, ...]:
    """The lines one by one, or of a large group, unless `every` is wanted, those alike as one."""
    if every or len(course.hosts) <= MANY:
        return tuple(Fold((line,)) for line in course.lines)
    generation = course.generation
    held = generation.held_by
    named = (generation.leader, generation.culprit, held.name if held else None)
    return tuple(_folds(course.lines, {who.host for who in named if who is not None}))


def _folds(lines: Iterable[Line], named: set[str]) -> Iterator[Fold]:
    alike: dict[tuple[object, ...], list[Line]] = {}
    for line in lines:
        if line.what in LANDMARKS:
            yield from _told(alike)
            alike = {}
            yield Fold((line,))
            continue
        whose = line.host if line.host in named else None
        alike.setdefault((whose, line.what, line.api, line.words, line.parked_us is None), []).append(line)
    yield from _told(alike)


def _told(alike: dict[tuple[object, ...], list[Line]]) -> Iterator[Fold]:
    return (Fold(tuple(lines)) for lines in alike.values())
