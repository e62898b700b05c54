"""From what people have to a scenario: `groupsim init` drafts one from manifests and settings.

    draft = draft_of([File("deployment.yaml", text, is_yaml=True)])
    print(draft.text)

`reading.py` reads files, one module for each kind of source; `plan.py` matches what they say; `writing.py` writes the
scenario, with the place of each value and a question for each guess (`guesses.py`). What comes out is valid.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

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
    """A drafted scenario: its text, what it is read as, what was matched, and its questions."""

    text: str
    scenario: Scenario
    plan: Plan
    questions: tuple[Question, ...]


def draft_of(files: Sequence[File], only: Sequence[str] = (), profile: str | None = None) -> DraftedScenario:
    """A valid scenario of what the files say; `only` names workloads, `profile` one of the application's.

    Raises ScenarioError, with file, document, line and remedy, for what cannot be read or holds nothing of use.
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
    """The draft with each line that the loader refuses as a question: a value can be right elsewhere, and not here."""
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
