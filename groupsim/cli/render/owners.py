"""The owners of partitions: a row for each member, a column for each assignment, `+` before moved partitions.

`run`, `assign` and `diff` print this picture; `owners_columns.py` makes the columns. A sign marks moved partitions, so
that a pipe and a terminal without colours show them too. By default the picture has at most ten lines: many members are
summarized in a line for each assignment, and of many assignments some are left out, but not the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import field
from rich.text import Text

from groupsim.cli.terminal import shortened
from groupsim.protocol.values import frozen
from groupsim.scenarios.story import PartitionSet
from groupsim.scenarios.story.words import count

MOST_LINES = 10
MANY_MEMBERS = 8  # more members are summarized
LONGEST_NAME = 24
WIDEST = 160  # width of a picture in a pipe, where no cell is truncated
NARROWEST = 14  # least width of a column
MARK = "+"
ABSENT = "–"
NO_OWNER = "(no owner)"
BETWEEN = " | "
_MARGIN = "  "
EVERYTHING = "--owners"
_NOTHING = PartitionSet()


@frozen
class Cell:
    """The partitions of a member; those in `moved` are marked."""

    partitions: PartitionSet = _NOTHING
    moved: PartitionSet = _NOTHING
    note: str = ""


@frozen
class Column:
    """One assignment: each member's cell by its name, and the partitions without an owner."""

    title: str
    cells: Mapping[str, Cell]
    unowned: Cell | None = field(default=None)

    @property
    def moved(self) -> int:
        """The number of marked partitions."""
        return sum(len(cell.moved) for cell in self.cells.values())


def picture(
    columns: Sequence[Column],
    width: int | None,
    *,
    most: int | None = MOST_LINES,
    title: str = "owners",
    mark: str = "moved",
    hint: str = EVERYTHING,
) -> list[Text]:
    """Return the lines of the picture, indented; without a `width` (a pipe) no cell is cut.

    `title` is the heading of the members' names, `mark` explains the sign, and `hint` is the option that prints
    everything. With `most` None there is no limit of lines, and wide cells continue below.
    """
    names = list(dict.fromkeys(name for column in columns for name in column.cells))
    within = None if width is None else width - len(_MARGIN)
    if len(names) > MANY_MEMBERS and most is not None:
        lines = _summary(columns, title, mark, hint, within, most)
    else:
        lines = _side_by_side(columns, names, title, mark, within, most)
    return [Text(_MARGIN).append_text(line) for line in lines]


# --- side by side ----------------------------------------------------------------------------------------------------


def _side_by_side(
    columns: Sequence[Column], names: Sequence[str], title: str, mark: str, width: int | None, most: int | None
) -> list[Text]:
    everything = most is None
    rows = [*names, NO_OWNER] if any(column.unowned for column in columns) else list(names)
    longest = max([len(title), *(len(row) for row in rows)])
    wide = longest if everything or width is None else min(longest, LONGEST_NAME)
    room = (WIDEST if width is None else width) - wide
    table = [_cells(column, rows) for column in columns]
    widths = _widths(columns, table, room, cut=width is not None)
    legend = f"({MARK} {mark})" if any(column.moved for column in columns) else ""
    whole = (columns, table, title, wide, widths, room)
    lines = _lines(*whole, most)
    if legend and not _on_a_head(lines, legend, width):
        lines = lines if most is None or len(lines) < most else _lines(*whole, most - 1)
        lines.append(Text(legend, "dim"))
    return lines


def _lines(
    columns: Sequence[Column],
    table: Sequence[Mapping[str, Text]],
    title: str,
    wide: int,
    widths: Sequence[int],
    room: int,
    most: int | None,
) -> list[Text]:
    """Return the blocks of columns one below the other, in at most `most` lines."""
    rows = list(table[0]) if table else []
    blocks, dropped = _blocks(widths, room), 0
    if most is not None:
        blocks, dropped = _few(blocks, widths, room, len(rows) + 1, most)
    lines: list[Text] = []
    for number, block in enumerate(blocks):
        if dropped and number == len(blocks) - 1:
            lines.append(_left_out(dropped))
        lines.append(_head(title, wide, [(columns[at].title, widths[at]) for at in block]))
        for row in rows:
            lines += _row(row, wide, [(table[at][row], widths[at]) for at in block], everything=most is None)
    return lines


def _on_a_head(lines: Sequence[Text], legend: str, width: int | None) -> bool:
    """Append the legend to the first head or remark with room for it; return whether there is one."""
    for line in lines:
        if line.style == "dim" and (width is None or len(line) + len(legend) + 3 <= width):
            line.append(f"   {legend}")
            return True
    return False


def _left_out(number: int) -> Text:
    return Text(f"…  {count(number, 'assignment')} more; {EVERYTHING} shows them", "dim")


def _widths(columns: Sequence[Column], table: Sequence[Mapping[str, Text]], room: int, *, cut: bool) -> list[int]:
    """Return the width of each column. With `cut`, any two neighbouring columns fit side by side."""
    widths = [max([len(column.title), *map(len, cells.values())]) for column, cells in zip(columns, table, strict=True)]
    if not cut:
        return widths
    half = room // 2 - len(BETWEEN)
    found = []
    for at, wide in enumerate(widths):
        beside = [*widths[max(0, at - 1) : at], *widths[at + 1 : at + 2]]
        left = [room - len(BETWEEN), *(room - 2 * len(BETWEEN) - min(one, half) for one in beside)]
        found.append(min(wide, max(NARROWEST, min(left))))
    return found


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Split the columns into blocks that fit; each block begins with the last column of the block before."""
    blocks: list[list[int]] = [[]]
    used = 0
    for at, wide in enumerate(widths):
        block = blocks[-1]
        if len(block) > 1 and used + wide + len(BETWEEN) > room:
            blocks.append([block[-1]])
            used = widths[block[-1]] + len(BETWEEN)
        blocks[-1].append(at)
        used += wide + len(BETWEEN)
    return blocks


def _few(
    blocks: list[list[int]], widths: Sequence[int], room: int, lines: int, most: int
) -> tuple[list[list[int]], int]:
    """Return the blocks that fit in `most` lines, with the last columns, and the number of omitted columns."""
    if len(blocks) * lines <= most:
        return blocks, 0
    many = max(1, (most - 1) // lines)
    last = blocks[-1][-1:]
    for at in range(last[0] - 1, -1, -1):
        if len(last) > 1 and sum(widths[one] + len(BETWEEN) for one in (at, *last)) > room:
            break
        last.insert(0, at)
    shown = [*blocks[: many - 1], last]
    return shown, len(widths) - len({at for block in shown for at in block})


def _head(title: str, wide: int, titles: Sequence[tuple[str, int]]) -> Text:
    cells = BETWEEN.join(f"{shortened(one, space):<{space}}" for one, space in titles)
    return Text(f"{title:<{wide}}{BETWEEN}{cells}".rstrip(), "dim")


def _row(name: str, wide: int, cells: Sequence[tuple[Text, int]], *, everything: bool) -> Iterator[Text]:
    """Yield the line of one member; with `everything`, as many lines as its longest cell needs."""
    folded = [(_folded(cell, space) if everything else [_shortened(cell, space)], space) for cell, space in cells]
    for number in range(max(len(lines) for lines, _ in folded)):
        row = Text(f"{shortened(name, wide) if number == 0 else '':<{wide}}")
        for lines, space in folded:
            cell = lines[number] if number < len(lines) else Text()
            row.append(BETWEEN).append_text(cell).append(" " * (space - len(cell)))
        row.rstrip()
        yield row


def _cells(column: Column, rows: Iterable[str]) -> dict[str, Text]:
    """Return each row's number of partitions and their ranges; a dash for a row that is not a member."""
    digits = len(str(max((len(one.partitions) for one in column.cells.values()), default=0)))
    return {row: _cell(column, row, digits) for row in rows}


def _cell(column: Column, row: str, digits: int) -> Text:
    cell = column.unowned if row == NO_OWNER else column.cells.get(row)
    if cell is None:
        return Text(ABSENT if row != NO_OWNER else "")
    text = Text(f"{len(cell.partitions):>{digits}}")
    if cell.partitions.topics:
        text.append("  ").append_text(ranges(cell.partitions, cell.moved))
    return text.append(f" {cell.note}" if cell.note else "")


def ranges(partitions: PartitionSet, moved: PartitionSet = _NOTHING) -> Text:
    """Format partitions as `orders 0-3, +7  payments 0`: by topic, neighbours as a range, `+` before moved ones."""
    marked = {topic: {n for first, last in runs for n in range(first, last + 1)} for topic, runs in moved.topics}
    text = Text()
    for topic, runs in partitions.topics:
        text.append("  " if text else "").append(topic)
        for place, (first, last, sign) in enumerate(_pieces(runs, marked.get(topic, set()))):
            numbers = f"{first}" if first == last else f"{first}-{last}"
            text.append(", " if place else " ").append(f"{sign}{numbers}", "bold green" if sign else "")
    return text


def _pieces(runs: Iterable[tuple[int, int]], marked: set[int]) -> Iterator[tuple[int, int, str]]:
    """Split ranges at the borders of marked numbers."""
    for first, last in runs:
        begin = first
        for number in range(first + 1, last + 1):
            if (number in marked) != (begin in marked):
                yield begin, number - 1, MARK if begin in marked else ""
                begin = number
        yield begin, last, MARK if begin in marked else ""


def _shortened(cell: Text, width: int) -> Text:
    return cell if len(cell) <= width else cell[: width - 1].append("…")


def _folded(cell: Text, width: int) -> list[Text]:
    """Wrap a cell; its later lines begin below its ranges."""
    lines, indent = [], Text()
    while len(indent) + len(cell) > width:
        room = width - len(indent)
        at = cell.plain.rfind(" ", 1, room + 1)
        at = at if at > 0 else room
        lines.append(indent + cell[:at])
        rest = cell.plain[at:]
        cell = cell[at + len(rest) - len(rest.lstrip()) :]
        indent = Text(" " * 4)
    return [*lines, indent + cell]


# --- summary ---------------------------------------------------------------------------------------------------------


def _summary(columns: Sequence[Column], title: str, mark: str, hint: str, width: int | None, limit: int) -> list[Text]:
    """Return a line for each assignment: members by number of partitions, and the members whose number changed."""
    wide = max(len(column.title) for column in columns)
    words = [
        f"{column.title:<{wide}}  {'; '.join(_sums(column, before, mark))}"
        for column, before in zip(columns, [None, *columns[:-1]], strict=True)
    ]
    lines = [Text(shortened(line, width)) for line in words]
    most = limit - 1
    if len(lines) > most:
        first = most // 2
        left = len(lines) - (most - 1)
        lines = [*lines[:first], _left_out(left), *lines[first + left :]]
    head = f"{title}   ({hint} lists all members)" if hint else title
    return [Text(head, "dim"), *lines] if head else lines


def _sums(column: Column, before: Column | None, mark: str) -> Iterator[str]:
    yield loads([len(cell.partitions) for cell in column.cells.values()])
    if column.unowned is not None:
        yield f"{len(column.unowned.partitions)} without an owner"
    if before is not None:
        yield f"{column.moved or 'none'} {mark}"
        yield from _changes(column, before)


def loads(counts: Sequence[int]) -> str:
    """Format members by number of partitions: `20 members × 5`, `7 to 8 each: 8 members × 7, 4 × 8`."""
    by_count = sorted(Counter(counts).items())
    if not by_count:
        return "no member"
    if len(by_count) == 1:
        return f"{count(len(counts), 'member')} × {by_count[0][0]} each"
    least, most = by_count[0][0], by_count[-1][0]
    parts = ", ".join(f"{members} × {number}" for number, members in by_count[:4])
    return f"{len(counts)} members × {least} to {most} each ({parts}{', …' if len(by_count) > 4 else ''})"


def _changes(column: Column, before: Column) -> Iterator[str]:
    """Yield the members whose number of partitions changed: by name, or counted if several changed alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name in dict.fromkeys((*before.cells, *column.cells)):
        was, now = (_number(one, name) for one in (before, column))
        if was != now:
            alike.setdefault((was, now), []).append(name)
    if alike:
        whose = (
            (names[0] if len(names) == 1 else f"{len(names)} members", *change)
            for change, names in sorted(alike.items(), key=_few_first)
        )
        yield ", ".join(f"{who} {was} → {now}" for who, was, now in whose)


def _few_first(alike: tuple[tuple[str, str], list[str]]) -> int:
    return len(alike[1])


def _number(column: Column, name: str) -> str:
    cell = column.cells.get(name)
    return ABSENT if cell is None else str(len(cell.partitions))
