"""Brokers of a replicated cluster that lag, pause, stop and start; topics that are created, grow and are deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.cluster.config.controller import ControllerConfig, kraft, zookeeper_era
from groupsim.cluster.config.replica import ReplicaConfig
from groupsim.cluster.network.faults import Isolate, Match
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import ProduceRequest
from groupsim.protocol.messages.group import (
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
)
from groupsim.protocol.messages.transactions import InitProducerIdRequest
from tests.helpers.replicated_stage import OF_G, OF_G_OF_3, SECOND, Stage, run

# --- replicas and brokers --------------------------------------------------------------------------------------------


def test_a_follower_that_is_cut_off_leaves_the_in_sync_replicas() -> None:
    """Cut off from one leader for longer than replica.lag.time.max.ms it leaves there, and joins again later."""

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
    """Paused for half a minute it loses its session; when it resumes it is unfenced, and follows."""

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
    """Its leaderships move before it stops, without an expired session, and the group is hardly disturbed."""

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


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
@pytest.mark.parametrize("how", ["crash", "stop", "move"])
def test_a_coordinator_that_goes_during_a_rebalance_leaves_no_partition_without_an_owner(how: str, state: str) -> None:
    """The next coordinator loads the group; members in a rebalance join again, and each partition has one owner."""

    async def story(stage: Stage) -> None:
        members = stage.group(3, **{"session.timeout.ms": 6_000, "heartbeat.interval.ms": 2_000})
        await stage.loop.sleep(20 * SECOND)
        old = stage.leader(OF_G)
        newcomers = stage.group(2, **{"session.timeout.ms": 6_000, "heartbeat.interval.ms": 2_000})

        def in_it() -> bool:
            now = stage.cluster.snapshot("g")
            return now is not None and now.state == state

        assert await stage.loop.until(in_it, 10 * SECOND)
        if how == "crash":
            members[2].crash()  # a member that was lost with it must be missed by the next coordinator
            stage.cluster.crash_broker(old)
        elif how == "stop":
            stage.cluster.stop_broker(old, lambda: None)
        else:
            other = next(node for node in sorted(stage.isr(OF_G)) if node != old)
            stage.cluster.move_coordinator(OF_G.partition, other)
        await stage.loop.sleep(90 * SECOND)
        assert stage.leader(OF_G) != old
        now = stage.cluster.snapshot("g")
        assert now is not None
        assert now.state == "Stable"
        living = [*members[: 2 if how == "crash" else 3], *newcomers]
        owned = sorted(partition for member in living for partition in member.assignment)
        assert owned == [TopicPartition("t", number) for number in range(6)]
        assert all(member.assignment for member in living)

    run(story)


def test_a_starting_broker_takes_no_connections_before_it_knows_the_cluster() -> None:
    """A broker without metadata does not answer that there are no topics."""

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


@pytest.mark.parametrize(("release", "loads"), [((4, 4), True), ((3, 9), True), ((3, 4), False), ((2, 8), False)])
def test_a_broker_that_is_back_before_its_session_has_ended_serves_no_client(
    release: tuple[int, int], loads: bool
) -> None:
    """It waits for the end of that session. Since 3.5 it loads its old leaderships, and drops them when fenced."""

    async def story(stage: Stage) -> None:
        stage.group(2)
        await stage.loop.sleep(20 * SECOND)
        old = stage.leader(OF_G)
        stage.cluster.crash_broker(old)
        began = stage.loop.now_us
        stage.cluster.restart_broker(old)
        await stage.loop.sleep(SECOND)
        loaded = stage.said("group.loaded", since_us=began)
        assert [event.host for event in loaded] == ([f"broker-{old}"] if loads else [])
        assert isinstance(await stage.ask(old, MetadataRequest()), Disconnected)
        await stage.loop.sleep(40 * SECOND)
        (fenced,) = (event for event in stage.said("broker.fenced") if event.payload["node"] == old)
        (back,) = (event for event in stage.said("broker.unfenced", since_us=began) if event.payload["node"] == old)
        given_up = stage.said("group.unloaded", since_us=began)
        assert [event.host for event in given_up] == ([f"broker-{old}"] if loads else [])
        assert all(0 <= event.t_us - fenced.t_us < SECOND // 10 for event in given_up)
        assert stage.said("group.loaded", since_us=fenced.t_us - 1)[0].host == f"broker-{stage.leader(OF_G)}"
        assert stage.leader(OF_G) != old
        assert back.t_us >= fenced.t_us
        assert not isinstance(await stage.ask(old, MetadataRequest()), Disconnected)

    run(story, controller=kraft(release) if release > (3, 3) else zookeeper_era(release))


def test_a_starting_broker_takes_no_connections_before_it_is_let_out_of_fencing() -> None:
    """Registered and with current metadata, its port stays closed until the controller unfences it."""

    async def story(stage: Stage) -> None:
        stage.cluster.crash_broker(1)
        await stage.loop.sleep(15 * SECOND)
        broker = stage.cluster.brokers[1]
        stage.cluster.restart_broker(1)
        assert await stage.loop.until(lambda: 0 <= broker.agent.epoch <= broker.metadata.image.version, SECOND)
        fault = stage.cluster.network.inject(Isolate(Match(host="broker-1", peer="controller")))
        await stage.loop.sleep(5 * SECOND)
        assert stage.cluster.controller.image.brokers[1].fenced
        assert isinstance(await stage.ask(1, MetadataRequest()), Disconnected)
        fault.end()
        await stage.loop.sleep(15 * SECOND)
        assert not isinstance(await stage.ask(1, MetadataRequest()), Disconnected)

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
    """Without a permission of the controller it stops after five minutes."""

    async def story(stage: Stage) -> None:
        stage.cluster.network.inject(Isolate(Match(host="broker-1", peer="controller")))
        stopped: list[int] = []
        stage.cluster.stop_broker(1, lambda: stopped.append(stage.loop.now_us))
        await stage.loop.sleep(400 * SECOND)
        assert stopped == [300 * SECOND]
        assert not stage.cluster.brokers[1].host.alive

    run(story)


def test_a_refused_produce_with_acks_0_ends_the_connection() -> None:
    """The producer expects no response; the broken connection shows it that the leader has moved."""

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
    """With a storage folder each broker has Kafka's files there, and finds them again after a restart."""

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
        ends = stage.cluster.log_ends(internal=True)
        assert ends[str(OF_G_OF_3)] == [0, logs[0].end_offset, logs[0].end_offset]

    run(story, storage=tmp_path, coordinator=CoordinatorConfig(offsets_topic_num_partitions=3))
    segment = f"{OF_G_OF_3}/00000000000000000000.log"
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob(f"broker-*/{segment}"))]
    assert len(sizes) == 3
    assert len(set(sizes)) == 1
    assert sizes[0] > 1_000


# --- topics ----------------------------------------------------------------------------------------------------------


def test_a_deleted_topic_takes_its_offsets_along() -> None:
    """The coordinator deletes the offsets committed for the topic."""

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


def test_idempotent_producers_get_unique_ids() -> None:
    """Each broker allocates ids from its own blocks of a thousand."""

    async def story(stage: Stage) -> None:
        ids = [(await stage.ask(node, InitProducerIdRequest(None))).producer_id for node in (0, 1, 0, 3, 1)]
        assert ids == [0, 1_000, 1, 2_000, 1_001]

    run(story)


def test_wrong_numbers_are_refused() -> None:
    """An existing topic, weights of the wrong number, and a move to a broker without a replica raise errors."""

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
