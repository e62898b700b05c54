from __future__ import annotations

import pytest

from groupsim import Cause, ErrorCode, Simulation, TopicPartition
from groupsim.faults import Isolate, Match
from groupsim.requests import (
    AddOffsetsToTxnRequest,
    EndTxnRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    InitProducerIdRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    OffsetCommitRequest,
    OffsetToCommit,
)


async def test_a_group_forms_and_owns_every_partition(sim: Simulation) -> None:
    """Two members and four partitions: a stable group in which everybody owns two."""
    sim.topic("orders", 4)
    members = [sim.member("c1"), sim.member("c2")]
    group = await sim.stable("g1", members=2)
    await sim.run_for("1s")
    assert group.generation == 1
    assert sorted(len(member.assignment) for member in members) == [2, 2]


async def test_a_commit_of_an_old_generation_is_refused(sim: Simulation) -> None:
    """A raw request reaches the coordinator of the members."""
    sim.topic("orders", 1)
    member = sim.member("c1")
    await sim.stable("g1", members=1)
    offsets = (OffsetToCommit(TopicPartition("orders", 0), 5),)
    answer = await sim.request(OffsetCommitRequest("g1", offsets, generation_id=0, member_id=member.member_id))
    assert answer.error is ErrorCode.ILLEGAL_GENERATION


async def test_a_parked_join_is_not_answered_and_shows_in_the_purgatory(sim: Simulation) -> None:
    """A JoinGroup that waits for others has no outcome yet; the group's snapshot says what it waits for."""
    sim.topic("orders", 1)
    sim.member("c1", properties={"heartbeat.interval.ms": 3000})
    await sim.stable("g1", members=1)
    protocols = (JoinProtocol("range", b""), JoinProtocol("cooperative-sticky", b""))
    first = await sim.request(JoinGroupRequest("g1", 10_000, 60_000, protocols=protocols))
    assert isinstance(first, JoinGroupResponse)
    assert first.error is ErrorCode.MEMBER_ID_REQUIRED
    sent = sim.send(JoinGroupRequest("g1", 10_000, 60_000, member_id=first.member_id, protocols=protocols))
    await sim.run_for("10ms")
    group = sim.group("g1")
    assert not sent.answered
    assert [parked.member_id for parked in group.parked] == [first.member_id]
    await sim.until(lambda: sent.answered, within="5s")


@pytest.mark.sim(brokers=1, broker={"group.initial.rebalance.delay.ms": 0})
async def test_an_isolated_member_is_in_the_story(sim: Simulation) -> None:
    """A fault of the network ends the session; the story names the fault as the cause."""
    sim.topic("orders", 2)
    sim.member("c1")
    sim.member("c2")
    await sim.stable("g1", members=2)
    sim.inject(Isolate(Match(host="c2"), for_us=90_000_000))
    await sim.until(lambda: (g := sim.group("g1")).state == "Stable" and len(g.members) == 1, within="70s")
    last = sim.story().groups[0].generations[-1]
    assert last.cause is Cause.SESSION_NETWORK
    assert last.culprit is not None
    assert last.culprit.host == "c2"


@pytest.mark.sim(seed=7, broker={"group.initial.rebalance.delay.ms": 0})
async def test_the_marker_says_how_the_cluster_is_made(sim: Simulation) -> None:
    """Seed and broker settings come from the marker."""
    sim.topic("orders", 1)
    sim.member("c1")
    await sim.stable("g1", within="1s")
    assert sim.seed == 7


async def test_what_does_not_come_true_is_an_assertion(sim: Simulation) -> None:
    """`until` says how long it waited and in which state the groups are."""
    sim.topic("orders", 1)
    sim.member("c1")
    with pytest.raises(AssertionError, match=r"did not come true within 10s .*g1 Stable with 1 member"):
        await sim.until(lambda: False, within="10s")


async def test_a_raw_heartbeat_of_an_unknown_member_is_refused(sim: Simulation) -> None:
    """A heartbeat of an unknown member is refused."""
    sim.topic("orders", 1)
    sim.member("c1")
    await sim.stable("g1")
    assert await sim.request(HeartbeatRequest("g1", 1, "unknown")) == HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_simulation_runs_without_pytest() -> None:
    """The same object drives a script: `run` returns what the story returns."""

    async def story(sim: Simulation, partitions: int) -> int:
        sim.topic("orders", partitions)
        sim.member("c1")
        return (await sim.stable("g1")).generation

    assert Simulation(seed=3).run(story, 2) == 1


async def test_a_story_tells_of_records_and_lag_up_to_now(sim: Simulation) -> None:
    """The logs end where they do at that moment: all records stand in the account; the trace is as it was."""
    sim.topic("orders", 2, rate=10)
    member = sim.member("c1", properties={"auto.offset.reset": "earliest"})
    await sim.stable(members=1)
    await sim.run_for("10s")
    (total,) = sim.story().totals
    assert total.records is not None
    assert total.lag is not None
    assert total.records.written == sim.now_us * 10 // 1_000_000
    assert total.lag.end <= 2
    member.crash()
    await sim.run_for("5s")
    later = sim.story().totals[0]
    assert later.lag is not None
    assert 45 <= later.lag.end <= 55
    assert not sim.find("log.ends")


async def test_a_group_that_never_gets_so_many_members_says_what_it_has(sim: Simulation) -> None:
    """The failure names what was awaited and what is there."""
    sim.topic("orders", 1)
    sim.member("c1")
    with pytest.raises(AssertionError, match=r"g1 did not become Stable with 2 members .*g1 Stable with 1 member\b"):
        await sim.stable("g1", members=2, within="10s")


def test_a_misspelt_name_is_an_error_with_the_nearest(sim: Simulation) -> None:
    """Clients, kinds of events and their columns: an error that helps, instead of nothing found."""
    with pytest.raises(ValueError, match=r"no client profile `librdkaffa`; did you mean `librdkafka"):
        sim.member("c1", client="librdkaffa")
    with pytest.raises(ValueError, match=r"no kind of event 'member.remved'; did you mean `member.removed`"):
        sim.find("member.remved")
    with pytest.raises(ValueError, match=r"no column of events 'resaon'; did you mean `reason`"):
        sim.find("member.removed", resaon="left")


async def test_a_raw_transaction_reaches_its_coordinator(sim: Simulation) -> None:
    """The first request with a transactional id creates the topic, and waits for a coordinator of the id."""
    sim.topic("orders", 1)
    given = await sim.request(InitProducerIdRequest("t"))
    added = await sim.request(AddOffsetsToTxnRequest("t", given.producer_id, given.producer_epoch, "g1"))
    ended = await sim.request(EndTxnRequest("t", given.producer_id, given.producer_epoch, committed=True))
    assert [answer.error for answer in (given, added, ended)] == [ErrorCode.NONE] * 3


async def test_time_passes_until_a_group_is_in_a_state(sim: Simulation) -> None:
    """`in_state` waits for a state and a number of members, and returns the group as it is then."""
    sim.topic("orders", 2)
    for name in ("c1", "c2"):
        sim.member(name, assignor_time="5s")
    group = await sim.in_state("CompletingRebalance", members=2)
    assert (group.state, len(group.members)) == ("CompletingRebalance", 2)
    assert sim.now_us < 7_000_000


def test_a_simulation_tells_one_story() -> None:
    """Members end with the story they were in: a second one would meet the dead, so it is refused."""

    async def story(sim: Simulation) -> None:
        sim.topic("orders", 2)
        sim.member(f"c{len(sim.members)}")

    sim = Simulation()
    sim.run(story)
    with pytest.raises(RuntimeError, match="a simulation runs once"):
        sim.run(story)
