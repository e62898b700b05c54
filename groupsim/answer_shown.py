"""The answer of a sweep on a terminal: the sentence, its reasons, and one line per cell."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groupsim.pipeline.analysis.answer import Answer, CellAnswer, to_document
from groupsim.pipeline.analysis.metrics import METRICS

MANY_CELLS = 24


def show(answer: Answer, console: Console) -> None:
    """Print the answer; of a large grid the cells that matter."""
    if answer.question:
        console.print(Text(answer.question, "dim italic"))
    console.print(Text(answer.sentence, "bold"))
    for reason in answer.reasons:
        console.print(Text(f"  {reason}"))
    console.print()
    console.print(_table(answer))
    if len(answer.cells) > MANY_CELLS:
        console.print(Text(f"{MANY_CELLS} of {len(answer.cells)} cells; all of them are in the report", "dim"))
    for warning in answer.warnings:
        console.print(Text(warning, "yellow"))


def document(answer: Answer) -> dict[str, Any]:
    """The answer as JSON, all its numbers with it."""
    return to_document(answer)


def _table(answer: Answer) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for axis in answer.axes:
        table.add_column(axis, overflow="fold")
    metrics = [goal.metric for goal in answer.goals]
    for metric in metrics:
        table.add_column(METRICS[metric].title, justify="right")
    table.add_column("")
    for cell in _shown(answer):
        style = "green" if cell.number == answer.recommended else "" if cell.keeps else "dim"
        values = [Text(_figure(cell, metric)) for metric in metrics]
        table.add_row(*map(Text, cell.labels.values()), *values, Text(_marks(answer, cell)), style=style)
    return table


def _shown(answer: Answer) -> list[CellAnswer]:
    """The cells in order; of many the recommended, the baseline, the front, and then the first."""
    named = (answer.recommended, answer.runner_up, answer.best, answer.baseline)
    ranked = sorted(answer.cells, key=lambda cell: (cell.number not in named, not cell.front, cell.number))
    return sorted(ranked[:MANY_CELLS], key=lambda cell: cell.number)


def _figure(cell: CellAnswer, metric: str) -> str:
    """The mean with its interval, in the unit it is shown in."""
    of, found = METRICS[metric], cell.statistics.get(metric)
    if found is None or found.value is None:
        return "–"
    if found.low is None or found.high is None:
        return of.shown(found.value)
    digits = of.digits([found.value, found.low, found.high])
    return f"{of.shown(found.value, digits)} [{of.figure(found.low, digits)}–{of.figure(found.high, digits)}]"


def _marks(answer: Answer, cell: CellAnswer) -> str:
    marks = [
        "recommended" if cell.number == answer.recommended else "",
        "baseline" if cell.number == answer.baseline else "",
        "on the front" if cell.front else "",
        "" if cell.keeps else "breaks a limit",
        f"{cell.failed} failed" if cell.failed else "",
    ]
    return ", ".join(mark for mark in marks if mark)
