"""The rows of every table, from the story of a finished run and the lists of its trace.

The story has the analysis (generations, standstills, evictions); plain lists (messages, states, callbacks,
commits) `lists.py` gathers while the run goes. Each table is made by one small function; rows stand in the run's order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import astuple

from groupsim.pipeline.runs import totals
from groupsim.pipeline.runs.lists import Lists
from groupsim.pipeline.runs.messages import messages
from groupsim.pipeline.tables.schemas import TABLES
from groupsim.protocol.values import frozen
from groupsim.scenarios.story import Account, Lag, Records, Story

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]
FATES = (
    "written",
    "once",
    "again",
    "skipped",
    "older",
    "expired",
    "waiting",
    "aborted",
    "truncated",
    "phantoms",
    "lost",
    "unprocessed",
)
_NO_LAG = Lag(0, 0, 0, 0)


@frozen
class Label:
    """The name of a run: its place in the sweep, and the command that repeats it."""

    cell: int = 0
    seed: int = 0
    digest: str = ""
    code: str = ""
    repeat: str = ""

    @property
    def key(self) -> tuple[int, int]:
        """Return the first columns of every row."""
        return self.cell, self.seed


def rows_of(lists: Lists, story: Story, label: Label, *, expectations_failed: int = 0) -> Rows:
    """Return the rows of every table for one finished run."""
    committed = lists.last_commits()
    found: dict[str, Iterable[Row]] = {
        "deliveries": [_delivery(one, committed.get((one.group, one.partition))) for one in story.accounts],
        "commits": [(*key, count) for key, count in lists.commits.items()],
        "traces": lists.trace,
        "messages": [one.row() for one in messages(lists)],
        "members": _members(lists, story),
        "callbacks": lists.callbacks(),
        "states": lists.states(story),
    }
    found |= {name: make(story) for name, make in _MAKERS.items()}
    rows = {name: [label.key + row for row in found[name]] for name in TABLES if name != "runs"}
    run = totals.totals(story, rows, lists.events, expectations_failed)
    rows["runs"] = [_run(label, "done", None, run)]
    return rows


def failed_rows(label: Label, error: str) -> Rows:
    """Return the row of a run that ended with an error; it has no others."""
    rows: Rows = {name: [] for name in TABLES}
    rows["runs"] = [_run(label, "failed", error, {})]
    return rows


def _run(label: Label, status: str, error: str | None, totals: Mapping[str, Any]) -> Row:
    values = {
        "cell": label.cell,
        "seed": label.seed,
        "status": status,
        "error": error,
        "repeat": label.repeat,
        "document": label.digest,
        "code": label.code,
        **totals,
    }
    return tuple(values.get(name) for name in TABLES["runs"].names)


def _delivery(one: Account, committed: int | None) -> Row:
    lag = one.lag or _NO_LAG
    gap = one.gap.length_us if one.gap else 0
    return (
        one.group,
        one.partition.topic,
        one.partition.partition,
        one.delivered,
        one.duplicates,
        one.lost,
        committed,
        lag.end,
        lag.most,
        lag.area,
        *_records(one.records),
        gap,
        lag.most_us,
    )


def _records(found: Records | None) -> Row:
    """Return the outcome of the records, column by column."""
    if found is None:
        return (None,) * len(FATES)
    return tuple(getattr(found, name) for name in FATES)


# --- tables that the story has --------------------------------------------------------------------------------------


REBALANCE = "rebalance"  # the kind of change of the classic protocol


def _changes(story: Story) -> Iterator[Row]:
    for group in story.groups:
        forming = len(group.generations) - len(group.rebalances)
        for index, one in enumerate(group.generations):
            held = one.held_by
            yield (
                one.group,
                REBALANCE,
                one.number,
                one.cause.value,
                one.kafka_cause,
                one.culprit.host if one.culprit else None,
                one.why,
                index < forming,
                one.follow_up,
                one.began_us,
                one.completing_us,
                one.stable_us,
                one.ended_us,
                one.outcome.value,
                held.name.host if held else None,
                held.after_us if held else None,
                (held.why or held.removal) if held else None,
                one.size,
                one.leader.host if one.leader else None,
                one.protocol,
                len(one.moves),
                sum(move.back for move in one.moves),
                one.stopped_us,
                "; ".join(hindrance.words for hindrance in one.hindrances) or None,
            )


def _spans(story: Story) -> Iterator[Row]:
    for group in story.groups:
        for one in group.spans:
            times = (one.owned_us, one.fetchable_us, one.released_us, one.release)
            yield (group.group, one.partition.topic, one.partition.partition, one.host, one.generation, *times)


def _stops(story: Story) -> Iterator[Row]:
    for group in story.groups:
        for one in group.standstills:
            place = (group.group, one.partition.topic, one.partition.partition)
            times = (one.began_us, one.ended_us, one.basis, one.open)
            yield (*place, one.origin, one.target, one.generation, *times)


def _phases(story: Story) -> Iterator[Row]:
    for lane in story.lanes:
        for one in lane.phases:
            yield (lane.group, lane.host, one.phase.value, one.began_us, one.ended_us)


def _members(lists: Lists, story: Story) -> Iterator[Row]:
    done = lists.commits_of_hosts()
    for lane in story.lanes:
        failed = sum(count for _, count in lane.commits_failed)
        records = (lane.heartbeats, lane.delivered, lane.duplicates)
        fetches = (None,) * 3 if lane.fetches is None else astuple(lane.fetches)
        yield (lane.group, lane.host, lane.profile, *records, done[lane.host], failed, lane.failed, *fetches)


def _evictions(story: Story) -> Iterator[Row]:
    for group in story.groups:
        for one in group.evictions:
            who = (one.name.host, one.name.member or one.name.host)
            yield (group.group, *who, one.reason, one.cause.value, one.alive, one.removed_us, one.silent_us)


def _faults(story: Story) -> list[Row]:
    sources = (("action", story.actions), ("fault", story.faults), ("note", story.notes))
    rows = [(kind, one.host, one.t_us, one.until_us, one.what) for kind, doings in sources for one in doings]
    return sorted(rows, key=lambda row: row[2])


_MAKERS: dict[str, Callable[[Story], Iterable[Row]]] = {
    "changes": _changes,
    "spans": _spans,
    "stops": _stops,
    "phases": _phases,
    "evictions": _evictions,
    "faults": _faults,
}
