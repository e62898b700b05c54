"""`groupsim describe`: the groups at an instant of a run, with timers and unanswered requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.exits import SUCCESS, Trouble
from groupsim.cli.render import cluster as cluster_view
from groupsim.cli.render import fleet_states
from groupsim.cli.render.cluster import ClusterView, Coordinator, look
from groupsim.cli.render.partitions import by_topic, in_ranges
from groupsim.cli.running import perform
from groupsim.cli.scenario_source import instant, load
from groupsim.cli.terminal import Terminal
from groupsim.coordinator.base.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.base.snapshot import GroupSnapshot, MemberEpoch, MemberSnapshot, Parked
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.embedded import consumer_protocol as embedded
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.runtime.stage import Stage
from groupsim.scenarios.story import Generation, Outcome, tell
from groupsim.scenarios.story.many_groups import fleets
from groupsim.scenarios.story.words import clock, span

Snapshots = Mapping[str, GroupSnapshot | None]
SCHEMA = 2  # `group_id` became `group`, as in the other documents
FEW = 8  # up to so many partitions of a member are listed one by one, in the assignor's order
ENDS = (Kind.PROCESS_CRASHED, Kind.PROCESS_STOPPED, Kind.PROCESS_FAILED)


def describe(
    source: str, at: str, group: str | None, seed: int, settings: list[str], wants_json: bool, cluster: bool = False
) -> int:
    """Run the scenario, and print the groups at an instant, with `cluster` the replicas too; return the exit code."""
    scenario = load(source, settings)
    at_us = instant(scenario, at)
    if group is not None and group not in scenario.groups:
        raise Trouble(f"the scenario has no group {group!r}", suggest(group, scenario.groups, "its groups"))
    wanted = [name for name in scenario.groups if group in (None, name)]
    views: list[ClusterView] = []
    looks = [(at_us, partial(_look, views, wanted))]
    done = perform(scenario, seed, source, snapshots_at=[at_us], looks=looks, settings=settings)
    found = {name: seen for name, seen in done.snapshots[at_us].items() if group in (None, name)}
    if wants_json:
        print(as_json.text(document(found, at_us, done.events, views[0], with_cluster=cluster)))
    else:
        console = Terminal()
        show(found, at_us, done.events, console, views[0])
        if cluster:
            cluster_view.show(views[0], console)
    return SUCCESS


def _look(views: list[ClusterView], groups: Sequence[str], stage: Stage) -> None:
    views.append(look(stage, groups))


def _past(events: Sequence[TraceEvent], at_us: int) -> tuple[dict[str, tuple[Generation, ...]], dict[str, TraceEvent]]:
    """Return the generations of every group up to an instant, and the end of each process by member id."""
    past = [event for event in events if event.t_us <= at_us]
    generations = {group.group: group.generations for group in tell(past).groups}
    return generations, {event.member: event for event in past if event.kind in ENDS and event.member}


def _open_round(generations: Sequence[Generation]) -> Generation | None:
    """Return the open rebalance, if any."""
    return generations[-1] if generations and generations[-1].outcome is Outcome.OPEN else None


def document(
    found: Snapshots, at_us: int, events: Sequence[TraceEvent], view: ClusterView, *, with_cluster: bool = False
) -> dict[str, Any]:
    """Return every group as JSON; a group without a first member is null."""
    generations, ended = _past(events, at_us)
    groups = {
        name: None if group is None else _group(group, at_us, _open_round(generations.get(name, ())), ended)
        for name, group in found.items()
    }
    for one in view.coordinators:
        known = groups.get(one.group)
        if known is not None:
            known["coordinator"] = {"partition": one.partition, "broker": one.broker}
    replicas = {"cluster": cluster_view.document(view)} if with_cluster else {}
    return {"schema": SCHEMA, "t_us": at_us, "groups": groups, **replicas}


def _group(
    group: GroupSnapshot, at_us: int, under_way: Generation | None, ended: Mapping[str, TraceEvent]
) -> dict[str, Any]:
    """Return a snapshot as JSON, with processes, partitions and the open rebalance."""
    called = names(group)
    data: dict[str, Any] = as_json.plain(group)
    data = {"group": data.pop("group_id"), **data}
    for one, member in zip(data["members"], group.members, strict=True):
        del one["assignment"]
        end = ended.get(member.member_id)
        one["process"] = called[member.member_id]
        one["process_ended_us"] = None if end is None else end.t_us
        one["leader"] = member.member_id == group.leader
        one["partitions"] = as_json.plain(_partitions(member))
    for timer in data["timers"]:
        timer["in_us"] = timer["due_us"] - at_us
    data["rebalance"] = (
        None
        if under_way is None
        else {
            "began_us": under_way.began_us,
            "cause": under_way.cause.value,
            "culprit": as_json.plain(under_way.culprit),
            "why": under_way.why,
        }
    )
    return data


def show(found: Snapshots, at_us: int, events: Sequence[TraceEvent], console: Console, view: ClusterView) -> None:
    """Print every group; of a fleet the number of groups per state, and the group furthest from stable."""
    generations, ended = _past(events, at_us)
    places = {one.group: one for one in view.coordinators}
    alone = dict(found)
    for fleet, names_of in fleets(found).items():
        groups = {name: alone.pop(name) for name in names_of}
        fleet_states.show(fleet, groups, places, at_us, console)
        if (furthest := fleet_states.furthest(groups, at_us)) is not None:
            name, why = furthest
            alone[name] = groups[name]
            console.print(Text(f"  {name}: {why}; --group NAME shows another one, --json has all", "dim"))
        console.print()
    for name, group in alone.items():
        if group is None:
            console.print(Text.assemble((name, "bold cyan"), f" at {clock(at_us)}: no member has joined yet"))
        else:
            _Page(group, at_us, ended, console, places.get(name)).show(generations.get(name, ()))
        console.print()


class _Page:
    """One group on the terminal. Members have the names of their processes; each long id is printed once."""

    def __init__(
        self,
        group: GroupSnapshot,
        at_us: int,
        ended: Mapping[str, TraceEvent],
        console: Console,
        place: Coordinator | None = None,
    ) -> None:
        self.place = place
        self.group = group
        self.at_us = at_us
        self.ended = ended
        self.console = console
        self.names = names(group)

    def show(self, generations: Sequence[Generation]) -> None:
        self._head(generations)
        if self.group.members:
            self._members()
        self._waiting()
        self._timers()

    def _head(self, generations: Sequence[Generation]) -> None:
        group, at = self.group, clock(self.at_us)
        since = f" since {clock(group.state_us)}" if group.state_us is not None else ""
        protocol = f", {group.protocol}" if group.protocol else ""
        state = (f"{group.state}{since}", "bold")
        self.console.print(
            Text.assemble((group.group_id, "bold cyan"), f" at {at}: ", state, f", {_number(group)}{protocol}")
        )
        if self.place is not None:
            leader = "without a leader" if self.place.broker is None else f"led by broker {self.place.broker}"
            self.console.print(Text(f"  coordinator: {OFFSETS_TOPIC}-{self.place.partition}, {leader}", "dim"))
        last = _open_round(generations)
        if last is not None:
            who = f"{last.culprit.host} " if last.culprit else ""
            began = f"  {last.words.change} since {clock(last.began_us)} ({last.cause.value}): {who}{last.why}"
            self.console.print(Text(began, "yellow"))

    def _members(self) -> None:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=True, header_style="dim")
        by_epochs = self.group.epochs is not None
        for column in ("member", "session ends in", "epoch" if by_epochs else "waits for", "partitions"):
            table.add_column(column, overflow="fold")
        for member in self.group.members:
            label = Text(self.names[member.member_id], "bold")
            if member.member_id == self.group.leader:
                label.append(" (leader)", "not bold")
            waits = "join" if member.awaiting_join else "sync" if member.awaiting_sync else "–"
            shown = waits if member.epoch is None else f"{member.epoch.member_epoch} {member.epoch.state}"
            table.add_row(label, self._session(member), shown, _assigned(member))
        self.console.print(table)
        for member_id, name in self.names.items():
            self.console.print(Text(f"    {name} is {member_id}{self._fate(member_id)}", "dim"), soft_wrap=True)

    def _session(self, member: MemberSnapshot) -> str:
        due = member.session_due_us
        whole_ms = NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new and member.awaiting_join else member.session_timeout_ms
        return "–" if due is None else f"{span(due - self.at_us)} of {span(whole_ms * 1000)}"

    def _fate(self, member_id: str) -> str:
        end = self.ended.get(member_id)
        return f"; its process {end.kind.value.removeprefix('process.')} at {clock(end.t_us)}" if end else ""

    def _waiting(self) -> None:
        group = self.group
        if group.parked or group.held or group.pending_join:
            self.console.print(Text("  without an answer (purgatory)", "dim"))
        for condition, waiting in _by_condition((*group.parked, *group.held)).items():
            who = ", ".join(f"{one.what} {self.names.get(one.member_id, one.member_id)}".rstrip() for one in waiting)
            self.console.print(Text(f"    {who}: until {condition}"))
        if group.pending_join:
            self.console.print("    member ids handed out and not used yet: " + ", ".join(group.pending_join))

    def _timers(self) -> None:
        if self.group.timers:
            self.console.print(Text("  timers", "dim"))
        due = [(clock(timer.due_us), span(timer.due_us - self.at_us)) for timer in self.group.timers]
        wide = [max(10, *map(len, column)) for column in zip(*due, strict=True)]
        for timer, (at, left) in zip(self.group.timers, due, strict=True):
            name = timer.name
            for member_id, short in self.names.items():
                name = name.replace(member_id, f"<{short}>")
            self.console.print(Text(f"    {at:>{wide[0]}}  in {left:<{wide[1]}}  {name}"))


def names(group: GroupSnapshot) -> dict[str, str]:
    """Map member ids to processes, numbered if two ids belong to one process."""
    hosts = [member.client_host.lstrip("/") or member.client_id for member in group.members]
    found: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for member, host in zip(group.members, hosts, strict=True):
        seen[host] += 1
        found[member.member_id] = f"{host} #{seen[host]}" if hosts.count(host) > 1 else host
    return found


def _number(group: GroupSnapshot) -> str:
    """Return the generation of a group, or the epochs of a consumer group."""
    epochs = group.epochs
    if epochs is None:
        return f"generation {group.generation}"
    return f"group epoch {epochs.group_epoch}, assignment epoch {epochs.assignment_epoch}, assignor {epochs.assignor}"


def _by_condition(parked: Sequence[Parked]) -> dict[str, list[Parked]]:
    found: dict[str, list[Parked]] = {}
    for one in parked:
        found.setdefault(one.until, []).append(one)
    return found


def _assigned(member: MemberSnapshot) -> str:
    if member.epoch is not None:
        return _of_epoch(member.epoch)
    if not member.assignment:
        return "–"
    partitions = _partitions(member)
    if partitions is None:
        return f"{len(member.assignment)} bytes"
    return _listed(partitions)


def _of_epoch(epoch: MemberEpoch) -> str:
    """Return what a member owns, has to revoke, and still waits for, a line for each."""
    waits = set(epoch.target) - {*epoch.assigned, *epoch.pending}
    lines = [_listed(epoch.assigned)]
    lines += [f"to revoke: {_listed(epoch.pending)}"] if epoch.pending else []
    lines += [f"waits for: {_listed(sorted(waits))}"] if waits else []
    return "\n".join(lines)


def _listed(partitions: Sequence[TopicPartition]) -> str:
    if len(partitions) <= FEW:
        return " ".join(map(str, partitions)) or "none"
    topics = by_topic((one.topic, one.partition) for one in partitions)
    lines = [f"{topic} ({len(numbers)}): {in_ranges(numbers)}" for topic, numbers in topics.items()]
    return "\n".join([f"{len(partitions)} partitions", *lines] if len(lines) > 1 else lines)


def _partitions(member: MemberSnapshot) -> tuple[TopicPartition, ...] | None:
    """Return a member's assigned partitions; None if the bytes are not in the consumers' format."""
    if member.epoch is not None:
        return member.epoch.assigned
    try:
        return embedded.decode_assignment(member.assignment).partitions if member.assignment else ()
    except ValueError:
        return None
