"""Export the runs that docs/how-a-rebalance-works.md plays, and the table that compares two of them.

python tools/export_rebalance.py            write docs/assets/rebalance-data.js and the table
python tools/export_rebalance.py --check    exit 1 when one differs

What the page shows is the trace of a run: who was in which state, which requests were under way or parked, and who
owned which partition, each at its time. The sentences are made here, from the same events; a test compares.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kept_page import replaced

from groupsim import Story, TraceEvent, load_file, run_scenario, tell
from groupsim.coordinator.classic.states import TransitionCause
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.loading.load import load_text

DOCS = Path(__file__).resolve().parent.parent / "docs"
DATA, PAGE = DOCS / "assets" / "rebalance-data.js", DOCS / "how-a-rebalance-works.md"
BEGIN, END = "<!-- compared: begin (written by tools/export_rebalance.py) -->", "<!-- compared: end -->"
SCENES = ("Members join", "One crashes", "One leaves", "One commits too late")
PROTOCOLS = {"range": "eager", "cooperative-sticky": "cooperative"}
SHOWN = ("JoinGroup", "SyncGroup", "LeaveGroup")
Entry = list[Any]


class Exported(NamedTuple):
    """A run as the page plays it, and its story."""

    data: dict[str, Any]
    story: Story


def runs() -> dict[str, Exported]:
    """Every run of the page by the name that the page gives it."""
    newcomer = (DOCS / "rebalance" / "newcomer.yaml").read_text(encoding="utf-8")
    found = {"four-scenes": exported(run_scenario(load_file(find("four-scenes"))).events, "groupsim run four-scenes")}
    for assignor, name in PROTOCOLS.items():
        text = newcomer.replace("partition.assignment.strategy: range", f"partition.assignment.strategy: {assignor}")
        found[name] = exported(run_scenario(load_text(text)).events, f"{name} ({assignor})")
    return found


def exported(events: Sequence[TraceEvent], title: str) -> Exported:
    """What the page needs of a run: members, partitions, what happens and in which words."""
    story = tell(events)
    group = story.groups[0]
    hosts = [lane.host for lane in story.lanes if lane.group == group.group]
    names = {event.member: event.host for event in events if event.member and event.host in hosts}
    reader = Reader(events, group.group, names)
    partitions = sorted({f"{span.partition.topic}-{span.partition.partition}" for span in group.spans})
    happened = sorted(reader.happened(), key=lambda entry: entry[0])
    words = list(together(reader.words()))
    starts = [0, *(event.t_us for event in events if event.kind == "action")]
    data = {
        "title": title,
        "end": max(words[-1][0] + 2_000_000, 0),
        "members": hosts,
        "partitions": partitions,
        "scenes": [[t, name] for t, name in zip(starts, SCENES, strict=False)] if len(starts) == len(SCENES) else [],
        "events": happened,
        "words": words,
    }
    return Exported(data, story)


def together(words: Iterable[tuple[int, str]]) -> Iterator[list[Any]]:
    """Sentences of one instant as one step."""
    step: list[Any] = []
    for t, text in words:
        if step and step[0] == t:
            step[1] += f" {text}"
        else:
            if step:
                yield step
            step = [t, text]
    yield step


class Reader:
    """Reads one group's events of a trace."""

    def __init__(self, events: Sequence[TraceEvent], group: str, names: Mapping[str, str]) -> None:
        self._events = [event for event in events if event.group == group or event.kind == "action"]
        self._names = names

    def happened(self) -> Iterator[Entry]:
        """Everything that is drawn, each as its time, a letter and what belongs to it."""
        for at, event in enumerate(self._events):
            t, host = event.t_us, process(event.host)
            match event.kind:
                case "process.started":
                    yield [t, "start", host]
                case "process.crashed":
                    yield [t, "crash", host]
                case "process.stopped":
                    yield [t, "stop", host]
                case "client.state":
                    yield [t, "client", host, event.to]
                case "group.state":
                    yield [t, "group", event.to, event.generation, self._leader(event)]
                case "partition.owned":
                    yield [t, "own", host, f"{event.topic}-{event.partition}"]
                case "partition.released":
                    yield [t, "free", host, f"{event.topic}-{event.partition}"]
                case "member.removed":
                    yield [t, "removed", self._names.get(str(event.member))]
                case "callback.begun" if self._lasts(at):
                    yield [t, "callback", host, True]
                case "callback.ended":
                    yield [t, "callback", host, False]
                case "request.sent" if self._drawn(at):
                    yield [t, "ask", host, event.api, self._after(at, "request.received", event.host, event.api)]
                case "response.sent" if self._drawn(at):
                    target = carried(event)["to"]
                    came = self._after(at, "response.received", target, event.api)
                    yield [t, "answer", process(target), event.api, came, event.error]
                case "request.parked":
                    yield [t, "park", self._names[str(event.member)], event.api]

    def _leader(self, event: TraceEvent) -> str | None:
        leader = carried(event).get("leader")
        return self._names.get(str(leader)) if leader else None

    def _lasts(self, at: int) -> bool:
        begun = self._events[at]
        ended = next((e for e in self._events[at:] if e.kind == "callback.ended" and e.span == begun.span), None)
        return ended is None or ended.t_us > begun.t_us

    def _drawn(self, at: int) -> bool:
        """Whether a message is shown: those of a rebalance, and what is answered with an error."""
        event = self._events[at]
        if event.api in SHOWN:
            return True
        if event.kind == "response.sent":
            return event.error is not None
        answer = next(
            (
                e
                for e in self._events[at:]
                if e.kind == "response.received" and (e.host, e.api) == (event.host, event.api)
            ),
            None,
        )
        return answer is not None and answer.error is not None and event.api != "Heartbeat"

    def _after(self, at: int, kind: str, host: str | None, api: str | None) -> int | None:
        """When a message arrived: the next event of this kind of this client and API. None: it never did."""
        for event in self._events[at + 1 :]:
            client = carried(event).get("from") if kind == "request.received" else event.host
            if event.kind == kind and client == host and event.api == api:
                return event.t_us
        return None

    def words(self) -> Iterator[tuple[int, str]]:
        """What happens, in sentences."""
        owned: dict[tuple[int, str | None], list[str]] = {}
        crashed: dict[str | None, int] = {}
        generation = 0
        for at, event in enumerate(self._events):
            t, host = event.t_us, process(event.host)
            member = self._names.get(str(event.member))
            match event.kind:
                case "process.started":
                    yield t, f"{host} starts, and asks which broker coordinates the group."
                case "process.crashed":
                    crashed[host] = t
                    yield t, f"{host} crashes. No request says so: its partitions stand still, the group stays Stable."
                case "member.removed" if event.reason == "session-expired":
                    waited = (t - crashed.get(member, t)) / 1_000_000
                    yield (
                        t,
                        f"The session of {member} ends, {waited:.1f} s after the crash: the coordinator removes it.",
                    )
                case "request.sent" if event.api == "LeaveGroup":
                    yield t, f"{host} is closed: it gives its partitions up and sends LeaveGroup."
                case "request.sent" if event.api == "OffsetCommit" and self._drawn(at):
                    yield t, f"{host} commits an offset under an old generation."
                case "request.sent" if event.api == "JoinGroup" and not event.member:
                    yield t, f"{host} sends JoinGroup, without a member id."
                case "response.sent" if event.error == "MEMBER_ID_REQUIRED":
                    yield (
                        t,
                        f"{carried(event)['to']} gets a member id (MEMBER_ID_REQUIRED), and has to join again with it.",
                    )
                case "response.sent" if event.api == "Heartbeat" and event.error:
                    yield (
                        t,
                        f"The answer to a heartbeat of {carried(event)['to']} is {event.error}: it has to join again.",
                    )
                case "response.sent" if event.api == "OffsetCommit" and event.error:
                    yield t, f"{event.error}: the group is at generation {generation}, and the offset is not stored."
                case "request.parked" if event.api == "JoinGroup":
                    yield (
                        t,
                        f"JoinGroup of {member} is parked: it is answered when every member has joined, or time is up.",
                    )
                case "request.parked":
                    yield t, f"SyncGroup of {member} is parked until the plan is stored."
                case "group.state":
                    generation = event.generation or generation
                    yield t, self._state(event)
                case "assignment.computed":
                    yield t, self._plan(event)
                case "callback.begun" if self._lasts(at):
                    yield t, f"{host} runs its callback before it gives partitions up."
                case "partition.released" if event.reason == "revoked":
                    owned.setdefault((t, f"-{host}"), []).append(str(event.partition))
                case "partition.owned":
                    owned.setdefault((t, host), []).append(str(event.partition))
            following = self._events[at + 1] if at + 1 < len(self._events) else None
            if owned and (following is None or following.kind not in ("partition.owned", "partition.released")):
                for (when, who), numbers in owned.items():
                    verb = "gives up" if str(who).startswith("-") else "owns and fetches"
                    yield when, f"{str(who).lstrip('-')} {verb} {event_topic(self._events)} {', '.join(numbers)}."
                owned = {}

    def _state(self, event: TraceEvent) -> str:
        code = carried(event).get("cause_code")
        why = next((cause.meaning for cause in TransitionCause if cause == code), event.reason)
        match event.to:
            case "PreparingRebalance":
                return f"A rebalance begins: {why}."
            case "CompletingRebalance":
                leader = self._leader(event)
                led = f"generation {event.generation}, led by {leader}"
                return f"Every member has joined: {led}. Each JoinGroup is answered."
            case "Stable":
                return "The plan is stored: the group is Stable, and each SyncGroup is answered with the member's part."
        return f"The group is {event.to}: {why}."

    def _plan(self, event: TraceEvent) -> str:
        counts = {self._names.get(member, member): count for member, count in carried(event)["counts"].items()}
        assignor = carried(event)["assignor"]
        shares = ", ".join(f"{host} {count}" for host, count in sorted(counts.items()))
        return f"{event.host} leads: it runs the assignor {assignor}, and sends the plan in SyncGroup: {shares}."


def carried(event: TraceEvent) -> Mapping[str, Any]:
    """What else an event carries."""
    return event.payload or {}


def process(host: str | None) -> str:
    """The process that sends a request: a step that commits for a member has a connection of its own."""
    return (host or "").removesuffix("-by-hand")


def event_topic(events: Sequence[TraceEvent]) -> str:
    """The topic that the group reads."""
    return next(str(event.topic) for event in events if event.kind == "partition.owned")


def script(found: Mapping[str, Exported]) -> str:
    """The data as a script: a page that was opened from a folder may not fetch a file."""
    lines = [f"  {json.dumps(name)}: {json.dumps(one.data, separators=(',', ':'))}" for name, one in found.items()]
    head = "// Written by tools/export_rebalance.py from runs of groupsim. Do not edit: a test compares the two.\n"
    return head + "window.groupsimRuns = {\n" + ",\n".join(lines) + "\n};\n"


def table(found: Mapping[str, Exported]) -> str:
    """Both protocols beside each other, in figures."""
    groups = [found[name].story.groups[0] for name in PROTOCOLS.values()]
    rows: list[tuple[str, list[str]]] = [
        ("rebalances", [str(len(group.rebalances)) for group in groups]),
        ("partitions that change their owner", [str(group.moved) for group in groups]),
        ("partitions that stand still", [str(len({stop.partition for stop in group.standstills})) for group in groups]),
        ("longest standstill", [seconds(max(s.length_us for s in group.standstills)) for group in groups]),
        ("standstills, summed over partitions", [seconds(group.unserved_us) for group in groups]),
    ]
    head = ["| | eager (range) | cooperative (cooperative-sticky) |", "| --- | --- | --- |"]
    return "\n".join([BEGIN, "", *head, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows), "", END])


def seconds(us: int) -> str:
    """A duration in seconds."""
    return f"{us / 1_000_000:.1f} s"


def main() -> int:
    """Write script and table, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when one differs")
    check = parser.parse_args().check
    found = runs()
    page = PAGE.read_text(encoding="utf-8")
    wanted = {DATA: script(found), PAGE: replaced(page, BEGIN, END, table(found))}
    wrong = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if not check:
        for path in wrong:
            path.write_text(wanted[path], encoding="utf-8")
    return 1 if check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
