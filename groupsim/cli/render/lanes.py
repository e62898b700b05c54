"""Lanes drawn with characters over time: one row per member, one column per slice of virtual time.

A column shows the phase that a reader must not miss: trouble wins over work, however short it was. Every phase has a
character of its own, so that nothing depends on colour; `ASCII` serves terminals that cannot print the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen
from rich.console import Console
from rich.text import Text

from groupsim.scenarios.pictures.scale import nice_step
from groupsim.scenarios.story import Generation, Lane, Phase, PhaseSpan

# Strongest first: what wins a column.
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
    """How a phase is drawn."""

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
    """`width` columns for the time up to `end_us`."""

    end_us: int
    width: int
    ascii: bool = False

    def column(self, us: int) -> int:
        """The column a moment falls into."""
        return min(self.width - 1, us * self.width // max(1, self.end_us))

    def columns(self, begin_us: int, end_us: int) -> range:
        """The columns a stretch touches; at least one."""
        last = self.column(max(begin_us, end_us - 1))
        return range(self.column(begin_us), last + 1)


def can_print(console: Console, signs: str = "━░▒╌·") -> bool:
    """Whether the terminal's encoding knows these characters."""
    try:
        signs.encode(console.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def lane(lane: Lane, scale: Scale) -> Text:
    """The row of one member, without its name."""
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


def generations(told: Sequence[Generation], scale: Scale) -> Text:
    """The row above the lanes: each rebalance from begin to end, its number after it where there is room."""
    signs = [" "] * scale.width
    for generation in told:
        for column in scale.columns(generation.began_us, generation.ended_us):
            signs[column] = "-" if scale.ascii else "╌"
    for generation in told:
        _write(signs, scale.column(generation.ended_us) + 1, str(generation.number))
    return Text("".join(signs), "cyan")


def axis(scale: Scale, labels: int = 5) -> Text:
    """The row of times: a tick and its label, as often as there is room."""
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
    """Put text in, unless it would run over the end or into other text."""
    if at + len(text) > len(signs) or any(
        sign.isdigit() or sign == "|" for sign in signs[max(0, at - 1) : at + len(text)]
    ):
        return
    signs[at : at + len(text)] = text


def legend(lanes: Sequence[Lane], scale: Scale) -> Text:
    """What the characters mean, for the phases that occur."""
    used = {span.phase for one in lanes for span in one.phases}
    row = Text()
    for phase in (Phase.WORKING, *(p for p in reversed(STRENGTH) if p is not Phase.WORKING)):
        if phase in used:
            pen = PENS[phase]
            row.append(pen.ascii if scale.ascii else pen.sign, pen.style)
            row.append(f" {LEGEND.get(phase, phase.value)}   ", "dim")
    row.rstrip()
    return row
