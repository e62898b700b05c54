"""Bugs that members of consumer groups have had: each test fails once its bug is put back."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim import Simulation
from groupsim.faults import DelayResponse, Match
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer.leave import unsubscribe
from groupsim.members.failures import ClientFailure
from groupsim.members.subscription import Topics
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.testing import caught
from groupsim.testing import mutants as bug
from tests.helpers.consumer_member_bench import BEAT, ConsumerBench


def start(sim: Simulation, name: str, **properties: object) -> Any:
    """Start a member of group `g1` as Kafka's Java client 4.4."""
    return sim.member(name, client="java-4.4", properties={"group.protocol": "consumer", **properties})


def unsubscribes(bench: ConsumerBench) -> None:
    """The application unsubscribes, as far as that goes without time."""
    bench.member.subscription.change(None)
    bench.host.run(unsubscribe(bench.member))


# --- reconciliation ----------------------------------------------------------------------------------------------


@caught(bug.stale_reconciliation_applied)
def test_kafka_16375_what_was_assigned_before_a_fence_is_not_applied_after_it() -> None:
    """KAFKA-16375: a round waits for a commit; the member is fenced and joins again: it owns the new target."""
    bench = ConsumerBench(auto_commit=True)
    bench.stable(0, 1)
    bench.has_read(p0=5)
    bench.next_beat()
    bench.accept(2, [1, 2])
    bench.next_beat()
    bench.refuse(ErrorCode.FENCED_MEMBER_EPOCH)
    bench.poll()
    bench.accept(3, [3])
    bench.committed()
    bench.poll()
    assert bench.reported == [3]


@caught(bug.deliver_after_ack)
async def test_kafka_20332_what_is_to_be_revoked_is_delivered_no_more(sim: Simulation) -> None:
    """KAFKA-20332: the commit before a revocation takes two seconds; meanwhile records of the rest are delivered."""
    sim.topic("orders", 2, rate=100)
    start(sim, "c1")
    await sim.settled(members=1)
    sim.inject(DelayResponse(Match(host="c1", api="OffsetCommit"), "2s"))
    start(sim, "c2")
    await sim.until(lambda: sim.find("callback.begun", host="c1", reason="revoked"))
    revoked = sim.find("callback.begun", host="c1", reason="revoked")[0]
    commit = sim.find("request.sent", host="c1", api="OffsetCommit")[-1]
    during = [one for one in sim.find("records.delivered", host="c1") if commit.seq < one.seq < revoked.seq]
    assert during
    assert {f"{one.topic}-{one.partition}" for one in during}.isdisjoint(revoked.payload["partitions"])


@caught(bug.part_acknowledged_again)
def test_kafka_20145_the_known_part_of_a_target_is_acknowledged_once() -> None:
    """KAFKA-20145: one of two assigned topics is unknown; the other is reported, then heartbeats keep their pace."""
    bench = ConsumerBench()
    bench.find_coordinator()
    bench.accept(1, {"t": [0], "u": [0]})
    for _ in range(5):
        bench.accept(1)
        assert bench.waiting.count(BEAT.title) == 0
        bench.next_beat()


@caught(bug.partial_resolution_replaces)
def test_kafka_16198_a_topic_that_becomes_known_is_added_to_the_rest() -> None:
    """KAFKA-16198: one of two assigned topics becomes known later: the member owns both."""
    bench = ConsumerBench()
    bench.find_coordinator()
    bench.accept(1, {"t": [0], "u": [0]})
    bench.accept(1)
    bench.advance_ms(100)
    bench.topics(t=4, u=1)
    bench.poll()
    assert [str(one) for one in bench.member.ownership.owned] == ["t-0", "u-0"]


@caught(bug.same_assignment_not_acknowledged)
def test_kafka_16185_partitions_that_come_back_between_two_polls_are_acknowledged() -> None:
    """KAFKA-16185, KAFKA-16312: a partition comes and goes between two polls: the member reports what it has."""
    bench = ConsumerBench(auto_commit=True)
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [0, 1, 2], poll=False)
    bench.next_beat()
    bench.accept(3, [0, 1], poll=False)
    bench.poll()
    assert (bench.state, bench.reported) == ("STABLE", [0, 1])


@caught(bug.assigned_outside_poll)
def test_kafka_20106_the_assignment_changes_in_poll_only() -> None:
    """KAFKA-20106: a partition is added while the application is away: it sees it in its next poll."""
    bench = ConsumerBench()
    bench.stable(0)
    bench.leave_poll()
    bench.next_beat()
    bench.accept(2, [0, 1], poll=False)
    assert bench.owned == [0]
    bench.poll()
    assert bench.owned == [0, 1]


@caught(bug.round_waits_for_failed_callback)
def test_kafka_18160_a_callback_that_throws_does_not_stop_the_member() -> None:
    """KAFKA-18160, KAFKA-20382: the revoked callback throws; the application polls on, and gives the partition up."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    bench.member.ownership.raise_next("revoked", "woken up")
    with pytest.raises(ClientFailure, match="woken up"):
        bench.accept(2, [1])
    bench.poll()
    assert (bench.owned, bench.reported) == ([1], [1])


@caught(bug.fetched_before_callback)
def test_kafka_16107_what_is_assigned_is_consumed_after_its_callback() -> None:
    """KAFKA-16107: the assigned callback takes ten seconds; committed offsets are requested after it, not before."""
    bench = ConsumerBench(behaviour=Behaviour(on_assigned="10s"))
    bench.find_coordinator()
    bench.accept(1, [0, 1])
    bench.member.fetcher.look_up()
    assert bench.count(Api.OFFSET_FETCH) == 0
    bench.advance_ms(10_000)
    bench.member.fetcher.look_up()
    assert bench.count(Api.OFFSET_FETCH) == 1


@caught(bug.commit_retry_deleted_topic)
def test_kafka_16224_a_deleted_topic_does_not_hold_up_a_revocation() -> None:
    """KAFKA-16224: the commit before a revocation names a topic that is gone: the member goes on without it."""
    bench = ConsumerBench(auto_commit=True)
    bench.stable(0, 1)
    bench.has_read(p0=5)
    bench.next_beat()
    bench.accept(2, [1])
    bench.refuse_commit(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    bench.poll()
    assert bench.reported == [1]


# --- heartbeats --------------------------------------------------------------------------------------------------


@caught(bug.delta_on_rejoin)
async def test_kafka_16190_a_fenced_member_joins_with_all_that_a_coordinator_needs(sim: Simulation) -> None:
    """KAFKA-16190: the coordinator has removed a member, which joins again: it has its partitions."""
    sim.topic("orders", 2)
    member = start(sim, "c1")
    await sim.settled(members=1)
    member.pause("60s")
    await sim.until(lambda: sim.find("member.removed"))
    await sim.until(lambda: sim.find("callback.begun", reason="lost"))
    await sim.run_for("5s")
    assert len(member.assignment) == 2


@caught(bug.negative_epoch_in_join)
def test_kafka_19335_a_join_has_epoch_zero() -> None:
    """KAFKA-19335: an application unsubscribes and subscribes before its leave is answered: it joins with epoch 0."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.next_beat()
    unsubscribes(bench)
    bench.member.subscription.change(Topics(("t",)))
    bench.accept(1)
    bench.accept(-1)
    assert (bench.state, bench.beat.member_epoch) == ("JOINING", 0)


@caught(bug.interval_from_answer)
def test_kafka_16528_a_late_answer_does_not_delay_the_next_heartbeat() -> None:
    """KAFKA-16528: an answer takes three seconds; the next heartbeat follows five seconds after the last one."""
    bench = ConsumerBench()
    bench.stable(0)
    bench.next_beat()
    before = bench.count(BEAT)
    bench.advance_ms(3_000)
    bench.accept(1)
    bench.advance_ms(2_000)
    assert bench.count(BEAT) == before + 1


@caught(bug.jitter_beyond_one)
def test_kafka_19813_no_heartbeat_follows_an_error_at_once() -> None:
    """KAFKA-19813: a coordinator loads its groups for a while; a member lets 80 ms pass before each heartbeat."""
    bench = ConsumerBench()
    bench.stable(0)
    bench.next_beat()
    for _ in range(6):
        before = bench.count(BEAT)
        bench.refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        bench.advance_ms(79)
        assert bench.count(BEAT) == before
        bench.advance_ms(1_000)


# --- the poll limit ----------------------------------------------------------------------------------------------


@caught(bug.polls_not_counted)
async def test_kafka_16026_who_polls_stays(sim: Simulation) -> None:
    """KAFKA-16026: an application polls all the time: max.poll.interval.ms ends nothing."""
    sim.topic("orders", 2, rate=10)
    start(sim, "c1", **{"max.poll.interval.ms": 10_000})
    await sim.settled(members=1)
    await sim.run_for("60s")
    assert sim.find("poll.expired") == []


@caught(bug.stays_at_poll_limit)
async def test_kafka_15818_who_does_not_poll_leaves(sim: Simulation) -> None:
    """KAFKA-15818: an application is away for longer than max.poll.interval.ms: its partitions go to the other one."""
    sim.topic("orders", 4)
    away, other = (start(sim, name, **{"max.poll.interval.ms": 10_000}) for name in ("c1", "c2"))
    await sim.settled(members=2)
    away.block_poll("60s")
    await sim.until(lambda: len(other.assignment) == 4, within="20s")


# --- partitions that are given up --------------------------------------------------------------------------------


@caught(bug.assigned_after_unsubscribe)
def test_kafka_20428_an_assignment_of_before_does_not_come_after_unsubscribe() -> None:
    """KAFKA-20428: an assignment waits for the application, which unsubscribes: it owns nothing from then on."""
    bench = ConsumerBench()
    bench.stable(0)
    bench.leave_poll()
    bench.next_beat()
    bench.accept(2, [0, 1], poll=False)
    unsubscribes(bench)
    bench.poll()
    assert (bench.owned, bench.callbacks[-1]) == ([], ("revoked", [0]))


@caught(bug.lost_partitions_fetched)
def test_kafka_20321_what_is_lost_is_fetched_no_more() -> None:
    """KAFKA-20321: a member is fenced while its application is away: its partitions are held before the callback."""
    bench = ConsumerBench()
    bench.stable(0, 1)
    bench.leave_poll()
    bench.next_beat()
    bench.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
    assert (bench.held, bench.callbacks[1:]) == ([0, 1], [])
