"""Write the tables of docs/protocols.md: the same scenes with the eager and with the cooperative protocol.

python tools/compare_protocols.py            write the tables
python tools/compare_protocols.py --check    exit 1 when they differ

Every figure is read from the trace of a run: docs/rebalance/newcomer.yaml and the library scene `four-scenes`, each
with both assignors and seed 0. A test compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from kept_page import keep, replaced

from groupsim import Story, TraceEvent, load_text, run_scenario, tell
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.story.model import GroupStory, Standstill

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "protocols.md"
BEGIN, END = "<!-- {0}: begin (written by tools/compare_protocols.py) -->", "<!-- {0}: end -->"
PROTOCOLS = {"eager": "range", "cooperative": "cooperative-sticky"}
NEWCOMER, MEMBERS, SINCE_US = DOCS / "rebalance" / "newcomer.yaml", ("c1", "c2", "c3"), 11_500_000
_STRATEGY = "partition.assignment.strategy: "
_TOGETHER_US = 20_000  # what happens within 20 ms is one row
_SHORT_US = 100_000  # a standstill that is shorter is one of the protocol's round trips


class Played(NamedTuple):
    """A run and its story."""

    events: Sequence[TraceEvent]
    story: Story

    @property
    def group(self) -> GroupStory:
        """The only group of the scene."""
        return self.story.groups[0]

    def owned_by(self, host: str, us: int) -> list[int]:
        """The partitions that a process owns at a time."""
        return sorted(
            span.partition.partition
            for span in self.group.spans
            if span.host == host and span.owned_us <= us and (span.released_us is None or us < span.released_us)
        )


def play(text: str) -> dict[str, Played]:
    """The scenario with both protocols."""
    found = {}
    for name, assignor in PROTOCOLS.items():
        events = run_scenario(load_text(text.replace(f"{_STRATEGY}range", f"{_STRATEGY}{assignor}"))).events
        found[name] = Played(events, tell(events))
    return found


def four_scenes() -> str:
    """The library scene, with the assignor named so that it can be replaced."""
    text = find("four-scenes").read_text(encoding="utf-8")
    return text.replace("    properties:\n", f"    properties:\n      {_STRATEGY}range\n", 1)


# --- the tables ------------------------------------------------------------------------------------------------


def ownership(runs: Mapping[str, Played]) -> Iterator[str]:
    """Which partitions each member owns from each moment on, eager beside cooperative."""
    heads = [f"{name}: {host}" for name in runs for host in MEMBERS]
    yield _line(["from", *heads])
    yield _line(["---:"] + ["---"] * len(heads))
    shown: list[str] = []
    for us in moments(runs.values()):
        cells = [numbers(run.owned_by(host, us)) for run in runs.values() for host in MEMBERS]
        if cells != shown:
            yield _line([seconds(us), *cells])
        shown = cells


def moments(runs: Iterable[Played]) -> list[int]:
    """The begin, and the last of each few moments at which any partition changed hands."""
    times = {SINCE_US}
    for run in runs:
        for span in run.group.spans:
            times |= {us for us in (span.owned_us, span.released_us) if us is not None and us > SINCE_US}
    ordered = sorted(times)
    return [us for us, after in zip_longest(ordered, ordered[1:]) if after is None or after - us > _TOGETHER_US]


def standstills(runs: Mapping[str, Played]) -> Iterator[str]:
    """How long each partition stands still when the third member joins, and between which owners."""
    yield _line(["partition", *runs])
    yield _line(["---:"] + ["---"] * len(runs))
    for number in sorted({span.partition.partition for run in runs.values() for span in run.group.spans}):
        stops = [
            [stop for stop in run.group.standstills if stop.partition.partition == number and stop.began_us > SINCE_US]
            for run in runs.values()
        ]
        cells = [
            ", ".join(f"{seconds(one.length_us)}, {one.origin} → {one.target}" for one in found) for found in stops
        ]
        yield _line([str(number), *(cell or "does not stand still" for cell in cells)])


def costs(runs: Mapping[str, Played]) -> Iterator[str]:
    """What each change of the four scenes costs with either protocol."""
    yield _line(["change", *runs])
    yield _line(["---"] * (1 + len(runs)))
    numbered = [{one.number: one for one in run.group.generations[1:]} for run in runs.values()]
    for number, generation in numbered[0].items():
        cells = [cost([stop for stop in run.group.standstills if stop.generation == number]) for run in runs.values()]
        yield _line([f"generation {number}: {generation.cause}", *cells])


def cost(stops: Sequence[Standstill]) -> str:
    """Which partitions stand still, and for how long."""
    long = [stop for stop in stops if stop.length_us >= _SHORT_US]
    short = [stop for stop in stops if stop.length_us < _SHORT_US]
    named = numbers(sorted(stop.partition.partition for stop in long))
    words = f"{named} for {seconds(max(stop.length_us for stop in long))}" if long else "nothing"
    if short:
        words += f"; {len(short)} others for up to {max(stop.length_us for stop in short) / 1000:.0f} ms"
    return words if short else f"{words}; no other"


def steps(runs: Mapping[str, Played], host: str) -> Iterator[str]:
    """What one client does and gets, step by step, eager beside cooperative."""
    yield _line([f"{host}, {name}" for name in runs])
    yield _line(["---"] * len(runs))
    for row in zip_longest(*(list(done(run, host)) for run in runs.values()), fillvalue=""):
        yield _line(row)


def done(run: Played, host: str) -> Iterator[str]:
    """The requests, errors and callbacks of one client."""
    for event in run.events:
        if event.host == host and event.t_us > SINCE_US and (words := _step(run, event)):
            yield f"{seconds(event.t_us)} {words}"


def _step(run: Played, event: TraceEvent) -> str | None:
    carried = event.payload or {}
    match event.kind:
        case "response.received" if event.api == "Heartbeat" and event.error:
            return f"Heartbeat is answered `{event.error}`"
        case "response.received" if event.api == "JoinGroup" and event.error:
            return f"JoinGroup is answered `{event.error}`"
        case "response.received" if event.api in ("JoinGroup", "SyncGroup"):
            return f"{event.api} is answered"
        case "request.sent" if event.api == "JoinGroup":
            return f"JoinGroup, owns {numbers(run.owned_by(str(event.host), event.t_us))}"
        case "request.sent" if event.api == "SyncGroup":
            return "SyncGroup, with the plan" if carried.get("assignments") else "SyncGroup"
        case "callback.begun":
            given = sorted(int(name.rpartition("-")[2]) for name in carried.get("partitions", ()))
            return f"`onPartitions{str(event.reason).capitalize()}`: {numbers(given)}"
        case "callback.ended" if event.reason == "revoked":
            return "the callback has ended"
    return None


def numbers(found: Sequence[int]) -> str:
    """`0, 2, 5`, or nothing."""
    return ", ".join(map(str, found)) or "nothing"


def seconds(us: int) -> str:
    """A time in seconds, to the hundredth."""
    return f"{us / 1_000_000:.2f} s"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


# --- the page --------------------------------------------------------------------------------------------------


def tables() -> dict[str, str]:
    """Each table by its name on the page."""
    newcomer = play(NEWCOMER.read_text(encoding="utf-8"))
    found = {
        "ownership": ownership(newcomer),
        "standstills": standstills(newcomer),
        "costs": costs(play(four_scenes())),
        "steps of c1": steps(newcomer, "c1"),
        "steps of c3": steps(newcomer, "c3"),
    }
    return {name: "\n".join(lines) for name, lines in found.items()}


def page(text: str) -> str:
    """The page with its tables."""
    for name, table in tables().items():
        begin, end = BEGIN.format(name), END.format(name)
        text = replaced(text, begin, end, f"{begin}\n\n{table}\n\n{end}")
    return text


if __name__ == "__main__":
    sys.exit(keep(PAGE, page, __doc__))
