"""`groupsim list`, `groupsim validate` and `groupsim schema`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, TypeVar

from rich.padding import Padding
from rich.text import Text

from groupsim import as_json
from groupsim.exits import BAD_INPUT, WELL, Trouble
from groupsim.logs.finding import scenes_that_log
from groupsim.pipeline.experiment import catalogue as experiments
from groupsim.pipeline.experiment.load import experiment_of
from groupsim.pipeline.experiment.schema import experiment_schema
from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.language.problems import ERROR, Problem, ScenarioError
from groupsim.scenarios.loading import catalogue
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.loading.plugins import import_from
from groupsim.scenarios.loading.schema import scenario_schema
from groupsim.settings_changed import find
from groupsim.terminal import Terminal

E = TypeVar("E")
_LINES = 2
"""How many of the log lines that were searched for are shown with a scenario."""


def list_scenarios(words: list[str], wants_json: bool) -> int:
    """Print the scenarios whose files have all these words, or that log such a line; returns the exit code.

    Logs are searched for a phrase (several words as one argument), and where no file has the words.
    """
    scenarios = catalogue.list_scenarios()
    logged = _logged(words, scenarios)
    if logged:
        entries = [entry for entry in scenarios if entry.name in logged or _speaks_of(entry, words)]
    else:
        entries = _speaking_of(words, scenarios, "scenario", experiments.list_experiments())
    if wants_json:
        listed = [{**as_json.plain(entry), "logs": logged.get(entry.name, [])} for entry in entries]
        print(as_json.text({"schema": as_json.SCHEMA, "scenarios": listed}))
        return WELL
    console = Terminal()
    other = {name: alias for alias, name in catalogue.ALIASES.items()}
    for entry in entries:
        alias = f" (also: {other[entry.name]})" if entry.name in other else ""
        console.print(Text.assemble((entry.name, "bold cyan"), alias))
        source = f" [{entry.source}]" if entry.source else ""
        console.print(Padding(Text(f"{entry.shows or entry.title}{source}"), (0, 0, 0, 4), expand=False))
        for line in logged.get(entry.name, [])[:_LINES]:
            console.print(Padding(Text(f"logs: {line}", "dim"), (0, 0, 0, 4), expand=False))
    return WELL


def _logged(words: list[str], scenarios: Sequence[catalogue.Entry]) -> dict[str, list[str]]:
    """Return the scenarios that log a line like these words, each with the forms of the line."""
    if not words or not (
        any(" " in word for word in words) or not any(_speaks_of(entry, words) for entry in scenarios)
    ):
        return {}
    return scenes_that_log(" ".join(words))


def list_experiments(words: list[str], wants_json: bool) -> int:
    """Print the experiments of the library whose files have all these words; returns the exit code."""
    entries = _speaking_of(words, experiments.list_experiments(), "experiment", catalogue.list_scenarios())
    if wants_json:
        print(as_json.text({"schema": as_json.SCHEMA, "experiments": as_json.plain(entries)}))
        return WELL
    console = Terminal()
    for entry in entries:
        console.print(Text(entry.name, "bold cyan"))
        source = f" [{entry.source}]" if entry.source else ""
        console.print(Padding(Text(f"{entry.title}\n{entry.question}{source}"), (0, 0, 0, 4), expand=False))
    return WELL


def _speaking_of(words: list[str], entries: Sequence[E], kind: str, others: Sequence[Any]) -> list[E]:
    """The entries that speak of every word, whatever its case. Raises Trouble where there is none."""
    found = [entry for entry in entries if _speaks_of(entry, words)]
    if found:
        return found
    here, there = "groupsim list", "groupsim list --experiments"
    if kind == "experiment":
        here, there = there, here
    elsewhere = [entry.name for entry in others if _speaks_of(entry, words)]
    remedy = f"`{there} {shlex.join(words)}` finds {len(elsewhere)}" if elsewhere else f"`{here}` shows all"
    raise Trouble(f"no {kind} of the library speaks of {' and '.join(words)}", remedy)


def _speaks_of(entry: Any, words: list[str]) -> bool:
    """Whether one of its names or its file has every word: a setting, a client, an incident, a fault."""
    names = (entry.name, *(alias for alias, name in catalogue.ALIASES.items() if name == entry.name))
    said = "\n".join((*names, entry.path.read_text("utf-8"))).casefold()
    return all(word.casefold() in said for word in words)


def validate(files: list[str], wants_json: bool) -> int:
    """Check every file; returns 0, or 2 when one has an error."""
    findings = {file: _problems(file) for file in files}
    bad = [file for file, problems in findings.items() if any(problem.severity == ERROR for problem in problems)]
    code = BAD_INPUT if bad else WELL
    if wants_json:
        checked = [_document(file, problems) for file, problems in findings.items()]
        print(as_json.text({"schema": as_json.SINCE_SEVERITY, "files": checked, "exit_code": code}))
        return code
    console = Terminal(soft_wrap=True)
    for file, problems in findings.items():
        for problem in problems:
            console.print(Text(str(problem), "red" if problem.severity == ERROR else "yellow"))
        if file not in bad:
            console.print(Text(f"{file}: well", "green"))
    return code


def _problems(file: str) -> tuple[Problem, ...]:
    try:
        path = find(file)
        document = read_document(path)
        import_from(path.resolve().parent)
        if experiments.is_experiment(document):
            return experiment_of(document, path.stem).warnings
        return tuple(scenario_of(document, path.stem).notes)
    except ScenarioError as error:
        return error.problems


def _document(file: str, problems: tuple[Problem, ...]) -> dict[str, Any]:
    well = not any(problem.severity == ERROR for problem in problems)
    return {"file": file, "well": well, "problems": as_json.plain(problems)}


def schema(of_experiments: bool = False) -> int:
    """Print the JSON Schema of scenario files, or of experiment files."""
    print(as_json.text(experiment_schema() if of_experiments else scenario_schema()))
    return WELL
