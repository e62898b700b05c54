"""The generations of a group on a terminal: a row for each, with lines for its cause, late members and problems.

If there is no room for all lines, the longest generations keep theirs, and the rows of the others name the member that
caused them. Of many consecutive generations with one cause those in the middle are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.text import Text

from groupsim.cli.render.screen import EVERYTHING, Limits
from groupsim.cli.terminal import shortened
from groupsim.protocol.values import frozen
from groupsim.scenarios.story import Cause, Generation, LateMember, Outcome
from groupsim.scenarios.story.headline import REMOVALS
from groupsim.scenarios.story.words import clock, count, span

BACK = "↩"  # after the number of partitions that moved back
TOGETHER_US = 50_000  # removals within this time are one event

HEADS = ("gen", "began", "cause", "ready in", "members", "moved", "stood still")
LEAST = (5, 9, 14, 10, 9, 9, 13)  # least widths of the columns, so that tables of several runs are aligned
CAUSE = 2  # the column that is truncated on a narrow terminal
SHORTEST_CAUSE = 12


def lines(generations: Sequence[Generation], width: int | None, limits: Limits) -> Iterator[Text]:
    """Yield the table's head, the generations, and a note on omitted ones; without a `width` no cell is truncated."""
    table = _Table.of(generations, limits)
    columns = table.columns(width)
    heads = (generations[-1].words.head, *HEADS[1:]) if generations else HEADS
    yield Text(_line(heads, columns), "dim")
    yield from table.rows(columns)
    remarks = [f"{BACK}: so many of them back to where they had come from"] if table.back else []
    remarks += [f"{EVERYTHING} explains each generation"] if table.unexplained else []
    if remarks:
        yield Text(_indent(columns) + "; ".join(remarks), "dim")


@frozen
class _Table:
    """The generations, and which of them have lines below their rows; the rows of the others name the culprit."""

    generations: Sequence[Generation]
    limits: Limits
    explained: frozenset[int]
    waiting: frozenset[int]

    @classmethod
    def of(cls, generations: Sequence[Generation], limits: Limits) -> _Table:
        """Choose the longest generations for lines; for "last to join" lines, first those with a reason."""
        longest = sorted(
            range(len(generations)), key=lambda at: (-generations[at].stopped_us, -generations[at].duration_us, at)
        )
        caused = [at for at in longest if _has_cause(generations[at])]
        late = [at for at in longest if _last_to_join(generations[at])]
        late.sort(key=lambda at: generations[at].delayed_by is None)
        return cls(generations, limits, frozenset(caused[: limits.causes]), frozenset(late[: limits.last_to_join]))

    @property
    def back(self) -> bool:
        return any(move.back for generation in self.generations for move in generation.moves)

    @property
    def unexplained(self) -> bool:
        """Whether a printed row lacks a line."""
        shown = [at for run in self._runs() for at in run.shown]
        causes = any(_has_cause(self.generations[at]) and at not in self.explained for at in shown)
        return causes or any(_last_to_join(self.generations[at]) and at not in self.waiting for at in shown)

    def columns(self, width: int | None) -> tuple[int, ...]:
        """Return the width of each column: that of its longest cell, with the blanks before it."""
        rows = [HEADS, *(self._cells(at) for at in range(len(self.generations)))]
        gaps = (0, 1, 2, 2, 2, 2, 2)
        needed = [max(len(row[at]) for row in rows) + gaps[at] for at in range(len(HEADS))]
        columns = [max(one, least) for one, least in zip(needed, LEAST, strict=True)]
        if width is not None:
            others = sum(columns) - columns[CAUSE]
            columns[CAUSE] = max(SHORTEST_CAUSE + gaps[CAUSE], min(columns[CAUSE], width - others))
        return tuple(columns)

    def rows(self, columns: Sequence[int]) -> Iterator[Text]:
        """Yield the rows; of many consecutive generations with one cause, the first ones and the last."""
        for run in self._runs():
            for at in run.shown[:-1] if run.between else run.shown:
                yield from self._generation(at, columns)
            if run.between:
                generations = [self.generations[at] for at in run.between]
                yield _alike(generations) if run.alike else _left_out(generations)
                for at in run.shown[-1:]:
                    yield from self._generation(at, columns)

    def _runs(self) -> Iterator[_Run]:
        found = [
            list(run) for _, run in groupby(range(len(self.generations)), key=lambda at: self.generations[at].cause)
        ]
        many = len(found) if self.limits.runs is None else self.limits.runs
        first, last = many // 2, len(found) - many // 2
        for index, run in enumerate(found):
            if last - first > 1 and first <= index < last:
                if index == first:
                    yield _Run((), tuple(at for one in found[first:last] for at in one), alike=False)
                continue
            alike = self.limits.alike
            if alike is None or len(run) <= alike + 2:
                yield _Run(tuple(run))
            else:
                yield _Run((*run[:alike], run[-1]), tuple(run[alike:-1]))

    def _generation(self, at: int, columns: Sequence[int]) -> Iterator[Text]:
        generation = self.generations[at]
        indent = _indent(columns)
        stable = generation.outcome is Outcome.STABLE
        row = Text(_line(self._cells(at), columns))
        begin = len(indent)
        row.stylize("bold" if stable else "bold red", begin, begin + columns[CAUSE] - 2 + (0 if stable else columns[3]))
        yield row
        if at in self.explained:
            yield Text(indent + _who(generation))
        for late in _never_there(generation, self.limits.absent):
            yield Text(indent + late, "yellow")
        if at in self.waiting:
            yield Text(indent + _last_to_join(generation), "yellow")
        for hindrance in generation.hindrances:
            yield Text(indent + hindrance.words, "yellow")

    def _cells(self, at: int) -> tuple[str, ...]:
        generation = self.generations[at]
        stable = generation.outcome is Outcome.STABLE
        return (
            str(generation.number),
            clock(generation.began_us),
            generation.cause.value + ("" if at in self.explained else _culprit(generation)),
            span(generation.duration_us) if stable else _end(generation),
            str(generation.size),
            _moved(generation),
            span(generation.stopped_us) if generation.stopped_us else "–",
        )


@frozen
class _Run:
    """Consecutive generations by index: the printed ones, and those left out before the last of them."""

    shown: tuple[int, ...]
    between: tuple[int, ...] = ()
    alike: bool = True


def _line(cells: Sequence[str], columns: Sequence[int]) -> str:
    """Align the cells in their columns: the cause to the left, all others to the right."""
    cause = columns[CAUSE] - 2
    shown = [f"{cell:>{width}}" for cell, width in zip(cells, columns, strict=True)]
    shown[CAUSE] = f"  {shortened(cells[CAUSE], cause):<{cause}}"
    return "".join(shown)


def _indent(columns: Sequence[int]) -> str:
    """Return the indent of a line about a generation, which begins below the cause."""
    return " " * (columns[0] + columns[1] + 2)


def _alike(generations: Sequence[Generation]) -> Text:
    """Summarize consecutive generations with one cause: number, culprits, period."""
    names = Counter(g.culprit.host for g in generations if g.culprit)
    whose = ", ".join(name for name, _ in names.most_common(3)) + (", …" if len(names) > 3 else "")
    period = span((generations[-1].began_us - generations[0].began_us) // max(1, len(generations) - 1))
    longest = span(max(g.duration_us for g in generations))
    words = f"{len(generations):,} more alike ({whose}), one every {period}, open for up to {longest}"
    return Text(f"    …  {words}; {EVERYTHING} lists them", "dim")


def _left_out(generations: Sequence[Generation]) -> Text:
    causes = ", ".join(f"{n} × {cause.value}" for cause, n in Counter(g.cause for g in generations).most_common(3))
    return Text(f"    …  {count(len(generations), 'generation')} more: {causes}; {EVERYTHING} lists them", "dim")


def _end(generation: Generation) -> str:
    """Return the word for an end that is not a stable group."""
    abandoned = generation.outcome is Outcome.ABANDONED
    return generation.words.abandoned if abandoned else generation.outcome.value


def _has_cause(generation: Generation) -> bool:
    """Whether a generation has a line for its cause."""
    return generation.cause is not Cause.FIRST_START or bool(generation.absent)


def _who(generation: Generation) -> str:
    again = "second round: " if generation.follow_up else ""
    who = f"{generation.culprit.host} " if generation.culprit else ""
    return f"{again}{who}{generation.why}"


def _culprit(generation: Generation) -> str:
    """Return the suffix of the cause: the culprit, and whether it is a second round."""
    if not _has_cause(generation):
        return ""
    who = f": {generation.culprit.host}" if generation.culprit else ""
    return who + (" (second round)" if generation.follow_up else "")


def _moved(generation: Generation) -> str:
    if not generation.moves:
        return "–"
    back = sum(move.back for move in generation.moves)
    return f"{len(generation.moves)}" + (f" ({back}{BACK})" if back else "")


def _never_there(generation: Generation, most: int | None) -> Iterable[str]:
    """Yield lines for members that did not join; of those removed together, the first names."""
    together = [late for late in generation.absent if late.after_us < TOGETHER_US]
    if together:
        names = ", ".join(late.name.host for late in together[:most])
        more = ", …" if most is not None and len(together) > most else ""
        yield f"removed in the same moment: {names}{more} ({len(together)} in all)"
    shown = _missed(generation)
    for late in shown[:most]:
        yield _never_came(late)
    if most is not None and len(shown) > most:
        yield f"… and {len(shown) - most} more never came"


def _missed(generation: Generation) -> list[LateMember]:
    """Return the members that were removed after a wait, the longest wait first."""
    return sorted((late for late in generation.absent if late.after_us >= TOGETHER_US), key=lambda one: -one.after_us)


def _last_to_join(generation: Generation) -> str:
    """Return the line for the last member to join; empty if a member was removed after a wait."""
    late = generation.late
    if late is None or _missed(generation):
        return ""
    aside = f" ({late.why})" if late.why else ""
    last = "last to revoke" if late.revoked else generation.words.last
    return f"{last}: {late.name.host} after {span(late.after_us)}{aside}"


def _never_came(late: LateMember) -> str:
    why = f" {late.why};" if late.why else ""
    until = REMOVALS.get(late.removal or "", "")
    missing = "did not confirm" if late.removal == "rebalance-timeout" else "never came"
    return f"{missing}: {late.name.host}{why} waited {span(late.after_us)}, {until}".rstrip(", ")
