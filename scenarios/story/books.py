"""Who was given which records, as one reads the trace from its begin: a book per group and partition.

Deliveries stand in the trace as ranges (base offset, count). What a book has already when it comes again was delivered
again. A log that is cut off takes records out of every book: their offsets are given to other records later on, and
those are not the same again. What retention deletes while a group had passed it by was skipped by the group, not
expired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from attrs import Factory, define

from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.scenarios.story.facts import Facts
from groupsim.scenarios.story.led_log import LedLog
from groupsim.scenarios.story.ranges import Ranges

Partition = tuple[str, int]  # a partition as a plain tuple: there are many events
Key = tuple[str, Partition]  # group and partition
Moments = list[tuple[int, int]]  # when, and the number from then on
Step = tuple[int, str, Partition, int]  # when, group, partition, the offset it has come to


_DELIVERED, _PROCESSED, _PLACED = Kind.RECORDS_DELIVERED, Kind.RECORDS_PROCESSED, Kind.POSITION_SET
_NOTHING: Mapping[str, Any] = {}


class Book:
    """One partition of one group."""

    __slots__ = (
        "again",
        "cut_again",
        "cut_once",
        "delivered",
        "duplicates",
        "lowest",
        "passed",
        "places",
        "position",
        "processed",
        "seen",
    )

    def __init__(self) -> None:
        self.seen = Ranges()  # delivered at least once, of what is in the log
        self.again = Ranges()  # delivered more than once
        self.processed = Ranges()
        self.passed = Ranges()  # deleted, and the group had been beyond it
        self.places: list[tuple[int, int]] = []  # when members were placed where
        self.position: int | None = None  # where the group reads next
        self.lowest: int | None = None  # the lowest offset it was ever placed at, or read
        self.delivered = self.duplicates = 0
        self.cut_once = self.cut_again = 0  # delivered once, or more often, before the log was cut off

    def deliver(self, base: int, end: int) -> int:
        """Somebody was given records; returns how many of them had been delivered before."""
        self.delivered += end - base
        self.position = end
        seen = self.seen
        ends = seen.ends
        if ends and base == ends[-1]:  # as nearly always: it goes on where the last one ended
            ends[-1] = end
            return 0
        if self.lowest is None or base < self.lowest:
            self.lowest = base
        for piece in seen.within(base, end):
            self.again.add(*piece)
        known = seen.add(base, end)
        self.duplicates += known
        return known

    def place(self, t_us: int, offset: int) -> None:
        """A member reads from this offset on."""
        self.places.append((t_us, offset))
        self.position = offset
        if self.lowest is None or offset < self.lowest:
            self.lowest = offset

    def cut(self, at: int) -> None:
        """The log has lost everything from `at` on."""
        again = self.again.cut(at)
        self.cut_again += again
        self.cut_once += self.seen.cut(at) - again
        self.processed.cut(at)

    def delete(self, start: int) -> None:
        """Retention has deleted what is below `start`."""
        for piece in self.seen.gaps(0, min(start, self.position or 0)):
            self.passed.add(*piece)


@define
class Books:
    """All books, by group and partition; what each process was given; the replicated logs; how groups came along."""

    books: dict[Key, Book] = Factory(dict)
    delivered_by_host: Counter[str] = Factory(Counter)
    duplicates_by_host: Counter[str] = Factory(Counter)
    logs: dict[Partition, LedLog] = Factory(dict)
    steps: list[Step] = Factory(list)

    def of(self, partition: Partition) -> list[Book]:
        """The books of every group on one partition."""
        return [book for (_, place), book in self.books.items() if place == partition]

    def log(self, partition: Partition) -> LedLog:
        """The log of a partition, made on first use."""
        known = self.logs.get(partition)
        if known is None:
            known = self.logs[partition] = LedLog()
        return known


def keep_books(facts: Facts) -> Books:
    """Read all that the trace says of records."""
    found = Books()
    books, steps, given = found.books, found.steps, found.delivered_by_host
    for event in facts.records:  # one for nearly every record: what is asked of each is asked in place
        kind = event.kind
        partition = (event.topic or "?", event.partition or 0)
        if kind is not _DELIVERED and kind is not _PROCESSED and kind is not _PLACED:
            _log_event(found, event, partition)
            continue
        group = event.group or facts.host(event.host or "?").group or "?"
        book = books.get((group, partition))
        if book is None:
            book = books[group, partition] = Book()
        said = event.payload or _NOTHING
        if kind is _PLACED:
            base = end = said.get("offset", 0)
            book.place(event.t_us, end)
        else:
            base = said.get("base", 0)
            end = base + said.get("count", 0)
        if kind is _DELIVERED:
            host, known = event.host or "?", book.deliver(base, end)
            given[host] += end - base
            if known:
                found.duplicates_by_host[host] += known
            continue
        if kind is _PROCESSED:
            book.processed.add(base, end)
        steps.append((event.t_us, group, partition, end))
    _close(facts, found)
    return found


def _log_event(found: Books, event: TraceEvent, partition: Partition) -> None:
    log = found.log(partition)
    if event.kind is Kind.RECORDS_ACKNOWLEDGED:
        log.acknowledge(event)
    elif event.kind is Kind.RECORDS_APPENDED:
        cut = log.append(event)
        for book in found.of(partition) if cut is not None else ():
            book.cut(cut)  # type: ignore[arg-type]
    else:
        start = int((event.payload or {}).get("start", 0))
        if start > log.start:
            log.delete(start)
            for book in found.of(partition):
                book.delete(start)


def _close(facts: Facts, found: Books) -> None:
    """The logs as the run left them; counted ones are made from where they end."""
    if facts.log_ends is None:
        return
    said = facts.log_ends.payload or {}
    for name, (start, end, _) in said.get("ends", {}).items():
        topic, _, number = name.rpartition("-")
        partition = (topic, int(number))
        log = found.log(partition)
        if start > log.start:
            for book in found.of(partition):
                book.delete(start)
        cut = log.close(start, end, facts.log_ends.t_us)
        for book in found.of(partition) if cut is not None else ():
            book.cut(cut)  # type: ignore[arg-type]
