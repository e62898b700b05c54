"""The summary of a run with many groups: totals, and a table of the figures over groups."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupsim.scenarios.story.many_groups import GroupFigure, ManyGroups
from groupsim.scenarios.story.words import clock, count, span

COLUMNS = ("groups", "most", "", "median", "sum", "at once")
MOST_CAUSES = 4


def show(found: ManyGroups, console: Console) -> None:
    """Print the summary of the groups."""
    console.print(Text(f"{found.groups} groups", "bold cyan"), Text(_totals(found), "dim"))
    for line in _lines(found):
        console.print(Padding(line, (0, 0, 0, 2), expand=False))
    if found.hits:
        console.print(Padding(_table(found), (0, 0, 0, 2), expand=False))


def _totals(found: ManyGroups) -> str:
    parts = [_formed(found)]
    parts.append(f"{found.delivered:,} records delivered" if found.delivered else "")
    parts.append(f"{found.duplicates:,} of them twice" if found.duplicates else "")
    return " · ".join(["", *(part for part in parts if part)]).lstrip()


def _formed(found: ManyGroups) -> str:
    if found.formed_us is None:
        return "none of them formed"
    shortest, longest = (span(one) for one in found.formed_us)
    who = "all" if found.formed == found.groups else f"{found.formed} of them"
    return f"{who} formed in {shortest}" + (f" to {longest}" if longest != shortest else "")


def _lines(found: ManyGroups) -> Iterator[str]:
    if found.causes:
        shown = " + ".join(f"{number} × {cause.value}" for cause, number in found.causes[:MOST_CAUSES])
        rest = sum(number for _, number in found.causes[MOST_CAUSES:])
        yield f"{count(sum(n for _, n in found.causes), 'rebalance')}: {shown}" + (f" + {rest} others" if rest else "")
    else:
        yield "no rebalance in any of them"


def _table(found: ManyGroups) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("")
    for heading in COLUMNS:
        table.add_column(heading, justify="left" if heading in ("", "at once") else "right", no_wrap=True)
    for hit in found.hits:
        table.add_row(
            hit.title, str(hit.groups), _shown(hit, hit.most), hit.worst, _shown(hit, hit.median), *_ends(hit)
        )
    return table


def _ends(hit: GroupFigure) -> tuple[str, str]:
    """Return the sum over groups, if it has a meaning, and how many groups had the figure at the same time."""
    total = "" if hit.title == "largest lag" else _shown(hit, hit.total)
    together = "" if hit.together is None or hit.together_us is None else f"{hit.together} at {clock(hit.together_us)}"
    return total, together


def _shown(hit: GroupFigure, value: int) -> str:
    return span(value) if hit.unit == "us" else f"{value:,}"
