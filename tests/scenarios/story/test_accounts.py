"""The account of the records: each figure from a constructed trace, and the sum of all figures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import Gap, Lag, Records, tell
from groupsim.scenarios.story.model import Account
from groupsim.scenarios.story.records.lag_history import LagHistory
from groupsim.scenarios.story.records.offset_ranges import Ranges

ORDERS = TopicPartition("orders", 0)
SECOND = 1_000_000


class Log:
    """The trace of one partition that one group reads; each method adds an event, 1 µs after the last."""

    def __init__(self) -> None:
        self.events: list[TraceEvent] = []
        self.now_us = 0
        self._add(Kind.PROCESS_STARTED, "c1", payload={"topics": ["orders"]}, group="g")

    def _add(self, kind: Kind, host: str, *, group: str | None = None, **columns: Any) -> Log:
        self.now_us += 1
        seq = len(self.events) + 1
        self.events.append(TraceEvent(seq, self.now_us, kind, host=host, group=group, **columns))
        return self

    def _of_log(self, kind: Kind, host: str, **payload: Any) -> Log:
        return self._add(kind, host, topic="orders", partition=0, payload=payload)

    def _of_group(self, kind: Kind, host: str, **payload: Any) -> Log:
        return self._add(kind, host, group="g", topic="orders", partition=0, payload=payload)

    def append(self, base: int, count: int, epoch: int = 0, producer: str = "p", **more: Any) -> Log:
        """A leader appends records of a producer."""
        sent = {"producer": producer} if "marker" not in more else {}
        return self._of_log(
            Kind.RECORDS_APPENDED, f"broker-{epoch}", base=base, count=count, epoch=epoch, **sent, **more
        )

    def acknowledge(self, base: int, count: int, producer: str = "p") -> Log:
        """The producer receives the acknowledgement."""
        return self._of_log(Kind.RECORDS_ACKNOWLEDGED, producer, base=base, count=count)

    def delete(self, start: int) -> Log:
        """Retention deletes a segment."""
        return self._of_log(Kind.LOG_DELETED, "broker-0", start=start, segments=1)

    def place(self, offset: int, host: str = "c1") -> Log:
        """A member reads from an offset on."""
        return self._of_group(Kind.POSITION_SET, host, offset=offset)

    def deliver(self, base: int, end: int, host: str = "c1") -> Log:
        """A member receives records."""
        return self._of_group(Kind.RECORDS_DELIVERED, host, base=base, count=end - base)

    def process(self, base: int, end: int, host: str = "c1") -> Log:
        """Its handler finishes records."""
        return self._of_group(Kind.RECORDS_PROCESSED, host, base=base, count=end - base)

    def read(self, base: int, end: int) -> Log:
        """A member receives records and its handler finishes them."""
        return self.deliver(base, end).process(base, end)

    def account(self, start: int, end: int) -> Account:
        """The run ends with a log from `start` to `end`."""
        self._add(Kind.LOG_ENDS, "", payload={"ends": {"orders-0": [start, end, end]}})
        (account,) = tell(self.events).accounts
        return account

    def records(self, start: int, end: int) -> Records:
        """Return the account of the records; its figures add up to all records."""
        found = self.account(start, end).records
        assert found is not None
        assert_adds_up(found)
        return found


def assert_adds_up(found: Records) -> None:
    """Every record belongs to exactly one figure."""
    read = found.once + found.again
    unread = found.older + found.skipped + found.expired + found.waiting + found.aborted
    assert read + unread + found.truncated - found.phantoms == found.written
    assert min(found.never, found.truncated - found.lost, found.truncated - found.phantoms, found.unprocessed) >= 0


# --- delivered or not ------------------------------------------------------------------------------------------------


def test_records_read_once_again_and_not_yet() -> None:
    """A record that two members received counts once, in `again`; the others wait."""
    log = Log().append(0, 100).place(0).read(0, 50).place(30).read(30, 60).deliver(40, 45).deliver(60, 70)
    assert log.records(0, 100) == Records(written=100, once=50, again=20, waiting=30, unprocessed=10)


def test_what_lies_before_the_first_position_was_never_the_groups() -> None:
    """A reset to `latest` passes over older records; a later reset to a position before them includes them."""
    assert Log().append(0, 100).place(80).read(80, 90).records(0, 100) == Records(
        written=100, older=80, once=10, waiting=10
    )
    assert Log().append(0, 100).place(80).read(80, 90).place(70).records(0, 100).older == 70


def test_records_that_a_position_jumped_over_are_skipped() -> None:
    """Records before a manually committed offset, or before a reset to the end after lost offsets, are skipped."""
    assert Log().append(0, 100).place(0).read(0, 20).place(50).read(50, 100).records(0, 100) == Records(
        written=100, once=70, skipped=30
    )


def test_records_that_a_position_went_back_before_are_waiting() -> None:
    """Records that no member has read wait if the group's position is before them again."""
    found = Log().append(0, 100).place(0).read(0, 20).place(50).read(50, 60).place(20).records(0, 100)
    assert (found.skipped, found.waiting) == (0, 70)


def test_records_deleted_before_the_group_came_are_expired() -> None:
    """Records deleted after the group's first position have expired, also if the group never read."""
    log = Log().append(0, 100).place(0).read(0, 20).delete(60).place(60).read(60, 100)
    assert log.records(60, 100) == Records(written=100, once=60, expired=40)
    assert Log().append(0, 100).delete(60).records(60, 100) == Records(written=100, expired=60, waiting=40)


def test_records_that_expired_stay_expired_when_retention_goes_on() -> None:
    """The group continues after deleted records; later deletions do not count them as skipped."""
    log = Log().append(0, 100).place(0).read(0, 20).delete(60).place(60).read(60, 90)
    assert log.delete(80).records(80, 100) == Records(written=100, once=50, expired=40, waiting=10)


def test_records_that_were_skipped_and_deleted_later_did_not_expire() -> None:
    """Records that the group had passed before retention deleted them are skipped, not expired."""
    found = Log().append(0, 100).place(0).read(0, 20).place(50).read(50, 60).delete(60).records(60, 100)
    assert (found.skipped, found.expired, found.waiting) == (30, 0, 40)


def test_a_partition_without_any_owner_waits_and_has_a_gap_all_along() -> None:
    """A partition from which no member could fetch waits, and its gap is the whole time."""
    account = Log().append(0, 10).account(0, 10)
    assert account.records == Records(written=10, waiting=10)
    assert account.gap == Gap(1, 3, open=True)


def test_a_partition_that_came_later_has_no_gap_before_it_came() -> None:
    """The gap of a partition begins with the change that created it."""
    log = Log()
    log._add(Kind.METADATA_CHANGED, "controller", topic="orders", payload={"partitions": 1, "before": 0})
    account = log.append(0, 10).account(0, 10)
    assert account.gap == Gap(2, 4, open=True)


def test_markers_are_no_records_and_aborted_ones_are_not_delivered() -> None:
    """Neither counts as skipped; an aborted record that a read_uncommitted member received was delivered."""
    log = Log().append(0, 10, transaction=7).append(10, 1, transaction=7, marker="abort")
    log.append(11, 5, transaction=7).append(16, 1, transaction=7, marker="commit").append(17, 3)
    log.place(0).read(11, 16).read(17, 20)
    assert log.records(0, 20) == Records(written=18, once=8, aborted=10)
    assert tell(log.events).accounts[0].lost == 0
    log = Log().append(0, 10, transaction=7).append(10, 1, transaction=7, marker="abort").place(0).read(0, 10)
    assert log.records(0, 11) == Records(written=10, once=10)


# --- cut off ---------------------------------------------------------------------------------------------------------


def test_what_a_new_leader_does_not_have_is_cut_off_and_lost_if_acknowledged() -> None:
    """A new leader appends below the old end; the old leader's later truncation changes nothing."""
    log = Log().append(0, 10).append(10, 10).acknowledge(0, 10).acknowledge(10, 10).append(20, 5).place(0).read(0, 12)
    log.append(12, 8, epoch=1).read(12, 20)
    log._add(Kind.LOG_TRUNCATED, "broker-0", topic="orders", partition=0, payload={"to": 12, "end": 25})
    assert log.records(0, 20) == Records(written=33, once=20, truncated=13, lost=8)


def test_a_record_delivered_and_then_cut_off_is_a_phantom() -> None:
    """The record that has the offset afterwards is another one, not a duplicate."""
    log = Log().append(0, 20).place(0).read(0, 20).deliver(15, 20).append(10, 5, epoch=1).read(10, 15)
    assert log.records(0, 15) == Records(written=25, once=20, again=5, truncated=10, phantoms=10)


def test_a_log_that_is_shorter_at_the_end_was_cut_off() -> None:
    """Records missing at the end are truncated although no leader appended after the change."""
    log = Log().append(0, 20).acknowledge(0, 20).place(0).read(0, 5)
    assert log.records(0, 15) == Records(written=20, once=5, waiting=10, truncated=5, lost=5)


def test_the_appends_of_a_replaced_leader_are_truncated() -> None:
    """Its records share offsets with others; the producer decides to which append an acknowledgement belongs."""
    log = Log().append(0, 10).append(10, 5, epoch=1, producer="new").append(10, 5, epoch=0, producer="old")
    log.acknowledge(10, 5, "old").acknowledge(10, 5, "new").append(15, 1, epoch=1, producer="new")
    found = log.records(0, 16)
    assert (found.written, found.truncated, found.lost, found.waiting) == (21, 5, 5, 16)


def test_an_acknowledgement_without_an_offset_promises_nothing() -> None:
    """With acks=0 the producer receives no offsets."""
    assert Log().append(0, 20).acknowledge(-1, 20).records(0, 15).lost == 0


# --- lag and gaps ----------------------------------------------------------------------------------------------------


def test_lag_behind_an_appended_log_goes_up_with_appends_and_down_with_what_is_done() -> None:
    """The lag has a maximum with its time, an end, and an area in whole record-milliseconds."""
    log = Log().place(0)
    log.now_us = 10_000
    log.append(0, 30)
    log.now_us = 20_000
    log.append(30, 30)
    log.now_us = 30_000
    log.read(0, 50)
    log.now_us = 40_000
    account = log.account(0, 60)
    area = 30 * (20_001 - 10_001) + 60 * (30_002 - 20_001) + 10 * (40_001 - 30_002)
    assert account.lag == Lag(end=10, most=60, most_us=20_001, area=area // 1000)
    progress = LagHistory.of(log.events)
    moments = [0, 10_000, 10_001, 25_000, 30_001, 30_002, 40_000]
    assert progress.series("g", [ORDERS], moments) == list(zip(moments, [0, 0, 30, 60, 60, 10, 10], strict=True))


def test_a_group_beyond_the_end_of_a_log_that_was_cut_off_is_not_behind() -> None:
    """The lag is 0 until the log has grown past the offset that the group had reached."""
    log = Log().place(0).append(0, 20).read(0, 20).append(10, 5, epoch=1).append(15, 10, epoch=1)
    lag = log.account(0, 25).lag
    assert lag is not None
    assert (lag.end, lag.most) == (5, 20)


COUNTED = """
run-for: 60s
topics: {orders: {partitions: 3, rate: 20/s}}
groups: {g: {members: {c: {count: 2}}, processing: 20ms, properties: {auto.offset.reset: earliest}}}
timeline:
  - {at: 10s, do: pause, member: c-1, for: 5s}
  - {at: 20s, do: set-rate, topic: orders, rate: 50/s}
  - {at: 30s, do: crash, member: c-2}
"""


def test_a_run_on_counted_logs_accounts_for_every_record() -> None:
    """Log ends, deliveries and lag of a whole run agree: undelivered records wait, and only they are lag."""
    run = run_scenario(load_text(COUNTED), seed=3)
    story = tell(run.events)
    payload = next(event.payload for event in run.events if event.kind is Kind.LOG_ENDS)
    assert payload is not None
    progress = LagHistory.of(run.events)
    for account in story.accounts:
        found, lag = account.records, account.lag
        assert found is not None
        assert lag is not None
        assert_adds_up(found)
        assert found.written == payload["ends"][str(account.partition)][1]
        assert account.delivered == found.once + found.again + account.duplicates
        assert lag.end == progress.at("g", account.partition, story.end_us) == found.waiting + found.unprocessed
        assert progress.at("g", account.partition, lag.most_us) == lag.most
        assert progress.at("g", account.partition, lag.most_us - 1) < lag.most
    assert story.totals[0].gap in [account.partition for account in story.accounts]


# --- whatever happens ------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "elect", "ack", "place", "read", "deliver", "delete"]), st.integers(0, 40)),
    max_size=40,
)


@given(STEPS)
def test_once_again_and_never_add_up_to_the_log(steps: list[tuple[str, int]]) -> None:
    """The figures add up for any order of appends, elections, acknowledgements, resets, deliveries and deletions."""
    log, end, start, epoch, position = Log(), 0, 0, 0, 0
    lengths = []
    for what, number in steps:
        if what == "append" and number:
            log.append(end, number, epoch)
            lengths.append((end, number))
            end += number
        elif what == "elect" and end > start:
            epoch, cut = epoch + 1, max(start, end - number)
            log.append(cut, 1, epoch)
            end = cut + 1
        elif what == "ack" and lengths:
            log.acknowledge(*lengths[number % len(lengths)])
        elif what == "place":
            position = min(number * 5, end + 3)
            log.place(position)
        elif what in ("read", "deliver") and start <= position < end:
            until = min(end, position + number)
            log.deliver(position, until)
            if what == "read":
                log.process(position, until)
            position = until
        elif what == "delete" and start < end:
            start = min(end, start + number)
            log.delete(start)
    found = log.records(start, end)
    assert found.written == len(appended(log)) + found.truncated


def appended(log: Log) -> Ranges:
    """Return the offsets of the final log, computed from the last append backwards."""
    kept = Ranges()
    lowest = None
    for event in reversed(log.events):
        if event.kind is Kind.RECORDS_APPENDED and event.payload:
            base, end = event.payload["base"], event.payload["base"] + event.payload["count"]
            end = end if lowest is None else min(end, lowest)
            if base < end:
                kept.add(base, end)
            lowest = base if lowest is None else min(base, lowest)
    return kept


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 15)), max_size=12), st.integers(0, 70))
def test_ranges_are_sets(spans: list[tuple[int, int]], at: int) -> None:
    """`add`, `within`, `gaps` and `cut` agree with sets of numbers."""
    ranges, numbers = Ranges(), set[int]()
    for begin, length in spans:
        new = set(range(begin, begin + length))
        assert ranges.add(begin, begin + length) == len(numbers & new)
        numbers |= new
    assert [n for begin, end in ranges for n in range(begin, end)] == sorted(numbers)
    assert ranges.count(at - 9, at) == len(numbers & set(range(at - 9, at)))
    assert [n for begin, end in ranges.gaps(at, at + 9) for n in range(begin, end)] == sorted(
        set(range(at, at + 9)) - numbers
    )
    assert ranges.cut(at) == len({n for n in numbers if n >= at})
    assert len(ranges) == len({n for n in numbers if n < at})


@pytest.mark.parametrize("missing", ["growth and ends", "group"])
def test_a_trace_that_does_not_tell_has_no_figures(missing: str) -> None:
    """Without log ends records and lag are unknown; a producer, which has no group, has no account."""
    log = Log().append(0, 10).place(0).read(0, 5)
    if missing == "group":
        log._add(Kind.PROCESS_STARTED, "p", payload={"topics": ["orders"]})
        log._add(Kind.LOG_ENDS, "", payload={"ends": {"orders-0": [0, 10, 10]}})
        assert [total.group for total in tell(log.events).totals] == ["g"]
        return
    (account,) = tell(log.events).accounts
    assert (account.records, account.lag, account.delivered) == (None, None, 5)
