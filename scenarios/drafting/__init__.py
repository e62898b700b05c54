"""Draft a scenario from manifests and settings, for `groupsim init`.

    draft = draft_of([File("deployment.yaml", text, is_yaml=True)])
    print(draft.text)

`reading.py` reads files, with one module for each kind of source; `plan.py` matches the facts; `writing.py` writes the
scenario, with the place of each value and a question for each guess (`guesses.py`). The draft is a valid scenario.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.protocol.values import frozen
from groupsim.scenarios.drafting.plan import Plan, plan_of
from groupsim.scenarios.drafting.reading import File, read
from groupsim.scenarios.drafting.sheet import ASK, Question, questions_of
from groupsim.scenarios.drafting.writing import text_of
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.problems import ERROR, Problem, ScenarioError
from groupsim.scenarios.loading.load import load_text

__all__ = ["DraftedScenario", "File", "Question", "draft_of"]

_ROUNDS = 10


@frozen
class DraftedScenario:
    """A drafted scenario: its text, the scenario it parses to, the plan, and its questions."""

    text: str
    scenario: Scenario
    plan: Plan
    questions: tuple[Question, ...]


def draft_of(files: Sequence[File], only: Sequence[str] = (), profile: str | None = None) -> DraftedScenario:
    """Draft a valid scenario from files; `only` names workloads, `profile` one of the application's.

    Raises ScenarioError, with file, document, line and remedy, for a file that cannot be read or has no relevant fact.
    """
    plan = plan_of(read(files), only, profile)
    text = text_of(plan, [file.name for file in files])
    for _ in range(_ROUNDS):
        try:
            scenario = load_text(text, "draft")
        except ScenarioError as error:
            text = _without(text, error.problems)
        else:
            return DraftedScenario(text, scenario, plan, questions_of(text))
    raise AssertionError(f"the draft stays invalid:\n{text}")


def _without(text: str, problems: Sequence[Problem]) -> str:
    """Turn each line that the loader refuses into a question; its value may be valid only elsewhere."""
    lines = text.splitlines()
    for problem in problems:
        if problem.severity != ERROR or not problem.place.line:
            continue
        line = lines[problem.place.line - 1]
        if line.lstrip().startswith(("#", "- ")) or line.split("#")[0].rstrip().endswith(":"):
            raise ScenarioError(problems)
        indent = line[: len(line) - len(line.lstrip())]
        message = " ".join(problem.message.split())
        lines[problem.place.line - 1] = f"{indent}{ASK}{line.strip()}: not accepted here: {message}"
    return "\n".join(lines) + "\n"
