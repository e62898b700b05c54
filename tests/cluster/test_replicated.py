"""The replicated cluster, end to end: groups whose coordinator is a broker that can die, on a log that is copied."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from groupsim.cluster.controller.config import ControllerConfig
from groupsim.cluster.faults import Isolate, Match
from groupsim.cluster.offsets_topic import LoadingCost
from groupsim.cluster.replica.config import ReplicaConfig
from groupsim.cluster.replicated import ReplicatedCluster
from groupsim.cluster.replicated_config import ReplicatedConfig
from groupsim.coordinator.config import CoordinatorConfig
from groupsim.coordinator.placement import OFFSETS_TOPIC, partition_for
from groupsim.eventloop.sinks import MemorySink
from groupsim.eventloop.trace import Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.consumer import Consumer
from groupsim.members.interfaces import Disconnected
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch import Batch
from groupsim.protocol.data_messages import ProduceRequest
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
)
from groupsim.protocol.txn_messages import InitProducerIdRequest

SECOND = 1_000_000
OF_G = TopicPartition(OFFSETS_TOPIC, partition_for("g"))
OF_G_OF_3 = TopicPartition(OFFSETS_TOPIC, partition_for("g", 3))


class Stage:
    """A cluster with a topic, and what the tests do with it."""

    def __init__(self, loop: VirtualLoop, config: ReplicatedConfig, events: list[Any]) -> None:
        self.loop = loop
        self.events = events
        self.cluster = ReplicatedCluster(loop, config)

    def group(self, members: int, **properties: object) -> list[Consumer]:
        """Members of the group g on the topic t."""
        consumers = []
        for number in range(members):
            given = {"group.id": "g", "client.id": f"c{number}", "auto.commit.interval.ms": 1_000, **properties}
            settings, _ = settings_from(PROFILES["java"], given)
            consumer = Consumer(self.loop, f"member-{number}", settings, self.cluster.transport, self.cluster.data)
            consumer.subscribe(["t"])
            consumer.start()
            consumers.append(consumer)
        return consumers

    async def ask(self, node: int, request: Any, host: str = "somebody", wait_us: int = 10 * SECOND) -> Any:
        """The answer of one broker, on a connection of its own; None when none comes."""
        got: list[Any] = []
        connection = self.cluster.network.connect(host, host, node, "coordinator")
        connection.send(request, got.append, 60 * SECOND)
        await self.loop.until(lambda: bool(got), wait_us)
        connection.close()
        return got[0] if got else None

    def said(self, *kinds: str, since_us: int = -1) -> list[Any]:
        return [event for event in self.events if event.kind.value in kinds and event.t_us > since_us]

    def leader(self, partition: TopicPartition) -> int:
        state = self.cluster.controller.image.partition(partition)
        assert state is not None
        return state.leader

    def isr(self, partition: TopicPartition) -> set[int]:
        state = self.cluster.controller.image.partition(partition)
        assert state is not None
        return set(state.isr)


def run(story: Callable[[Stage], Awaitable[None]], *, seed: int = 0, **config: Any) -> list[Any]:
    """Run a story on four brokers with a topic t of six partitions, three replicas each."""
    trace, sink = Trace(), MemorySink()
    trace.subscribe(sink)

    async def main(loop: VirtualLoop) -> None:
        stage = Stage(loop, ReplicatedConfig(**{"brokers": 4, **config}), sink.events)
        stage.cluster.create_topic("t", 6, replication=3)
        await story(stage)

    run_virtual(main, seed=seed, trace=trace)
    return sink.events


# --- the cluster stands ----------------------------------------------------------------------------------------------


def test_the_cluster_stands_when_it_is_made() -> None:
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
            assert broker.groups.led == tuple(
                p.partition for p in answer.topics[0].partitions if p.leader == broker.node
            )
        told = stage.said("broker.unfenced", "request.received", "partition.leader")
        assert {event.topic for event in told} == {"t"}

    run(story)


def test_a_quiet_cluster_stays_as_it_is() -> None:
    """Ten minutes without clients: nothing is elected, nobody leaves the in-sync sets, nothing is told."""

    async def story(stage: Stage) -> None:
        begun = len(stage.events)
        version = stage.cluster.controller.image.version
        await stage.loop.sleep(600 * SECOND)
        assert stage.cluster.controller.image.version == version
        assert stage.events[begun:] == []

    run(story)


def test_same_seed_same_trace() -> None:
    """A run with records, a crash and a restart tells the same, event by event; another seed tells something else."""

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
    """What members committed is the same batches in three logs, committed on all of them."""

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


def test_every_record_is_delivered_once_in_a_group_that_nothing_befalls() -> None:
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
    """The load takes what the size of the log asks for; a commit meanwhile is told to come again."""
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
    """With one replica and its broker gone, FindCoordinator says COORDINATOR_NOT_AVAILABLE until it is back."""

    async def story(stage: Stage) -> None:
        only = stage.leader(OF_G)
        commit = OffsetCommitRequest("g", (OffsetToCommit(TopicPartition("t", 0), 5),))
        assert (await stage.ask(only, commit)).error is ErrorCode.NONE
        stage.cluster.crash_broker(only)
        await stage.loop.sleep(15 * SECOND)
        other = (only + 1) % 4
        assert (await stage.ask(other, FindCoordinatorRequest("g"))).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        with pytest.raises(LookupError, match="nobody leads __consumer_offsets"):
            stage.cluster.coordinator_of("g")
        assert stage.cluster.snapshot("g") is None
        stage.cluster.restart_broker(only)
        await stage.loop.sleep(5 * SECOND)
        assert (await stage.ask(other, FindCoordinatorRequest("g"))).node == only
        answer = await stage.ask(only, OffsetFetchRequest("g", None))
        assert [found.offset for found in answer.offsets] == [5]

    run(story, offsets_replication_factor=1)


def test_a_stale_coordinator_goes_on_until_it_hears() -> None:
    """Cut off from the controller only, it answers heartbeats and takes commits that its followers will never have.

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


# --- replicas and brokers --------------------------------------------------------------------------------------------


def test_a_follower_that_hears_nothing_falls_out_of_the_in_sync_set() -> None:
    """Cut off from one leader for longer than replica.lag.time.max.ms it is struck off there, and comes back after."""

    async def story(stage: Stage) -> None:
        part = TopicPartition("t", 0)
        leader = stage.leader(part)
        follower = next(node for node in stage.isr(part) if node != leader)
        stage.cluster.set_rate("t", 10)
        await stage.loop.sleep(5 * SECOND)
        fault = stage.cluster.network.inject(Isolate(Match(host=f"broker-{follower}", peer=f"broker-{leader}")))
        await stage.loop.sleep(20 * SECOND)
        assert follower not in stage.isr(part)
        assert stage.said("broker.fenced") == []
        log = stage.cluster.log("t", 0)
        assert log.end_offset - log.high_watermark <= 2  # the other follower keeps up
        fault.end()
        await stage.loop.sleep(35 * SECOND)
        assert follower in stage.isr(part)
        assert stage.cluster.log("t", 0, follower).end_offset >= log.end_offset - 2

    run(story, replica=ReplicaConfig(replica_lag_time_max_ms=10_000))


def test_a_frozen_broker_is_fenced_and_comes_back() -> None:
    """Paused for half a minute it loses its session; when it goes on it is let in again, and follows."""

    async def story(stage: Stage) -> None:
        frozen = stage.leader(TopicPartition("t", 0))
        stage.cluster.set_rate("t", 10)
        await stage.loop.sleep(5 * SECOND)
        stage.cluster.pause_broker(frozen)
        await stage.loop.sleep(30 * SECOND)
        assert stage.leader(TopicPartition("t", 0)) != frozen
        assert [event.payload["node"] for event in stage.said("broker.fenced")] == [frozen]
        stage.cluster.resume_broker(frozen)
        await stage.loop.sleep(30 * SECOND)
        assert frozen in stage.isr(TopicPartition("t", 0))
        assert stage.cluster.brokers[frozen].replicas.leads(TopicPartition("t", 0)) is None

    run(story)


def test_a_broker_that_stops_in_order_hands_over_first() -> None:
    """No session has to run out: what it led is led elsewhere before it goes, and the group hardly notices."""

    async def story(stage: Stage) -> None:
        stage.group(2)
        await stage.loop.sleep(10 * SECOND)
        old, before = stage.leader(OF_G), stage.cluster.snapshot("g")
        assert before is not None
        stopped: list[int] = []
        stage.cluster.stop_broker(old, lambda: stopped.append(stage.loop.now_us))
        asked = stage.loop.now_us
        await stage.loop.sleep(5 * SECOND)
        assert stopped
        assert stopped[0] - asked < 3 * SECOND
        assert not stage.cluster.brokers[old].host.alive
        leaders = {
            state.leader for topic in stage.cluster.controller.image.topics.values() for state in topic.partitions
        }
        assert leaders == {0, 1, 2, 3} - {old}
        await stage.loop.sleep(20 * SECOND)
        after = stage.cluster.snapshot("g")
        assert after is not None
        assert (after.state, after.generation) == ("Stable", before.generation)
        stage.cluster.restart_broker(old)
        await stage.loop.sleep(10 * SECOND)
        assert old in stage.isr(OF_G)

    run(story)


def test_a_starting_broker_takes_no_connections_before_it_knows_the_cluster() -> None:
    """Nobody is told by a newborn broker that there are no topics."""

    async def story(stage: Stage) -> None:
        stage.cluster.crash_broker(1)
        await stage.loop.sleep(15 * SECOND)
        assert isinstance(await stage.ask(1, MetadataRequest()), Disconnected)
        stage.cluster.restart_broker(1)
        assert isinstance(await stage.ask(1, MetadataRequest()), Disconnected)
        await stage.loop.sleep(SECOND)
        answer = await stage.ask(1, MetadataRequest())
        assert [topic.name for topic in answer.topics] == [OFFSETS_TOPIC, "t"]

    run(story)


def test_a_session_lasts_as_long_as_the_settings_say() -> None:
    """broker.session.timeout.ms decides how long a dead coordinator goes unnoticed."""

    async def story(stage: Stage) -> None:
        stage.cluster.crash_broker(0)
        await stage.loop.sleep(60 * SECOND)
        (fenced,) = stage.said("broker.fenced")
        assert 26 * SECOND < fenced.t_us < 38 * SECOND

    run(story, controller=ControllerConfig(broker_session_timeout_ms=30_000))


def test_a_broker_that_cannot_reach_the_controller_stops_all_the_same() -> None:
    """Nobody lets it go, so it waits five minutes and goes."""

    async def story(stage: Stage) -> None:
        stage.cluster.network.inject(Isolate(Match(host="broker-1", peer="controller")))
        stopped: list[int] = []
        stage.cluster.stop_broker(1, lambda: stopped.append(stage.loop.now_us))
        await stage.loop.sleep(400 * SECOND)
        assert stopped == [300 * SECOND]
        assert not stage.cluster.brokers[1].host.alive

    run(story)


def test_a_refused_produce_with_acks_0_ends_the_connection() -> None:
    """The producer wants no answer; that its leader has moved it learns from the broken connection."""

    async def story(stage: Stage) -> None:
        leader = stage.leader(TopicPartition("t", 0))
        for node in (leader, (leader + 1) % 4):
            connection = stage.cluster.network.connect("p", "p", node, "produce")
            request = ProduceRequest(0, 1_000, ((TopicPartition("t", 0), Batch(0, 1, 70, 0, 0)),))
            connection.send(request, lambda outcome: None, SECOND)
            await stage.loop.sleep(SECOND)
            assert connection.open == (node == leader)
        assert stage.cluster.log("t", 0).end_offset == 1

    run(story)


def test_logs_may_be_files(tmp_path: Path) -> None:
    """With a folder for storage each broker keeps Kafka's own files there, and finds them again when it restarts."""

    async def story(stage: Stage) -> None:
        stage.cluster.set_rate("t", 20)
        stage.group(2)
        await stage.loop.sleep(10 * SECOND)
        node = stage.leader(OF_G_OF_3)
        stage.cluster.crash_broker(node)
        await stage.loop.sleep(15 * SECOND)
        stage.cluster.restart_broker(node)
        await stage.loop.sleep(5 * SECOND)
        stage.cluster.set_rate("t", 0)
        await stage.loop.sleep(5 * SECOND)
        state = stage.cluster.controller.image.partition(OF_G_OF_3)
        assert state is not None
        logs = [stage.cluster.log(*OF_G_OF_3, replica) for replica in state.replicas]
        assert logs[0].read(0, 1 << 40) == logs[1].read(0, 1 << 40) == logs[2].read(0, 1 << 40)
        ends = stage.cluster.log_ends()
        assert ends[str(OF_G_OF_3)] == [0, logs[0].end_offset, logs[0].end_offset]

    run(story, storage=tmp_path, coordinator=CoordinatorConfig(offsets_topic_num_partitions=3))
    segment = f"{OF_G_OF_3}/00000000000000000000.log"
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob(f"broker-*/{segment}"))]
    assert len(sizes) == 3
    assert len(set(sizes)) == 1
    assert sizes[0] > 1_000


# --- topics ----------------------------------------------------------------------------------------------------------


def test_a_deleted_topic_takes_its_offsets_along() -> None:
    """Every broker hears of it; the coordinator forgets what was committed to it."""

    async def story(stage: Stage) -> None:
        stage.cluster.create_topic("u", 1, replication=1)
        offsets = tuple(OffsetToCommit(TopicPartition(topic, 0), 5) for topic in ("t", "u"))
        await stage.loop.sleep(SECOND)
        node = stage.leader(OF_G)
        await stage.ask(node, OffsetCommitRequest("g", offsets))
        stage.cluster.delete_topic("t")
        await stage.loop.sleep(SECOND)
        answer = await stage.ask(node, OffsetFetchRequest("g", None))
        assert [found.partition.topic for found in answer.offsets] == ["u"]
        answers = [await stage.ask(other, MetadataRequest(("t",))) for other in range(4)]
        assert {answer.topics[0].error for answer in answers} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        with pytest.raises(ValueError, match="t"):
            stage.cluster.delete_topic("t")

    run(story)


def test_partitions_can_be_added_and_are_consumed() -> None:
    """A topic grows while a group consumes it; the new partitions get leaders, records and an owner."""

    async def story(stage: Stage) -> None:
        stage.cluster.set_rate("t", 12)
        stage.group(2, **{"metadata.max.age.ms": 5_000, "auto.offset.reset": "earliest"})
        await stage.loop.sleep(10 * SECOND)
        stage.cluster.add_partitions("t", 8)
        await stage.loop.sleep(20 * SECOND)
        snapshot = stage.cluster.snapshot("g")
        assert snapshot is not None
        assert snapshot.state == "Stable"
        assert stage.cluster.log("t", 7).end_offset >= 0
        assert {e.partition for e in stage.said("partition.owned")} == set(range(8))

    run(story)


def test_idempotent_producers_get_ids_that_nobody_else_has() -> None:
    """Whichever broker is asked; a transactional id is sent to the coordinator that is not here."""

    async def story(stage: Stage) -> None:
        ids = [(await stage.ask(node, InitProducerIdRequest(None))).producer_id for node in (0, 1, 0, 3, 1)]
        assert ids == [0, 1_000, 1, 2_000, 1_001]

    run(story)


def test_wrong_numbers_are_refused() -> None:
    """A topic that exists, weights that do not fit, a move to where no replica is."""

    async def story(stage: Stage) -> None:
        with pytest.raises(ValueError, match="3 weights for 2 partitions"):
            stage.cluster.create_topic("u", 2, weights=[1, 2, 3])
        with pytest.raises(ValueError, match="t"):
            stage.cluster.create_topic("t", 2)
        with pytest.raises(ValueError, match="there is no topic 'nope'"):
            stage.cluster.set_rate("nope", 5)
        with pytest.raises(LookupError, match="no replica"):
            stage.cluster.log("nope", 0)
        stage.cluster.crash_broker(0)
        await stage.loop.sleep(15 * SECOND)
        with pytest.raises(ValueError, match=r"PREFERRED_LEADER_NOT_AVAILABLE|INVALID_REPLICA"):
            stage.cluster.move_coordinator(OF_G.partition, 9)

    run(story)
