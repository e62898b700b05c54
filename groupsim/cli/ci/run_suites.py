"""Runs as JUnit suites, and several scenarios in one command: a line for each, one exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.ci.junit import Case, Suite, junit
from groupsim.cli.commands.run import document
from groupsim.cli.exits import EXPECTATION_FAILED, SUCCESS, Trouble
from groupsim.cli.running import perform
from groupsim.cli.scenario_source import load
from groupsim.cli.sources import check_parent
from groupsim.cli.streams import naming
from groupsim.cli.terminal import Terminal
from groupsim.scenarios.runtime.runner import Run

SCHEMA = 1


def check_junit(path: Path | None) -> None:
    """Check before the run that the JUnit file can be written. Raises Trouble."""
    if path is None:
        return
    if path.is_dir():
        raise Trouble(f"{path} is a directory", f"write {path / 'junit.xml'}")
    check_parent(path)


def suite_of(name: str, done: Run) -> Suite:
    """Return a run's expectations as a suite; a run without any is the single case that it ended."""
    cases = []
    for judged in done.checks:
        finding, because = judged.finding, judged.expectation.because
        failure = f"found {finding.found}" + (f"\nbecause {because}" if because else "")
        cases.append(Case(finding.expected, "" if finding.holds else failure, "", judged.place.file, judged.place.line))
    return Suite(name, tuple(cases) or (Case("the run ends"),))


def failed_suite(name: str, trouble: Trouble) -> Suite:
    """Return a failed run as a suite."""
    return Suite(name, (Case("the run ends", error=f"{trouble.message}\n{trouble.remedy}"),))


def write_junit(path: Path | None, suites: Sequence[Suite]) -> None:
    """Write the suites to the file, if there is one."""
    if path is not None:
        with naming(path):
            path.write_text(junit(suites), encoding="utf-8")


def run_several(sources: Sequence[str], seed: int, settings: list[str], target: Path | None, wants_json: bool) -> int:
    """Run each scenario and print a line with its failed expectations; return the highest exit code.

    All files are read before the first run. Raises ScenarioError for an invalid one.
    """
    check_junit(target)
    scenarios = [(source, load(source, settings)) for source in sources]
    console, suites, codes, documents = Terminal(soft_wrap=True), [], [SUCCESS], []
    for source, scenario in scenarios:
        try:
            done = perform(scenario, seed, source, settings=settings, keep_events=False)
        except Trouble as trouble:
            suites.append(failed_suite(source, trouble))
            codes.append(trouble.code)
            documents.append({"source": source, "error": trouble.message, "exit_code": trouble.code})
            _print(console, wants_json, source, "failed to run", [trouble.message, trouble.remedy], "red")
            continue
        suites.append(suite_of(source, done))
        codes.append(done.exit_code)
        documents.append({"source": source, **document(done.story, done)})
        wrong = [f"{case.name}: {case.failure}" for case in suites[-1].cases if case.failure]
        colour = "red" if done.exit_code == EXPECTATION_FAILED else "green"
        _print(console, wants_json, source, done.story.headline, wrong, colour)
    write_junit(target, suites)
    if wants_json:
        print(as_json.text({"schema": SCHEMA, "runs": documents, "exit_code": max(codes)}))
    return max(codes)


def _print(console: Terminal, wants_json: bool, source: str, words: str, wrong: Sequence[str], colour: str) -> None:
    if wants_json:
        return
    mark = "✗" if wrong else "✓"
    console.print(Text.assemble((f"{mark} {source}", colour), f": {words}"))
    for one in wrong:
        console.print(Text("\n".join(f"    {line}" for line in one.splitlines()), colour))
