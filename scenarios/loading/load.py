"""From a file to a scenario that can run, or to a list of everything that is wrong with it.

Nothing runs, and nothing is written, before a file has passed all of this: YAML with positions
(`language/document.py`), shape and values (`language/structure.py`, `converters.py`), names and sense (`validation/`).
One that fails early is judged as far as it can be read (`partial_parse.py`): one report has every mistake.
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
    """The same for text at hand; relative paths in it start from the folder of `file`."""
    return scenario_of(parse_document(text, file), name_of(file) if file != "<text>" else "scenario")


def scenario_of(document: Document, name: str) -> Scenario:
    """The scenario a document holds. Raises ScenarioError with every error found."""
    found = structured(document)
    problems = judge(found, document)
    if any(problem.severity == ERROR for problem in problems):
        raise ScenarioError(problems)
    named = attrs.evolve(found, name=found.name or name, file=document.file, notes=tuple(problems))
    return unfolded(_placed(named, document))


def _placed(scenario: Scenario, document: Document) -> Scenario:
    """Steps and expectations with the line they stand in, so that a failing one can be found."""
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
