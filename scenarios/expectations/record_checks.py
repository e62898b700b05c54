"""Expectations about records: their account, the lag of a group, the longest gap of a partition.

The figures are those of the story (`scenarios/story/records/accounts.py`), so an expectation finds the figures that
`groupsim run` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.units import show_us
from groupsim.protocol.values import frozen
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.keys import fields_of, key
from groupsim.scenarios.language.registry import Check, Finding, Watch, check
from groupsim.scenarios.language.targets import PartitionName, TheGroup, TopicName, partition_named
from groupsim.scenarios.language.values import END, CountIs, Moment, SpanIs, read_count_is
from groupsim.scenarios.story import Account, Records
from groupsim.scenarios.story.records.accounts import added
from groupsim.scenarios.story.records.offset_ranges import Ranges

_GROUP = "Which group; may be left out when there is one."
_TOPIC = "Only this topic."
_PARTITION = "Only this partition."
_UNKNOWN = "the trace does not say where the logs end"
MANY_EVENTS = 5


def chosen(evidence: Evidence, group: str, topic: str | None, partition: str | None) -> list[Account]:
    """Return the accounts of a group, or of one topic or partition of it."""
    place = partition_named(partition) if partition is not None else None
    return [
        one
        for one in evidence.story.accounts
        if one.group == group and topic in (None, one.partition.topic) and place in (None, one.partition)
    ]


@check("records")
@frozen
class RecordsCheck(Check):
    """The account of the records of a group's partitions; each record belongs to exactly one figure."""

    written: CountIs | None = key("All that were ever in the logs.", None)
    delivered_once: CountIs | None = key("Delivered once.", None)
    delivered_again: CountIs | None = key("Delivered more than once.", None)
    never_delivered: CountIs | None = key(
        "There for the group, and out of its reach for good: skipped, expired, or truncated unread.", None
    )
    older: CountIs | None = key("Not delivered because they lie before every position that the group ever had.", None)
    skipped: CountIs | None = key("Not delivered although the group reads further on.", None)
    expired: CountIs | None = key("Deleted by retention before the group reached them.", None)
    waiting: CountIs | None = key("Not delivered yet when the run ends.", None)
    aborted: CountIs | None = key("Not delivered because their transaction was aborted.", None)
    truncated: CountIs | None = key("Truncated from a log after a change of its leader, delivered or not.", None)
    phantoms: CountIs | None = key("Delivered, and then truncated.", None)
    lost: CountIs | None = key("Acknowledged to their producer, and then truncated.", None)
    unprocessed: CountIs | None = key("Delivered, and not finished by a handler.", None)
    topic: TopicName | None = key(_TOPIC, None)
    partition: PartitionName | None = key(_PARTITION, None)
    group: TheGroup | None = key(_GROUP, None)

    def watch(self, evidence: Evidence) -> Watch:
        """Keep the first events behind the figures that may be wrong."""
        figures = [name for name in FIGURES if getattr(self, name) is not None and name in _FINDERS]
        return _FirstEvents(evidence, self.group, dict.fromkeys(_FINDERS[name] for name in figures))

    def judge(self, evidence: Evidence) -> Finding:
        """Compare each given figure; of the first wrong one, name the partition with the largest value."""
        given = [(name, bounds) for name in FIGURES if (bounds := getattr(self, name)) is not None]
        expected = "records: " + (", ".join(f"{_words(name)} {bounds}" for name, bounds in given) or "known")
        accounts = chosen(evidence, evidence.only(self.group), self.topic, self.partition)
        total = added(accounts)
        if total is None:
            return Finding(False, expected, _UNKNOWN if not evidence.tells_log_ends else "there are no such records")
        found = ", ".join(f"{_words(name)} {figure(total, name)}" for name, _ in given) or f"{total.written} written"
        wrong = [name for name, bounds in given if not bounds.holds(figure(total, name))]
        if not wrong:
            return Finding(True, expected, found)
        worst = max(accounts, key=lambda one: figure(one.records or Records(), wrong[0]))
        events = evidence.watched(self).of(worst, wrong[0])
        most = f"; most of {_words(wrong[0])} in {worst.partition}" if len(accounts) > 1 else ""
        first = events[0].t_us if events else None
        return Finding(False, expected, found + most, first, tuple(event.seq for event in events))


FIGURES = tuple(
    name.replace("-", "_") for name in fields_of(RecordsCheck) if name not in ("topic", "partition", "group")
)
_PLAIN = {"delivered_once": "once", "delivered_again": "again", "never_delivered": "never"}


def figure(found: Records, name: str) -> int:
    """Return one of the figures that can be expected."""
    number: int = getattr(found, _PLAIN.get(name, name))
    return number


def _words(name: str) -> str:
    return name.replace("_", " ")


Finder = Callable[[TraceEvent], bool]


def _repeated() -> Finder:
    """Find deliveries of records that had been delivered."""
    seen = Ranges()

    def is_one(event: TraceEvent) -> bool:
        payload = event.payload or {}
        return event.kind is Kind.RECORDS_DELIVERED and bool(
            seen.add(payload["base"], payload["base"] + payload["count"])
        )

    return is_one


def _jumps() -> Finder:
    """Find positions set beyond the last offset that any member had read."""
    reached: int | None = None

    def is_one(event: TraceEvent) -> bool:
        nonlocal reached
        payload, before = event.payload or {}, reached
        if event.kind is Kind.RECORDS_DELIVERED:
            reached = max(reached or 0, payload["base"] + payload["count"])
        elif event.kind is Kind.POSITION_SET:
            reached = max(reached or 0, payload["offset"])
            return before is not None and payload["offset"] > before
        return False

    return is_one


def _cuts() -> Finder:
    """Find appends of a new leader below the log's end, and the truncations that follow."""
    end, epoch = 0, -1

    def is_one(event: TraceEvent) -> bool:
        nonlocal end, epoch
        payload, before = event.payload or {}, end
        if event.kind is Kind.RECORDS_APPENDED and payload.get("epoch", epoch) >= epoch:
            end, epoch = payload["base"] + payload["count"], payload.get("epoch", epoch)
            return bool(payload["base"] < before)
        return event.kind is Kind.LOG_TRUNCATED

    return is_one


def _deletions() -> Finder:
    return lambda event: event.kind is Kind.LOG_DELETED


_FINDERS: dict[str, Callable[[], Finder]] = {
    "delivered_again": _repeated,
    "skipped": _jumps,
    "never_delivered": _jumps,
    "expired": _deletions,
    "truncated": _cuts,
    "phantoms": _cuts,
    "lost": _cuts,
}


class _FirstEvents:
    """The first events behind figures of partitions, where events show them."""

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
        """Return the events behind one figure of one partition."""
        finders = self._finders.get(account.partition, ())
        wanted = _FINDERS.get(name)
        return next((found for make, (_, found) in zip(self._wanted, finders, strict=False) if make is wanted), [])


@check("duplicates")
@frozen
class Duplicates(Check):
    """The number of records that were delivered again."""

    is_: CountIs = key("How many records.", short=True)
    group: TheGroup | None = key(_GROUP, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Count deliveries beyond the first."""
        again = sum(one.duplicates for one in chosen(evidence, evidence.only(self.group), None, None))
        return Finding(self.is_.holds(again), f"records delivered again: {self.is_}", str(again))


@check("lost")
@frozen
class Lost(Check):
    """The number of records that were not delivered although later ones of their partition were."""

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
    """The number of records that producers gave up: refused, or too late, and in no log."""

    is_: CountIs = key("How many records.", factory=lambda: read_count_is(0), short=True)
    topic: TopicName | None = key(_TOPIC, None)

    def judge(self, evidence: Evidence) -> Finding:
        """Add up the records that producers gave up; name the producer with most."""
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
    """The lag of a group in records, summed over its partitions: log end less processed records.

    With `at: max` and a topic or partition it is the largest lag of one partition.
    """

    is_: CountIs = key("How many records: 0, <= 100.", short=True)
    at: Moment | Literal["max"] = key("When: a time since the start, `end`, or `max` for the largest of all.", END)
    topic: TopicName | None = key(_TOPIC, None)
    partition: PartitionName | None = key(_PARTITION, None)
    group: TheGroup | None = key(_GROUP, None)

    def lag_at(self) -> tuple[int, ...]:
        """Return the instant of the check; () if that is the end or `max`."""
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
        return "at the end" if self.at >= END else f"at {show_us(self.at)}"

    def _then(self, evidence: Evidence, accounts: Sequence[Account]) -> tuple[int, int]:
        assert self.at != "max"
        at_us = evidence.moment(self.at)
        if at_us >= evidence.end_us:
            return sum(one.lag.end for one in accounts if one.lag), at_us
        return sum(evidence.lag_history.at(one.group, one.partition, at_us) for one in accounts), at_us

    def _largest(self, evidence: Evidence, accounts: Sequence[Account]) -> tuple[int, int]:
        """Return the largest lag of the whole group, or of the worst partition of a topic, and its time."""
        if self.topic is None and self.partition is None:
            whole = next(one.lag for one in evidence.story.totals if one.group == accounts[0].group)
        else:
            whole = max((one.lag for one in accounts if one.lag), key=lambda lag: lag.most)
        assert whole is not None
        return whole.most, whole.most_us


@check("gap")
@frozen
class GapCheck(Check):
    """The longest time in which no process could work on a partition, after its first owner in the group.

    A partition that never had an owner has a gap over the whole time.
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
        until = "the end" if worst.gap.open else show_us(worst.gap.ended_us)
        found = f"{worst.partition} without a consumer for {show_us(worst.gap.length_us)}, until {until}"
        return Finding(self.is_.holds(worst.gap.length_us), expected, found, worst.gap.began_us)
