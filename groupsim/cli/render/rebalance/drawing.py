"""One rebalance on a terminal: a lane for each member if there is room, else a list.

The coordinator's lane is at the left, those of members are to its right. An arrow to the left is a request, one to the
right an answer; a lane is shaded while a request of its member is parked. Time is not to scale: each gap names its
length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from groupsim.cli.render import lanes as lanes_drawn
from groupsim.cli.render.rebalance.folded import Fold, folded
from groupsim.cli.render.rebalance.lines import Course, Line, What
from groupsim.protocol.values import frozen
from groupsim.scenarios.story import Outcome
from groupsim.scenarios.story.words import clock, span

GAP_US = 200_000
LEAST_TEXT = 34  # columns that the text of a line needs beside lanes
WIDEST_LANE = 14
TIME = 11  # columns of an instant: hours, minutes, seconds
NOTICES = {"REBALANCE_IN_PROGRESS", "MEMBER_ID_REQUIRED"}  # errors of the normal protocol (KIP-394), not failures
COORDINATOR = "coordinator"


@frozen
class Signs:
    """The characters of the drawing."""

    life: str
    parked: str
    line: str
    cross: str
    lost: str
    here: str
    gap: str


SIGNS = Signs("│", "░", "─", "┼", "✗", "●", "⋮")
PLAIN = Signs("|", "#", "-", "+", "X", "o", ":")


def draw(course: Course, console: Console, *, every: bool = False) -> None:
    """Print the rebalance."""
    _heading(course, console)
    folds = folded(course, every=every)
    if not any(line.api for line in course.lines):
        console.print(Text("  no request of this rebalance is known: its members have no coordinator", "dim"))
    lanes = _Lanes(course, console)
    whole = len(folds) == len(course.lines)
    if whole and lanes.fit:
        lanes.draw([fold.first for fold in folds])
    else:
        _list(folds, console)
    _reasons(course.lines, console)
    if not whole:
        names = f"{len(course.hosts)} members: what they did alike is one line; --all has each"
        console.print(Text(f"  {names}", "dim"))


def _heading(course: Course, console: Console) -> None:
    name, cause, facts = heading(course)
    console.print(Text.assemble((name, "bold cyan"), cause))
    console.print(Text(f"  {facts}", "dim"))
    console.print()


def heading(course: Course) -> tuple[str, str, str]:
    """The rebalance's group and generation, its cause, and a line of facts."""
    one = course.generation
    who = f"{one.culprit.host} " if one.culprit else ""
    why = f": {who}{one.why}" if one.cause.value != "first start" else ""
    ended = (
        f"stable after {span(one.duration_us)}" if one.outcome is Outcome.STABLE else f"outcome: {one.outcome.value}"
    )
    led = f", {one.leader.host} leads" if one.leader else ""
    by = f", {one.protocol}" if one.protocol else ""
    at = f", coordinator {', then '.join(course.brokers)}" if course.brokers else ""
    facts = f"began {clock(one.began_us)}, {ended}{led}{by}{at}"
    return f"{one.group} · generation {one.number}", f" · {one.cause.value}{why}", facts


def _reasons(lines: Iterable[Line], console: Console) -> None:
    """Print for each API the condition of its parked requests."""
    found = {line.api: line.reason for line in lines if line.parked_us is not None and line.reason}
    console.print()
    for api, reason in found.items():
        for number, piece in enumerate(Text(f"a parked {api} waits until {reason}").wrap(console, console.width - 4)):
            piece.rstrip()
            console.print(Text("    " if number else "  ", "dim").append_text(piece), soft_wrap=True)


def style(line: Line) -> str:
    """Return the style of a line."""
    if line.what is What.STATE:
        return "bold"
    if line.what is What.LOST or (line.error and line.error not in NOTICES):
        return "red"
    return "yellow" if line.error or line.what is What.NOTE or line.parked_us is not None else ""


def with_reason(text: str, line: Line) -> str:
    """Return the text of a line with its reason, unless the reason is printed once for all such lines."""
    if line.parked_us is not None or not line.reason or (line.what is What.REQUEST and line.api == "JoinGroup"):
        return text
    return f"{text}: {line.reason}" if line.what is What.STATE else f"{text} ({line.reason})"


# --- a list --------------------------------------------------------------------------------------------------------


def _list(folds: Sequence[Fold], console: Console) -> None:
    ways = {What.REQUEST: "→", What.LOST: "✗", What.ANSWER: "←"}
    names = max((len(fold.who) for fold in folds), default=0)
    last = None
    for fold in folds:
        line = fold.first
        if last is not None and line.at_us - last > GAP_US:
            console.print(Text(f"{'⋮ ' + span(line.at_us - last):>12}", "dim"))
        last = max(fold.until_us, last or 0)
        until = f" – {clock(fold.until_us)}" if fold.until_us - line.at_us > GAP_US else ""
        margin = f"{clock(line.at_us):>12}  {fold.who:<{names}}  {ways.get(line.what, ' ')} "
        words = Text(with_reason(fold.text, line) + (f", the last at{until[2:]}" if until else ""), style(line))
        for number, piece in enumerate(words.wrap(console, max(console.width - len(margin), LEAST_TEXT))):
            piece.rstrip()
            console.print(Text(" " * len(margin) if number else margin).append_text(piece), soft_wrap=True)


# --- lanes ---------------------------------------------------------------------------------------------------------


class _Lanes:
    """The drawing with lanes; `fit` is whether it has room."""

    def __init__(self, course: Course, console: Console) -> None:
        self.console = console
        self.signs = SIGNS if lanes_drawn.can_print(console, "│░─┼✗●⋮") else PLAIN
        self.hosts = course.hosts
        self.leader = course.generation.leader.host if course.generation.leader else None
        widest = max((len(host) for host in self.hosts), default=0) + 2
        self.lane = max(8, min(widest, WIDEST_LANE))
        self.left = TIME + 2 + len(COORDINATOR) // 2
        self.at = {host: self.left + 10 + self.lane * index for index, host in enumerate(self.hosts)}
        self.width = self.left + 10 + self.lane * max(len(self.hosts) - 1, 0) + self.lane // 2 + 2
        self.fit = bool(self.hosts) and console.width - self.width >= LEAST_TEXT
        self.parked: dict[str, int] = {}

    def draw(self, lines: Sequence[Line]) -> None:
        """Print every line, and the gaps between them."""
        self._names()
        last = None
        for line in lines:
            if last is not None and line.at_us - last > GAP_US:
                self._print(f"{self.signs.gap} {span(line.at_us - last)}", self._life(), "", "dim")
            over = line.what is What.ANSWER or (line.what is What.LOCAL and line.number is not None)
            if over and line.host and self.parked.get(line.host) == line.number:
                del self.parked[line.host]
            shown = clock(line.at_us) if last is None or clock(last) != clock(line.at_us) else ""
            self._print(shown, self._arrow(line), with_reason(line.text, line), style(line))
            if line.parked_us is not None and line.host and line.number is not None:
                self.parked[line.host] = line.number
            last = line.at_us

    def _names(self) -> None:
        rows = [{COORDINATOR: self.left, **self.at}, {"leads": self.at[self.leader]} if self.leader in self.at else {}]
        for row in rows:
            shown = [" "] * (self.width + self.lane)
            for name, at in row.items():
                cut = name if len(name) < self.lane or name == COORDINATOR else name[: self.lane - 2] + "…"
                begin = max(at - len(cut) // 2, 0)
                shown[begin : begin + len(cut)] = cut
            if row:
                self.console.print(Text("".join(shown).rstrip(), "bold" if row is rows[0] else "dim"), soft_wrap=True)

    def _life(self) -> list[str]:
        row = [" "] * self.width
        row[self.left] = self.signs.life
        for host, at in self.at.items():
            row[at] = self.signs.parked if host in self.parked else self.signs.life
        return row

    def _arrow(self, line: Line) -> list[str]:
        row, signs = self._life(), self.signs
        if line.host is None or line.host not in self.at:
            if line.what is What.STATE:
                row[self.left] = signs.here
            return row
        end = self.at[line.host]
        if line.what not in (What.REQUEST, What.ANSWER, What.LOST):
            row[end] = signs.here
            return row
        lanes = set(self.at.values())
        for at in range(self.left + 1, end):
            row[at] = signs.cross if at in lanes else signs.line
        if line.what is What.ANSWER:
            row[end - 1] = ">"
        elif line.what is What.REQUEST:
            row[self.left + 1] = "<"
        else:
            row[(self.left + end) // 2] = signs.lost
        return row

    def _print(self, shown: str, row: list[str], words: str, look: str) -> None:
        room = max(self.console.width - self.width, LEAST_TEXT)
        row[: TIME + 2] = f"{shown:>{TIME}}  "
        pieces = Text(words, look).wrap(self.console, room) or [Text("")]
        for number, piece in enumerate(pieces):
            piece.rstrip()
            drawn = "".join(self._life() if number else row)
            self.console.print(Text(drawn).append_text(piece), soft_wrap=True)
