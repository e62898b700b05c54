"""The verdict of a sweep in a few words, for the top of its page; the sentences of the answer are below it."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.pipeline.analysis import Answer
from groupsim.pipeline.analysis.answer import (
    CHANGE,
    KEEP,
    MORE_SEEDS,
    NO_DATA,
    NO_DIFFERENCE,
    NONE_WITHIN_LIMITS,
    Circumstance,
)
from groupsim.pipeline.analysis.wording import name

_WITHOUT_A_CELL = {
    MORE_SEEDS: "too few seeds for an answer",
    NO_DATA: "No run has ended well, so there is nothing to compare",
    NONE_WITHIN_LIMITS: "no cell keeps the limits",
}
_WITH_A_CELL = {CHANGE: "use {}", KEEP: "keep {}", NO_DIFFERENCE: "no significant difference, keep {}"}


def verdict(answer: Answer) -> str:
    """What to do, without figures: one clause for each circumstance, or one for all where they agree."""
    clauses = [(name(one.labels), _clause(one.decision, _cell(one, answer))) for one in answer.circumstances]
    if not clauses:
        return _beginning(_clause(answer.decision, _cell(answer, answer)))
    if len({clause for _, clause in clauses}) == 1:
        return _beginning(clauses[0][1])
    return _beginning("; ".join(f"{where}: {clause}" for where, clause in clauses))


def _clause(decision: str, cell: str) -> str:
    return _WITHOUT_A_CELL.get(decision) or _WITH_A_CELL[decision].format(cell)


def _cell(one: Answer | Circumstance, answer: Answer) -> str:
    """The cell to use or to keep, by the axes that are a choice: without the labels of its circumstance."""
    number = one.baseline if one.recommended is None else one.recommended
    given: Mapping[str, str] = one.labels if isinstance(one, Circumstance) else {}
    return name({axis: label for axis, label in answer.cell(number).labels.items() if axis not in given})


def _beginning(text: str) -> str:
    """A sentence's first letter is a capital; that of a label (`callback=none`) stays as it is."""
    return text if "=" in text.split()[0] else text[:1].upper() + text[1:]
