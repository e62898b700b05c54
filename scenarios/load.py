"""From a file to a scenario that can run, or to a list of everything that is wrong with it.

Nothing runs, and nothing is written, before a file has passed all of this: YAML with positions (`document.py`), shape
and values (`structure.py`, `shapes.py`), names and sense (`crossref.py`, `semantics.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from groupsim.scenarios.document import Document, parse_document, read_document
from groupsim.scenarios.mistakes import problems_of
from groupsim.scenarios.model import Scenario
from groupsim.scenarios.problems import ERROR, Place, Problem, ScenarioError
from groupsim.scenarios.semantics import judge
from groupsim.scenarios.shapes import structure_scenario
from groupsim.scenarios.values import read_duration, show_duration


def load_file(path: str | Path) -> Scenario:
    """Read a scenario file.

    Warnings and notes are in `Scenario.notes`. Raises ScenarioError with every error found.
    """
    return scenario_of(read_document(path), Path(path).stem)


def load_text(text: str, file: str = "<text>") -> Scenario:
    """The same for text at hand; relative paths in it start from the folder of `file`."""
    return scenario_of(parse_document(text, file), Path(file).stem if file != "<text>" else "scenario")


def scenario_of(document: Document, name: str) -> Scenario:
    """The scenario a document holds. Raises ScenarioError with every error found."""
    if not isinstance(document.data, dict):
        remedy = "write `key: value` lines; see docs/writing-a-scenario.md"
        raise ScenarioError([Problem(document.at_value(()), "a scenario is a mapping, this is not one", remedy)])
    endless = _endless(document)
    try:
        found = structure_scenario(document.data)
    except ValueError as error:
        problems = [p for p in problems_of(error, document) if "`run-for` is missing" not in p.message]
        raise ScenarioError([*problems, *endless]) from None
    problems = judge(found, document)
    if any(problem.level == ERROR for problem in problems):
        raise ScenarioError(problems)
    return _placed(attrs.evolve(found, name=found.name or name, file=document.file, notes=tuple(problems)), document)


def _endless(document: Document) -> list[Problem]:
    """Consumers poll for ever: without `run-for` a run has no end."""
    if "run-for" in document.data:
        return []
    last = max((_moment(step) for step in _steps(document.data)), default=0)
    proposal = show_duration(last + 60_000_000).removesuffix(".000 s") + "s"
    message = "nothing ends this scenario: consumers poll for ever, and the key `run-for` is missing"
    return [Problem(Place(document.file, 1, 1), message, f"add `run-for: {proposal}`")]


def _steps(data: dict[str, Any]) -> list[Any]:
    steps = data.get("timeline")
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []


def _moment(step: dict[str, Any]) -> int:
    try:
        return read_duration(step.get("at"))
    except ValueError:
        return 0


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
