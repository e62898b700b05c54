"""Bugs that the code for KIP-848 has had, and that any could have: each test fails once its bug is put back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from groupsim import ErrorCode, Level, Simulation, TopicPartition
from groupsim.assignors import (
    Assignor,
    GroupAssignment,
    JavaFailure,
    MemberSubscription,
    RebalanceProtocol,
    StickyAssignor,
    TopicMetadata,
)
from groupsim.coordinator.testing import GROUP, offsets_of
from groupsim.faults import AnswerError, DelayResponse, Isolate, Match
from groupsim.requests import (
    AddOffsetsToTxnRequest,
    InitProducerIdRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetInTxn,
)
from groupsim.requests import TxnOffsetCommitRequest as TxnCommit
from groupsim.testing import Bench, GroupRecord, LoadFailed, OffsetRecord, OffsetValue, caught
from groupsim.testing import mutants as bug
from tests.helpers.assignor_groups import member, problems, topics
from tests.helpers.raw_commits import FIRST, commit, committed

NO_DELAY = {"group.initial.rebalance.delay.ms": 0}

pytestmark = pytest.mark.sim(broker=NO_DELAY)


# --- members that come and go ------------------------------------------------------------------------------------


@caught(bug.poll_timeout_keeps_partitions)
async def test_kafka_16258_who_was_away_for_too_long_delivers_nothing_it_has_lost(sim: Simulation) -> None:
    """KAFKA-16258: a member does not poll for too long; between its leave and the next assignment it gets no record."""
    sim.topic("orders", 2, rate=100)
    slow = sim.member("c1", properties={"max.poll.interval.ms": 5_000, "max.poll.records": 5})
    sim.member("c2", on_revoked="10s")
    await sim.settled(members=2)
    slow.block_poll("10s")
    await sim.until(lambda: sim.find("poll.expired"))
    await sim.settled(members=2)
    left, back = sim.find("poll.expired")[0].seq, sim.find("client.state", host="c1", to="STABLE")[-1].seq
    assert [event for event in sim.find("records.delivered", host="c1") if left < event.seq < back] == []


@caught(bug.heartbeat_while_fenced)
@pytest.mark.sim(level=Level.FULL)
async def test_kafka_16251_who_is_fenced_is_silent_until_it_has_given_up(sim: Simulation) -> None:
    """KAFKA-16251: a member was expelled, its lost partitions take it ten seconds: no heartbeat goes out meanwhile."""
    sim.topic("orders", 2)
    sim.member("c1", on_lost="10s")
    await sim.settled(members=1)
    sim.inject(AnswerError(Match(host="c1", api="Heartbeat"), "UNKNOWN_MEMBER_ID"))
    await sim.until(lambda: sim.find("callback.begun", reason="lost"))
    before = len(sim.find("request.sent", api="Heartbeat"))
    await sim.run_for("9s")
    assert len(sim.find("request.sent", api="Heartbeat")) == before > 0


@caught(bug.orphan_after_close)
async def test_kafka_17116_who_closes_while_it_joins_is_not_waited_for(sim: Simulation) -> None:
    """KAFKA-17116: a consumer is closed while its JoinGroup waits; with the leave it is out of the round."""
    sim.topic("orders", 2)
    sim.member("busy", on_revoked="10s")
    await sim.settled(members=1)
    goes = sim.member("c2")
    await sim.in_state("PreparingRebalance", members=2)
    await goes.close()
    await sim.settled(members=1, within="15s")


@caught(bug.leave_gives_way_to_heartbeat)
async def test_kafka_16639_who_closes_behind_a_heartbeat_leaves(sim: Simulation) -> None:
    """KAFKA-16639: a consumer is closed while a heartbeat is under way; its group is empty at once."""
    sim.topic("orders", 2)
    goes = sim.member("c1", properties={"enable.auto.commit": False})
    await sim.settled(members=1)
    late = sim.inject(DelayResponse(Match(host="c1", api="Heartbeat"), "2s"))
    await sim.until(lambda: late.hits)
    await goes.close()
    assert sim.state() == "Empty"


@caught(bug.wrong_static_conflict_error)
async def test_kfake_09e99f07_who_lost_its_instance_does_not_take_it_back(sim: Simulation) -> None:
    """kfake 09e99f07: a second process has an instance's id: the first one hears that it is fenced, and ends."""
    sim.topic("orders", 2)
    own = {"group.instance.id": "i"}
    sim.member("c1", properties=own)
    await sim.settled(members=1)
    sim.member("c2", properties=own)
    await sim.run_for("60s")
    assert len(sim.find("member.replaced")) == 1


@caught(bug.admin_remove_by_id)
async def test_kafka_18188_an_administrator_removes_members_by_their_ids(sim: Simulation) -> None:
    """KAFKA-18188: one LeaveGroup names two dynamic members, as `removeMembersFromConsumerGroup` does: both are out."""
    sim.topic("orders", 2)
    ids = [sim.member(name) for name in ("c1", "c2")]
    await sim.settled(members=2)
    named = tuple(LeavingMember(one.member_id, reason="Removed by admin") for one in ids)
    answer = await sim.request(LeaveGroupRequest("g1", named))
    assert [one.error for one in answer.members] == [ErrorCode.NONE] * 2
    assert sim.state() == "Empty"


# --- partitions without a reader ---------------------------------------------------------------------------------


@caught(bug.regex_not_indexed)
async def test_kafka_18916_growth_is_seen_through_a_pattern(sim: Simulation) -> None:
    """KAFKA-18916: a topic that a pattern has found grows; the new partitions find an owner."""
    sim.topic("orders-a", 2)
    sim.member("c1", pattern="orders-.*", properties={"metadata.max.age.ms": 10_000})
    await sim.settled(members=1)
    sim.cluster.add_partitions("orders-a", 4)
    await sim.run_for("20s")
    sim.expect("every-partition-owned")


class ToTheLast(Assignor):
    """Assigns all partitions to the highest member id, once their owners have given them up."""

    name = "to-the-last"
    protocols = frozenset({RebalanceProtocol.COOPERATIVE})

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """See `Assignor.assign`."""
        last = max(members, key=lambda one: one.member_id)
        held = {partition for one in members if one is not last for partition in one.owned}
        wanted = [TopicPartition(name, number) for name in topics for number in range(topics[name].partitions)]
        free = tuple(partition for partition in wanted if partition not in held)
        return GroupAssignment({one.member_id: free if one is last else () for one in members})


@caught(bug.empty_assignment_ignored)
async def test_franz_go_0af2689c_an_assignment_of_nothing_gives_all_back(sim: Simulation) -> None:
    """franz-go 0af2689c: all partitions of two members go to one of them; the other gets an empty assignment."""
    sim.topic("orders", 4)
    for count, name in enumerate(("c1", "c2"), 1):  # ids begin with client.id, so that the second one's is the higher
        last = sim.member(name, assignors=[ToTheLast], properties={"client.id": name})
        await sim.settled(members=count)
    assert len(last.assignment) == 4


@caught(bug.offset_fetch_error_swallowed)
async def test_franz_go_8038d16d_offsets_are_asked_for_until_they_are_there(sim: Simulation) -> None:
    """franz-go 8038d16d: the coordinator moves while offsets are being read; its partitions are consumed."""
    sim.topic("orders", 2, rate=10)
    consumer = sim.member("c1")
    sim.inject(AnswerError(Match(host="c1", api="OffsetFetch"), "NOT_COORDINATOR"))
    await sim.settled(members=1)
    await sim.run_for("10s")
    assert len(consumer.positions) == 2


@caught(bug.member_without_topics, by=JavaFailure)
def test_kafka_16930_a_member_may_want_nothing() -> None:
    """KAFKA-16930: of three members that differ one subscribes to nothing that there is; the others get all."""
    known = topics(t=2, u=2)
    members = [member("a", "t u"), member("b", "t"), member("c", "unknown")]
    assert problems(known, members, StickyAssignor().assign(known, members)) == []


# --- offsets and logs --------------------------------------------------------------------------------------------


@caught(bug.txn_empty_member_id)
async def test_kafka_18060_an_old_producer_says_no_member_id(sim: Simulation) -> None:
    """KAFKA-18060: offsets in a transaction come without member id and generation to a group with members: taken."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    given = await sim.request(InitProducerIdRequest("t"))
    who = (given.producer_id, given.producer_epoch)
    await sim.request(AddOffsetsToTxnRequest("t", *who, "g1"))
    answer = await sim.request(TxnCommit("t", "g1", *who, (OffsetInTxn(FIRST, 5),)))
    assert answer.results == ((FIRST, ErrorCode.NONE),)


@caught(bug.fetch_timeout_code)
def test_kafka_17267_offsets_that_cannot_be_read_in_time_are_looked_for_elsewhere() -> None:
    """KAFKA-17267: no follower is up; a stable fetch behind a commit is answered NOT_COORDINATOR after five seconds."""
    bench = Bench(auto_commit=False)
    bench.commit_offset(5)
    fetch = bench.fetch_offsets()
    bench.advance_ms(5_000)
    assert fetch.error is ErrorCode.NOT_COORDINATOR


@caught(bug.replay_order_assumptions, by=LoadFailed)
def test_kafka_17306_what_compaction_leaves_can_be_loaded() -> None:
    """KAFKA-17306, KAFKA-20254: of one group only the tombstone is left, of another the offset is before the group."""
    value = OffsetValue(5, -1, "", 0)
    bench = Bench()
    bench.stable("a")
    group = [record for record in bench.log if isinstance(record, GroupRecord)][-1]
    bench = Bench(records=[GroupRecord("gone", None), OffsetRecord(GROUP, FIRST, value), group])
    assert bench.state == "Stable"
    assert offsets_of(bench.fetch_offsets()) == {FIRST: 5}


@caught(bug.ack_after_losing_leadership)
@pytest.mark.sim(brokers=3, broker=NO_DELAY | {"offsets.commit.timeout.ms": 60_000})
async def test_kafka_20634_who_leads_no_more_acknowledges_nothing(sim: Simulation) -> None:
    """KAFKA-20634: a commit is cut off with its leader, whose log others then fill; it is not acknowledged."""
    sim.topic("orders", 1)
    await sim.request(commit(1))
    node, _ = sim.cluster.coordinator_of("g1")
    for other in [f"broker-{number}" for number in range(3) if number != node] + ["controller"]:
        sim.inject(Isolate(Match(host=f"broker-{node}", peer=other), for_us="20s"))
    sent = sim.send(commit(5), node=node)
    await sim.until(lambda: sim.cluster.coordinator_of("g1")[0] != node)
    for _ in range(3):
        await sim.request(commit(7))
    await sim.until(lambda: sent.answered)
    assert sent.answer.error is ErrorCode.NOT_COORDINATOR
    assert await committed(sim) == [7]
