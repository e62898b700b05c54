"""The replicated cluster end to end: groups whose coordinator can crash, on a replicated log."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.config.loading_cost import LoadingCost
from groupsim.cluster.network.faults import Isolate, Match
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
)
from tests.helpers.replicated_stage import OF_G, SECOND, Stage, run

# --- the cluster stands ----------------------------------------------------------------------------------------------


def test_the_cluster_is_up_at_the_start() -> None:
    """At time 0, before any event, every broker names every leader, `__consumer_offsets` among its topics."""

    async def story(stage: Stage) -> None:
        assert stage.loop.now_us == 0
        for broker in stage.cluster.brokers.values():
            answer = broker.metadata.describe(None)
            assert [node for node, _ in answer.brokers] == [0, 1, 2, 3]
            assert [(topic.name, topic.internal) for topic in answer.topics] == [(OFFSETS_TOPIC, True), ("t", False)]
            assert all(
                len(p.isr) == 3 and p.leader == p.replicas[0] for topic in answer.topics for p in topic.partitions
            )
            assert sorted(broker.groups.led_partitions) == [
                p.partition for p in answer.topics[0].partitions if p.leader == broker.node
            ]
        events = stage.said("broker.unfenced", "request.received", "partition.leader")
        assert {event.topic for event in events} == {"t"}

    run(story)


def test_a_quiet_cluster_stays_as_it_is() -> None:
    """Ten minutes without clients: no election, no change of the in-sync replicas, no event."""

    async def story(stage: Stage) -> None:
        begun = len(stage.events)
        version = stage.cluster.controller.image.version
        await stage.loop.sleep(600 * SECOND)
        assert stage.cluster.controller.image.version == version
        assert stage.events[begun:] == []

    run(story)


def test_same_seed_same_trace() -> None:
    """Runs with records, a crash and a restart are equal event by event; another seed gives other events."""

    async def story(stage: Stage) -> None:
        stage.cluster.set_rate("t", 20)
        stage.group(3)
        await stage.loop.sleep(10 * SECOND)
        stage.cluster.crash_broker(stage.leader(OF_G))
        await stage.loop.sleep(20 * SECOND)

    first = run(story, seed=7)
    assert first == run(story, seed=7)
    assert first != run(story, seed=8)


# --- offsets are records ---------------------------------------------------------------------------------------------


def test_commits_are_records_on_three_brokers() -> None:
    """The members' commits are the same batches in three logs, committed on all of them."""

    async def story(stage: Stage) -> None:
        stage.cluster.set_rate("t", 30)
        consumers = stage.group(3)
        await stage.loop.sleep(15 * SECOND)
        stage.cluster.set_rate("t", 0)
        await stage.loop.sleep(5 * SECOND)
        state = stage.cluster.controller.image.partition(OF_G)
        assert state is not None
        logs = [stage.cluster.log(OFFSETS_TOPIC, OF_G.partition, node) for node in state.replicas]
        assert len({log.end_offset for log in logs}) == 1
        assert logs[0].high_watermark == logs[0].end_offset > 10
        copies = [log.read(0, 1 << 40) for log in logs]
        assert copies[0] == copies[1] == copies[2]
        answer = await stage.ask(state.leader, OffsetFetchRequest("g", None))
        assert {found.partition: found.offset for found in answer.offsets} == {
            TopicPartition("t", number): stage.cluster.log("t", number).end_offset for number in range(6)
        }
        assert all(consumer.running for consumer in consumers)

    run(story)


def test_every_record_is_delivered_once_in_a_group_without_faults() -> None:
    """Records go from the producer through the leaders' logs to the members, each offset once."""

    async def story(stage: Stage) -> None:
        stage.group(3, **{"auto.offset.reset": "earliest"})
        await stage.loop.sleep(10 * SECOND)
        stage.cluster.set_rate("t", 50)
        await stage.loop.sleep(10 * SECOND)
        stage.cluster.set_rate("t", 0)
        await stage.loop.sleep(2 * SECOND)
        for number in range(6):
            ranges = [e.payload for e in stage.said("records.delivered") if e.partition == number]
            offsets = [o for r in ranges for o in range(r["base"], r["base"] + r["count"])]
            assert offsets == list(range(stage.cluster.log("t", number).end_offset))
            assert len(offsets) > 50

    run(story)


# --- the coordinator dies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [False, True], ids=["process", "machine"])
def test_a_dead_coordinator_is_replaced_without_a_rebalance(machine: bool) -> None:
    """Its session runs out, another replica is elected and loads, the members go on in the same generation."""

    async def story(stage: Stage) -> None:
        stage.cluster.set_rate("t", 10)
        stage.group(3)
        await stage.loop.sleep(15 * SECOND)
        old, before = stage.leader(OF_G), stage.cluster.snapshot("g")
        assert before is not None
        stage.cluster.crash_broker(old, machine=machine)
        crashed = stage.loop.now_us
        await stage.loop.sleep(40 * SECOND)
        (fenced,) = stage.said("broker.fenced")
        assert (
            7 * SECOND <= fenced.t_us - crashed <= 12 * SECOND
        )  # 9 s after the last heartbeat, looked for each 2.25 s
        (loaded,) = stage.said("group.loaded")
        assert loaded.host == f"broker-{stage.leader(OF_G)}" != f"broker-{old}"
        assert 0 < loaded.t_us - fenced.t_us < 50_000
        after = stage.cluster.snapshot("g")
        assert after is not None
        assert (after.state, after.generation) == ("Stable", before.generation)
        assert {m.member_id for m in after.members} == {m.member_id for m in before.members}
        assert stage.said("offsets.committed", since_us=loaded.t_us)

    run(story)


def test_while_a_coordinator_loads_it_says_so() -> None:
    """The load takes the time of the log's size; a commit meanwhile gets COORDINATOR_LOAD_IN_PROGRESS."""
    cost = LoadingCost(records_per_second=1)  # one second per record

    async def story(stage: Stage) -> None:
        old = stage.leader(OF_G)
        for number in range(3):
            commit = OffsetCommitRequest("g", (OffsetToCommit(TopicPartition("t", number), 5),))
            assert (await stage.ask(old, commit)).error is ErrorCode.NONE
        new = next(node for node in stage.isr(OF_G) if node != old)
        stage.cluster.move_coordinator(OF_G.partition, new)
        await stage.loop.sleep(SECOND)
        moved = stage.loop.now_us
        assert (await stage.ask(old, OffsetFetchRequest("g", None))).error is ErrorCode.NOT_COORDINATOR
        loading = await stage.ask(new, OffsetFetchRequest("g", None))
        assert loading.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await stage.loop.sleep(2_900_000 - (stage.loop.now_us - moved))
        answer = await stage.ask(new, OffsetFetchRequest("g", None))
        assert [found.offset for found in answer.offsets] == [5, 5, 5]

    run(story, loading=cost)


def test_without_any_replica_there_is_no_coordinator() -> None:
    """With its only replica down, FindCoordinator answers COORDINATOR_NOT_AVAILABLE until the broker is back."""

    async def story(stage: Stage) -> None:
        only = stage.leader(OF_G)
        commit = OffsetCommitRequest("g", (OffsetToCommit(TopicPartition("t", 0), 5),))
        assert (await stage.ask(only, commit)).error is ErrorCode.NONE
        stage.cluster.crash_broker(only)
        await stage.loop.sleep(15 * SECOND)
        other = (only + 1) % 4
        assert (await stage.ask(other, FindCoordinatorRequest("g"))).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        with pytest.raises(LookupError, match=r"__consumer_offsets-\d+ has no leader"):
            stage.cluster.coordinator_of("g")
        assert stage.cluster.snapshot("g") is None
        stage.cluster.restart_broker(only)
        await stage.loop.sleep(5 * SECOND)
        assert (await stage.ask(other, FindCoordinatorRequest("g"))).node == only
        answer = await stage.ask(only, OffsetFetchRequest("g", None))
        assert [found.offset for found in answer.offsets] == [5]

    run(story, offsets_replication_factor=1)


def test_a_stale_coordinator_goes_on_until_it_hears() -> None:
    """Cut off from the controller only, it answers heartbeats and appends commits that are never replicated.

    They have gone to the new leader, so the high watermark stands still, the commit times out, and heartbeats wait
    behind it; when it hears of its successor it sends everybody away, and what it had appended is cut off.
    """

    async def story(stage: Stage) -> None:
        stage.group(2, **{"enable.auto.commit": False})
        await stage.loop.sleep(10 * SECOND)
        old, snapshot = stage.leader(OF_G), stage.cluster.snapshot("g")
        assert snapshot is not None
        member = snapshot.members[0].member_id
        end = stage.cluster.log(OFFSETS_TOPIC, OF_G.partition, old).end_offset
        fault = stage.cluster.network.inject(Isolate(Match(host=f"broker-{old}", peer="controller")))
        await stage.loop.sleep(15 * SECOND)
        new = stage.leader(OF_G)
        assert new != old
        refused: list[Any] = []
        beat = HeartbeatRequest("g", snapshot.generation, member)
        assert await stage.ask(old, beat) == HeartbeatResponse()
        commit = OffsetCommitRequest(
            "g", (OffsetToCommit(TopicPartition("t", 0), 77),), snapshot.generation, member_id=member
        )
        begun = stage.loop.now_us
        stage.cluster.network.connect("x", "x", old, "coordinator").send(commit, refused.append, 60 * SECOND)
        await stage.loop.sleep(100_000)
        assert (await stage.ask(old, beat)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert refused[0].error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert stage.loop.now_us - begun >= 5 * SECOND  # offsets.commit.timeout.ms
        assert stage.cluster.log(OFFSETS_TOPIC, OF_G.partition, old).end_offset > end
        fault.end()
        await stage.loop.sleep(5 * SECOND)
        assert (await stage.ask(old, beat)).error is ErrorCode.NOT_COORDINATOR
        logs = [stage.cluster.log(OFFSETS_TOPIC, OF_G.partition, node) for node in (old, new)]
        assert logs[0].read(0, 1 << 40) == logs[1].read(0, 1 << 40)
        offsets = (await stage.ask(new, OffsetFetchRequest("g", None))).offsets
        assert 77 not in [found.offset for found in offsets]

    run(story)
