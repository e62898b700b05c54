"""Random histories of a log against a list of batches: what is read, epochs, transactions, retention, compaction.

A history is a list of steps, each a name and a number from which the step takes what it needs; so an example shrinks
to few and small steps.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.log.markers import marker_batch, marker_of
from groupsim.protocol.batch.batch import Batch

FAST = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
SEGMENT_BYTES = 400
KEYS = "abcd"


def _steps(*names: str) -> st.SearchStrategy[list[tuple[str, int]]]:
    return st.lists(st.tuples(st.sampled_from(names), st.integers(0, 63)), max_size=40)


class History:
    """Drives a log and keeps, beside it, the list of batches that it has to hold."""

    def __init__(self, kit: Any, log: PartitionLog) -> None:
        self.kit, self.log = kit, log
        self.batches: list[Batch] = []
        self.epoch = 0
        self.epochs: list[tuple[int, int]] = []  # as assigned: epoch, start
        self.now_ms = 1_000
        self.ever: list[Batch] = []
        self.sequences: dict[int, int] = {}

    # --- steps

    def append(self, number: int) -> None:
        """One to three batches of one to three records."""
        content = [
            (KEYS[(number + n) % 4], None if (number + n) % 5 == 0 else str(number)) for n in range(number % 3 + 1)
        ]
        self._append(*[self.kit.keyed(*content, at=self.now_ms) for _ in range(number // 32 + 1)])

    def send(self, number: int) -> None:
        """A batch of an idempotent producer, in or out of a transaction, as its state demands."""
        producer = number % 3 + 1
        fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": self.sequences.get(producer, 0)}
        if producer in self.open_transactions() or number > 20:
            fields["attributes"] = 0x10
        self._append(self.kit.keyed((KEYS[number % 4], str(number)), at=self.now_ms, **fields))
        self.sequences[producer] = fields["base_sequence"] + 1

    def end(self, number: int) -> None:
        """A marker, also for a producer without a transaction."""
        self._append(
            marker_batch(number % 3 + 1, 0, committed=number % 2 == 0, coordinator_epoch=0, timestamp_ms=self.now_ms)
        )

    def elect(self, number: int) -> None:
        """A new leader epoch, which may stay without records."""
        self.epoch += number % 2 + 1
        self.log.assign_epoch(self.epoch, self.log.end_offset)
        self._assigned()

    def replicate(self, number: int) -> None:
        """The high watermark moves."""
        span = self.log.end_offset - self.log.high_watermark
        self.log.advance_high_watermark(self.log.high_watermark + number * span // 63)

    def truncate(self, number: int) -> None:
        """Cut, never below the high watermark."""
        span = self.log.end_offset - self.log.high_watermark
        offset = self.log.high_watermark + number * span // 63
        self.log.truncate_to(offset)
        self.batches = [batch for batch in self.batches if batch.next_offset <= offset]
        self._forget_cut()

    def kill(self, number: int) -> None:
        """Crash the process or the machine; a prefix is left, and the number of lost records is returned."""
        watermark, start = self.log.high_watermark, self.log.start_offset
        before = [batch for batch in self.batches if batch.next_offset > start]
        lost = self.log.crash(machine=number % 2 == 1)
        self.batches = list(self.log.batches(start, self.log.end_offset))
        gone = before[len(self.batches) :]
        assert self.batches == before[: len(self.batches)]
        assert lost == sum(len(batch.records or ()) for batch in gone) or start > 0
        self._forget_cut()
        self.log.advance_high_watermark(watermark)

    def _append(self, *batches: Batch) -> None:
        if not self.epochs or self.epochs[-1][0] != self.epoch:
            self.epochs.append((self.epoch, self.log.end_offset))
        placed = self.log.append(batches, self.epoch, self.now_ms)
        self.batches += placed
        self.ever += placed

    def _assigned(self) -> None:
        if self.epochs and self.epochs[-1][1] == self.log.end_offset:
            self.epochs.pop()
        self.epochs.append((self.epoch, self.log.end_offset))

    def _forget_cut(self) -> None:
        self.epochs = [(epoch, start) for epoch, start in self.epochs if start < self.log.end_offset]
        self.sequences = {
            batch.producer_id: batch.base_sequence + 1 for batch in self.batches if batch.base_sequence >= 0
        }

    # --- the naive model

    def open_transactions(self) -> dict[int, int]:
        """Return the first offset of each producer's open transaction, by reading all batches."""
        found: dict[int, int] = {}
        for batch in self.batches:
            if batch.is_control:
                found.pop(batch.producer_id, None)
            elif batch.is_transactional:
                found.setdefault(batch.producer_id, batch.base_offset)
        return found

    def last_stable_offset(self) -> int:
        """Return the first offset of a transaction without a marker below the high watermark, or the high watermark."""
        watermark = self.log.high_watermark
        found: dict[int, int] = {}
        for batch in self.batches:
            if batch.is_control and batch.base_offset < watermark:
                found.pop(batch.producer_id, None)
            elif batch.is_transactional and not batch.is_control:
                found.setdefault(batch.producer_id, batch.base_offset)
        return min([watermark, *found.values()])

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the end of an epoch by reading all epochs one by one."""
        if not self.epochs or epoch > self.epochs[-1][0]:
            return -1, -1
        if epoch == self.epochs[-1][0]:
            return epoch, self.log.end_offset
        above = min(start for other, start in self.epochs if other > epoch)
        return max((other for other, _ in self.epochs if other <= epoch), default=epoch), above


def _read_all(log: PartitionLog, offset: int, max_bytes: int) -> list[Batch]:
    found: list[Batch] = []
    while offset < log.end_offset:
        some = log.read(offset, max_bytes)
        if not some:
            break
        assert len(some) == 1 or sum(batch.size for batch in some) <= max_bytes
        found += some
        offset = some[-1].next_offset
    return found


@FAST
@given(_steps("append", "append", "send", "send", "end", "elect", "replicate", "truncate", "kill"), st.integers(1, 900))
def test_a_log_holds_what_a_list_holds(new_store: Any, kit: Any, steps: list[tuple[str, int]], max_bytes: int) -> None:
    """After any history reads return the list's batches, epochs end as in a naive reading, and offsets rise."""
    new_store.close()
    history = History(kit, kit.log(new_store(), segment_bytes=SEGMENT_BYTES, retention_ms=-1))
    log = history.log
    for name, number in steps:
        getattr(history, name)(number)
        for offset in range(log.end_offset + 1):
            expected = [batch for batch in history.batches if batch.next_offset > offset]
            assert _read_all(log, offset, max_bytes) == expected
            assert log.bytes_between(offset, log.end_offset) == sum(batch.size for batch in expected)
        for epoch in range(history.epoch + 2):
            assert tuple(log.epoch_end(epoch)) == history.end_of_epoch(epoch)
        assert log.start_offset <= log.last_stable_offset <= log.high_watermark <= log.end_offset


@FAST
@given(_steps("append", "send", "send", "end", "end", "replicate"))
def test_the_last_stable_offset_is_that_of_a_naive_reading(
    new_store: Any, kit: Any, steps: list[tuple[str, int]]
) -> None:
    """It holds at every step and for any order of transactions, markers and replication."""
    new_store.close()
    history = History(kit, kit.log(new_store(), segment_bytes=SEGMENT_BYTES, retention_ms=-1))
    for name, number in steps:
        getattr(history, name)(number)
        assert history.log.last_stable_offset == history.last_stable_offset()


@FAST
@given(_steps("append", "send", "send", "end", "truncate", "kill"))
def test_the_producer_state_is_rebuilt_from_the_log(new_store: Any, kit: Any, steps: list[tuple[str, int]]) -> None:
    """After truncations and crashes the state equals that of a follower that has appended every batch."""
    new_store.close()
    history = History(kit, kit.log(new_store(), segment_bytes=SEGMENT_BYTES, retention_ms=-1))
    for name, number in steps:
        getattr(history, name)(number)
    follower = kit.log(new_store(), retention_ms=-1)
    for batch in history.batches:
        follower.append_copied([batch], history.now_ms)
    for log in (history.log, follower):
        log.advance_high_watermark(log.end_offset)
    end = history.log.end_offset
    assert history.log.last_stable_offset == follower.last_stable_offset or not history.batches
    for offset in range(end):
        assert history.log.aborted(offset, end) == follower.aborted(offset, end)
    for producer, sequence in history.sequences.items():
        again = kit.sent(producer, sequence - 1, attributes=0x10)
        assert history.log.append([again], 9, 1_000)[0].base_offset == follower.append([again], 9, 1_000)[0].base_offset


@FAST
@given(_steps("append", "append", "replicate", "pass_time", "delete_records", "keep_up", "kill"), st.booleans())
def test_retention_takes_a_prefix_of_what_is_replicated(
    new_store: Any, kit: Any, steps: list[tuple[str, int]], by_size: bool
) -> None:
    """All records from the start offset on are there; none at or above the high watermark is deleted."""
    new_store.close()
    limits = {"retention_bytes": 900, "retention_ms": -1} if by_size else {"retention_ms": 100}
    history = History(kit, kit.log(new_store(), segment_bytes=SEGMENT_BYTES, **limits))
    log, start = history.log, 0
    for name, number in steps:
        if name == "pass_time":
            history.now_ms += number
        elif name == "delete_records":
            log.advance_start(log.start_offset + (log.high_watermark - log.start_offset) * number // 63)
        elif name == "keep_up":
            log.maintain(history.now_ms)
            due = log.next_maintenance_ms(history.now_ms)
            assert due is None or due > history.now_ms
        else:
            getattr(history, name)(number)
        assert start <= log.start_offset <= log.high_watermark <= log.end_offset
        start = log.start_offset
        assert _read_all(log, start, 300) == [batch for batch in history.batches if batch.next_offset > start]


def _committed(log: PartitionLog, batches: list[Batch]) -> dict[bytes, bytes]:
    """Build the table of a read_committed consumer; it drops the transactions in `aborted`, as `CompletedFetch`."""
    ahead = sorted(log.aborted(0, log.end_offset), key=lambda one: one[1], reverse=True)
    return _table(batches, ahead)


def _table(batches: list[Batch], ahead: list[tuple[int, int]]) -> dict[bytes, bytes]:
    aborting: set[int] = set()
    table: dict[bytes, bytes] = {}
    for batch in batches:
        while ahead and ahead[-1][1] <= batch.last_offset:
            aborting.add(ahead.pop()[0])
        if batch.is_control:
            marker = marker_of(batch)
            if marker is not None and not marker.committed:
                aborting.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in aborting):
            for record in batch.records or ():
                if record.value is None:
                    table.pop(record.key or b"", None)
                else:
                    table[record.key or b""] = record.value
    return table


def _naively_aborted(batches: list[Batch]) -> list[tuple[int, int]]:
    first: dict[int, int] = {}
    found = []
    for batch in batches:
        if batch.is_control:
            began = first.pop(batch.producer_id, None)
            marker = marker_of(batch)
            if began is not None and marker is not None and not marker.committed:
                found.append((batch.producer_id, began))
        elif batch.is_transactional:
            first.setdefault(batch.producer_id, batch.base_offset)
    return sorted(found, key=lambda one: one[1], reverse=True)


@FAST
@given(
    _steps("append", "append", "send", "end", "replicate", "pass_time", "keep_up", "kill"),
    st.sampled_from([0, 50, 10**6]),
)
def test_compaction_keeps_the_last_committed_value_of_every_key(
    new_store: Any, kit: Any, steps: list[tuple[str, int]], delete_retention_ms: int
) -> None:
    """Records keep offset, value and order, and a reader of the log builds the same table as before."""
    new_store.close()
    config = {"cleanup_policy": ("compact",), "min_cleanable_dirty_ratio": 0.0, "segment_bytes": SEGMENT_BYTES}
    history = History(kit, kit.log(new_store(), delete_retention_ms=delete_retention_ms, **config))
    log = history.log
    for name, number in steps:
        if name == "pass_time":
            history.now_ms += number
        elif name == "keep_up":
            stable = log.last_stable_offset
            log.maintain(history.now_ms)
            history.batches = _compacted(log, history, stable)
        else:
            getattr(history, name)(number)
        ever = [batch for batch in history.ever if batch.next_offset <= log.end_offset]
        history.ever = ever
        assert _committed(log, history.batches) == _table(ever, _naively_aborted(ever))
        assert _read_all(log, log.start_offset, 300) == history.batches


def _compacted(log: PartitionLog, history: History, stable: int) -> list[Batch]:
    """Return the records left by compaction, after a comparison with the appended ones."""
    left = list(log.batches(0, log.end_offset))
    bases = [batch.base_offset for batch in left]
    assert bases == sorted(set(bases))
    known = {
        batch.base_offset + record.offset_delta: (record.key, record.value, batch.timestamp_ms + record.timestamp_delta)
        for batch in history.ever
        for record in batch.records or ()
    }
    for batch in left:
        offsets = [batch.base_offset + record.offset_delta for record in batch.records or ()]
        assert offsets == sorted(offsets)
        for record in batch.records or ():
            read = (record.key, record.value, batch.timestamp_ms + record.timestamp_delta)
            assert known[batch.base_offset + record.offset_delta] == read
    assert [batch for batch in left if batch.base_offset >= stable] == [
        batch for batch in history.batches if batch.base_offset >= stable
    ]
    return left
