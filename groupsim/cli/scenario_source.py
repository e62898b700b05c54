"""Scenarios by name or file, with the changes of `--set PATH=VALUE`.

The name of an experiment selects its scenario, with the changes common to every cell of its grid. So a single cell runs
with the settings of the cell added.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from groupsim.cli.exits import Trouble
from groupsim.eventloop.units import parse_duration
from groupsim.pipeline.experiment import catalogue as experiments
from groupsim.pipeline.experiment.load import base_of, read_file
from groupsim.scenarios.language.document import Document, name_of, read_document
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.problems import ScenarioError, one_problem, suggest_of_library
from groupsim.scenarios.loading import catalogue
from groupsim.scenarios.loading.changes import changed, read_change
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.loading.plugins import import_from
from groupsim.scenarios.story.words import span


def load(source: str, settings: Iterable[str] = ()) -> Scenario:
    """Load the scenario of that name or file, with these settings changed.

    Raises `ScenarioError` for a bad file, name, path or value.
    """
    document, name = written(source, settings)
    import_from(Path(document.file).resolve().parent)
    return scenario_of(document, name)


def written(source: str, settings: Iterable[str] = ()) -> tuple[Document, str]:
    """Return the scenario's document with the changes, not validated, and its default name."""
    path = find(source)
    document, name = read_document(path), name_of(path)
    changes = [read_change(text) for text in settings]
    if experiments.is_experiment(document):
        base = base_of(document, read_file(document), name)
        document, name = base.document, base.name
        changes = [*base.common, *changes]
    return changed(document, changes), name


def instant(scenario: Scenario, at: str) -> int:
    """Return the time of `--at`, in µs. Raises `Trouble` for text that is no time, and for one after the run."""
    try:
        at_us = parse_duration(at)
    except ValueError as error:
        raise Trouble(f"--at {at}: {error}") from None
    if at_us > scenario.run_for:
        raise Trouble(f"--at {at} is after the end of the run ({span(scenario.run_for)})", "choose an earlier time")
    return at_us


def is_experiment(source: str) -> bool:
    """Whether the source is an experiment and not a scenario. Raises `ScenarioError` as `load` does."""
    return experiments.is_experiment(read_document(find(source)))


def find(source: str) -> Path:
    """Find an existing file, a scenario of the library, or an experiment of the library.

    Raises `ScenarioError` with the nearest name if there is none.
    """
    if source in experiments.names() and not Path(source).exists():
        return experiments.find(source)
    try:
        return catalogue.find(source)
    except ScenarioError as error:
        if any(problem.remedy.startswith("did you mean the file") for problem in error.problems):
            raise
        known = (*catalogue.names(), *catalogue.ALIASES, *experiments.names())
        message = "no file and no scenario of the library has this name, nor an experiment"
        raise one_problem(source, message, suggest_of_library(source, known)) from None
