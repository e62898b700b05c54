"""The answer of a sweep on a terminal: the sentence, its reasons, one line per cell, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from groupsim.pipeline.analysis.answer import (
    BASELINE,
    BETTER,
    MANY_CELLS,
    WORSE,
    Answer,
    CellAnswer,
    StatedGoal,
    to_document,
)

MANY_WARNINGS = 8
NARROW = 110  # on narrower terminals an interval is printed below its value
GAP = 2  # blanks between two columns of the table
SIGNS = {BETTER: ("better ", "green"), WORSE: ("worse ", "red")}


def show(answer: Answer, console: Console) -> None:
    """Print the answer; of a large grid, the most important cells."""
    if answer.question:
        console.print(Text(answer.question, "dim italic"))
    console.print(Text(answer.sentence, "bold"))
    for reason in answer.reasons:
        console.print(Text(f"  {reason}"))
    console.print()
    console.print(_table(answer, console))
    console.print(Text(_legend(answer), "dim"))
    for warning in _warnings(answer):
        console.print(Text(warning, "yellow"))


def document(answer: Answer) -> dict[str, Any]:
    """Return the answer with all its figures as JSON."""
    return to_document(answer)


def _table(answer: Answer, console: Console) -> Table:
    """Build a table with one line per cell. On a narrow terminal the axes share a column, then words are broken."""
    cells, between = answer.shown_cells, "\n" if console.width < NARROW else " "
    values = [[_value(answer, cell, goal, between) for cell in cells] for goal in answer.goals]
    rest = [[Text(str(cell.done)) for cell in cells], [Text(answer.marks(cell)) for cell in cells]]
    named = [(axis, [cell.labels.get(axis, "") for cell in cells]) for axis in answer.axes]
    for axes in (named, _joined(named)):
        labels = [list(map(Text, column)) for _, column in axes]
        headings = [*(Text(name) for name, _ in axes), *map(_heading, answer.goals), Text("seeds"), Text("")]
        columns = [*labels, *values, *rest]
        headed = [[heading, *column] for heading, column in zip(headings, columns, strict=True)]
        if _needed(headed) <= console.width:
            break
    widths = _widths(headed, len(labels), console.width)
    for place, column in enumerate(values, len(labels)):
        for text in column:
            _above_its_value(text, widths[place])
    table = Table(box=None, header_style="dim", pad_edge=False)
    for place, heading in enumerate(headings):
        side: JustifyMethod = "right" if len(labels) <= place < len(columns) - 1 else "left"
        table.add_column(heading, justify=side, overflow="fold", width=widths[place])
    for cell, row in zip(cells, zip(*columns, strict=True), strict=True):
        style = "green" if cell.number in answer.all_recommended else "" if cell.keeps else "dim"
        table.add_row(*row, style=style)
    return table


def _joined(axes: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Join all axes in one column, which wraps between words."""
    if len(axes) < 2:
        return list(axes)
    rows = zip(*(column for _, column in axes), strict=True)
    return [(", ".join(name for name, _ in axes), [", ".join(row) for row in rows])]


def _words(columns: Sequence[Sequence[Text]]) -> list[int]:
    """Return the length of the longest word of each column."""
    return [max((len(word) for text in column for word in text.plain.split()), default=1) for column in columns]


def _needed(columns: Sequence[Sequence[Text]]) -> int:
    """Return the least width of a table that breaks no word."""
    return sum(_words(columns)) + GAP * (len(columns) - 1)


def _widths(columns: Sequence[Sequence[Text]], labels: int, width: int) -> list[int]:
    """Return the widths of columns: their longest words if there is room; spare room goes to longer lines.

    Values are on one line if all of them fit, then axes; headings wrap first. Axes whose words have to be broken come
    before values. The widths are explicit, because rich truncates cells if it has least widths only.
    """
    words, room = _words(columns), width - GAP * (len(columns) - 1)
    for given_way in (0, labels, len(words)):
        widths = [min(word, 6) for word in words[:given_way]] + words[given_way:]
        if sum(widths) <= room:
            break
    cells, headings = ([_longest(part) for part in parts] for parts in zip(*map(_parted, columns), strict=True))
    values = range(labels, len(columns))
    at_once = not given_way and sum(max(cells[place] - widths[place], 0) for place in values) <= room - sum(widths)
    first = [(place, cells[place]) for place in values] if at_once else []
    for place, line in (*first, *enumerate(cells[:labels]), *((place, headings[place]) for place in values)):
        widths[place] += max(0, min(line - widths[place], room - sum(widths)))
    return widths


def _parted(column: Sequence[Text]) -> tuple[Sequence[Text], Sequence[Text]]:
    """Split a column into its cells and its heading."""
    return column[1:], column[:1]


def _longest(texts: Sequence[Text]) -> int:
    return max((len(line) for text in texts for line in text.plain.split("\n")), default=1)


def _heading(goal: StatedGoal) -> Text:
    bounds = [("at most", goal.at_most), ("at least", goal.at_least)]
    limits = [f"{word} {goal.of.shown(bound)}" for word, bound in bounds if bound is not None]
    return Text("\n".join([goal.of.heading, *limits]))


def _value(answer: Answer, cell: CellAnswer, goal: StatedGoal, between: str) -> Text:
    """Format a value with its interval, and a word if it differs significantly from the baseline's."""
    found, of = cell.statistics.get(goal.metric), goal.of
    if found is None or found.value is None:
        return Text("–")
    against = answer.compared(cell.number, BASELINE, goal.metric)
    sign, style = SIGNS.get(against.verdict if against else "", ("", ""))
    digits = of.digits([found.value, found.low, found.high])
    text = Text.assemble((sign, style), of.shown(found.value, digits))
    if found.low is not None and found.low != found.high:
        text.append(f"{between}[{of.figure(found.low, digits)}–{of.figure(found.high, digits)}]", "dim")
    return text


def _above_its_value(text: Text, width: int) -> None:
    """Put the sign on a line of its own if there is no room beside it, so that no number is split from its unit."""
    first = text.plain.partition("\n")[0]
    if len(first) > width and first.startswith(tuple(sign for sign, _ in SIGNS.values())):
        text.plain = text.plain.replace(" ", "\n", 1)  # the length is unchanged, so that styles keep their positions


def _legend(answer: Answer) -> str:
    parts = ["means over the seeds [95 % interval]"]
    if len(answer.cells) > 1:
        parts.append("better, worse: than the baseline, significantly")
    if len(answer.cells) > MANY_CELLS:
        parts.append(f"{MANY_CELLS} of {len(answer.cells)} cells, all of them are in the report")
    return "; ".join(parts)


def _warnings(answer: Answer) -> Iterator[str]:
    yield from answer.warnings[:MANY_WARNINGS]
    rest = len(answer.warnings) - MANY_WARNINGS
    if rest > 0:
        yield f"… and {rest} more warnings: results/answer.json"
