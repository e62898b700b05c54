"""franz-go under group.protocol=consumer, as its profile has it (docs/twins.md).

Facts: what franz-go 1.22.2 sent in `tests/twins/facts/franz-go-1.22.2-consumer`.
"""

from __future__ import annotations

import pytest

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from groupsim.protocol.messages.group import Api
from tests.helpers.consumer_member_bench import BEAT, ConsumerBench
from tests.helpers.members_fakes import parts


def bench_of() -> ConsumerBench:
    """A member of franz-go's profile."""
    return ConsumerBench({}, profile="franz-go")


def is_full(beat: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a heartbeat has all fields."""
    fields = beat.subscribed_topic_names, beat.topic_partitions, beat.server_assignor
    return beat.rebalance_timeout_ms > 0 and None not in fields


def test_a_heartbeat_has_all_fields_or_none() -> None:
    """The join and the acknowledgement are complete, and ask for `uniform`; the next one has ids and epoch alone."""
    bench = bench_of()
    bench.find_coordinator()
    assert (is_full(bench.beat), bench.beat.server_assignor) == (True, "uniform")
    bench.accept(1, [0])
    assert is_full(bench.beat)
    bench.accept(1)
    assert bench.next_beat().topic_partitions is None


def test_a_heartbeat_of_a_member_without_partitions_has_all_fields() -> None:
    """One that owns nothing says so each time, in case an answer with its partitions was lost."""
    bench = bench_of()
    bench.find_coordinator()
    bench.accept(1, [])
    bench.accept(1)
    assert is_full(bench.next_beat())


def test_an_unknown_member_joins_with_another_id() -> None:
    """After UNKNOWN_MEMBER_ID the member id is a new one; after FENCED_MEMBER_EPOCH it stays."""
    for error, stays in ((ErrorCode.UNKNOWN_MEMBER_ID, False), (ErrorCode.FENCED_MEMBER_EPOCH, True)):
        bench = bench_of()
        bench.stable(0)
        before = bench.next_beat().member_id
        bench.refuse(error)
        bench.poll()
        assert (bench.beat.member_epoch, bench.beat.member_id == before) == (0, stays)


def test_a_member_that_an_error_has_ended_leaves_when_it_closes() -> None:
    """A leave with epoch -1 follows a fatal error, where Java's client sends none."""
    for profile, leaves in (("franz-go", 1), ("java-4.x", 0)):
        bench = ConsumerBench({}, profile=profile)
        bench.stable(0)
        bench.next_beat()
        bench.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)
        sent = bench.count(BEAT)
        bench.member.membership.leave("closed")
        assert bench.count(BEAT) - sent == leaves


def test_a_static_member_leaves_without_its_instance_id() -> None:
    """Epoch -2 and the member id alone, which a broker refuses; Java's client names the instance."""
    for profile, named in (("franz-go", None), ("java-4.x", "i")):
        bench = ConsumerBench({"group.instance.id": "i"}, profile=profile)
        bench.stable(0)
        bench.member.membership.leave("closed")
        assert (bench.beat.member_epoch, bench.beat.instance_id) == (-2, named)


@pytest.mark.parametrize(("profile", "named"), [("franz-go", {0: 3}), ("java-4.x", {0: 3, 1: 0})])
def test_an_auto_commit_names_partitions_of_delivered_records(on_bench, profile, named) -> None:
    """A partition without records is left out (`UncommittedOffsets`); Java commits the positions of all."""

    async def body(bench):
        bench.broker.follow(parts(0, 1))
        await bench.stable()
        bench.data.append(parts(0)[0], 3)
        await bench.run_for(3)
        entries = bench.broker.all(Api.OFFSET_COMMIT)[-1].offsets
        assert {entry.partition.partition: entry.offset for entry in entries} == named

    on_bench(body, profile=profile, properties={"enable.auto.commit": True, "auto.commit.interval.ms": 1_000})


@pytest.mark.parametrize(("profile", "commits"), [("franz-go", 2), ("java-4.x", 1)])
def test_a_failed_auto_commit_is_sent_again_soon(profile: str, commits: int) -> None:
    """It follows after the backoff; Java's asynchronous consumer waits for the interval."""
    bench = ConsumerBench({"auto.commit.interval.ms": 7_000}, auto_commit=True, profile=profile)
    bench.stable(0)
    bench.has_read(p0=5)
    bench.advance_ms(7_000)
    bench.poll()
    bench.refuse_commit(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    bench.poll()
    bench.advance_ms(1_000)
    bench.poll()
    assert bench.count(Api.OFFSET_COMMIT) == commits


def test_a_join_is_repeated_three_times_while_an_instance_is_not_released() -> None:
    """Each join waits for the backoff; the fourth UNRELEASED_INSTANCE_ID ends it, as the first one does for Java."""
    for profile, joins in (("franz-go", 4), ("java-4.x", 1)):
        bench = ConsumerBench({"group.instance.id": "i"}, profile=profile)
        bench.find_coordinator()
        for _ in range(joins):
            assert bench.state == "JOINING"
            sent = bench.count(BEAT)
            bench.refuse(ErrorCode.UNRELEASED_INSTANCE_ID)
            assert bench.count(BEAT) == sent, "it did not wait"
            bench.advance_ms(2_000)
        assert (bench.state, bench.count(BEAT)) == ("FATAL", joins)
