"""`groupsim run --rebalance N`: the requests and answers of one rebalance, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groupsim.cli import as_json
from groupsim.cli.exits import Trouble
from groupsim.cli.render.rebalance.drawing import draw
from groupsim.cli.render.rebalance.lines import Course, sequence_of
from groupsim.cli.render.rebalance.mermaid import mermaid
from groupsim.cli.terminal import Terminal
from groupsim.pipeline.runs.lists import Lists
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.story import Generation, GroupStory, Story
from groupsim.scenarios.story.words import clock

SCHEMA = 1
MANY = 12  # maximal number of rebalances that a message names


@frozen
class RebalanceChoice:
    """The chosen rebalance by its generation, its group, and the form: every member's lines, Mermaid."""

    number: int
    group: str | None = None
    every: bool = False
    mermaid: bool = False


def asked(
    number: int | None,
    group: str | None,
    every: bool,
    as_mermaid: bool,
    wants_json: bool,
    seeds: int | None,
    of_the_story: Mapping[str, bool],
) -> RebalanceChoice | None:
    """Return the chosen rebalance, None without `--rebalance`. Raises Trouble for contradicting options.

    `of_the_story` has the options that select parts of the run's story, and whether they are given.
    """
    if number is None:
        if group is not None and wants_json and seeds is None:
            raise Trouble("--group selects a group of the printed text, --json has all groups", "leave --group out")
        if as_mermaid:
            raise Trouble("--mermaid prints one rebalance, and none is chosen", "add --rebalance N")
        return None
    for option, given in of_the_story.items():
        if given:
            words = f"{option} prints a part of the story, and --rebalance replaces the story"
            raise Trouble(words, "leave one of them out")
    if seeds is not None:
        raise Trouble("--rebalance is valid for one run, and --seeds makes several", "leave one of them out")
    if as_mermaid and wants_json:
        raise Trouble("--mermaid and --json are two formats", "leave one of them out")
    return RebalanceChoice(number, group, every, as_mermaid)


def courses_of(asked: RebalanceChoice, lists: Lists, story: Story) -> Sequence[Course]:
    """Return the chosen rebalances, in order. Raises Trouble, with the existing ones, for an unknown generation."""
    return [sequence_of(lists, story, one) for one in _chosen(asked, story)]


def show(asked: RebalanceChoice, courses: Sequence[Course], story: Story, wants_json: bool) -> None:
    """Print the chosen rebalances."""
    if wants_json:
        print(as_json.text(document(story, courses)))
    elif asked.mermaid:
        print("\n".join(mermaid(one, every=asked.every) for one in courses), end="")
    else:
        console = Terminal()
        for number, one in enumerate(courses):
            if number:
                console.print()
            draw(one, console, every=asked.every)


def _chosen(asked: RebalanceChoice, story: Story) -> list[Generation]:
    """Return the chosen rebalances. A coordinator that lost a group starts another one to the same generation."""
    groups = {group.group: group for group in story.groups}
    if asked.group is not None and asked.group not in groups:
        raise Trouble(f"no group {asked.group!r} formed in this run", suggest(asked.group, groups, "its groups"))
    mine = [groups[asked.group]] if asked.group is not None else list(groups.values())
    having = [group for group in mine if _of(group, asked.number)]
    if not having:
        there = "; ".join(f"{group.group}: {_listed(group.generations)}" for group in mine) or "no group formed"
        whose = f"{asked.group} has" if asked.group is not None else "there is"
        raise Trouble(f"{whose} no rebalance to generation {asked.number}", f"choose one of {there}" if mine else there)
    if len(having) > 1:
        names = ", ".join(group.group for group in having)
        raise Trouble(f"several groups have a rebalance to generation {asked.number}", f"add --group: {names}")
    return _of(having[0], asked.number)


def _of(group: GroupStory, number: int) -> list[Generation]:
    return [one for one in group.generations if one.number == number]


def _listed(generations: Sequence[Generation]) -> str:
    shown = [f"{one.number} ({one.cause.value}, {clock(one.began_us)})" for one in generations]
    if len(shown) > MANY:
        shown = [*shown[: MANY - 1], f"… {len(shown) - MANY} more", shown[-1]]
    return ", ".join(shown)


def document(story: Story, courses: Sequence[Course]) -> dict[str, Any]:
    """Build the JSON document of the rebalances; `lines` has each member's lines, unfolded."""
    return {
        "schema": SCHEMA,
        "scenario": story.scenario,
        "seed": story.seed,
        "rebalances": [_one(course) for course in courses],
    }


def _one(course: Course) -> dict[str, Any]:
    one = course.generation
    who = {"culprit": one.culprit.host if one.culprit else None, "leader": one.leader.host if one.leader else None}
    facts = {"group": one.group, "generation": one.number, "cause": one.cause.value, "why": one.why, **who}
    times = {"began_us": one.began_us, "stable_us": one.stable_us, "ended_us": one.ended_us}
    found: dict[str, Any] = {**facts, **times, "outcome": one.outcome.value, "protocol": one.protocol}
    return {**found, "brokers": list(course.brokers), "members": list(course.hosts), "lines": _lines(course)}


def _lines(course: Course) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = as_json.plain(course.lines)
    for line in lines:
        parked_us = line.pop("parked_us")
        line["parked"] = parked_us is not None
        line["answered_us"] = None if parked_us in (None, -1) else parked_us
    return lines
