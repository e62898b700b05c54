"""Bugs that members of consumer groups have had: each test fails once its bug is put back."""

from __future__ import annotations

from typing import Any

from groupsim import Simulation
from groupsim.faults import DelayResponse, Match
from groupsim.members.consumer.leave import unsubscribe
from groupsim.members.subscription import Topics
from groupsim.protocol.errors import ErrorCode
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
