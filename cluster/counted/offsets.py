"""`__consumer_offsets` of counted logs: lists of records, and the latency of replication.

An append is in the leader's log at once, and is committed after a random latency, in the order of its partition's
appends. Followers can stall (`hold`), and an append can fail (`fail_next`), in which case none of its records stay.
Appended records survive the leader, committed or not, as in a clean failover: the next coordinator reads them all
(classic-protocol reference, 3.3).

A partition of more than `TIDY` records is compacted as by the log cleaner: of the commits of one group and partition
the last one stays, at its offset. Transactional commits and all other records stay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeGuard

from groupsim.cluster.broker.offset_batches import to_batch
from groupsim.cluster.network.latency import Draws
from groupsim.coordinator.base.records import OffsetRecord, Record
from groupsim.coordinator.base.serde import NEWEST, Form
from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.interface import EventLoop, Host, Order
from groupsim.protocol.batch.batch import Batch, timestamp_ms
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import define

Done = Callable[[ErrorCode | None], None]
TIDY = 200_000
_APPEND = Order.APPEND  # looked up once: access to a member of an enumeration is slow


@define(eq=False)
class _Pending:
    """An uncommitted append; `due_us` is when it commits, `late_us` when it times out."""

    host: Host
    due_us: int
    error: ErrorCode | None
    done: Done
    late_us: int | None = None


class _Partition:
    """One partition: its records, its uncommitted appends, and its planned failures."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws
        self.tidied: list[tuple[int, int, Record]] = []  # records left by compaction: instant, offset, record
        self.base = 0  # offset of the first record after them
        self.tidy = TIDY  # number of records at which it is compacted
        self.records: list[Record] = []
        self.appended: list[tuple[int, int]] = []  # instant and first record of each append, for `batches`
        self.pending: deque[_Pending] = deque()
        self.last_us = 0
        self.held = False
        self.failures: deque[ErrorCode] = deque()

    def appends(self) -> Iterator[tuple[int, int, int]]:
        """Yield instant, first and last record of each append that is not compacted."""
        ends = [*(first for _, first in self.appended[1:]), len(self.records)] if self.appended else []
        return ((when_us, first, end) for (when_us, first), end in zip(self.appended, ends, strict=True))

    def compact(self) -> None:
        """Keep only the last commit of each group and partition."""
        appended = ((when, at) for when, first, end in self.appends() for at in range(first, end))
        every = self.tidied + [(when, self.base + at, self.records[at]) for when, at in appended]
        last = {(one.group_id, one.partition): offset for _, offset, one in every if _is_plain(one)}
        self.tidied = [
            kept for kept in every if not _is_plain(kept[2]) or last[kept[2].group_id, kept[2].partition] == kept[1]
        ]
        self.base += len(self.records)
        self.tidy = max(TIDY, 2 * len(self.tidied))
        self.records, self.appended = [], []


def _is_plain(record: Record) -> TypeGuard[OffsetRecord]:
    """Whether the record is a commit, or its tombstone, outside a transaction."""
    return isinstance(record, OffsetRecord) and record.producer is None


class _Partitions(dict[int, _Partition]):
    """The partitions by number, created on first access, because most have no group."""

    def __init__(self, loop: EventLoop, latency: Distribution) -> None:
        super().__init__()
        self._loop = loop
        self._latency = latency

    def __missing__(self, number: int) -> _Partition:
        draws = Draws(self._latency, self._loop.stream("append", f"offsets-{number}"))
        made = self[number] = _Partition(draws)
        return made


class CountedOffsets:
    """All partitions of `__consumer_offsets` of a cluster."""

    def __init__(self, loop: EventLoop, latency: Distribution) -> None:
        self._loop = loop
        self._parts = _Partitions(loop, latency)

    def seen_by(self, host: Host) -> BrokerOffsets:
        """Return the log for the coordinator of one broker."""
        return BrokerOffsets(self, host)

    def append(
        self, host: Host, partition: int, records: Sequence[Record], done: Done, within_ms: int | None = None
    ) -> None:
        """Append as the leader on `host`; `done` runs there, in the order of the appends.

        An append that takes longer than `within_ms` fails, though its records stay.
        """
        part = self._parts[partition]
        error, now = part.failures.popleft() if part.failures else None, self._loop.now_us
        if error is None:
            part.appended.append((now, len(part.records)))
            part.records.extend(records)
            if len(part.records) >= part.tidy:
                part.compact()
        due = now + part.draws.next()
        if due < part.last_us:
            due = part.last_us
        part.last_us = due
        late = None if within_ms is None else now + 1_000 * within_ms
        pending = _Pending(host, due, error, done, late)
        part.pending.append(pending)
        if part.held or (late is not None and due > late):
            self._watch(part, pending)
        if not part.held:
            host.call_at(due, self._commit, part, order=_APPEND)

    def _watch(self, part: _Partition, pending: _Pending) -> None:
        """Set the timeout of an append; only of those that may take so long."""
        if pending.late_us is not None:
            pending.host.call_at(pending.late_us, self._give_up, (part, pending), order=_APPEND)

    def _give_up(self, watched: tuple[_Partition, _Pending]) -> None:
        """Fail an append that is not committed by its timeout."""
        part, pending = watched
        if any(one is pending for one in part.pending):
            part.pending = deque(one for one in part.pending if one is not pending)
            pending.done(ErrorCode.REQUEST_TIMED_OUT)

    def _commit(self, part: _Partition) -> None:
        """Commit the oldest append. Each append has one event, so that each has its own cause."""
        waiting = part.pending
        while waiting and not waiting[0].host.alive:
            waiting.popleft()
        if waiting and not part.held and waiting[0].due_us <= self._loop.now_us:
            pending = waiting.popleft()
            pending.done(pending.error)

    def read(self, partition: int) -> Sequence[Record]:
        """Return all records of the partition, oldest first."""
        part = self._parts.get(partition)
        return () if part is None else (*(record for _, _, record in part.tidied), *part.records)

    def seed(self, partition: int, records: Sequence[Record]) -> None:
        """Add records before the run, as of an earlier coordinator."""
        part = self._parts[partition]
        part.appended += [(0, len(part.records) + index) for index in range(len(records))]
        part.records.extend(records)

    def batches(self, partition: int, form: Form = NEWEST) -> tuple[Batch, ...]:
        """Return the partition as batches of Kafka, one per append; `form` is that of the broker's release."""
        part = self._parts[partition]
        left = (to_batch([record], timestamp_ms(when), form).placed(at, 0) for when, at, record in part.tidied)
        return (
            *left,
            *(
                to_batch(part.records[first:end], timestamp_ms(when_us), form).placed(part.base + first, 0)
                for when_us, first, end in part.appends()
            ),
        )

    # --- faults ----------------------------------------------------------------------------------------------

    def fail_next(self, partition: int, error: ErrorCode, times: int = 1) -> None:
        """Let the next appends to a partition fail with an error; their records are dropped."""
        self._parts[partition].failures.extend([error] * times)

    def hold(self, partition: int, for_us: int | None = None) -> None:
        """Stall the followers: no append of the partition commits until `release`, or for `for_us`."""
        part = self._parts[partition]
        part.held = True
        for pending in part.pending:
            self._watch(part, pending)
        if for_us is not None:
            self._loop.call_at(self._loop.now_us + for_us, self.release, partition, order=Order.APPEND)

    def release(self, partition: int) -> None:
        """End the stall; the waiting appends commit now, each on its leader's host."""
        part = self._parts[partition]
        part.held = False
        for pending in part.pending:
            pending.host.call_at(pending.due_us, self._commit, part, order=Order.APPEND)

    def abandon(self, partition: int, host: Host) -> None:
        """Drop the pending appends of a crashed leader; their records stay."""
        part = self._parts[partition]
        part.pending = deque(pending for pending in part.pending if pending.host is not host)


class BrokerOffsets:
    """The log of one broker's coordinator; implements `parts.OffsetsLog`."""

    def __init__(self, log: CountedOffsets, host: Host) -> None:
        self._log = log
        self.append = partial(log.append, host)

    def read(self, partition: int) -> Sequence[Record]:
        return self._log.read(partition)

    def fail_next(self, partition: int, error: ErrorCode, times: int) -> None:
        """See `parts.OffsetsLog.fail_next`; it also applies to appends of the next leader."""
        self._log.fail_next(partition, error, times)
