"""A fleet at an instant of a run: its groups by state, and the group furthest from stable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from groupsim.cli.render.cluster import Coordinator
from groupsim.coordinator.base.snapshot import GroupSnapshot
from groupsim.scenarios.story.words import clock, count, listed, span

Groups = Mapping[str, GroupSnapshot | None]
Alike = tuple[str, int, int, int]  # state, generation, members, requests without an answer
UNDER_WAY = ("PreparingRebalance", "CompletingRebalance")
_NAMED = 2  # maximal number of groups that a row names
_NONE: Alike = ("no member yet", 0, 0, 0)


def show(name: str, groups: Groups, places: Mapping[str, Coordinator], at_us: int, console: Console) -> None:
    """Print the fleet: a row for equal groups, the largest number first."""
    console.print(Text.assemble((name, "bold cyan"), f" at {clock(at_us)}: {count(len(groups), 'group')}"))
    alike: dict[Alike, list[str]] = {}
    for group, found in groups.items():
        alike.setdefault(_alike(found), []).append(group)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True, header_style="dim")
    for heading in ("groups", "state", "generation", "members", "unanswered", "which"):
        table.add_column(heading, justify="left" if heading in ("state", "which") else "right", overflow="fold")
    for (state, *numbers), names in sorted(alike.items(), key=lambda item: -len(item[1])):
        cells = (f"{number:,}" if number else "–" for number in numbers)
        table.add_row(str(len(names)), state, *cells, listed(names, _NAMED))
    console.print(table)
    leaders = Counter(places[group].broker for group in groups if group in places)
    words = [
        f"broker-{broker} {number}" for broker, number in sorted((b, n) for b, n in leaders.items() if b is not None)
    ]
    words += [f"no broker {leaders[None]}"] if leaders[None] else []
    if words:
        console.print(Text(f"  groups coordinated: {', '.join(words)}", "dim"))


def furthest(groups: Groups, at_us: int) -> tuple[str, str] | None:
    """Return the group furthest from stable, and why: its rebalance is open longest, else its session ends first."""
    rebalancing = {
        name: group.state_us
        for name, group in groups.items()
        if group is not None and group.state in UNDER_WAY and group.state_us is not None
    }
    if rebalancing:
        name = min(rebalancing, key=rebalancing.__getitem__)
        return name, f"its rebalance is open longest, {span(at_us - rebalancing[name])} in this state"
    due = {
        name: min((one.session_due_us for one in group.members if one.session_due_us is not None), default=None)
        for name, group in groups.items()
        if group is not None
    }
    ends = {name: moment for name, moment in due.items() if moment is not None}
    if not ends:
        return None
    name = min(ends, key=ends.__getitem__)
    return name, f"one of its sessions ends first, in {span(ends[name] - at_us)}"


def _alike(group: GroupSnapshot | None) -> Alike:
    if group is None:
        return _NONE
    return group.state, group.generation, len(group.members), len(group.parked) + len(group.held)
