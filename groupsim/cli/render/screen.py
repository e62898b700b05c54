"""The height of the output of `run`: its parts, the lines of each, and the order of cuts.

A run of at most three members fits on a screen of 50 lines; a further member adds its lane and its row of owners. If
all parts at their usual length are longer, they are shortened in the order of `CUTS`, the least important lines first.
The headline, failed expectations and the hindrances of a generation are never cut. The height of the terminal has no
effect: a document, a pipe and a terminal of equal width show the same lines. `--all` prints every line of every part.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from attrs import evolve, field
from rich.console import Console

from groupsim.protocol.values import define, frozen

SCREEN = 50
FEW_MEMBERS = 3
FOR_A_MEMBER = 2  # lines of a further member: its lane, and its row in the table of owners
EVERYTHING = "--all"


@frozen
class Limits:
    """The maximal length of each part; None is no limit.

    introduction    lines of the scenario's description
    runs, alike     runs of generations with one cause; generations of such a run before the last
    causes, last_to_join    generations with a line for their cause; with a line for the last member to join
    absent          members that a generation waited for and removed
    owners          lines of the table of owners
    lanes           members in the picture
    axes            whether the picture of every group has the axis, the legend and the producers, or only the first
    standstills, brief    lines of partitions that stood still; whether those much shorter than the longest have lines
    records, producers    lines of partitions with unusual records; of producers that gave up
    doings          lines of actions, faults and notes
    checks          expectations that hold
    longest         characters of the names of partitions in a line
    blank_lines     whether blank lines separate the parts of a group
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

# The cuts, applied one after the other until everything fits.
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
    """A part of the output: `draw` prints it within the limits.

    `apart`: a blank line precedes it; `first` of a group: also if other blank lines are cut. `asked`: an option of its
    own requests all of it, so that its lines do not count.
    """

    draw: Callable[[Console, Limits], None]
    apart: bool = True
    first: bool = False
    asked: bool = False


def draw(parts: Sequence[Part], console: Console, limits: Limits) -> None:
    """Print the parts one below the other."""
    for number, part in enumerate(parts):
        if number and _stands_apart(part, limits):
            console.print()
        part.draw(console, limits)


def _stands_apart(part: Part, limits: Limits) -> bool:
    return part.apart and (limits.blank_lines or part.first)


def fitting(parts: Sequence[Part], console: Console, height: int) -> Limits:
    """Return the usual limits with the fewest cuts that fit the height; with all cuts if none fits.

    The last cut may free more lines than necessary, so that earlier cuts are reverted while everything fits.
    """
    counted = [_Height(part, console) for part in parts if not part.asked]

    def fits(limits: Limits) -> bool:
        blank = sum(_stands_apart(one.part, limits) for one in counted[1:])
        return blank + sum(one.within(limits) for one in counted) <= height

    steps = [USUAL]
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
    """The height of a part; it is drawn once for all limits with equal values of the fields that it reads."""

    part: Part
    console: Console
    known: list[tuple[Mapping[str, Any], int]] = field(factory=list)

    def within(self, limits: Limits) -> int:
        """Return the number of lines within these limits."""
        for read, height in self.known:
            if all(getattr(limits, name) == value for name, value in read.items()):
                return height
        watched = _Watched(limits)
        with self.console.capture() as captured:
            self.part.draw(self.console, cast(Limits, watched))
        self.known.append((watched.read, captured.get().count("\n")))
        return self.known[-1][1]


class _Watched:
    """Limits that record which fields are read, with their values."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.read: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        self.read[name] = value = getattr(self._limits, name)
        return value


def height_for(members: int) -> int:
    """Return the maximal number of lines of a story with this number of members."""
    drawn = min(members, USUAL.lanes or members)
    return SCREEN + FOR_A_MEMBER * max(0, drawn - FEW_MEMBERS)
