"""The fetches of each member on a terminal (`run --fetches`): sent, empty, and their time at brokers."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from groupsim.scenarios.story import Lane, Story
from groupsim.scenarios.story.words import span

HEADS = ("sent", "empty", "waited", "each", "empty a minute")
MINUTE_US = 60_000_000


def show_fetches(story: Story, console: Console) -> None:
    """Print a table with a line for each member that fetched; `each` is the mean time of a fetch at the broker."""
    lanes = [lane for lane in story.lanes if lane.fetches is not None]
    if not lanes:
        console.print(Text("  fetches: none are counted (counted logs have no brokers to ask)", "dim"))
        return
    console.print(Text("  fetches: how many were sent, and how long they waited at brokers", "dim"))
    rows = [HEADS, *(_cells(lane, story.end_us) for lane in lanes)]
    names = ["", *(lane.host for lane in lanes)]
    wide = [max(len(row[at]) for row in rows) + 2 for at in range(len(HEADS))]
    margin = max(map(len, names))
    for at, (name, row) in enumerate(zip(names, rows, strict=True)):
        cells = "".join(f"{cell:>{width}}" for cell, width in zip(row, wide, strict=True))
        console.print(Text(f"    {name:<{margin}}{cells}", "" if at else "dim"), soft_wrap=True)


def _cells(lane: Lane, end_us: int) -> tuple[str, ...]:
    found = lane.fetches
    assert found is not None
    each = span(found.waited_us // found.sent) if found.sent else "–"
    minute = f"{found.empty * MINUTE_US // max(end_us, 1):,}"
    return f"{found.sent:,}", f"{found.empty:,}", span(found.waited_us), each, minute
