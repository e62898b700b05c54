"""`groupsim run`: run a scenario, print its story, check its expectations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.commands import rebalance as rebalance_command
from groupsim.cli.commands.report import write_run
from groupsim.cli.data_dirs import check_data_dir, kept
from groupsim.cli.exits import Trouble, ended_as_by_ctrl_c
from groupsim.cli.render import checks as verdicts
from groupsim.cli.render import screen, timeline
from groupsim.cli.render.fetches import show_fetches
from groupsim.cli.render.rebalance.animated import rebalance_picture
from groupsim.cli.render.rebalance.lines import Course
from groupsim.cli.render.screen import WHOLE, Limits, Part
from groupsim.cli.run_files import Files
from groupsim.cli.running import command_line, perform
from groupsim.cli.scenario_source import is_experiment, load
from groupsim.cli.streams import naming, write_whole
from groupsim.cli.terminal import Terminal
from groupsim.eventloop.trace.sinks import Sink, sink_for
from groupsim.logs.files import write_logs
from groupsim.pipeline.runs.lists import Lists
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.pictures.choice import groups_in_full, members_of
from groupsim.scenarios.pictures.run_picture import run_picture
from groupsim.scenarios.runtime.runner import Interrupted, Judged, Run
from groupsim.scenarios.story import Story
from groupsim.scenarios.story.words import clock, count


@frozen
class Shown:
    """The parts of a story that are printed in full: fetches, assignments, expectations, every line.

    With a `group`, that group only.
    """

    fetches: bool = False
    owners: bool = False
    checks: bool = False
    everything: bool = False
    group: str | None = None


def run(
    source: str,
    seed: int,
    settings: list[str],
    files: Files,
    wants_json: bool,
    *,
    shown: Shown,
    rebalance: rebalance_command.RebalanceChoice | None = None,
    also: Callable[[Run], None] | None = None,
) -> int:
    """Run the scenario and print its story; return the exit code.

    `files` are the outputs. `shown` selects the parts of the story; with `rebalance` that rebalance is printed instead.
    After ctrl-C the story so far is printed, and no file is written; raises Interrupted then.
    """
    trace, logs, page, data_dir = files.trace, files.logs, files.page, files.data_dir
    files.check()
    scenario = load(source, settings)
    if is_experiment(source):
        words = "is an experiment: its scenario runs once, without the grid"
        _say(f"{source} {words} (`groupsim sweep {source}` runs it)", "dim")
    check_data_dir(data_dir, scenario)
    keep_events = logs is not None or page is not None
    lists = Lists()
    try:
        with ended_as_by_ctrl_c(), naming(trace, data_dir), ExitStack() as all_or_nothing:
            folder = all_or_nothing.enter_context(kept(data_dir)) if data_dir is not None else None
            sinks: list[Sink] = [] if rebalance is None else [lists]
            if trace is not None:
                sinks.append(all_or_nothing.enter_context(sink_for(trace)))
            done = perform(scenario, seed, source, sinks, data_dir=folder, settings=settings, keep_events=keep_events)
    except Interrupted as interruption:
        story = interruption.run.story
        _tell(story, interruption.run, shown, wants_json)
        words = f"at {clock(story.end_us)} of {clock(scenario.run_for)}: this is the story so far"
        interruption.add_note(words + (", no expectation is checked" if scenario.expect else ""))
        raise
    if logs is not None:
        with naming(logs):
            write_logs(done.events, logs)
    story = done.story
    courses: Sequence[Course] = ()
    if rebalance is not None:
        courses = rebalance_command.courses_of(rebalance, lists, story)
        rebalance_command.show(rebalance, courses, story, wants_json)
        if done.failed:
            _say(f"{count(len(done.failed), 'expectation')} failed; run it without --rebalance to see them", "yellow")
    else:
        if not wants_json or files.picture is not None:
            _check_formed(shown.group, story)
        _tell(story, done, shown, wants_json)
    if files.picture is not None:
        drawn = run_picture(story, shown.group) if rebalance is None else rebalance_picture(courses[-1])
        write_whole(drawn, files.picture)
    if page is not None:
        write_run(done, story, command_line(source, seed, settings), page)
    for what, where in (
        ("trace", trace),
        ("logs", logs),
        ("page", page),
        ("picture", files.picture),
        ("data", data_dir),
    ):
        if where is not None:
            _say(f"{what}: {where}", "dim")
    if also is not None:
        also(done)
    return done.exit_code


def _tell(story: Story, done: Run, shown: Shown, wants_json: bool) -> None:
    if wants_json:
        print(as_json.text(document(story, done)))
    else:
        show(story, done, shown)


def _say(words: str, style: str) -> None:
    Terminal(stderr=True, soft_wrap=True).print(Text(words, style))


def _check_formed(group: str | None, story: Story) -> None:
    """Check that the chosen group formed. Raises Trouble."""
    names = [one.group for one in story.groups]
    if group is not None and group not in names:
        raise Trouble(f"no group {group!r} formed in this run", suggest(group, names, "its groups"))


def show(story: Story, done: Run, asked: Shown) -> None:
    """Print headline, timeline, expectations and notes: on one screen, unless everything is requested."""
    console = Terminal()
    detailed = groups_in_full(story, asked.group)
    introduction = _introduction(done.scenario)
    parts = list(timeline.parts(story, introduction, owners=asked.owners, group=asked.group))
    if asked.fetches:
        parts.append(Part(lambda console, _: show_fetches(story, console), asked=True))
    if done.checks:
        parts.append(Part(partial(_show_checks, done.checks, asked.checks), asked=asked.checks))
    if asked.everything:
        limits = WHOLE
    else:
        noted = sum(len(str(note).splitlines()) for note in done.scenario.notes)
        height = screen.height_for(members_of(detailed, story)) - noted
        limits = screen.fitting(parts, console, height)
    screen.draw(parts, console, limits)
    for note in done.scenario.notes:
        _say(str(note), "yellow")
    sys.stdout.flush()


def _show_checks(checks: Sequence[Judged], every: bool, console: Console, limits: Limits) -> None:
    verdicts.show(checks, console, None if every else limits.checks)


def _introduction(scenario: Scenario) -> str:
    """Return what the scenario shows, with its source."""
    source = f" ({scenario.source})" if scenario.source else ""
    return " ".join((scenario.shows or scenario.title).split()) + source


def document(story: Story, done: Run) -> dict[str, Any]:
    """Build the JSON document of a run."""
    return {
        **as_json.story(story),
        "title": done.scenario.title,
        "exit_code": done.exit_code,
        "expectations": [_judged(one) for one in done.checks],
        "settings_notes": [str(note) for note in done.scenario.notes],
    }


def _judged(one: Judged) -> dict[str, Any]:
    found: dict[str, Any] = as_json.plain(one.finding)
    return {**found, "because": one.expectation.because, "file": one.place.file, "line": one.place.line}
