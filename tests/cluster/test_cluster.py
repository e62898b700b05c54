"""The cluster as a whole, with real coordinators."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.network.faults import Isolate, LoseResponse, Match
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.placement import partition_for
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.messages.group import (
    Api,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    SyncAssignment,
    SyncGroupRequest,
    TopicPartition,
)

TP = TopicPartition("t", 0)
Story = Callable[[Cluster], Awaitable[None]]


def run(story: Story, seed: int = 0, **config: Any) -> list[Any]:
    """Run a story on a cluster without initial rebalance delay; returns the trace."""
    trace, sink = Trace(), MemorySink()
    trace.subscribe(sink)
    coordinator = CoordinatorConfig.from_properties({"group.initial.rebalance.delay.ms": 0})

    async def main(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, ClusterConfig.with_counted_logs(coordinator=coordinator, **config))
        cluster.create_topic("t", 4, replication=2)
        await story(cluster)

    run_virtual(main, seed=seed, trace=trace)
    return sink.events


class Client:
    """Sends one request at a time and waits for its answer."""

    def __init__(self, cluster: Cluster, host: str = "member-1") -> None:
        self.cluster = cluster
        self.loop = cluster.loop
        self.host = host
        self.connections: dict[int, Any] = {}
        self.member_id = ""
        self.generation = -1

    async def ask(self, node: int, request: Any) -> Any:
        connection = self.connections.get(node)
        if connection is None or not connection.open:
            connection = self.connections[node] = self.cluster.transport.connect(self.host, self.host, node, "test")
        got: list[Any] = []
        connection.send(request, got.append, 30_000_000)
        await self.loop.until(lambda: bool(got))
        return got[0]

    async def find(self, group: str = "g") -> Any:
        return await self.ask(self.cluster.transport.bootstrap[0], FindCoordinatorRequest(group))

    async def join(self, group: str = "g") -> None:
        """Join as the only member and lead it into Stable."""
        node, _ = self.cluster.coordinator_of(group)
        for _ in range(2):
            request = JoinGroupRequest(
                group, 10_000, 60_000, self.member_id, None, "consumer", (JoinProtocol("range"),)
            )
            answer = await self.ask(node, request)
            self.member_id = answer.member_id
        self.generation = answer.generation_id
        plan = (SyncAssignment(self.member_id, b""),)
        sync = SyncGroupRequest(group, self.generation, self.member_id, None, "consumer", "range", plan)
        assert not (await self.ask(node, sync)).error

    async def beat(self, node: int, group: str = "g") -> Any:
        return await self.ask(node, HeartbeatRequest(group, self.generation, self.member_id))


def test_group_lives_on_the_broker_that_leads_its_partition() -> None:
    """FindCoordinator names the broker where the group then is, and where `coordinator_of` finds it."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        found = await client.find("my-group")
        assert found.node == cluster.coordinator_of("my-group")[0] == partition_for("my-group") % 3
        await client.join("my-group")
        snapshot = cluster.snapshot("my-group")
        assert snapshot is not None
        assert (snapshot.state, snapshot.generation) == ("Stable", 1)

    run(story)


def test_other_brokers_are_not_the_coordinator() -> None:
    """A broker that does not lead the group's partition answers NOT_COORDINATOR."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        node, _ = cluster.coordinator_of("g")
        assert (await client.beat((node + 1) % 3)).error.name == "NOT_COORDINATOR"
        assert (await client.beat(node)).error.name == "NONE"

    run(story)


def test_moved_group_survives_with_its_members_and_offsets() -> None:
    """After a move the new coordinator has the group Stable, at its generation, with the offset that was committed."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        old, _ = cluster.coordinator_of("g")
        new = (old + 1) % 3
        commit = OffsetCommitRequest("g", (OffsetToCommit(TP, 42),), client.generation, client.member_id)
        assert not (await client.ask(old, commit)).error
        cluster.move_coordinator(partition_for("g"), new)
        assert (await client.beat(old)).error.name == "NOT_COORDINATOR"
        await cluster.loop.sleep(1_000_000)
        assert (await client.find()).node == new
        assert (await client.beat(new)).error.name == "NONE"
        fetched = await client.ask(new, OffsetFetchRequest("g", (TP,)))
        assert [entry.offset for entry in fetched.offsets] == [42]

    run(story)


def test_a_move_called_back_before_the_election_ends_where_it_began() -> None:
    """Moved away and back at once: the old leader, which has resigned, is elected again and loads the group."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        old, _ = cluster.coordinator_of("g")
        cluster.move_coordinator(partition_for("g"), (old + 1) % 3)
        await cluster.loop.sleep(20_000)
        cluster.move_coordinator(partition_for("g"), old)
        await cluster.loop.sleep(1_000_000)
        assert (await client.find()).node == old
        assert (await client.beat(old)).error.name == "NONE"

    run(story)


def test_steps_of_a_move_can_be_seen_from_outside() -> None:
    """FindCoordinator names the old leader with stale metadata, then none, then a loading leader, then the new one."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        old, _ = cluster.coordinator_of("g")
        new = (old + 1) % 3
        began = cluster.loop.now_us
        cluster.move_coordinator(partition_for("g"), new)
        seen = []
        for at_ms in (50, 150, 250, 400):
            await cluster.loop.sleep(began + at_ms * 1_000 - cluster.loop.now_us)
            found = await client.find()
            fetched = await client.ask(new, OffsetFetchRequest("g", (TP,)))
            seen.append((found.node, found.error.name, fetched.error.name))
        assert seen == [
            (old, "NONE", "NOT_COORDINATOR"),
            (-1, "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
            (new, "NONE", "COORDINATOR_LOAD_IN_PROGRESS"),
            (new, "NONE", "NONE"),
        ]

    run(story, election_us=200_000, load_us=100_000, metadata_stale_us=100_000)


def test_crashed_coordinator_is_succeeded() -> None:
    """A broker's crash breaks its connections, and the group lives on at the next broker."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        old, _ = cluster.coordinator_of("g")
        cluster.crash_broker(old)
        assert isinstance(await client.beat(old), Disconnected)
        await cluster.loop.sleep(2_000_000)
        new, _ = cluster.coordinator_of("g")
        assert new != old
        assert (await client.beat(new)).error.name == "NONE"

    run(story)


def test_restarted_broker_takes_what_nobody_leads() -> None:
    """With every broker down no group has a coordinator; the first restarted broker leads all partitions."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        for node in range(3):
            cluster.crash_broker(node)
        await cluster.loop.sleep(1_000_000)
        with pytest.raises(LookupError, match="has no leader"):
            cluster.coordinator_of("g")
        assert cluster.snapshot("g") is None
        cluster.restart_broker(1)
        await cluster.loop.sleep(1_000_000)
        assert cluster.coordinator_of("g")[0] == 1
        assert (await client.beat(1)).error.name == "NONE"

    run(story)


def test_moving_to_a_broker_that_is_down_is_refused() -> None:
    """A move names a broker that is up."""

    async def story(cluster: Cluster) -> None:
        cluster.crash_broker(2)
        with pytest.raises(ValueError, match="not up"):
            cluster.move_coordinator(0, 2)

    run(story)


def test_deleted_topic_takes_its_committed_offsets_along() -> None:
    """Deleting a topic reaches every coordinator, which removes the topic's committed offsets."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        node, _ = cluster.coordinator_of("g")
        commit = OffsetCommitRequest("g", (OffsetToCommit(TP, 42),), client.generation, client.member_id)
        assert not (await client.ask(node, commit)).error
        cluster.delete_topic("t")
        await cluster.loop.sleep(1_000_000)
        fetched = await client.ask(node, OffsetFetchRequest("g", (TP,)))
        assert [entry.offset for entry in fetched.offsets] == [-1]

    run(story)


def test_roles_of_the_cluster_aim_faults() -> None:
    """The leader and the coordinator of a group are found without naming hosts."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        node, _ = cluster.coordinator_of("g")
        resolve = cluster.network.resolve
        assert resolve(Match(role="leader", group="g")) == "member-1"
        assert resolve(Match(role="coordinator", group="g")) == f"broker-{node}"
        assert resolve(Match(member=0, group="g")) == "member-1"
        assert resolve(Match(member=1, group="g")) is None
        for nonsense in (Match(role="boss", group="g"), Match(role="leader"), Match(member=0)):
            with pytest.raises(ValueError, match=r"choose|which group"):
                resolve(nonsense)

    run(story)


def test_isolated_coordinator_cannot_be_reached() -> None:
    """Isolating a broker holds up its clients until it is over."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        node, _ = cluster.coordinator_of("g")
        began = cluster.loop.now_us
        cluster.network.inject(Isolate(Match(role="coordinator", group="g"), for_us=5_000_000))
        assert (await client.beat(node)).error.name == "NONE"
        assert 5_000_000 < cluster.loop.now_us - began < 5_010_000

    run(story)


def test_commit_whose_answer_was_lost_has_been_carried_out() -> None:
    """The client of a lost response cannot know that its offset was stored; it was."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        node, _ = cluster.coordinator_of("g")
        cluster.network.inject(LoseResponse(Match(api=Api.OFFSET_COMMIT)))
        commit = OffsetCommitRequest("g", (OffsetToCommit(TP, 42),), client.generation, client.member_id)
        assert isinstance(await client.ask(node, commit), Disconnected)
        fetched = await client.ask(node, OffsetFetchRequest("g", (TP,)))
        assert [entry.offset for entry in fetched.offsets] == [42]

    run(story)


def test_topics_of_a_cluster_get_records_at_their_rate() -> None:
    """A topic's rate is in force from its creation, and can be changed; new partitions begin empty."""

    async def story(cluster: Cluster) -> None:
        cluster.create_topic("u", 2, rate=10, weights=[4, 1])
        await cluster.loop.sleep(10_000_000)
        ends = [cluster.data.end(TopicPartition("u", p)) for p in range(2)]
        assert ends == [80, 20]
        cluster.set_rate("u", 0)
        cluster.add_partitions("u", 3)
        await cluster.loop.sleep(10_000_000)
        assert [cluster.data.end(TopicPartition("u", p)) for p in range(3)] == [80, 20, 0]

    run(story)


def test_weights_must_fit_the_partitions() -> None:
    """One weight per partition, or an error before anything is created."""

    async def story(cluster: Cluster) -> None:
        with pytest.raises(ValueError, match="2 weights for 3 partitions"):
            cluster.create_topic("u", 3, weights=[1, 1])
        assert "u" not in cluster.image.topics

    run(story)


@pytest.mark.parametrize("seed", [0, 7])
def test_same_seed_gives_the_same_trace(seed: int) -> None:
    """Two runs of one seed are equal event by event; another seed's latencies differ."""

    async def story(cluster: Cluster) -> None:
        client = Client(cluster)
        await client.join()
        await client.beat(cluster.coordinator_of("g")[0])

    assert run(story, seed) == run(story, seed)
    assert [event.t_us for event in run(story, seed)] != [event.t_us for event in run(story, seed + 1)]
