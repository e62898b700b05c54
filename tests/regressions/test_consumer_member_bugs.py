"""Bugs that members of consumer groups have had: each test fails once its bug is put back."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim import Simulation
from groupsim.faults import DelayResponse, LoseResponse, Match
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer.leave import unsubscribe
from groupsim.members.failures import ClientFailure
from groupsim.members.subscription import Regex, Topics
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, OffsetFetchResponse
from groupsim.testing import caught
from groupsim.testing import mutants as bug
from tests.helpers.consumer_member_bench import BEAT, ConsumerBench
from tests.helpers.membership_bench import id_of


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


@caught(bug.unknown_topics_dropped)
def test_franz_go_9b92299f_a_topic_is_owned_once_it_is_known() -> None:
    """franz-go 9b92299f: a new topic is assigned before the member's metadata have it; it has it when they do."""
    bench = ConsumerBench()
    bench.stable(0)
    bench.next_beat()
    bench.accept(2, {"t": [0], "u": [0]})
    bench.advance_ms(100)
    bench.topics(t=4, u=1)
    bench.poll()
    assert [str(one) for one in bench.member.ownership.owned] == ["t-0", "u-0"]


@caught(bug.target_of_a_round_ignored)
def test_franz_go_6536e4f3_a_target_that_comes_in_a_round_is_the_next_one() -> None:
    """franz-go 6536e4f3: a partition is granted, and taken back while another is being revoked: it is not kept."""
    bench = ConsumerBench(behaviour=Behaviour(on_revoked="7s"))
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [1, 2])
    bench.next_beat()
    bench.accept(3, [1], poll=False)
    for _ in range(2):
        bench.advance_ms(7_000)
        bench.poll()
    assert bench.owned == [1]


@caught(bug.ack_before_revoke_done)
async def test_franz_go_466a4512_a_partition_has_one_reader_while_a_callback_runs(sim: Simulation) -> None:
    """franz-go 466a4512: the revoked callback takes ten seconds; the next owner has the partitions after it."""
    sim.topic("orders", 4)
    sim.member("c1", client="java-4.4", properties={"group.protocol": "consumer"}, on_revoked="10s")
    await sim.settled(members=1)
    second = start(sim, "c2")
    await sim.until(lambda: second.assignment)
    ended = sim.find("callback.ended", host="c1", reason="revoked")
    assert ended
    assert ended[0].seq < sim.find("partition.owned", host="c2")[0].seq


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


@caught(bug.lost_assignment_response)
async def test_franz_go_eca3a457_an_assignment_that_was_lost_on_its_way_comes_again(sim: Simulation) -> None:
    """franz-go eca3a457: the answer with half of the partitions is lost: they come again, and none is lost by it."""
    sim.topic("orders", 4)
    first, second = start(sim, "c1"), start(sim, "c2")
    await sim.settled(members=2)
    await second.close()
    lost = sim.inject(LoseResponse(Match(host="c1", api="ConsumerGroupHeartbeat")))
    await sim.until(lambda: len(first.assignment) == 4)
    assert lost.hits
    assert sim.find("callback.begun", host="c1", reason="lost") == []


@caught(bug.join_carries_old_owned)
async def test_franz_go_8e7cfc60_who_has_lost_its_partitions_joins_without_them(sim: Simulation) -> None:
    """franz-go 8e7cfc60: the coordinator has removed a member, which joins again as the owner of nothing."""
    sim.topic("orders", 2)
    member = start(sim, "c1")
    await sim.settled(members=1)
    member.pause("60s")
    await sim.until(lambda: sim.find("callback.begun", reason="lost"), within="90s")
    await sim.run_for("5s")
    assert len(member.assignment) == 2


@caught(bug.group_gone_ignored)
def test_librdkafka_5485_a_member_notices_that_its_group_is_gone() -> None:
    """librdkafka 5485: a heartbeat is answered GROUP_ID_NOT_FOUND: the membership is over, not repeated for ever."""
    bench = ConsumerBench()
    bench.stable(0)
    bench.next_beat()
    bench.refuse(ErrorCode.GROUP_ID_NOT_FOUND)
    assert bench.state == "FATAL"


@caught(bug.static_leaves_for_good)
async def test_franz_go_197bf424_a_static_member_is_expected_back(sim: Simulation) -> None:
    """franz-go 197bf424, Dekaf 1348: a static member closes for ten seconds: the other one gets nothing."""
    sim.topic("orders", 4)
    one, other = (start(sim, name, **{"group.instance.id": name}) for name in ("c1", "c2"))
    await sim.settled(members=2)
    await sim.run_for("10s")
    held = other.assignment
    await one.close()
    await sim.run_for("10s")
    assert other.assignment == held


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


# --- positions and metadata --------------------------------------------------------------------------------------


def refused_for_its_epoch(**properties: object) -> ConsumerBench:
    """A member whose request for committed offsets was answered STALE_MEMBER_EPOCH, 100 ms ago."""
    bench = ConsumerBench(properties)
    bench.stable(0)
    bench.member.fetcher.look_up()
    bench.answer(OffsetFetchResponse(ErrorCode.STALE_MEMBER_EPOCH))
    bench.advance_ms(100)
    bench.member.fetcher.look_up()
    return bench


@caught(bug.retry_joins_dead_request)
def test_kafka_20765_offsets_are_requested_again_after_a_stale_epoch() -> None:
    """KAFKA-20765: a request for committed offsets has a stale epoch: another one follows."""
    assert refused_for_its_epoch().count(Api.OFFSET_FETCH) == 2


@caught(bug.stale_fetch_means_no_offset)
def test_platformatic_267_a_stale_epoch_says_nothing_about_offsets() -> None:
    """platformatic 267: a request for committed offsets has a stale epoch: the member does not start anywhere yet."""
    assert refused_for_its_epoch().member.fetcher.positions == {}


@caught(bug.positions_of_revoked_looked_up)
def test_kafka_19781_a_partition_on_its_way_out_needs_no_position() -> None:
    """KAFKA-19781: a partition is taken away before its position is known: it is looked up no more."""
    bench = ConsumerBench(behaviour=Behaviour(on_revoked="5s"))
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [1])
    bench.member.fetcher.look_up()
    assert [one.partition for one in bench.asked(Api.OFFSET_FETCH).partitions] == [1]


@caught(bug.regex_means_all_topics)
def test_kafka_18117_a_member_with_a_regex_asks_for_its_own_topics() -> None:
    """KAFKA-18117, KAFKA-18729: the coordinator resolves a regular expression: metadata are of the assigned topics."""
    bench = ConsumerBench()
    bench.member.subscription.change(Regex("t.*"))
    bench.find_coordinator()
    bench.accept(1, {"t": [0], "tea": [0]})
    bench.advance_ms(1_000)
    asked = bench.asked(Api.METADATA)
    assert (asked.topics, set(asked.topic_ids)) == ((), {id_of("t"), id_of("tea")})
