"""Two runs side by side: the first divergence, and the figures that differ.

Both runs have the same seed, so that the changed settings cause every difference. The first divergence is the first
event of behaviour that differs; recorded settings, the setting of timers and numbers of events do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from attrs import evolve
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupsim.cli.exits import Trouble
from groupsim.cli.render import diff_sentence
from groupsim.cli.render.diff_sentence import shown
from groupsim.cli.render.fleet_figures import OF_FLEETS, TITLES, Bundle, Known, bundles, figures, figures_of
from groupsim.cli.render.owners import picture
from groupsim.cli.render.owners_columns import Ended, columns_compared, ended, same
from groupsim.cli.scenario_diff import Difference
from groupsim.cli.terminal import width_of
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.story import GroupStory, Story, tell
from groupsim.scenarios.story.words import clock, listed

ONLY = "(earlier assignments are not compared)"
MANY_SETTINGS = 10  # maximal number of printed differences between two files
NONE: Known = (None, "")
QUIET = {Kind.RUN_STARTED, Kind.LOG_ENDS, Kind.RUN_ENDED, Kind.TIMER_SET, Kind.TIMER_CANCELLED}


@frozen
class Divergence:
    """The first events that differ; None if that run has ended."""

    left: TraceEvent | None
    right: TraceEvent | None


@frozen
class DiffRow:
    """One figure of both runs; `change` is right minus left, None if one is missing."""

    name: str
    left: int | None
    right: int | None
    unit: str = ""
    groups_changed: int | None = None  # of a fleet: the number of groups in which the figure differs
    most_changed: str = ""  # of a fleet: the group with the largest change

    @property
    def change(self) -> int | None:
        """The value of the right run minus that of the left one."""
        return None if self.left is None or self.right is None else self.right - self.left


@frozen
class Owners:
    """The last assignments of one group in both runs; None if a run has none."""

    group: str
    left: Ended | None
    right: Ended | None
    same: bool


@frozen
class Comparison:
    """The comparison of two runs."""

    names: tuple[str, str]
    headlines: tuple[str, str]
    divergence: Divergence | None
    rows: tuple[DiffRow, ...]
    changed: tuple[str, ...] = ()
    settings: tuple[Difference, ...] = ()
    sentence: str = ""
    owners: tuple[Owners, ...] = ()
    shown: tuple[Bundle, ...] = ()
    of_groups: tuple[DiffRow, ...] = ()  # the figures of each group of a fleet
    of_two_protocols: tuple[str, ...] = ()  # the groups that begin with another protocol in B


def compare(
    left: Sequence[TraceEvent],
    right: Sequence[TraceEvent],
    names: tuple[str, str],
    changed: Iterable[str] = (),
    settings: Iterable[Difference] = (),
    group: str | None = None,
) -> Comparison:
    """Compare two traces; `changed` and `settings` are the known differences of their scenarios.

    A fleet is compared as one; with a `group` only that group. Raises Trouble for a group that neither run has.
    """
    stories = tell(left), tell(right)
    formed = list(dict.fromkeys(one.group for story in stories for one in story.groups))
    if group is not None and group not in formed:
        raise Trouble(f"no group {group!r} formed in these runs", suggest(group, formed, "their groups"))
    shown = bundles(formed, group)
    rows = tuple(_rows(*stories, shown))
    return Comparison(
        names,
        (stories[0].headline, stories[1].headline),
        divergence(left, right),
        rows,
        tuple(changed),
        tuple(settings),
        diff_sentence.sentence(rows),
        tuple(_owners(*stories, [name for bundle in shown for name in bundle.groups])),
        shown,
        tuple(row for bundle in shown for row in _rows(*stories, _each(bundle))),
        tuple(name for bundle in shown for name in bundle.groups if _begins_otherwise(*stories, name)),
    )


def _begins_otherwise(left: Story, right: Story, name: str) -> bool:
    """Whether a group is of the consumer protocol in one run, and of the classic one in the other, from the start."""
    first = {one.generations[0].words for story in (left, right) for one in story.groups if _formed(one, name)}
    return len(first) > 1


def _formed(group: GroupStory, name: str) -> bool:
    return group.group == name and bool(group.generations)


def _owners(left: Story, right: Story, names: Iterable[str]) -> Iterable[Owners]:
    for name in names:
        one, other = (
            ended(next((group for group in story.groups if group.group == name), None)) for story in (left, right)
        )
        if one or other:
            yield Owners(name, one, other, same(one, other))


def divergence(left: Iterable[TraceEvent], right: Iterable[TraceEvent]) -> Divergence | None:
    """Return the first events of behaviour that differ; None if the runs are equal."""
    for one, other in zip_longest(_behaviour(left), _behaviour(right)):
        if one is None or other is None or _essence(one) != _essence(other):
            return Divergence(one, other)
    return None


def _behaviour(events: Iterable[TraceEvent]) -> Iterable[TraceEvent]:
    return (event for event in events if event.kind not in QUIET)


def _essence(event: TraceEvent) -> tuple[Any, ...]:
    where = (event.host, event.group, event.member, event.generation, event.topic, event.partition)
    return event.t_us, event.kind, *where, event.api, event.error, event.from_, event.to, event.reason


def rows_of(left: Story, right: Story) -> dict[str, tuple[DiffRow, ...]]:
    """Compare the figures of both runs, group by group."""
    formed = list(dict.fromkeys(one.group for story in (left, right) for one in story.groups))
    return {name: tuple(_rows(left, right, bundles((name,), name))) for name in formed}


def _rows(left: Story, right: Story, shown: Sequence[Bundle]) -> Iterable[DiffRow]:
    one, other = figures(left, shown), figures(right, shown)
    several = len(shown) > 1 or any(bundle.fleet for bundle in shown)
    for bundle in shown:
        parts = [(figures_of(left, each), figures_of(right, each), each.name) for each in _each(bundle)]
        for title in TITLES:
            name = f"{bundle.name}: {title}" if several else title
            if name in one or name in other:
                unit = (one.get(name) or other[name])[1]
                row = DiffRow(name, one.get(name, (None, unit))[0], other.get(name, (None, unit))[0], unit)
                yield evolve(row, **_differing(title, parts)) if bundle.fleet and title not in OF_FLEETS else row


def _each(bundle: Bundle) -> tuple[Bundle, ...]:
    """Return the single groups of a fleet."""
    return bundles(bundle.groups, each=True) if bundle.fleet else ()


def _differing(title: str, parts: Sequence[tuple[Mapping[str, Known], Mapping[str, Known], str]]) -> dict[str, Any]:
    """Return the number of a fleet's groups in which a figure differs, and the group with the largest change."""
    pairs = [(one.get(title, NONE)[0], other.get(title, NONE)[0], name) for one, other, name in parts]
    changed = [(abs((other or 0) - (one or 0)), name) for one, other, name in pairs if one != other]
    most = max(changed, key=lambda item: item[0], default=(0, ""))[1]
    return {"groups_changed": len(changed), "most_changed": most}


def show(found: Comparison, console: Console) -> None:
    """Print a comparison: headlines, first divergence, table, owners."""
    for letter, name, headline in zip("AB", found.names, found.headlines, strict=True):
        console.print(Text.assemble((f"{letter}  ", "bold cyan"), (name, "bold")))
        console.print(Padding(headline, (0, 0, 0, 3), expand=False))
    _show_settings(found, console)
    if found.sentence:
        console.print()
        console.print(Text(found.sentence, "bold"))
    console.print()
    if found.of_two_protocols:
        whose = listed(found.of_two_protocols)
        verb = "uses" if len(found.of_two_protocols) == 1 else "use"
        console.print(f"{whose} {verb} another protocol in B, so the runs differ from the first request on")
    else:
        _show_divergence(found.divergence, console)
    console.print()
    fleets = [bundle for bundle in found.shown if bundle.fleet]
    for fleet in fleets:
        _show_fleet(fleet, found, console)
    alone = [row for row in found.rows if not any(row.name.startswith(f"{fleet.name}: ") for fleet in fleets)]
    if alone:
        console.print(_table("", [(row, row.name, ()) for row in alone]))
    several = len(found.owners) > 1
    in_fleets = {name for fleet in fleets for name in fleet.groups}
    for owners in (one for one in found.owners if one.group not in in_fleets):
        _show_owners(owners, console, named=several)


def _table(title: str, rows: Sequence[tuple[DiffRow, str, Sequence[str]]], more: Sequence[str] = ()) -> Table:
    """Build a table of rows with their names and further cells."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column(title)
    for heading in ("A", "B", "change"):
        table.add_column(heading, justify="right")
    for heading in more:
        table.add_column(heading)
    for row, name, cells in rows:
        style = "bold" if row.change else "dim" if row.change == 0 else ""
        table.add_row(name, shown(row.left, row.unit), shown(row.right, row.unit), change(row), *cells, style=style)
    return table


def _show_fleet(fleet: Bundle, found: Comparison, console: Console) -> None:
    """Print a fleet: its figures, the group with the largest change of each, and groups with different owners."""
    rows = [row for row in found.rows if row.name.startswith(f"{fleet.name}: ")]
    cells = [(row, row.name.removeprefix(f"{fleet.name}: "), _groups(row)) for row in rows]
    console.print(_table(f"{fleet.name}, {len(fleet.groups)} groups", cells, ("groups", "most in")))
    owners = [one for one in found.owners if one.group in fleet.groups]
    others = [one.group for one in owners if not one.same]
    words = f"the same in {len(owners) - len(others)} of {len(owners)} groups of {fleet.name}"
    words += f", different in {listed(others, 3)}" if others else ""
    console.print(Text(f"owners at the end: {words}; --group NAME compares one group", "dim"))


def _groups(row: DiffRow) -> tuple[str, str]:
    """Return the cells of a figure: the number of groups in which it differs, and the group with the largest change."""
    return ("", "") if not row.groups_changed else (str(row.groups_changed), row.most_changed)


def _show_owners(found: Owners, console: Console, *, named: bool) -> None:
    """Print the owners at the end of both runs, side by side if they differ."""
    whose = f" of {found.group}" if named else ""
    if found.same:
        console.print(Text(f"owners{whose} at the end: the same in A and B {ONLY}", "dim"))
        return
    console.print(Text(f"owners{whose} at the end {ONLY}", "dim"))
    columns = columns_compared(found.left, found.right)
    for line in picture(columns, width_of(console), title="", mark="not so in A", hint=""):
        console.print(line, soft_wrap=True)


def _show_settings(found: Comparison, console: Console) -> None:
    """Print the differences of the scenarios: the changes of `--set`, or those between two files."""
    if found.changed:
        console.print(Text("B is A with " + ", ".join(found.changed), "dim"))
        return
    if found.settings:
        console.print(Text("the scenarios differ in", "dim"))
    for one in found.settings[:MANY_SETTINGS]:
        values = " → ".join("(not written)" if value is None else value for value in (one.left, one.right))
        console.print(Padding(Text(f"{one.path}: {values}"), (0, 0, 0, 3), expand=False))
    if len(found.settings) > MANY_SETTINGS:
        console.print(Text(f"   … and {len(found.settings) - MANY_SETTINGS} more; --json has them all", "dim"))


def _show_divergence(found: Divergence | None, console: Console) -> None:
    if found is None:
        console.print("both runs have the same events")
        return
    moment = min(event.t_us for event in (found.left, found.right) if event is not None)
    console.print(f"first divergence at {clock(moment)}")
    for letter, event in (("A", found.left), ("B", found.right)):
        first, *rest = Text.assemble((f"{letter}  ", "bold cyan"), sentence(event)).wrap(console, console.width - 5)
        console.print(Padding(first, (0, 0, 0, 2), expand=False))
        for line in rest:
            console.print(Padding(line, (0, 0, 0, 5), expand=False))


def sentence(event: TraceEvent | None) -> str:
    """Format one event as a line."""
    if event is None:
        return "(has ended)"
    parts = [clock(event.t_us), event.kind.value]
    reason = event.reason or ""
    parts += [str(x) for x in (event.host, event.group, event.member, event.api, event.error) if x and x not in reason]
    if event.topic is not None:
        parts.append(event.topic if event.partition is None else f"{event.topic}-{event.partition}")
    if event.to:
        parts.append(f"{event.from_ or '?'} → {event.to}")
    if reason:
        parts.append(f"({reason})")
    return "  ".join(parts)


def change(row: DiffRow) -> str:
    """Format the difference with its sign."""
    if not row.change:
        return "" if row.change is None else "="
    sign = "+" if row.change > 0 else "−"
    return sign + shown(abs(row.change), row.unit)
