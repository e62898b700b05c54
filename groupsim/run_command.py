"""`groupsim run`: run a scenario, tell its story, judge it."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.text import Text

from groupsim import as_json, rebalance_command, timeline, verdicts
from groupsim.data_dirs import check_data_dir, kept
from groupsim.eventloop.sinks import sink_for
from groupsim.exits import Trouble, ended_as_by_ctrl_c
from groupsim.fetches_shown import show_fetches
from groupsim.logs import write_logs
from groupsim.outputs import naming
from groupsim.report_command import check_page, write_run
from groupsim.running import command_line, perform
from groupsim.scenarios.model import Scenario
from groupsim.scenarios.problems import suggest
from groupsim.scenarios.runner import Judged, Run
from groupsim.scenarios.story import Story, tell
from groupsim.scenarios.story.words import count
from groupsim.settings_changed import is_experiment, load
from groupsim.sources import check_directory, check_target
from groupsim.terminal import Terminal


def run(
    source: str,
    seed: int,
    settings: list[str],
    files: tuple[Path | None, Path | None, Path | None, Path | None],
    wants_json: bool,
    *,
    fetches: bool = False,
    owners: bool = False,
    checks: bool = False,
    group: str | None = None,
    rebalance: rebalance_command.Asked | None = None,
) -> int:
    """Run the scenario and print what happened; returns the exit code.

    `files` are what to write: the trace, the directory of logs, the page, the brokers' data directory. With `fetches`
    those of each member are printed, too, with `owners` every assignment whole, with `checks` every expectation that
    holds; with `group` that one alone; with `rebalance` the course of that one is printed in place of the story.
    """
    trace, logs, page, data_dir = files
    check_target(trace)
    check_directory(logs)
    if page is not None:
        check_page(page)
    scenario = load(source, settings)
    if is_experiment(source):
        words = "is an experiment: its scenario runs, once, and the grid is left aside"
        _say(f"{source} {words} (`groupsim sweep {source}` runs it)", "dim")
    check_data_dir(data_dir, scenario)
    with ended_as_by_ctrl_c(), naming(trace, data_dir), ExitStack() as whole_or_not_at_all:
        folder = whole_or_not_at_all.enter_context(kept(data_dir)) if data_dir is not None else None
        sinks = [whole_or_not_at_all.enter_context(sink_for(trace))] if trace is not None else []
        done = perform(scenario, seed, source, sinks, data_dir=folder, settings=settings)
    if logs is not None:
        with naming(logs):
            write_logs(done.events, logs)
    story = tell(done.events)
    if rebalance is not None:
        rebalance_command.show(rebalance, done.events, story, wants_json)
        if done.failed:
            _say(f"{count(len(done.failed), 'expectation')} failed; run it without --rebalance to see them", "yellow")
    elif wants_json:
        print(as_json.text(document(story, done)))
    else:
        show(story, done, fetches=fetches, owners=owners, checks=checks, group=_formed(group, story))
    if page is not None:
        write_run(done, story, command_line(source, seed, settings), page)
    for what, where in (("trace", trace), ("logs", logs), ("page", page), ("data", data_dir)):
        if where is not None:
            _say(f"{what}: {where}", "dim")
    return done.exit_code


def _say(words: str, style: str) -> None:
    Terminal(stderr=True, soft_wrap=True).print(Text(words, style))


def _formed(group: str | None, story: Story) -> str | None:
    """The group asked for. Raises Trouble for one that did not form."""
    names = [one.group for one in story.groups]
    if group is not None and group not in names:
        raise Trouble(f"no group {group!r} formed in this run", suggest(group, names, "its groups"))
    return group


def show(
    story: Story,
    done: Run,
    *,
    fetches: bool = False,
    owners: bool = False,
    checks: bool = False,
    group: str | None = None,
) -> None:
    """Headline, timeline, expectations, notes."""
    console = Terminal()
    timeline.show(story, console, _introduction(done.scenario), owners=owners, group=group)
    if fetches:
        show_fetches(story, console)
    verdicts.show(done.checks, console, checks)
    for note in done.scenario.notes:
        _say(str(note), "yellow")
    sys.stdout.flush()


def _introduction(scenario: Scenario) -> str:
    """What the scenario shows, and where it comes from."""
    source = f" ({scenario.source})" if scenario.source else ""
    return " ".join((scenario.shows or scenario.title).split()) + source


def document(story: Story, done: Run) -> dict[str, Any]:
    """The run as JSON."""
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
