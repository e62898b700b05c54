"""Expectations on a terminal: the expected value, the found one, and its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from groupsim.cli.render.lanes import can_print
from groupsim.scenarios.runtime.runner import Judged
from groupsim.scenarios.story.words import clock

ALL = "--checks"


def show(checks: Sequence[Judged], console: Console, most: int | None) -> None:
    """Print the failed expectations, and at most `most` of those that hold (None: all)."""
    failed = sum(not check.holds for check in checks)
    holding = len(checks) - failed
    # A line that reports a single omitted expectation would be as long as the expectation.
    room = holding if most is None or (most and holding <= most + 1) else most
    left = holding - room
    summary = f"{failed} of {len(checks)} failed" if failed else "all hold" if room else f"all {holding} hold"
    line = Text.assemble(("  expectations: ", "dim"), (summary, "bold red" if failed else "bold green"))
    if left and not most:
        line.append(f"  ({ALL} lists {'those that hold' if failed else 'them'})", "dim")
    console.print(line)
    well, bad = ("✓", "✗") if can_print(console, "✓✗") else ("ok", "NO")
    for check in checks:
        if check.holds:
            room -= 1
        if not check.holds or room >= 0:
            for row in _rows(check, well, bad):
                console.print(Padding(row, (0, 0, 0, 4), expand=False))
    if left and most:
        console.print(Padding(Text(f"… {left} more hold; {ALL} lists them", "dim"), (0, 0, 0, 4), expand=False))


def _rows(check: Judged, well: str, bad: str) -> Iterable[Text]:
    finding = check.finding
    if finding.holds:
        yield Text.assemble((f"{well} ", "green"), finding.expected)
        return
    yield Text.assemble((f"{bad} ", "bold red"), (finding.expected, "bold"))
    moment = f" at {clock(finding.t_us)}" if finding.t_us is not None else ""
    yield Text(f"  found: {finding.found}{moment}", "red")
    events = f"; trace events {', '.join(map(str, finding.seqs[:5]))}" if finding.seqs else ""
    because = f", because {check.expectation.because}" if check.expectation.because else ""
    yield Text(f"  {str(check.place).removesuffix(':0')}{because}{events}", "dim")
