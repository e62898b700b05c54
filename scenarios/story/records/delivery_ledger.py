"""Who was given which records, as one reads the trace from its begin: a book per group and partition.

Deliveries stand in the trace as ranges (base offset, count). What a book has already when it comes again was delivered
again. A log that is cut off takes records out of every book: their offsets are given to other records later on, and
those are not the same again. What retention deletes while a group had passed it by was skipped by the group, not
expired.
"""

from __future__ import annotations

from attrs import Factory, define

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.records.leader_log import LeaderLog
from groupsim.scenarios.story.records.offset_ranges import Ranges
from groupsim.scenarios.story.records.progress import Key, Partition, Progress, Step


class DeliveryLedger:
    """One partition of one group."""

    __slots__ = (
        "again",
        "behind_us",
        "cut_again",
        "cut_once",
        "deleted",
        "delivered",
        "done",
        "duplicates",
        "log",
        "lowest",
        "passed",
        "places",
        "position",
        "processed",
        "seen",
    )

    def __init__(self, log: LeaderLog | None = None) -> None:
        self.log = log
        self.done: int | None = None  # the furthest offset that members have come to, or were placed at
        self.behind_us: int | None = None  # since when the log, if a leader wrote it, ends beyond that
        self.seen = Ranges()  # delivered at least once, of what is in the log
        self.again = Ranges()  # delivered more than once
        self.processed = Ranges()
        self.passed = Ranges()  # deleted, and the group had been beyond it
        self.deleted = 0  # all below is deleted
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
        self.come_to(offset)
        self.log_ends(t_us)

    @property
    def grows(self) -> bool:
        """Whether a leader's appends to the log were listed."""
        return self.log is not None and self.log.listed

    def come_to(self, offset: int) -> None:
        """Members have come to this offset."""
        if self.done is None or offset > self.done:
            self.done = offset
        if self.behind_us is not None and self.log is not None and self.log.end <= self.done:
            self.behind_us = None

    def log_ends(self, t_us: int) -> None:
        """Compare with the log's end: it has changed, or a member looks at it for the first time."""
        if self.log is not None and self.log.end <= (self.done or 0):
            self.behind_us = None
        elif self.log is not None and self.behind_us is None:
            self.behind_us = t_us

    def cut(self, at: int) -> None:
        """The log has lost everything from `at` on."""
        again = self.again.cut(at)
        self.cut_again += again
        self.cut_once += self.seen.cut(at) - again
        self.processed.cut(at)

    def delete(self, start: int) -> None:
        """Retention has deleted what is below `start`; what was deleted before stays as it was judged then."""
        passed = min(start, self.position or 0)
        if passed > self.deleted:
            for piece in self.seen.gaps(self.deleted, passed):
                self.passed.add(*piece)
        self.deleted = max(self.deleted, start)


@define
class DeliveryLedgers:
    """All books, by group and partition; the replicated logs; how groups and logs came along.

    `steps` are those that are not summed up yet, in order; `course` keeps what is asked of them one by one.
    """

    ledgers: dict[Key, DeliveryLedger] = Factory(dict)
    logs: dict[Partition, LeaderLog] = Factory(dict)
    steps: list[Step] = Factory(list)
    progress: Progress | None = None
    _of: dict[Partition, list[DeliveryLedger]] = Factory(dict)  # every group's on one partition

    def ledger(self, group: str, partition: Partition) -> DeliveryLedger:
        """The book of a group on a partition, made on first use."""
        known = self.ledgers.get((group, partition))
        if known is None:
            known = self.ledgers[group, partition] = DeliveryLedger(self.logs.get(partition))
            self._of.setdefault(partition, []).append(known)
        return known

    def step(self, t_us: int, group: str | None, partition: Partition, offset: int) -> None:
        """A group has come to an offset; without a group the log ends there now."""
        self.steps.append((t_us, group, partition, offset))
        if self.progress is not None:
            self.progress.note(t_us, group, partition, offset)

    def follow_log(self, event: TraceEvent) -> None:
        """A log has grown, or lost its beginning, or a producer heard that it has grown."""
        partition = (event.topic or "?", event.partition or 0)
        log = self._log(partition)
        if event.kind is Kind.RECORDS_ACKNOWLEDGED:
            log.acknowledge(event)
        elif event.kind is Kind.RECORDS_APPENDED:
            end = log.end
            self._cut(partition, log.append(event))
            if log.end != end:
                self.step(event.t_us, None, partition, log.end)
                for ledger in self._of.get(partition, ()):
                    ledger.log_ends(event.t_us)
        else:
            start = int((event.payload or {}).get("start", 0))
            if start > log.start:
                log.delete(start)
                self._delete(partition, start)

    def close(self, log_ends: TraceEvent | None) -> None:
        """The logs as the run left them; counted ones are made from where they end."""
        if log_ends is None:
            return
        first: list[Step] = []
        for name, (start, end, _) in (log_ends.payload or {}).get("ends", {}).items():
            topic, _, number = name.rpartition("-")
            partition = (topic, int(number))
            log = self._log(partition)
            if start > log.start:
                self._delete(partition, start)
            at = log.close(start, end)
            if not log.listed:  # so it was from the beginning
                first.append((0, None, partition, end))
            elif at is not None:
                self.step(log_ends.t_us, None, partition, at)
            self._cut(partition, at)
        self.steps[:0] = first
        if self.progress is not None:
            for step in first:
                self.progress.note(*step)

    def _log(self, partition: Partition) -> LeaderLog:
        """The log of a partition, made on first use."""
        known = self.logs.get(partition)
        if known is None:
            known = self.logs[partition] = LeaderLog()
            for ledger in self._of.get(partition, ()):
                ledger.log = known
        return known

    def _cut(self, partition: Partition, at: int | None) -> None:
        for ledger in self._of.get(partition, ()) if at is not None else ():
            ledger.cut(at)  # type: ignore[arg-type]

    def _delete(self, partition: Partition, start: int) -> None:
        for ledger in self._of.get(partition, ()):
            ledger.delete(start)
