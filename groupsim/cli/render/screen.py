"""The height of what `run` prints: its parts, how many lines each may take, and what is cut for a screen.

A run of at most three members fits on a screen of 50 lines; a further member adds its lane and its row of owners. Where
all parts at their usual length are longer, they are cut in the order of `CUTS`: first what a reader can spare. Never
cut are the headline, failed expectations, and what hindered a generation. The height of the terminal is not asked: a
document, a pipe and a terminal of the same width show the same lines. `--all` prints every line of every part.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from attrs import define, evolve, field, frozen
from rich.console import Console

SCREEN = 50
FEW_MEMBERS = 3
FOR_A_MEMBER = 2  # lines: its lane, and its row in the table of owners
EVERYTHING = "--all"


@frozen
class Limits:
    """How much of each part is printed; None is all of it.

    introduction    lines of what the scenario says of itself
    runs, alike     runs of generations of one cause; generations of such a run, and the last
    causes, last_to_join    generations with the line that says who began them; with the one of the last to join
    absent          of the members a generation waited for in vain
    owners          lines of the table of owners
    lanes           members in the picture
    axes            whether the picture of every group has the axis, the legend and the producers, or the first alone
    standstills, brief    lines of partitions that stood still; whether those much shorter than the longest have lines
    records, producers    lines of partitions whose records did not go the plain way; of producers that gave up
    doings          lines of what was done and noted
    checks          expectations that hold
    longest         characters of the names of partitions in a line
    blank_lines     whether parts of a group stand apart
    """

    introduction: int | None = None
    runs: int | None = 24
    alike: int | None = 3
    causes: int | None = None
    last_to_join: int | None = None
    absent: int | None = 3
    owners: int | None = 10
    lanes: int | None = 24
    axes: bool = True
    standstills: int | None = 8
    brief: bool = False
    records: int | None = 8
    producers: int | None = 8
    doings: int | None = 12
    checks: int | None = 3
    longest: int | None = 40
    blank_lines: bool = True


USUAL = Limits()
WHOLE = Limits(
    runs=None,
    alike=None,
    absent=None,
    owners=None,
    lanes=None,
    standstills=None,
    brief=True,
    records=None,
    producers=None,
    doings=None,
    checks=None,
    longest=None,
)

# One after the other, until all fits.
CUTS: tuple[Mapping[str, Any], ...] = (
    {"last_to_join": 3},
    {"standstills": 5},
    {"doings": 8},
    {"checks": 0},
    {"owners": 6},
    {"records": 4},
    {"last_to_join": 1},
    {"standstills": 3},
    {"axes": False},
    {"causes": 3},
    {"introduction": 2},
    {"doings": 5},
    {"records": 2},
    {"causes": 1},
    {"runs": 10, "alike": 1},
    {"standstills": 2},
    {"doings": 3},
    {"runs": 6},
    {"causes": 0, "last_to_join": 0},
    {"blank_lines": False},
)


@frozen
class Part:
    """A part of what is printed: `draw` prints it within the limits.

    `apart`: a blank line before it; `first` of a group: also where other blank lines are cut. `asked`: the reader asked
    for all of it by an option of its own, so its lines do not count.
    """

    draw: Callable[[Console, Limits], None]
    apart: bool = True
    first: bool = False
    asked: bool = False


def draw(parts: Sequence[Part], console: Console, limits: Limits) -> None:
    """Print the parts, one below the other."""
    for number, part in enumerate(parts):
        if number and _stands_apart(part, limits):
            console.print()
        part.draw(console, limits)


def _stands_apart(part: Part, limits: Limits) -> bool:
    return part.apart and (limits.blank_lines or part.first)


def fitting(parts: Sequence[Part], console: Console, height: int, limits: Limits = USUAL) -> Limits:
    """The limits with as few cuts as it takes for the height; with all of them where that is not enough.

    What the last cuts leave free is given back: a part that turned out too long to be worth its cut gets its lines.
    """
    counted = [_Height(part, console) for part in parts if not part.asked]

    def fits(limits: Limits) -> bool:
        blank = sum(_stands_apart(one.part, limits) for one in counted[1:])
        return blank + sum(one.within(limits) for one in counted) <= height

    steps = [limits]
    for cut in CUTS:
        steps.append(evolve(steps[-1], **cut))
    number = bisect_left(range(len(CUTS)), True, key=lambda at: fits(steps[at]))
    found = steps[number]
    for before, cut in reversed(list(zip(steps, CUTS[:number], strict=False))):
        eased = evolve(found, **{name: getattr(before, name) for name in cut})
        found = eased if fits(eased) else found
    return found


@define
class _Height:
    """The lines of a part; it is drawn once for all limits that are equal in what it asks for."""

    part: Part
    console: Console
    known: list[tuple[Mapping[str, Any], int]] = field(factory=list)

    def within(self, limits: Limits) -> int:
        """How many lines it takes within these limits."""
        for read, height in self.known:
            if all(getattr(limits, name) == value for name, value in read.items()):
                return height
        watched = _Watched(limits)
        with self.console.capture() as captured:
            self.part.draw(self.console, cast(Limits, watched))
        self.known.append((watched.read, captured.get().count("\n")))
        return self.known[-1][1]


class _Watched:
    """Limits that note which of them are read, and the value."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.read: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        self.read[name] = value = getattr(self._limits, name)
        return value


def height_for(members: int) -> int:
    """The lines there are for a story of so many members: a screen, and more for further members."""
    drawn = min(members, USUAL.lanes or members)
    return SCREEN + FOR_A_MEMBER * max(0, drawn - FEW_MEMBERS)
