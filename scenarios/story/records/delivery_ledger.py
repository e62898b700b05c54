"""The deliveries of records, followed through the trace: one ledger per group and partition.

The trace has deliveries as ranges (base offset, count). Records that a ledger already has were delivered again. A
truncation of the log takes records out of every ledger: other records get their offsets later, and those are not
duplicates. Records that retention deletes after the group had passed them were skipped by the group; they have not
expired.
"""

from __future__ import annotations

from attrs import Factory

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.values import define
from groupsim.scenarios.story.records.leader_log import LeaderLog
from groupsim.scenarios.story.records.offset_ranges import Ranges
from groupsim.scenarios.story.records.progress import Key, Partition, Progress, Step


class DeliveryLedger:
    """The deliveries of one partition to one group."""

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
        self.done: int | None = None  # the furthest offset that members have reached or were placed at
        self.behind_us: int | None = None  # since when the log, if leaders wrote it, ends beyond that
        self.seen = Ranges()  # delivered at least once, of what is in the log
        self.again = Ranges()  # delivered more than once
        self.processed = Ranges()
        self.passed = Ranges()  # deleted after the group had passed them
        self.deleted = 0  # everything below is deleted
        self.places: list[tuple[int, int]] = []  # times and offsets at which members were placed
        self.position: int | None = None  # where the group reads next
        self.lowest: int | None = None  # the lowest offset at which a member was placed, or that it read
        self.delivered = self.duplicates = 0
        self.cut_once = self.cut_again = 0  # delivered once, or more often, and truncated then

    def deliver(self, base: int, end: int) -> int:
        """Note a delivery; return how many of its records had been delivered before."""
        self.delivered += end - base
        self.position = end
        seen = self.seen
        ends = seen.ends
        if ends and base == ends[-1]:  # nearly always: it continues the last delivery
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
        """Note that a member reads from this offset on."""
        self.places.append((t_us, offset))
        self.position = offset
        if self.lowest is None or offset < self.lowest:
            self.lowest = offset
        self.come_to(offset)
        self.log_ends(t_us)

    @property
    def grows(self) -> bool:
        """Whether the trace lists the appends to the log."""
        return self.log is not None and self.log.listed

    def come_to(self, offset: int) -> None:
        """Note that members have reached this offset."""
        if self.done is None or offset > self.done:
            self.done = offset
        if self.behind_us is not None and self.log is not None and self.log.end <= self.done:
            self.behind_us = None

    def log_ends(self, t_us: int) -> None:
        """Compare with the log's end, which has changed or counts for the first time."""
        if self.log is not None and self.log.end <= (self.done or 0):
            self.behind_us = None
        elif self.log is not None and self.behind_us is None:
            self.behind_us = t_us

    def cut(self, at: int) -> None:
        """Note that the log was truncated to end at `at`."""
        again = self.again.cut(at)
        self.cut_again += again
        self.cut_once += self.seen.cut(at) - again
        self.processed.cut(at)

    def delete(self, start: int) -> None:
        """Note that retention has deleted everything below `start`; earlier deletions keep their figure."""
        passed = min(start, self.position or 0)
        if passed > self.deleted:
            for piece in self.seen.gaps(self.deleted, passed):
                self.passed.add(*piece)
        self.deleted = max(self.deleted, start)


@define
class DeliveryLedgers:
    """All ledgers by group and partition; the replicated logs; the steps of groups and logs.

    `steps` are those that are not summed up yet, in order; `progress` keeps the single steps that a reader needs.
    """

    ledgers: dict[Key, DeliveryLedger] = Factory(dict)
    logs: dict[Partition, LeaderLog] = Factory(dict)
    steps: list[Step] = Factory(list)
    progress: Progress | None = None
    _of: dict[Partition, list[DeliveryLedger]] = Factory(dict)  # every group's on one partition

    def ledger(self, group: str, partition: Partition) -> DeliveryLedger:
        """Return the ledger of a group and a partition; create it on first use."""
        known = self.ledgers.get((group, partition))
        if known is None:
            known = self.ledgers[group, partition] = DeliveryLedger(self.logs.get(partition))
            self._of.setdefault(partition, []).append(known)
        return known

    def step(self, t_us: int, group: str | None, partition: Partition, offset: int) -> None:
        """Note that a group has reached an offset, or, without a group, that the log ends there."""
        self.steps.append((t_us, group, partition, offset))
        if self.progress is not None:
            self.progress.note(t_us, group, partition, offset)

    def follow_log(self, event: TraceEvent) -> None:
        """Note an append, a deletion at the log's begin, or an acknowledgement to a producer."""
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
        """Complete the logs with their ends; a counted log is known from its end alone."""
        if log_ends is None:
            return
        first: list[Step] = []
        for name, (start, end, _) in (log_ends.payload or {}).get("ends", {}).items():
            partition = TopicPartition.parse(name)
            log = self._log(partition)
            if start > log.start:
                self._delete(partition, start)
            at = log.close(start, end)
            if not log.listed:  # the log ends there from the beginning
                first.append((0, None, partition, end))
            elif at is not None:
                self.step(log_ends.t_us, None, partition, at)
            self._cut(partition, at)
        self.steps[:0] = first
        if self.progress is not None:
            for step in first:
                self.progress.note(*step)

    def _log(self, partition: Partition) -> LeaderLog:
        """Return the log of a partition; create it on first use."""
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
