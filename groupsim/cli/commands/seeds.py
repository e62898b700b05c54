"""`groupsim run --seeds N`: one scenario with many seeds, each step shifted by a part of a heartbeat interval.

The duration of a rebalance depends on the phase of the heartbeat interval at each step. So the figures of many runs are
printed with their median and range, and with the command that shows the longest run alone.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median_low
from typing import Any

from attrs import field
from rich import box
from rich.table import Table
from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.exits import EXPECTATION_FAILED, SUCCESS, Trouble, ended_as_by_ctrl_c
from groupsim.cli.render.diff_sentence import shown
from groupsim.cli.render.fleet_figures import Bundle, bundles, figures
from groupsim.cli.running import command_line, perform
from groupsim.cli.scenario_source import load
from groupsim.cli.terminal import Terminal
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.story import Story
from groupsim.scenarios.story.many_groups import hit_hardest
from groupsim.scenarios.story.words import count

SHIFT = "shift-steps"


@frozen
class ShownGroups:
    """The groups whose figures are printed: one `group`, or `every` group; by default a fleet counts as one."""

    group: str | None = None
    every: bool = False


@frozen
class One:
    """One run: its seed, headline, figures by name with their units, and failed expectations.

    `hardest` has the group hit hardest in each fleet.
    """

    seed: int
    headline: str
    figures: Mapping[str, tuple[int | None, str]] = field(repr=False)
    stopped_us: int
    failed: tuple[str, ...]
    hardest: Mapping[str, str] = field(factory=dict)


@frozen
class Spread:
    """A figure over all runs: median (the lower of two), least and most; None if no run has it."""

    name: str
    unit: str
    runs: int
    median: int | None
    least: int | None
    most: int | None


def run_seeds(
    source: str, first: int, number: int, settings: list[str], wants_json: bool, whose: ShownGroups | None = None
) -> int:
    """Run the scenario with `number` seeds from `first` on, print the spread of its figures; return the exit code."""
    whose = whose or ShownGroups()
    if number < 1:
        raise Trouble(f"--seeds {number}: at least one run is required", "write --seeds 20")
    shifted = settings if any(text.startswith(f"{SHIFT}=") for text in settings) else [*settings, f"{SHIFT}=true"]
    scenario = load(source, shifted)
    if whose.group is not None and whose.group not in scenario.groups:
        raise Trouble(f"the scenario has no group {whose.group!r}", suggest(whose.group, scenario.groups, "its groups"))
    compared = list(bundles(scenario.groups, whose.group, each=whose.every))
    fleets = [bundle for bundle in compared if bundle.fleet]
    if wants_json:
        compared += [one for fleet in fleets for one in bundles(fleet.groups, each=True)]
    runs = []
    with ended_as_by_ctrl_c():
        for seed in range(first, first + number):
            done = perform(scenario, seed, source, settings=shifted, keep_events=False)
            story = done.story
            stopped_us = sum(group.stopped_us for group in story.groups)
            failed = tuple(one.finding.expected for one in done.failed)
            known = figures(story, compared)
            runs.append(One(seed, story.headline, known, stopped_us, failed, _hardest(story, fleets)))
    found = spreads(runs)
    longest = max(runs, key=lambda one: one.stopped_us)
    again = command_line(source, longest.seed, shifted)
    if wants_json:
        print(as_json.text(document(runs, found, again)))
    else:
        _show(runs, found, scenario.title or scenario.name, SHIFT in again and f"{SHIFT}=false" not in shifted)
        print(f"the run that stopped longest: {again}", file=sys.stderr)
    return EXPECTATION_FAILED if any(one.failed for one in runs) else SUCCESS


def _hardest(story: Story, fleets: Sequence[Bundle]) -> dict[str, str]:
    """Return the group hit hardest in each fleet with a group that formed."""
    found = {fleet.name: [one for one in story.groups if one.group in fleet.groups] for fleet in fleets}
    return {name: hit_hardest(story, groups).group for name, groups in found.items() if groups}


def refuse_of_one_run(source: str, seed: int, files: Mapping[str, Path | None], shown: Mapping[str, bool]) -> None:
    """Refuse options that are valid for one run: files, and parts of the story. Raises Trouble.

    `files` has the outputs by option; `shown` has the options for parts of the story, and whether they are given.
    """
    options: list[tuple[str, ...]] = [(name, str(path)) for name, path in files.items() if path is not None]
    options += [(name,) for name, given in shown.items() if given]
    for option in options:
        again = command_line(source, seed, [f"{SHIFT}=true"], *option)
        raise Trouble(f"{option[0]} is valid for one run, and --seeds makes several", f"for one of them: {again}")


def spreads(runs: Sequence[One]) -> list[Spread]:
    """Compute the spread of every figure, in the order of the comparison's table."""
    found = []
    for name, unit in {name: unit for one in runs for name, (_, unit) in one.figures.items()}.items():
        seen = [one.figures[name][0] for one in runs if name in one.figures]
        values = sorted(value for value in seen if value is not None)
        ends = (median_low(values), values[0], values[-1]) if values else (None, None, None)
        found.append(Spread(name, unit, len(values), *ends))
    return found


def _show(runs: Sequence[One], found: Sequence[Spread], title: str, shifted: bool) -> None:
    console = Terminal()
    longest = max(runs, key=lambda one: one.stopped_us)
    seeds = f"seed {runs[0].seed}" if len(runs) == 1 else f"seeds {runs[0].seed} to {runs[-1].seed}"
    how = "each step later by a part of a heartbeat interval" if shifted else "each step at its time"
    console.print(Text(title, "bold"))
    console.print(Text(f"{count(len(runs), 'run')} · {seeds} · {how}", "dim"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("")
    for heading in ("median", "least", "most", "runs"):
        table.add_column(heading, justify="right")
    for one in found:
        number = "" if one.runs == len(runs) else f"{one.runs} of {len(runs)}"
        cells = (shown(value, one.unit) for value in (one.median, one.least, one.most))
        table.add_row(one.name, *cells, number, style="dim" if one.least == one.most else "")
    console.print(table)
    console.print(Text(f"seed {longest.seed}: {longest.headline}"))
    for name in dict.fromkeys(name for one in runs for name in one.hardest):
        most = Counter(one.hardest[name] for one in runs if name in one.hardest).most_common(3)
        words = ", ".join(f"{group} ({count(times, 'run')})" for group, times in most)
        console.print(Text(f"{name}: hit hardest {words}; --group NAME shows one group, --all every one", "dim"))
    failed = Counter(text for one in runs for text in one.failed)
    for text, times in failed.most_common():
        console.print(Text(f"expectation failed in {times} of {count(len(runs), 'run')}: {text}", "bold red"))


def document(runs: Sequence[One], found: Sequence[Spread], again: str) -> dict[str, Any]:
    """Build the JSON document of the runs."""
    each = [
        {"seed": one.seed, "headline": one.headline, "failed": list(one.failed), "hit_hardest": dict(one.hardest)}
        for one in runs
    ]
    return {"schema": as_json.SCHEMA, "figures": as_json.plain(found), "runs": each, "longest": again}
