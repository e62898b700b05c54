"""`__consumer_offsets` of counted logs."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.counted import offsets
from groupsim.cluster.counted.offsets import CountedOffsets
from groupsim.coordinator.base.records import GroupRecord, OffsetRecord, OffsetValue, Producer
from groupsim.eventloop.distributions import uniform
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import TopicPartition

A, B, C = (GroupRecord(name, None) for name in "abc")


def make(rig: Any, low: int = 2_000, high: int = 2_000) -> tuple[CountedOffsets, Any, list[Any]]:
    """A log of four partitions, a function that appends to it, and the results of the appends."""
    log = CountedOffsets(rig.loop, uniform(low, high))
    done: list[Any] = []

    def append(record: Any, partition: int = 0, host: str = "broker-0", within_ms: int | None = None) -> None:
        log.append(
            rig.loop.host(host),
            partition,
            [record],
            lambda error: done.append((rig.loop.now_us, record.group_id, error)),
            within_ms,
        )

    return log, append, done


def test_appends_commit_after_a_latency(play: Any) -> None:
    """`done` is called at the commit, never from within the append; the leader's log has the records at once."""

    async def story(rig: Any) -> None:
        log, append, done = make(rig)
        append(A)
        assert (done, log.read(0)) == ([], (A,))
        await rig.loop.sleep(10_000)
        assert done == [(2_000, "a", None)]

    play(story)


def test_appends_of_a_partition_commit_in_order(play: Any) -> None:
    """However the latencies fall, the order within a partition is that of the appends."""

    async def story(rig: Any) -> None:
        _, append, done = make(rig, 1, 50_000)
        for number in range(50):
            append(GroupRecord(f"{number:02}", None))
        await rig.loop.sleep(1_000_000)
        assert [name for _, name, _ in done] == [f"{number:02}" for number in range(50)]

    play(story)


def test_an_append_with_a_time_limit_fails_after_it_and_its_record_stays(play: Any) -> None:
    """It fails whether it was made before or during the stall; the others commit after the stall."""

    async def story(rig: Any) -> None:
        log, append, done = make(rig)
        append(A, within_ms=50)
        log.hold(0)
        append(B, within_ms=60)
        append(C)
        await rig.loop.sleep(100_000)
        late = ErrorCode.REQUEST_TIMED_OUT
        assert done == [(50_000, "a", late), (60_000, "b", late)]
        log.release(0)
        append(A, within_ms=50)
        await rig.loop.sleep(100_000)
        assert done[2:] == [(100_000, "c", None), (102_000, "a", None)]
        assert log.read(0) == (A, B, C, A)

    play(story)


def test_partitions_do_not_wait_for_each_other(play: Any) -> None:
    """A held partition does not hold the appends of other partitions."""

    async def story(rig: Any) -> None:
        log, append, done = make(rig)
        log.hold(0)
        append(A, 0)
        append(B, 1)
        await rig.loop.sleep(10_000)
        assert [name for _, name, _ in done] == ["b"]

    play(story)


def test_failed_append_leaves_nothing(play: Any) -> None:
    """The next append fails with the error and its records are gone; the one after it is well."""

    async def story(rig: Any) -> None:
        log, append, done = make(rig)
        log.fail_next(0, ErrorCode.NOT_ENOUGH_REPLICAS)
        append(A)
        append(B)
        await rig.loop.sleep(10_000)
        assert [(name, error) for _, name, error in done] == [("a", ErrorCode.NOT_ENOUGH_REPLICAS), ("b", None)]
        assert log.read(0) == (B,)

    play(story)


def test_slow_replica_delays_commits_in_order(play: Any) -> None:
    """While followers stall nothing commits, not even earlier appends; afterwards all commit in order."""

    async def story(rig: Any) -> None:
        log, append, done = make(rig)
        append(A)
        await rig.loop.sleep(1_000)
        log.hold(0, for_us=100_000)
        append(B)
        await rig.loop.sleep(50_000)
        append(C)
        assert done == []
        await rig.loop.sleep(100_000)
        assert [(at, name) for at, name, _ in done] == [(101_000, "a"), (101_000, "b"), (101_000, "c")]

    play(story)


def test_appends_of_an_abandoned_leader_have_no_result(play: Any) -> None:
    """`done` is not called for appends of an abandoned leader; their records stay for the next one."""

    async def story(rig: Any) -> None:
        log, append, done = make(rig)
        append(A)
        log.abandon(0, rig.loop.host("broker-0"))
        append(B, host="broker-1")
        await rig.loop.sleep(10_000)
        assert [name for _, name, _ in done] == ["b"]
        assert log.read(0) == (A, B)

    play(story)


def test_a_paused_leader_gets_its_results_when_it_resumes(play: Any) -> None:
    """A leader in a long pause gets the result of its append after the pause."""

    async def story(rig: Any) -> None:
        _, append, done = make(rig)
        append(A)
        rig.loop.host("broker-0").pause()
        await rig.loop.sleep(1_000_000)
        assert done == []
        rig.loop.host("broker-0").resume()
        await rig.loop.sleep(1)
        assert [name for _, name, _ in done] == ["a"]

    play(story)


def test_a_long_partition_keeps_the_last_commit_of_each_key(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compaction removes earlier commits; group records and transactional commits stay, with unchanged offsets."""
    monkeypatch.setattr(offsets, "TIDY", 6)
    value = OffsetValue(7, 0, "", 0)
    first, other = (OffsetRecord("g", TopicPartition("t", number), value) for number in (0, 1))
    last = OffsetRecord("g", TopicPartition("t", 0), OffsetValue(8, 0, "", 0))
    open_one = OffsetRecord("g", TopicPartition("t", 0), value, Producer(1, 0))

    async def story(rig: Any) -> None:
        log, _, _ = make(rig)
        for record in (A, first, other, open_one, first, last, B):
            log.append(rig.loop.host("broker-0"), 0, [record], lambda error: None)
        assert log.read(0) == (A, other, open_one, last, B)
        assert [batch.base_offset for batch in log.batches(0)] == [0, 2, 3, 5, 6]
        assert log.read(1) == ()

    play(story)
