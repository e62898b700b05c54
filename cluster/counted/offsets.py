"""`__consumer_offsets` of counted logs: lists of records, and how long replication takes.

An append is in the leader's log at once and commits when the followers have it: after a latency drawn per append, in
the order of the appends of its partition. Followers can be slow (`hold`), and an append can fail (`fail_next`), in
which case nothing of it stays. What was appended survives the leader, committed or not, as it does when a fail-over
is clean; the coordinator that is elected next reads it all (classic-protocol reference, 3.3).

A partition of more than `TIDY` records is compacted, as the log cleaner does it: of the commits of one group and
partition the last is left, with its offset in the log. Commits of transactions stay, and so does all else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeGuard

from attrs import define

from groupsim.cluster.broker.offset_batches import to_batch
from groupsim.cluster.network.latency import Draws
from groupsim.coordinator.base.records import OffsetRecord, Record
from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.interface import EventLoop, Host, Order
from groupsim.protocol.batch.batch import Batch, timestamp_ms
from groupsim.protocol.embedded.offset_records import FLEXIBLE_VERSION
from groupsim.protocol.errors import ErrorCode

Done = Callable[[ErrorCode | None], None]
TIDY = 200_000
_APPEND = Order.APPEND  # looked up once: members of an enumeration are found slowly


@define(eq=False)
class _Pending:
    """An append on its way to the followers; `due_us` is when they have it, `late_us` when it is given up."""

    host: Host
    due_us: int
    error: ErrorCode | None
    done: Done
    late_us: int | None = None


class _Partition:
    """One partition: its records, what is not committed yet, and the faults that wait for it."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws
        self.tidied: list[tuple[int, int, Record]] = []  # what compaction left: instant, offset, record
        self.base = 0  # offset of the first record after that
        self.tidy = TIDY  # with so many records it is compacted
        self.records: list[Record] = []
        self.appended: list[tuple[int, int]] = []  # instant and first record of each append, for who reads batches
        self.pending: deque[_Pending] = deque()
        self.last_us = 0
        self.held = False
        self.failures: deque[ErrorCode] = deque()

    def appends(self) -> Iterator[tuple[int, int, int]]:
        """Instant, first and last record of each append that is not compacted."""
        ends = [*(first for _, first in self.appended[1:]), len(self.records)] if self.appended else []
        return ((when_us, first, end) for (when_us, first), end in zip(self.appended, ends, strict=True))

    def compact(self) -> None:
        """Leave of the commits of each group and partition the last."""
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
    """Whether it is a commit, or the end of one, outside a transaction."""
    return isinstance(record, OffsetRecord) and record.producer is None


class _Partitions(dict[int, _Partition]):
    """The partitions by number, each made when it is first asked for: most have no group."""

    def __init__(self, loop: EventLoop, latency: Distribution) -> None:
        super().__init__()
        self._loop = loop
        self._latency = latency

    def __missing__(self, number: int) -> _Partition:
        draws = Draws(self._latency, self._loop.stream("append", f"offsets-{number}"))
        made = self[number] = _Partition(draws)
        return made


class CountedOffsets:
    """All partitions of `__consumer_offsets`, wherever their replicas lie."""

    def __init__(self, loop: EventLoop, latency: Distribution) -> None:
        self._loop = loop
        self._parts = _Partitions(loop, latency)

    def seen_by(self, host: Host) -> BrokerOffsets:
        """The log as the coordinator on one broker uses it."""
        return BrokerOffsets(self, host)

    def append(
        self, host: Host, partition: int, records: Sequence[Record], done: Done, within_ms: int | None = None
    ) -> None:
        """Append as the leader on `host`; `done` runs there, in the order of the appends.

        What takes longer than `within_ms` has failed, though its records stay.
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
        """Give an append up when it has taken too long; most are committed long before and are not watched."""
        if pending.late_us is not None:
            pending.host.call_at(pending.late_us, self._give_up, (part, pending), order=_APPEND)

    def _give_up(self, what: tuple[_Partition, _Pending]) -> None:
        """An append has taken too long, if it waits still."""
        part, pending = what
        if any(one is pending for one in part.pending):
            part.pending = deque(one for one in part.pending if one is not pending)
            pending.done(ErrorCode.REQUEST_TIMED_OUT)

    def _commit(self, part: _Partition) -> None:
        """The followers have the oldest append that waits. One event for each, so that each keeps its own cause."""
        waiting = part.pending
        while waiting and not waiting[0].host.alive:
            waiting.popleft()
        if waiting and not part.held and waiting[0].due_us <= self._loop.now_us:
            pending = waiting.popleft()
            pending.done(pending.error)

    def read(self, partition: int) -> Sequence[Record]:
        """All records of the partition, oldest first."""
        part = self._parts.get(partition)
        return () if part is None else (*(record for _, _, record in part.tidied), *part.records)

    def seed(self, partition: int, records: Sequence[Record]) -> None:
        """Put records there before the run, as if an earlier coordinator had left them."""
        part = self._parts[partition]
        part.appended += [(0, len(part.records) + index) for index in range(len(records))]
        part.records.extend(records)

    def batches(self, partition: int, version: int = FLEXIBLE_VERSION) -> tuple[Batch, ...]:
        """The partition as Kafka's logs have it: a batch for each append; `version` is that of offsets' values."""
        part = self._parts[partition]
        left = (to_batch([record], timestamp_ms(when), version).placed(at, 0) for when, at, record in part.tidied)
        return (
            *left,
            *(
                to_batch(part.records[first:end], timestamp_ms(when_us), version).placed(part.base + first, 0)
                for when_us, first, end in part.appends()
            ),
        )

    # --- faults ----------------------------------------------------------------------------------------------

    def fail_next(self, partition: int, error: ErrorCode, times: int = 1) -> None:
        """Let the next appends to a partition fail with an error; nothing of them is kept."""
        self._parts[partition].failures.extend([error] * times)

    def hold(self, partition: int, for_us: int | None = None) -> None:
        """Followers stand still: nothing of the partition commits until `release`, or for a while."""
        part = self._parts[partition]
        part.held = True
        for pending in part.pending:
            self._watch(part, pending)
        if for_us is not None:
            self._loop.call_at(self._loop.now_us + for_us, self.release, partition, order=Order.APPEND)

    def release(self, partition: int) -> None:
        """Followers go on; what waited commits now, each append on its leader's host."""
        part = self._parts[partition]
        part.held = False
        for pending in part.pending:
            pending.host.call_at(pending.due_us, self._commit, part, order=Order.APPEND)

    def abandon(self, partition: int, host: Host) -> None:
        """A leader is gone: the appends it waits for tell nobody. Their records stay."""
        part = self._parts[partition]
        part.pending = deque(pending for pending in part.pending if pending.host is not host)


class BrokerOffsets:
    """The log as one broker's coordinator sees it; implements `parts.OffsetsLog`."""

    def __init__(self, log: CountedOffsets, host: Host) -> None:
        self._log = log
        self.append = partial(log.append, host)

    def read(self, partition: int) -> Sequence[Record]:
        return self._log.read(partition)

    def fail_next(self, partition: int, error: ErrorCode, times: int) -> None:
        """See `parts.OffsetsLog.fail_next`; the next leader's appends count, too."""
        self._log.fail_next(partition, error, times)
