"""`groupsim run`: run a scenario, tell its story, judge it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groupsim import as_json, timeline, verdicts
from groupsim.eventloop.sinks import JsonLinesSink, ParquetSink, Sink
from groupsim.logs import write_logs
from groupsim.running import perform
from groupsim.scenarios.model import Scenario
from groupsim.scenarios.runner import Judged, Run
from groupsim.scenarios.story import Story, tell
from groupsim.settings_changed import load
from groupsim.sources import check_directory, check_target


def run(source: str, seed: int, settings: list[str], trace: Path | None, logs: Path | None, wants_json: bool) -> int:
    """Run the scenario and print what happened; returns the exit code."""
    check_target(trace)
    check_directory(logs)
    scenario = load(source, settings)
    done = perform(scenario, seed, source, [_sink(trace)] if trace is not None else [])
    if logs is not None:
        write_logs(done.events, logs)
    story = tell(done.events)
    if wants_json:
        print(as_json.text(document(story, done)))
    else:
        show(story, done, source)
    for what, where in (("trace", trace), ("logs", logs)):
        if where is not None:
            Console(stderr=True, highlight=False, soft_wrap=True).print(Text(f"{what}: {where}", "dim"))
    return done.exit_code


def _sink(path: Path) -> Sink:
    return JsonLinesSink(path) if path.suffix == ".jsonl" else ParquetSink(path)


def show(story: Story, done: Run, source: str) -> None:
    """Headline, timeline, expectations, notes."""
    console = Console(highlight=False)
    timeline.show(story, console, _introduction(done.scenario))
    verdicts.show(done.checks, console)
    for note in done.scenario.notes:
        Console(stderr=True, highlight=False, soft_wrap=True).print(Text(str(note), "yellow"))
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
