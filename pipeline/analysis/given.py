"""One answer for each circumstance: axes outside the user's choice, such as the group's size or the start of pods.

An axis named in `given` of an experiment is no knob. Among the cells that agree in all given axes one is recommended,
compared with the baseline of the same circumstances; across them nothing is compared. The whole answer has every cell
with the comparisons of its own circumstances, and a sentence that says whether the choice depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from groupsim.pipeline.analysis.answer import (
    DEPENDS,
    KEEP,
    MORE_SEEDS,
    NO_DATA,
    NO_DIFFERENCE,
    Answer,
    CellAnswer,
    Circumstance,
    Effect,
)
from groupsim.pipeline.analysis.wording import name

Labels = Mapping[str, str]
Split = list[tuple[dict[str, str], Any]]


def split(experiment: Any) -> Split:
    """The circumstances of an experiment in the order of its cells, each with an experiment of its cells alone.

    Cells keep their numbers and lose the labels of given axes. The baseline of each is the cell with the labels that
    the experiment's baseline has on the other axes; where `skip` left it out, the first.
    """
    base = next(cell for cell in experiment.cells if cell.number == experiment.baseline)
    wanted = chosen(base.labels, experiment.given)
    found: dict[tuple[str, ...], list[Any]] = {}
    for cell in experiment.cells:
        found.setdefault(tuple(cell.labels[axis] for axis in experiment.given), []).append(cell)
    return [
        (dict(zip(experiment.given, labels, strict=True)), _part(experiment, cells, wanted))
        for labels, cells in found.items()
    ]


def _part(experiment: Any, cells: Sequence[Any], wanted: Labels) -> Any:
    baseline = next((cell.number for cell in cells if chosen(cell.labels, experiment.given) == wanted), cells[0].number)
    alone = tuple(attrs.evolve(cell, labels=chosen(cell.labels, experiment.given)) for cell in cells)
    return attrs.evolve(experiment, cells=alone, baseline=baseline, given=())


def chosen(labels: Labels, given: Iterable[str]) -> dict[str, str]:
    """Return the labels of the axes that the user chooses."""
    return {axis: label for axis, label in labels.items() if axis not in set(given)}


def together(
    experiment: Any,
    parts: Sequence[tuple[dict[str, str], Answer]],
    axes: Mapping[str, tuple[str, ...]],
    effects: Sequence[Effect],
) -> Answer:
    """Join the answers of all circumstances; the recommendation is that of the baseline's circumstances."""
    labels = {cell.number: dict(cell.labels) for cell in experiment.cells}
    home = next(answer for _, answer in parts if answer.baseline == experiment.baseline)
    circumstances = tuple(_circumstance(given, answer) for given, answer in parts)
    text = sentence(circumstances, experiment.given)
    each = (f"{name(one.labels)}: {one.sentence}" for one in circumstances)
    cells = [attrs.evolve(cell, labels=labels[cell.number]) for _, answer in parts for cell in answer.cells]
    return attrs.evolve(
        home,
        sentence=text,
        decision=_decision(circumstances),
        axes=axes,
        cells=tuple(sorted(cells, key=_number)),
        comparisons=tuple(sorted((one for _, answer in parts for one in answer.comparisons), key=_number)),
        effects=tuple(effects),
        front=tuple(sorted(number for _, answer in parts for number in answer.front)),
        reasons=tuple(reason for reason in each if reason not in text),
        warnings=_warnings(parts),
        circumstances=circumstances,
    )


def _number(one: Any) -> int:
    return one.number if isinstance(one, CellAnswer) else one.cell


def _circumstance(given: Labels, answer: Answer) -> Circumstance:
    settings = None if answer.recommended is None else answer.cell(answer.recommended).labels
    return Circumstance(
        labels=given,
        sentence=answer.sentence,
        decision=answer.decision,
        baseline=answer.baseline,
        recommended=answer.recommended,
        settings=settings,
        runner_up=answer.runner_up,
        best=answer.best,
        reasons=answer.reasons,
    )


def _decision(circumstances: Sequence[Circumstance]) -> str:
    same = {(one.decision, name(one.settings or {})) for one in circumstances}
    return circumstances[0].decision if len(same) == 1 else DEPENDS


def _warnings(parts: Sequence[tuple[dict[str, str], Answer]]) -> tuple[str, ...]:
    """Each warning once; one that does not hold in all circumstances with those it holds in."""
    found: dict[str, list[str]] = {}
    for given, answer in parts:
        for warning in answer.warnings:
            found.setdefault(warning, []).append(name(given))
    every = len(parts)
    return tuple(text if len(where) == every else f"{' / '.join(where)}: {text}" for text, where in found.items())


def sentence(circumstances: Sequence[Circumstance], given: Sequence[str]) -> str:
    """Whether one setting does for all circumstances, and otherwise which for which."""
    what = " and ".join(given)
    undecided = {MORE_SEEDS, NO_DATA}
    if all(one.decision in undecided for one in circumstances):
        return (
            circumstances[0].sentence
            if len(circumstances) == 1
            else f"For {name(circumstances[0].labels)}: {circumstances[0].sentence}"
        )
    choices: dict[str, list[Circumstance]] = {}
    for one in circumstances:
        choices.setdefault("nothing to recommend" if one.settings is None else name(one.settings), []).append(one)
    if len(choices) == 1:
        (choice,) = choices
        return f"{_verb(circumstances)} {choice}, whatever the {what} ({len(circumstances)} compared)."
    listed = [f"{choice} for {_places(where, given)}" for choice, where in choices.items()]
    return f"It depends on {what}: {'; '.join(listed)}."


def _verb(circumstances: Sequence[Circumstance]) -> str:
    """What to do with the one setting that all circumstances agree on."""
    decisions = {one.decision for one in circumstances}
    if circumstances[0].settings is None:
        return "There is"
    if decisions == {NO_DIFFERENCE}:
        return "No significant difference between the cells: keep"
    return "Keep" if decisions <= {NO_DIFFERENCE, KEEP} else "Use"


def _places(where: Sequence[Circumstance], given: Sequence[str]) -> str:
    if len(given) == 1:
        return ", ".join(name(one.labels) for one in where)
    return ", ".join(f"({name(one.labels)})" for one in where)


Analyse = Callable[[Any], Answer]


def by_circumstance(
    experiment: Any, one: Analyse, axes: Mapping[str, tuple[str, ...]], effects: Sequence[Effect]
) -> Answer:
    """Analyse the cells of each circumstance by themselves with `one`, and put the answers together."""
    return together(experiment, [(given, one(part)) for given, part in split(experiment)], axes, effects)
