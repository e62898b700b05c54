"""Lanes drawn with characters over time: one row per member, one column per slice of virtual time.

A column shows the most important phase of its slice: problems before work, however short. Every phase has its own
character, so that no information depends on colour; `ascii` characters serve terminals that cannot print the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from groupsim.protocol.values import frozen
from groupsim.scenarios.pictures.scale import nice_step
from groupsim.scenarios.story import Generation, Lane, Phase, PhaseSpan

# The phases by importance, the most important first.
STRENGTH = (
    Phase.PAUSED,
    Phase.DEAD,
    Phase.EVICTED,
    Phase.CALLBACK,
    Phase.JOINING,
    Phase.SYNCING,
    Phase.WORKING,
    Phase.OUTSIDE,
)


@frozen
class Pen:
    """The characters and the style of a phase."""

    sign: str
    ascii: str
    style: str


PENS: Mapping[Phase, Pen] = {
    Phase.PAUSED: Pen("z", "z", "bold magenta"),
    Phase.DEAD: Pen("x", "x", "bold red"),
    Phase.EVICTED: Pen("!", "!", "bold red"),
    Phase.CALLBACK: Pen("c", "c", "yellow"),
    Phase.JOINING: Pen("░", "-", "yellow"),
    Phase.SYNCING: Pen("▒", "+", "yellow"),
    Phase.WORKING: Pen("━", "=", "green"),
    Phase.OUTSIDE: Pen("·", ".", "dim"),
}
LEGEND = {Phase.EVICTED: "evicted, unaware"}


@frozen
class Scale:
    """The mapping of the time from 0 to `end_us` to `width` columns."""

    end_us: int
    width: int
    ascii: bool = False

    def column(self, us: int) -> int:
        """Return the column of an instant."""
        return min(self.width - 1, us * self.width // max(1, self.end_us))

    def columns(self, begin_us: int, end_us: int) -> range:
        """Return the columns of an interval; at least one."""
        last = self.column(max(begin_us, end_us - 1))
        return range(self.column(begin_us), last + 1)


def can_print(console: Console, signs: str = "━░▒╌·") -> bool:
    """Whether the terminal's encoding has these characters."""
    try:
        signs.encode(console.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def lane(lane: Lane, scale: Scale) -> Text:
    """Draw the row of one member, without its name."""
    return _painted(_strongest(lane.phases, scale), scale)


def _strongest(spans: Sequence[PhaseSpan], scale: Scale) -> list[Phase]:
    ranks = [len(STRENGTH) - 1] * scale.width
    for span in spans:
        rank = STRENGTH.index(span.phase)
        for column in scale.columns(span.began_us, span.ended_us):
            ranks[column] = min(ranks[column], rank)
    return [STRENGTH[rank] for rank in ranks]


def _painted(phases: Sequence[Phase], scale: Scale) -> Text:
    row = Text()
    for phase in phases:
        pen = PENS[phase]
        row.append(pen.ascii if scale.ascii else pen.sign, pen.style)
    return row


def generations(rebalances: Sequence[Generation], scale: Scale) -> Text:
    """Draw the row above the lanes: each rebalance from start to end, followed by its number if there is room."""
    signs = [" "] * scale.width
    for generation in rebalances:
        for column in scale.columns(generation.began_us, generation.ended_us):
            signs[column] = "-" if scale.ascii else "╌"
    for generation in rebalances:
        _write(signs, scale.column(generation.ended_us) + 1, str(generation.number))
    return Text("".join(signs), "cyan")


def axis(scale: Scale, labels: int = 5) -> Text:
    """Draw the row of times: ticks with labels."""
    signs = [" "] * scale.width
    step = nice_step(scale.end_us, min(labels, max(1, scale.width // 12)))
    for us in range(0, scale.end_us + 1, step):
        _write(signs, scale.column(us), "|" + _label(us))
    return Text("".join(signs), "dim")


def _label(us: int) -> str:
    ms = us // 1000
    if ms % 1000:
        return f"{ms // 1000}.{ms % 1000:03d}".rstrip("0") + "s"
    minutes, seconds = divmod(ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _write(signs: list[str], at: int, text: str) -> None:
    """Write text at a column, unless it would overwrite other text or exceed the row."""
    if at + len(text) > len(signs) or any(
        sign.isdigit() or sign == "|" for sign in signs[max(0, at - 1) : at + len(text)]
    ):
        return
    signs[at : at + len(text)] = text


def legend(lanes: Sequence[Lane], scale: Scale) -> Text:
    """Explain the characters of the phases that occur."""
    used = {span.phase for one in lanes for span in one.phases}
    row = Text()
    for phase in (Phase.WORKING, *(p for p in reversed(STRENGTH) if p is not Phase.WORKING)):
        if phase in used:
            pen = PENS[phase]
            row.append(pen.ascii if scale.ascii else pen.sign, pen.style)
            row.append(f" {LEGEND.get(phase, phase.value)}   ", "dim")
    row.rstrip()
    return row
