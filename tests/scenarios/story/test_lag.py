from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.members.producer.traffic import Traffic
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import _schedule
from groupsim.scenarios.runtime.stage import Stage
from groupsim.scenarios.story import Lag, tell
from groupsim.scenarios.story.records.log_growth import LogEnds, changes, floor_sum

MS = 1_000  # µs
RUN_US = 3 * MS
Growth = list[dict[str, object]]


def made(rate: int, *weights: int, t_us: int = 0, topic: str = "orders") -> dict[str, object]:
    """Return the entry of a new topic with a rate in records a second and weights."""
    return {"t_us": t_us, "topic": topic, "rate": rate * 10**6, "weights": list(weights)}


class Record:
    """A trace with only the events that the lag needs."""

    def __init__(self, **payload: object) -> None:
        self.events: list[TraceEvent] = []
        self.add(0, Kind.PROCESS_STARTED, payload=payload or {"topics": ["orders"]})

    def add(self, t_us: int, kind: Kind, **columns: object) -> None:
        seq = len(self.events) + 1
        self.events.append(TraceEvent(seq, t_us, kind, host="c", group="g", **columns))  # type: ignore[arg-type]

    def own(self, t_us: int, partition: int, generation: int | None = 1) -> Record:
        self.add(t_us, Kind.PARTITION_OWNED, topic="orders", partition=partition, generation=generation)
        return self

    def place(self, t_us: int, partition: int, offset: int) -> Record:
        self.add(t_us, Kind.POSITION_SET, topic="orders", partition=partition, payload={"offset": offset})
        return self

    def work(self, t_us: int, partition: int, base: int, count: int) -> Record:
        payload = {"base": base, "count": count}
        self.add(t_us, Kind.RECORDS_PROCESSED, topic="orders", partition=partition, payload=payload)
        return self

    def whole(self, *growth: dict[str, object]) -> tuple[dict[TopicPartition, Lag], Lag]:
        """Return the lag of each partition and of the group at the end of the run."""
        events = [*self.events, TraceEvent(0, RUN_US, Kind.LOG_ENDS, payload={"ends": {}, "growth": list(growth)})]
        story = tell(events)
        (total,) = story.totals
        assert total.lag is not None
        return {one.partition: one.lag for one in story.accounts if one.lag is not None}, total.lag

    def lags(self, *growth: dict[str, object]) -> tuple[list[Lag], int]:
        found, total = self.whole(*growth)
        assert total.end == sum(lag.end for lag in found.values())
        return list(found.values()), total.most


def sampled(growth: Growth, record: Record, partitions: int) -> tuple[list[Lag], int]:
    """Return the same from every single microsecond, with the cluster's own producers."""
    placed = [event for event in record.events if event.kind is Kind.POSITION_SET]
    first = [next((e.payload for e in placed if e.partition == p and e.payload), None) for p in range(partitions)]
    done = [int(payload["offset"]) if payload else 0 for payload in first]
    areas, tops, group = [0] * partitions, [(0, 0)] * partitions, 0
    planned, events = changes(growth), [e for e in record.events if e.partition is not None]
    traffic: Traffic | None = None
    now: list[int] = []
    for t_us in range(RUN_US + 1):
        for change in planned:
            if change.t_us == t_us and change.make is not None:
                traffic = change.make(t_us)
            elif change.t_us == t_us and change.change is not None:
                change.change(traffic, t_us)  # type: ignore[arg-type]
        for event in events:
            if event.t_us == t_us:
                payload = event.payload or {}
                offset = payload["offset"] if "offset" in payload else payload.get("base", 0) + payload.get("count", 0)
                done[event.partition or 0] = max(done[event.partition or 0], offset)
        assert traffic is not None
        now = [max(0, traffic.end(p, t_us) - done[p]) if p < traffic.partitions else 0 for p in range(partitions)]
        tops = [(lag, t_us) if lag > top[0] else top for lag, top in zip(now, tops, strict=True)]
        group = max(group, sum(now))
        if t_us < RUN_US:
            areas = [area + lag for area, lag in zip(areas, now, strict=True)]
    return [Lag(end, *top, area // 1000) for end, top, area in zip(now, tops, areas, strict=True)], group


numbers = st.integers(0, 10**6)


@given(st.integers(0, 60), st.integers(1, 10**6), numbers, numbers)
def test_the_sum_of_floors_is_that_of_its_terms(count: int, divisor: int, step: int, start: int) -> None:
    """`floor_sum` equals the plain sum."""
    assert floor_sum(count, divisor, step, start) == sum((start + step * i) // divisor for i in range(count))


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=7).filter(any),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
    st.lists(st.integers(1, 3), max_size=3),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)
def test_all_log_ends_together_are_the_sum_of_each(
    weights: list[int], rate: int, other: int, grown: list[int], changed_us: int, after_us: int
) -> None:
    """The total equals the sum of all log ends, for any weights, rates and later partitions."""
    ends = LogEnds(weights, rate, 0)
    for step in ("made", "faster", "larger"):
        if step == "faster":
            ends.set_rate(other, changed_us)
        elif step == "larger" and grown:
            ends.grow(grown, changed_us)
        for t_us in (changed_us, changed_us + after_us):
            assert ends.total(t_us) == sum(ends.end(p, t_us) for p in range(ends.partitions))


@given(st.integers(0, 10**11), st.integers(0, 300), st.integers(0, 300))
def test_the_area_under_a_log_end_is_the_sum_over_its_microseconds(rate: int, begin: int, length: int) -> None:
    """The area equals the sum over microseconds, from any instant on."""
    ends = LogEnds([1, 2, 0], rate, 0)
    for p in range(3):
        assert ends.area(p, begin, begin + length) == sum(ends.end(p, t) for t in range(begin, begin + length))


def test_topics_grow_as_in_the_cluster() -> None:
    """Rates, steps, bursts of partitions, creation and repeated steps: the same log ends as the running cluster's."""
    of = load_text(
        """
        run-for: 10s
        cluster: {logs: counted}
        topics:
          orders: {partitions: 3, rate: 70/s, weights: [1, 5, 2], steps: [{at: 2s, rate: 11/s}, {at: 7s, rate: 333/s}]}
          audit: {partitions: 4, rate: 9/min}
        groups: {g: {members: {c: 1}}}
        timeline:
          - {at: 1s, do: set-rate, topic: audit, rate: 55/s, every: 3s, times: 2}
          - {at: 3s, do: add-partitions, topic: orders, to: 5}
          - {at: 4s, do: create-topic, topic: late, partitions: 2, rate: 17/s}
          - {at: 5s, do: set-rate, topic: audit, rate: 0}
        """
    )
    moments = [0, 999_999, 1_000_000, 2_500_001, 3_000_000, 4_123_456, 5_000_000, 8_000_001, 9_999_999]
    found: dict[tuple[int, str, int], int] = {}
    growth: Growth = []

    async def main(loop: EventLoop) -> None:
        stage = Stage(loop, of)
        for step in of.timeline:
            _schedule(stage, step, int(step.at), 1)
        for at_us in moments:
            loop.call_at(at_us + 1, look, (stage, at_us))
        await loop.sleep(of.run_for)
        assert stage.cluster.data is not None
        growth.extend(stage.cluster.data.growth)

    def look(what: tuple[Stage, int]) -> None:
        stage, at_us = what
        data = stage.cluster.data
        assert data is not None
        for name, topic in stage.cluster.image.topics.items():
            for p in () if topic.internal else range(len(topic.partitions)):
                found[at_us + 1, name, p] = data.end(TopicPartition(name, p))

    VirtualLoop(0, Trace(Level.OFF)).run(main)
    assert len({topic for _, topic, _ in found}) == 3
    for (t_us, topic, p), end in found.items():
        ends: LogEnds | None = None
        for change in changes(growth):
            if change.topic == topic and change.t_us < t_us:
                if change.make is not None:
                    ends = change.make(change.t_us)
                elif change.change is not None and ends is not None:
                    change.change(ends, change.t_us)
        assert ends is not None
        assert ends.end(p, t_us) == end, (t_us, topic, p)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Return steps of a group that advances, is placed at several offsets, and repeats records."""
    record = Record()
    for t_us in sorted(draw(st.lists(st.integers(0, 3 * MS), max_size=12))):
        p, offset = draw(st.integers(0, 2)), draw(st.sampled_from([0, 1, 7, 60, 199, 3001, 9000]))
        if draw(st.booleans()):
            record.place(t_us, p, offset)
        else:
            record.work(t_us, p, offset, draw(st.integers(1, 40)))
    return record


@settings(max_examples=40, deadline=None)
@given(
    records(),
    st.sampled_from([made(50_000, 1, 1), made(7_000, 1, 4), made(6_000_000, 1, 1)]),
    st.sampled_from([{"rate": 90_000 * 10**6}, {"burst": 77}]),
)
def test_lag_is_what_looking_at_every_microsecond_finds(
    record: Record, topic: dict[str, object], last: dict[str, object]
) -> None:
    """Area, maximum, when it was reached and end of every partition and the maximum of the group, through changes."""
    growth = [topic, {"t_us": MS, "topic": "orders", "more": [1]}, {"t_us": 2 * MS, "topic": "orders", **last}]
    assume(all(event.partition != 2 or event.t_us >= MS for event in record.events))  # partition 2 comes at 1 ms
    assert record.lags(*growth) == sampled(growth, record, 3)


def test_a_reset_to_the_latest_leaves_nothing_behind() -> None:
    """Records before the first position do not count; everything after it does."""
    (lag,), _ = Record().own(1 * MS, 0).place(2 * MS, 0, 200).lags(made(100_000, 1))
    assert lag.end == lag.most == 100
    assert lag.area == 10 * sum(range(100)) // 1000


def test_going_back_over_records_is_no_lag() -> None:
    """The lag depends on the furthest processed record, not on the position of the next owner."""
    of = made(10_000, 1)
    once, _ = Record().place(0, 0, 0).work(2 * MS, 0, 0, 20).lags(of)
    again, _ = Record().place(0, 0, 0).work(2 * MS, 0, 0, 20).place(2 * MS + 5, 0, 3).work(2500, 0, 3, 10).lags(of)
    assert once == again


def test_a_topic_without_a_subscription_of_the_group_does_not_count() -> None:
    """A partition beside the one that a member assigned to itself does not count either."""
    of = made(10_000, 1, 1, 1)
    nothing, _ = Record(topics=["audit"]).lags(of)
    assert nothing == []
    found, _ = Record(assign=["orders-1"]).own(0, 1, generation=None).whole(of)
    assert list(found) == [TopicPartition("orders", 1)]


def test_a_pattern_counts_all_topics_that_fit() -> None:
    """Topics that fit a pattern count, also those created later."""
    found, total = Record(pattern="order.*").whole(made(0, 1), made(50_000, 1, t_us=MS, topic="order-book"))
    assert [tp.topic for tp in found] == ["order-book", "orders"]
    assert total.most == total.end == 100


def test_the_records_of_a_deleted_topic_are_no_lag() -> None:
    """The area stays as it was at the deletion; a new topic of that name starts from 0."""
    fast, deleted = made(100_000, 1), {"t_us": MS, "topic": "orders"}
    (gone,), most = Record().lags(fast, deleted)
    assert (gone.end, gone.most, most) == (0, 99, 99)
    assert gone.area == sum(n * 10 for n in range(100)) // 1000
    again_made = (fast, deleted, made(50_000, 1, t_us=2 * MS))
    (again,), _ = Record().lags(*again_made)
    assert (again.end, again.most) == (50, 99)
    placed = Record().place(0, 0, 0).work(500, 0, 0, 50).place(2500, 0, 20)
    (second,), most = placed.lags(*again_made)
    assert (second.end, second.most, most) == (30, 49, 49)
    assert second.area == (2 * 10 * sum(range(50)) + 20 * sum(range(30))) // 1000
    half = Record().place(0, 0, 0).work(500, 0, 0, 50)
    assert half.lags(*again_made)[1] == 50


@pytest.mark.parametrize("beyond", [5, 1_000])
def test_a_position_beyond_the_log_is_no_negative_lag(beyond: int) -> None:
    """After a manual commit beyond the log end, the lag is 0 until the log has grown past it."""
    (lag,), _ = Record().place(0, 0, 0).place(1 * MS, 0, 100 + beyond).lags(made(100_000, 1))
    assert lag.end == max(0, 300 - 100 - beyond)
    assert lag.most == max(99, lag.end)


def test_lag_begins_in_the_very_microsecond_in_which_the_log_passes_a_position_ahead_of_it() -> None:
    """6,000 records a microsecond: the log end jumps past 9,000 at 2 µs."""
    (lag,), _ = Record().place(0, 0, 9000).lags(made(6_000_000_000, 1))
    assert lag.area == sum(6000 * t - 9000 for t in range(2, 3000)) // 1000
