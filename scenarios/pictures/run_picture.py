"""The picture of a run: the headline, and for each group its generations, its members' lanes and its standstills.

A picture is bounded: of many groups the one that was hit hardest is drawn, of many members those with trouble, of many
generations the longest are listed; a line says what is left out. The same story gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.scenarios.pictures import parts
from groupsim.scenarios.pictures.choice import groups_in_full, lanes_of, troubled_first
from groupsim.scenarios.pictures.scale import TimeScale
from groupsim.scenarios.pictures.svg import BOLD, SIZE, Picture, cut, folded, width_of
from groupsim.scenarios.story import GroupStory, Lane, Story
from groupsim.scenarios.story.words import count, listed, processes, span

WIDTH, MARGIN = 640, 16
LANES, GROUPS = 24, 4  # drawn in one picture, at most
NAME = 130  # pixels of a lane's name, at most
LINE = 22


def run_picture(story: Story, group: str | None = None, *, headline: bool = True) -> str:
    """The picture of a story, or of one group in it, as the text of an SVG file; without its headline where that stands
    above it.
    """
    shown = groups_in_full(story, group)[:GROUPS]
    picture = Picture(WIDTH, 0, _title(story), story.headline)
    y = _head(picture, story, headline)
    scale = _scale(story, [lane for one in shown for lane in lanes_of(one, story)] or list(story.lanes))
    top = y + 2
    y = parts.axis(picture, scale, y)
    below = Picture(WIDTH, 0, "", "")  # drawn above the lines of the axis and of what was done
    drawn: list[Lane] = []
    for one in shown:
        lanes = troubled_first(lanes_of(one, story), max(LANES // len(shown), 2))
        drawn += lanes
        y = _group(below, scale, one, lanes, y)
        y = _left_out(below, lanes, lanes_of(one, story), y)
    if not shown:
        drawn = list(troubled_first(story.lanes, LANES))
        y = parts.lanes(below, scale, None, drawn, y + 6)
        y = _left_out(below, drawn, story.lanes, y)
    done = sorted((*story.actions, *story.faults), key=lambda one: one.t_us)
    y = parts.doings(picture, scale, done, top + SIZE, y)
    picture.add(below)
    for one in shown:
        y = parts.listed_generations(picture, one, y + 10, named=len(shown) > 1)
    if group is None and len(shown) < len(story.groups):
        rest = count(len(story.groups) - len(shown), "more group")
        y = _line(picture, f"{rest}, not drawn; --group NAME draws one", y)
    y = parts.legend(picture, drawn, any(one.standstills for one in shown), y + 8)
    picture.height = round(y + 10)
    return str(picture)


def _title(story: Story) -> str:
    return f"groupsim run {story.scenario}" + (f" --seed {story.seed}" if story.seed else "")


def _head(picture: Picture, story: Story, headline: bool) -> float:
    """The headline and the line of facts; returns where the rest begins."""
    y = 28.0
    for line in folded(story.headline, WIDTH - 2 * MARGIN, 18 * BOLD) if headline else ():
        picture.text(MARGIN, y, line, size=18, bold=True)
        y += 23
    seed = f"seed {story.seed}" if story.seed is not None else ""
    facts = (story.scenario, seed, span(story.end_us), processes(lane.profile for lane in story.lanes))
    for line in folded(" · ".join(fact for fact in facts if fact), WIDTH - 2 * MARGIN):
        picture.text(MARGIN, y, line, "quiet")
        y += LINE
    return y


def _scale(story: Story, lanes: Sequence[Lane]) -> TimeScale:
    widest = max((width_of(lane.host) for lane in lanes), default=0)
    left = MARGIN + 10 + max(62.0, min(widest, NAME))
    return TimeScale(story.end_us, left, WIDTH - MARGIN - 8 - left)


def _group(picture: Picture, scale: TimeScale, group: GroupStory, lanes: Sequence[Lane], y: float) -> float:
    """Its generations, its lanes, its standstills; returns where the next part begins."""
    picture.text(MARGIN, y + 18, cut(group.group, scale.left - MARGIN - 6), bold=True)
    y = parts.generations(picture, scale, group, y)
    y = parts.lanes(picture, scale, group, lanes, y + 6)
    return parts.standstills(picture, scale, group, y)


def _left_out(picture: Picture, drawn: Sequence[Lane], every: Sequence[Lane], y: float) -> float:
    if len(drawn) == len(every):
        return y
    names = {id(lane) for lane in drawn}
    rest = [lane.host for lane in every if id(lane) not in names]
    words = f"{len(rest)} of {len(every)} lanes are not drawn ({listed(rest, 2)}); --report FILE.html has all"
    return _line(picture, words, y)


def _line(picture: Picture, words: str, y: float) -> float:
    for line in folded(words, WIDTH - 2 * MARGIN):
        y += LINE
        picture.text(MARGIN, y - 4, line, "quiet")
    return y
