"""Expectations about records: what became of each, how far behind a group was, how long nobody worked on a partition.

The figures are the story's accounts (`scenarios/story/records/accounts.py`), so what an expectation finds is what
`groupsim run` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from attrs import frozen

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.keys import fields_of, key
from groupsim.scenarios.language.registry import Check, Finding, Watch, check
from groupsim.scenarios.language.targets import PartitionName, TheGroup, TopicName, partition_named
from groupsim.scenarios.language.values import END, CountIs, Moment, SpanIs, read_count_is, show_duration
from groupsim.scenarios.story import Account, Records
from groupsim.scenarios.story.records.accounts import added
from groupsim.scenarios.story.records.offset_ranges import Ranges

_GROUP = "Which group; may be left out when there is one."
_TOPIC = "Only this topic."
_PARTITION = "Only this partition."
_UNKNOWN = "the trace does not say where the logs end"
MANY_EVENTS = 5


def chosen(evidence: Evidence, group: str, topic: str | None, partition: str | None) -> list[Account]:
    """The accounts that are meant."""
    place = partition_named(partition) if partition is not None else None
    return [
        one
        for one in evidence.story.accounts
        if one.group == group and topic in (None, one.partition.topic) and place in (None, one.partition)
    ]


@check("records")
@frozen
class RecordsCheck(Check):
    """What became of the records of a group's partitions; each one is in exactly one place, delivered or not."""

    written: CountIs | None = key("All that were ever in the logs.", None)
    delivered_once: CountIs | None = key("Delivered once.", None)
    delivered_again: CountIs | None = key("Delivered more than once.", None)
    never_delivered: CountIs | None = key(
        "There for the group, and nobody will ever be given them: skipped, expired, or cut off unread.", None
    )
    older: CountIs | None = key("Not delivered because they lie before every position the group ever had.", None)
    skipped: CountIs | None = key("Not delivered although the group reads further on.", None)
    expired: CountIs | None = key("Deleted by retention before the group came to them.", None)
    waiting: CountIs | None = key("Not delivered yet when the run ends.", None)
    aborted: CountIs | None = key("Not delivered because their transaction was aborted.", None)
    truncated: CountIs | None = key("Cut off from a log after a change of its leader, delivered before or not.", None)
    phantoms: CountIs | None = key("Delivered, and then cut off.", None)
    lost: CountIs | None = key("Acknowledged to their producer, and then cut off.", None)
    unprocessed: CountIs | None = key("Delivered, and never finished by a handler.", None)
    topic: TopicName | None = key(_TOPIC, None)
    partition: PartitionName | None = key(_PARTITION, None)
    group: TheGroup | None = key(_GROUP, None)

    def watch(self, evidence: Evidence) -> Watch:
        """Keep the first events that bring about what may be wrong."""
        figures = [name for name in FIGURES if getattr(self, name) is not None and name in _WITNESSES]
        return _Witnesses(evidence, self.group, dict.fromkeys(_WITNESSES[name] for name in figures))

    def judge(self, evidence: Evidence) -> Finding:
        """Compare each figure that is said; name the partition that has most of the first that differs."""
        given = [(name, bounds) for name in FIGURES if (bounds := getattr(self, name)) is not None]
        expected = "records: " + (", ".join(f"{_spoken(name)} {bounds}" for name, bounds in given) or "known")
        accounts = chosen(evidence, evidence.only(self.group), self.topic, self.partition)
        total = added(accounts)
        if total is None:
            return Finding(False, expected, _UNKNOWN if not evidence.tells_log_ends else "there are no such records")
        found = ", ".join(f"{_spoken(name)} {figure(total, name)}" for name, _ in given) or f"{total.written} written"
        wrong = [name for name, bounds in given if not bounds.holds(figure(total, name))]
        if not wrong:
            return Finding(True, expected, found)
        worst = max(accounts, key=lambda one: figure(one.records or Records(), wrong[0]))
        events = evidence.watched(self).of(worst, wrong[0])
        most = f"; most of {_spoken(wrong[0])} in {worst.partition}" if len(accounts) > 1 else ""
        first = events[0].t_us if events else None
        return Finding(False, expected, found + most, first, tuple(event.seq for event in events))


FIGURES = tuple(
    name.replace("-", "_") for name in fields_of(RecordsCheck) if name not in ("topic", "partition", "group")
)
_PLAIN = {"delivered_once": "once", "delivered_again": "again", "never_delivered": "never"}


def figure(found: Records, name: str) -> int:
    """One of the figures that can be expected."""
    number: int = getattr(found, _PLAIN.get(name, name))
    return number


def _spoken(name: str) -> str:
    return name.replace("_", " ")


Finder = Callable[[TraceEvent], bool]


def _repeated() -> Finder:
    """Deliveries of what had been delivered."""
    seen = Ranges()

    def is_one(event: TraceEvent) -> bool:
        given = event.payload or {}
        return event.kind is Kind.RECORDS_DELIVERED and bool(seen.add(given["base"], given["base"] + given["count"]))

    return is_one


def _jumps() -> Finder:
    """Positions set further on than anybody had read."""
    reached: int | None = None

    def is_one(event: TraceEvent) -> bool:
        nonlocal reached
        given, before = event.payload or {}, reached
        if event.kind is Kind.RECORDS_DELIVERED:
            reached = max(reached or 0, given["base"] + given["count"])
        elif event.kind is Kind.POSITION_SET:
            reached = max(reached or 0, given["offset"])
            return before is not None and given["offset"] > before
        return False

    return is_one


def _cuts() -> Finder:
    """Appends of a new leader below the log's end, and the truncations that followed."""
    end, epoch = 0, -1

    def is_one(event: TraceEvent) -> bool:
        nonlocal end, epoch
        given, before = event.payload or {}, end
        if event.kind is Kind.RECORDS_APPENDED and given.get("epoch", epoch) >= epoch:
            end, epoch = given["base"] + given["count"], given.get("epoch", epoch)
            return bool(given["base"] < before)
        return event.kind is Kind.LOG_TRUNCATED

    return is_one


def _deletions() -> Finder:
    return lambda event: event.kind is Kind.LOG_DELETED


_WITNESSES: dict[str, Callable[[], Finder]] = {
    "delivered_again": _repeated,
    "skipped": _jumps,
    "never_delivered": _jumps,
    "expired": _deletions,
    "truncated": _cuts,
    "phantoms": _cuts,
    "lost": _cuts,
}


class _Witnesses:
    """The first events that brought figures of partitions about, as far as events do."""

    kinds = frozenset(
        {Kind.RECORDS_DELIVERED, Kind.POSITION_SET, Kind.RECORDS_APPENDED, Kind.LOG_TRUNCATED, Kind.LOG_DELETED}
    )

    def __init__(self, evidence: Evidence, group: str | None, wanted: Iterable[Callable[[], Finder]]) -> None:
        self._evidence = evidence
        self._group = group
        self._wanted = tuple(wanted)
        self._finders: dict[tuple[object, ...], list[tuple[Finder, list[TraceEvent]]]] = {}

    def __call__(self, event: TraceEvent) -> None:
        if event.group not in (None, self._evidence.only(self._group)):
            return
        place = event.topic, event.partition
        finders = self._finders.get(place)
        if finders is None:
            finders = self._finders[place] = [(make(), []) for make in self._wanted]
        for is_one, found in finders:
            if is_one(event) and len(found) < MANY_EVENTS:
                found.append(event)

    def of(self, account: Account, name: str) -> list[TraceEvent]:
        """The events behind one figure of one partition."""
        finders = self._finders.get(account.partition, ())
        wanted = _WITNESSES.get(name)
        return next((found for make, (_, found) in zip(self._wanted, finders, strict=False) if make is wanted), [])


@check("duplicates")
@frozen
class Duplicates(Check):
    """How many records were delivered again."""

    is_: CountIs = key("How many records.", short=True)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Count deliveries beyond the first."""
        again = sum(one.duplicates for one in chosen(evidence, evidence.only(self.group), None, None))
        return Finding(self.is_.holds(again), f"records delivered again: {self.is_}", str(again))


@check("lost")
@frozen
class Lost(Check):
    """How many records were passed over: later ones of the same partition were delivered, these never."""

    is_: CountIs = key("How many records.", factory=lambda: read_count_is(0), short=True)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Count the gaps between deliveries."""
        mine = chosen(evidence, evidence.only(self.group), None, None)
        lost = sum(one.lost for one in mine)
        first = next((f" ({one.partition}: {_offsets(one.first_lost)})" for one in mine if one.first_lost), "")
        return Finding(self.is_.holds(lost), f"records lost: {self.is_}", f"{lost}{first}")


def _offsets(found: tuple[int, int]) -> str:
    return f"offsets {found[0]} to {found[1] - 1}"


@check("not-produced")
@frozen
class NotProduced(Check):
    """How many records producers gave up: refused, or too late, and in no log."""

    is_: CountIs = key("How many records.", factory=lambda: read_count_is(0), short=True)
    topic: TopicName | None = key(_TOPIC, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Add up what producers gave up; name the one that gave up most."""
        expected = f"records not produced{f' to {self.topic}' if self.topic else ''}: {self.is_}"
        mine = [one for one in evidence.story.given_up if self.topic in (None, one.topic)]
        if not mine:
            return Finding(self.is_.holds(0), expected, "0")
        total, worst = sum(one.records for one in mine), max(mine, key=lambda one: one.records)
        most = f"{total}; most by {worst.producer} in {worst.topic} ({worst.error})"
        return Finding(self.is_.holds(total), expected, most, worst.first_us)


@check("lag")
@frozen
class LagCheck(Check):
    """How many records a group was behind, over its partitions together: log end less what it had processed.

    With `at: max` and a topic or partition it is the largest of one partition.
    """

    is_: CountIs = key("How many records: 0, <= 100.", short=True)
    at: Moment | Literal["max"] = key("When: a time since the start, `end`, or `max` for the largest of all.", END)
    topic: TopicName | None = key(_TOPIC, None)
    partition: PartitionName | None = key(_PARTITION, None)
    group: TheGroup | None = key(_GROUP, None)

    def lag_at(self) -> tuple[int, ...]:
        """The instant that is asked for, unless it is the end or none in particular."""
        return () if self.at == "max" or self.at >= END else (self.at,)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the lag at that time."""
        group = evidence.only(self.group)
        accounts = [one for one in chosen(evidence, group, self.topic, self.partition) if one.lag is not None]
        expected = f"lag {self._when()}: {self.is_}"
        if not accounts:
            return Finding(False, expected, "there is no such log" if evidence.tells_log_ends else _UNKNOWN)
        lag, t_us = self._largest(evidence, accounts) if self.at == "max" else self._then(evidence, accounts)
        return Finding(self.is_.holds(lag), expected, str(lag), t_us)

    def _when(self) -> str:
        if self.at == "max":
            return "at most"
        return "at the end" if self.at >= END else f"at {show_duration(self.at)}"

    def _then(self, evidence: Evidence, accounts: Sequence[Account]) -> tuple[int, int]:
        assert self.at != "max"
        at_us = evidence.moment(self.at)
        if at_us >= evidence.end_us:
            return sum(one.lag.end for one in accounts if one.lag), at_us
        return sum(evidence.lag_history.at(one.group, one.partition, at_us) for one in accounts), at_us

    def _largest(self, evidence: Evidence, accounts: Sequence[Account]) -> tuple[int, int]:
        """Of the whole group; of a topic or partition, that of its worst partition."""
        if self.topic is None and self.partition is None:
            whole = next(one.lag for one in evidence.story.totals if one.group == accounts[0].group)
        else:
            whole = max((one.lag for one in accounts if one.lag), key=lambda lag: lag.most)
        assert whole is not None
        return whole.most, whole.most_us


@check("gap")
@frozen
class GapCheck(Check):
    """The longest time in which no process could work on a partition, once the group had it for the first time.

    A partition that nobody ever had was without one all the time.
    """

    is_: SpanIs = key("How long: 0s, <= 12s.", short=True)
    partition: PartitionName | None = key("Which partition; the worst of all when left out.", None)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Compare the longest gap."""
        group = evidence.only(self.group)
        accounts = chosen(evidence, group, None, self.partition)
        expected = f"gap{f' of {self.partition}' if self.partition else ''}: {self.is_}"
        if not accounts:
            return Finding(False, expected, "the group had no such partition")
        worst = max(accounts, key=lambda one: one.gap.length_us if one.gap else 0)
        if worst.gap is None:
            return Finding(self.is_.holds(0), expected, "none")
        until = "the end" if worst.gap.open else show_duration(worst.gap.ended_us)
        found = f"{worst.partition} without a consumer for {show_duration(worst.gap.length_us)}, until {until}"
        return Finding(self.is_.holds(worst.gap.length_us), expected, found, worst.gap.began_us)
