"""The verdict on top of a sweep's page."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from groupsim.pipeline.analysis import Answer
from groupsim.pipeline.analysis.answer import CHANGE, KEEP, MORE_SEEDS, NO_DATA, NO_DIFFERENCE, NONE_WITHIN_LIMITS
from groupsim.pipeline.page.verdict import verdict
from tests.helpers import page_samples, small_sweep


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """The answer of a small sweep."""
    return page_samples.sweep(tmp_path_factory.mktemp("sweep"), seeds=1)[1]


@pytest.mark.parametrize(
    ("decision", "recommended", "expected"),
    [
        (CHANGE, 1, "Use assignor=sticky"),
        (KEEP, 0, "Keep assignor=range"),
        (NO_DIFFERENCE, 0, "No significant difference, keep assignor=range"),
        (MORE_SEEDS, None, "Too few seeds for an answer"),
        (NONE_WITHIN_LIMITS, None, "No cell keeps the limits"),
        (NO_DATA, None, "No run has ended well, so there is nothing to compare"),
    ],
)
def test_each_decision_has_its_words(answer: Answer, decision: str, recommended: int | None, expected: str) -> None:
    """What to do is a clause without figures, whatever the decision."""
    assert verdict(attrs.evolve(answer, decision=decision, recommended=recommended)) == expected


def test_circumstances_that_differ_have_a_clause_each(tmp_path: Path) -> None:
    """Where circumstances call for different cells each is named with its own; where they agree once is enough."""
    _, answer = page_samples.performed(small_sweep.load_given(tmp_path, seeds=1), tmp_path / "out")
    assert verdict(answer) == "Too few seeds for an answer"
    first, second = answer.circumstances
    pair = (attrs.evolve(first, decision=CHANGE, recommended=2), attrs.evolve(second, decision=KEEP, recommended=1))
    told = verdict(attrs.evolve(answer, circumstances=pair))
    assert told == "callback=0ms: use assignor=cooperative-sticky; callback=1s: keep assignor=range"
