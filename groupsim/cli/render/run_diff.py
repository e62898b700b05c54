"""Two runs side by side: where they first part, and what it changed.

Both runs see the same luck (same seed), so that what differs is the doing of what was changed. The first divergence is
the first event of behaviour that is not the same; settings written down at the start, timers that were merely set and
numbering do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

from attrs import frozen
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupsim.cli.render import diff_sentence
from groupsim.cli.render.diff_sentence import shown
from groupsim.cli.render.owners import picture
from groupsim.cli.render.owners_columns import Ended, columns_compared, ended, same
from groupsim.cli.scenario_diff import Difference
from groupsim.cli.terminal import width_of
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story import GroupAccount, GroupStory, Story, tell
from groupsim.scenarios.story.words import clock

ONLY = "(earlier assignments are not compared)"
MANY_SETTINGS = 10  # more of what two files say differently is cut off
QUIET = {Kind.RUN_STARTED, Kind.LOG_ENDS, Kind.RUN_ENDED, Kind.TIMER_SET, Kind.TIMER_CANCELLED}


@frozen
class Divergence:
    """The first events that differ; None where that run has ended."""

    left: TraceEvent | None
    right: TraceEvent | None


@frozen
class Row:
    """One figure of both runs; `change` is right minus left, None where that says nothing."""

    name: str
    left: int | None
    right: int | None
    unit: str = ""

    @property
    def change(self) -> int | None:
        """How much more the right run has."""
        return None if self.left is None or self.right is None else self.right - self.left


@frozen
class Owners:
    """The last assignments of one group in both runs; None where a run has none."""

    group: str
    left: Ended | None
    right: Ended | None
    same: bool


@frozen
class Comparison:
    """Two runs compared."""

    names: tuple[str, str]
    headlines: tuple[str, str]
    divergence: Divergence | None
    rows: tuple[Row, ...]
    changed: tuple[str, ...] = ()
    settings: tuple[Difference, ...] = ()
    sentence: str = ""
    owners: tuple[Owners, ...] = ()


def _longest_rollout(group: GroupStory) -> int | None:
    """Nothing where there was none, or one of them was not over."""
    took = [one.took_us for one in group.rollouts]
    return max(one for one in took if one is not None) if took and None not in took else None


FIGURES: tuple[tuple[str, str, Callable[[GroupStory], int | None]], ...] = (
    ("rebalances", "", lambda group: len(group.rebalances)),
    ("stopped", "us", lambda group: group.stopped_us),
    ("unserved, summed over partitions", "us", lambda group: group.unserved_us),
    ("longest unserved partition", "us", lambda group: group.worst[1] if group.worst else 0),
    ("longest rebalance", "us", lambda group: max((g.duration_us for g in group.rebalances), default=0)),
    ("partitions moved", "", lambda group: group.moved),
    ("time to form", "us", lambda group: group.formed_us),
    ("rollout, first stop to group stable", "us", _longest_rollout),
    ("records delivered", "", lambda group: group.delivered),
    ("records delivered twice", "", lambda group: group.duplicates),
    ("commits failed", "", lambda group: sum(number for _, number in group.commits_failed)),
)
ACCOUNTED: tuple[tuple[str, str, Callable[[GroupAccount], int | None]], ...] = (
    ("largest lag", "", lambda total: total.lag.most if total.lag is not None else None),
    ("lag at the end", "", lambda total: total.lag.end if total.lag is not None else None),
    ("records never delivered", "", lambda total: total.records.never if total.records is not None else total.lost),
)


def compare(
    left: Sequence[TraceEvent],
    right: Sequence[TraceEvent],
    names: tuple[str, str],
    changed: Iterable[str] = (),
    settings: Iterable[Difference] = (),
) -> Comparison:
    """Compare two traces; `changed` and `settings` are what is known of how their scenarios differ."""
    stories = tell(left), tell(right)
    rows = tuple(_rows(*stories))
    return Comparison(
        names,
        (stories[0].headline, stories[1].headline),
        divergence(left, right),
        rows,
        tuple(changed),
        tuple(settings),
        diff_sentence.sentence(rows),
        tuple(_owners(*stories)),
    )


def _owners(left: Story, right: Story) -> Iterable[Owners]:
    for name in dict.fromkeys(group.group for story in (left, right) for group in story.groups):
        one, other = (
            ended(next((group for group in story.groups if group.group == name), None)) for story in (left, right)
        )
        if one or other:
            yield Owners(name, one, other, same(one, other))


def divergence(left: Iterable[TraceEvent], right: Iterable[TraceEvent]) -> Divergence | None:
    """The first events of behaviour that differ; None when both runs went the same way."""
    for one, other in zip_longest(_behaviour(left), _behaviour(right)):
        if one is None or other is None or _essence(one) != _essence(other):
            return Divergence(one, other)
    return None


def _behaviour(events: Iterable[TraceEvent]) -> Iterable[TraceEvent]:
    return (event for event in events if event.kind not in QUIET)


def _essence(event: TraceEvent) -> tuple[Any, ...]:
    where = (event.host, event.group, event.member, event.generation, event.topic, event.partition)
    return event.t_us, event.kind, *where, event.api, event.error, event.from_, event.to, event.reason


def figures(story: Story, prefixed: bool | None = None) -> dict[str, tuple[int | None, str]]:
    """What a run is compared by: figure and unit by name, group by group; their names are `prefixed` where several."""
    found: dict[str, tuple[int | None, str]] = {}
    for group in story.groups:
        prefix = f"{group.group}: " if (len(story.groups) > 1 if prefixed is None else prefixed) else ""
        for title, unit, figure in FIGURES:
            if figure is not _longest_rollout or group.rollouts:
                found[prefix + title] = figure(group), unit
        total = next((one for one in story.totals if one.group == group.group), None)
        for title, unit, account in ACCOUNTED:
            found[prefix + title] = None if total is None else account(total), unit
    return found


def _rows(left: Story, right: Story) -> Iterable[Row]:
    groups = {group.group: None for story in (left, right) for group in story.groups}
    one, other = (figures(story, len(groups) > 1) for story in (left, right))
    for name in groups:
        prefix = f"{name}: " if len(groups) > 1 else ""
        for title, unit in ((title, unit) for title, unit, _ in (*FIGURES, *ACCOUNTED)):
            if (key := prefix + title) in one or key in other:
                yield Row(key, one.get(key, (None, unit))[0], other.get(key, (None, unit))[0], unit)


def show(found: Comparison, console: Console) -> None:
    """Print a comparison: headlines, first divergence, the table."""
    for letter, name, headline in zip("AB", found.names, found.headlines, strict=True):
        console.print(Text.assemble((f"{letter}  ", "bold cyan"), (name, "bold")))
        console.print(Padding(headline, (0, 0, 0, 3), expand=False))
    _show_settings(found, console)
    if found.sentence:
        console.print()
        console.print(Text(found.sentence, "bold"))
    console.print()
    _show_divergence(found.divergence, console)
    console.print()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for title, justify in (("", "left"), ("A", "right"), ("B", "right"), ("change", "right")):
        table.add_column(title, justify="right" if justify == "right" else "left")
    for row in found.rows:
        style = "bold" if row.change else "dim" if row.change == 0 else ""
        table.add_row(row.name, shown(row.left, row.unit), shown(row.right, row.unit), change(row), style=style)
    console.print(table)
    for group in found.owners:
        _show_owners(group, console, named=len(found.owners) > 1)


def _show_owners(found: Owners, console: Console, *, named: bool) -> None:
    """Who owns what at the end of both runs, side by side where it is not the same."""
    whose = f" of {found.group}" if named else ""
    if found.same:
        console.print(Text(f"owners{whose} at the end: the same in A and B {ONLY}", "dim"))
        return
    console.print(Text(f"owners{whose} at the end {ONLY}", "dim"))
    columns = columns_compared(found.left, found.right)
    for line in picture(columns, width_of(console), title="", mark="not so in A", hint=""):
        console.print(line, soft_wrap=True)


def _show_settings(found: Comparison, console: Console) -> None:
    """How the scenarios differ: what `--set` changed, or what two files say differently."""
    if found.changed:
        console.print(Text("B is A with " + ", ".join(found.changed), "dim"))
        return
    if found.settings:
        console.print(Text("they differ in", "dim"))
    for one in found.settings[:MANY_SETTINGS]:
        values = " → ".join("(not written)" if value is None else value for value in (one.left, one.right))
        console.print(Padding(Text(f"{one.path}: {values}"), (0, 0, 0, 3), expand=False))
    if len(found.settings) > MANY_SETTINGS:
        console.print(Text(f"   … and {len(found.settings) - MANY_SETTINGS} more; --json has them all", "dim"))


def _show_divergence(found: Divergence | None, console: Console) -> None:
    if found is None:
        console.print("both runs went the same way, event for event")
        return
    moment = min(event.t_us for event in (found.left, found.right) if event is not None)
    console.print(f"first divergence at {clock(moment)}")
    for letter, event in (("A", found.left), ("B", found.right)):
        first, *rest = Text.assemble((f"{letter}  ", "bold cyan"), sentence(event)).wrap(console, console.width - 5)
        console.print(Padding(first, (0, 0, 0, 2), expand=False))
        for line in rest:
            console.print(Padding(line, (0, 0, 0, 5), expand=False))


def sentence(event: TraceEvent | None) -> str:
    """One event in a line."""
    if event is None:
        return "(has ended)"
    parts = [clock(event.t_us), event.kind.value]
    said = event.reason or ""
    parts += [str(x) for x in (event.host, event.group, event.member, event.api, event.error) if x and x not in said]
    if event.topic is not None:
        parts.append(event.topic if event.partition is None else f"{event.topic}-{event.partition}")
    if event.to:
        parts.append(f"{event.from_ or '?'} → {event.to}")
    if said:
        parts.append(f"({said})")
    return "  ".join(parts)


def change(row: Row) -> str:
    """The difference with its sign."""
    if not row.change:
        return "" if row.change is None else "="
    sign = "+" if row.change > 0 else "−"
    return sign + shown(abs(row.change), row.unit)
