"""Load a file as a scenario that can run, or as a list of all its problems.

A file passes three steps before a run starts: YAML with positions
(`language/document.py`), structure and values (`language/structure.py`, `converters.py`), names and consistency
(`validation/`).
A file that fails early is checked as far as it can be read (`partial_parse.py`), so that one report has every mistake.
"""

from __future__ import annotations

from pathlib import Path

import attrs

from groupsim.scenarios.language.document import Document, name_of, parse_document, read_document
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.problems import ERROR, ScenarioError
from groupsim.scenarios.loading.partial_parse import structured
from groupsim.scenarios.plans.fleets import unfolded
from groupsim.scenarios.validation.semantics import judge


def load_file(path: str | Path) -> Scenario:
    """Read a scenario file.

    Warnings and notes are in `Scenario.notes`. Raises ScenarioError with every error found.
    """
    return scenario_of(read_document(path), name_of(path))


def load_text(text: str, file: str = "<text>") -> Scenario:
    """Read the text of a scenario file; relative paths in it start from the folder of `file`."""
    return scenario_of(parse_document(text, file), name_of(file) if file != "<text>" else "scenario")


def scenario_of(document: Document, name: str) -> Scenario:
    """Return the scenario of a document. Raises ScenarioError with every error found."""
    found = structured(document)
    problems = judge(found, document)
    if any(problem.severity == ERROR for problem in problems):
        raise ScenarioError(problems)
    named = attrs.evolve(found, name=found.name or name, file=document.file, notes=tuple(problems))
    return unfolded(_placed(named, document))


def _placed(scenario: Scenario, document: Document) -> Scenario:
    """Add to steps and expectations the line they stand in, for messages."""
    timeline = tuple(
        attrs.evolve(step, line=_line(document, "timeline", index)) for index, step in enumerate(scenario.timeline)
    )
    expect = tuple(
        attrs.evolve(one, line=_line(document, "expect", index)) for index, one in enumerate(scenario.expect)
    )
    return attrs.evolve(scenario, timeline=timeline, expect=expect)


def _line(document: Document, section: str, index: int) -> int:
    place = document.at_value((section, index))
    return place.line if place.file == document.file else 0
