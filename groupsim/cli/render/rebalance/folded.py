"""The folded lines of a rebalance of many members: equal lines of several members between two changes are one line.

The members that the story names (the leader, the culprit, the one that held the rebalance open) keep their own lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupsim.cli.render.rebalance.lines import Course, Line, What
from groupsim.protocol.values import frozen
from groupsim.scenarios.story.words import clock, count, listed, span

MANY = 8  # up to this number of members, lines are not folded
LANDMARKS = (What.STATE, What.NOTE)


@frozen
class Fold:
    """Equal lines of different members, in order; or a single line."""

    lines: tuple[Line, ...]

    @property
    def first(self) -> Line:
        """The first of the lines."""
        return self.lines[0]

    @property
    def until_us(self) -> int:
        """The time of the last line."""
        return self.lines[-1].at_us

    @property
    def who(self) -> str:
        """The process, or the number of processes."""
        return self.first.host or "" if self.members == 1 else count(self.members, "member")

    @property
    def members(self) -> int:
        """The number of processes."""
        return len({line.host for line in self.lines})

    @property
    def text(self) -> str:
        """The text of the lines; for parked requests with the time of the last answer and the range of waits."""
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
    """Fold the lines of a large group, unless `every` is set; else return them one by one."""
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
            yield from _as_folds(alike)
            alike = {}
            yield Fold((line,))
            continue
        whose = line.host if line.host in named else None
        alike.setdefault((whose, line.what, line.api, line.words, line.parked_us is None), []).append(line)
    yield from _as_folds(alike)


def _as_folds(alike: dict[tuple[object, ...], list[Line]]) -> Iterator[Fold]:
    return (Fold(tuple(lines)) for lines in alike.values())
