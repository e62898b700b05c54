"""The topics as a coordinator sees them: its own broker's image, and the changes of that image."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from attrs import evolve

from groupsim.cluster.broker.metadata import BrokerMetadata
from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.cluster import BrokerState, ClusterImage, PartitionState, TopicState
from groupsim.protocol.messages.group import OffsetCommitRequest, OffsetToCommit
from tests.helpers.replicated_stage import OF_G, SECOND, Stage, run

BROKERS = {node: BrokerState(node, f"broker-{node}", "ab"[node % 2]) for node in range(3)}
T_ID, U_ID = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


def topic(name: str, topic_id: str, *replicas: tuple[int, ...]) -> TopicState:
    """A topic whose partitions have these replicas."""
    return TopicState(name, topic_id, tuple(PartitionState(nodes, nodes, nodes[0]) for nodes in replicas))


T = topic("t", T_ID, (0, 1), (0, 2))
U = topic("u", U_ID, (1,))


def image(version: int, *topics: TopicState, brokers: Any = BROKERS) -> ClusterImage:
    """An image of these topics."""
    return ClusterImage(version, brokers, {one.name: one for one in topics})


def take(metadata: BrokerMetadata, new: ClusterImage) -> None:
    """Take an image as the broker does, with the names of its changed topics."""
    old = metadata.image.topics
    changed = [name for name in {**old, **new.topics} if old.get(name) is not new.topics.get(name)]
    metadata.topics.created(new, changed)
    metadata.take(new)


def test_a_topic_has_id_partitions_and_the_racks_of_its_replicas() -> None:
    """It is found by name and by id; each replica's rack counts while its broker is registered, fenced or not."""
    metadata = BrokerMetadata()
    fenced = {**BROKERS, 2: evolve(BROKERS[2], fenced=True)}
    take(metadata, image(7, T, U, brokers=fenced))
    view = TopicView(T_ID, "t", 2, (("a", "b"), ("a", "a")))
    assert metadata.topics.topic("t") == metadata.topics.topic_by_id(T_ID) == view
    assert metadata.topics.topic("x") is None
    assert metadata.topics.topic_by_id("AAAAAAAAAAAAAAAAAAAAAw") is None
    assert metadata.topics.names() == ("t", "u")


def test_brokers_without_racks_leave_none() -> None:
    """Without a rack anywhere the view has no racks, so that all such topics compare equal."""
    metadata = BrokerMetadata()
    take(metadata, image(1, T, brokers={node: BrokerState(node, f"broker-{node}") for node in range(3)}))
    assert metadata.topics.topic("t") == TopicView(T_ID, "t", 2)


def test_a_view_is_made_again_when_its_topic_or_a_rack_has_changed() -> None:
    """A broker that comes back in another rack changes the views of its topics."""
    metadata = BrokerMetadata()
    take(metadata, image(1, T, U))
    first = metadata.topics.topic("t")
    take(metadata, image(2, T, topic("u", U_ID, (1,), (2,))))
    assert metadata.topics.topic("t") is first
    assert metadata.topics.topic("u") == TopicView(U_ID, "u", 2, (("b",), ("a",)))
    take(metadata, image(3, T, U, brokers={**BROKERS, 1: evolve(BROKERS[1], rack="c")}))
    assert metadata.topics.topic("t") == TopicView(T_ID, "t", 2, (("a", "c"), ("a", "a")))


def test_the_version_of_the_newest_topic_moves_with_new_topics_only() -> None:
    """More partitions and a deletion leave it; a topic that is created again has another id and is a new one."""
    metadata = BrokerMetadata()
    seen = []
    for new in (
        image(3, T),
        image(4, topic("t", T_ID, (0,), (1,), (2,))),
        image(5, T, U),
        image(6, U),
        image(8, topic("t", "AAAAAAAAAAAAAAAAAAAAAw", (0,)), U),
    ):
        take(metadata, new)
        seen.append((metadata.topics.version, metadata.topics.created_version))
    assert seen == [(3, 3), (4, 3), (5, 5), (6, 5), (8, 8)]


# --- pushes ------------------------------------------------------------------------------------------------------


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...], int | None]]:
    """What groups hear: the group, the changed topics, and the partitions of `new` that its broker knows then."""
    found: list[tuple[str, tuple[str, ...], int | None]] = []

    def metadata_changed(self: ClassicGroup, op: Operation, names: Collection[str]) -> None:
        view = op.topics.topic("new")
        found.append((self.group_id, tuple(names), view and view.partitions))

    monkeypatch.setattr(ClassicGroup, "metadata_changed", metadata_changed)
    return found


COMMIT = OffsetCommitRequest("g", (OffsetToCommit(TopicPartition("t", 0), 1),))


def test_groups_hear_of_topics_when_their_broker_does(heard: list[Any]) -> None:
    """The controller has the topic first; the coordinator sees it, and its groups hear of it, with the next image."""

    async def story(stage: Stage) -> None:
        leader = stage.leader(OF_G)
        await stage.ask(leader, COMMIT)
        topics = stage.cluster.brokers[leader].metadata.topics
        heard.clear()
        stage.cluster.create_topic("new", 2, replication=1)
        assert "new" in stage.cluster.controller.image.topics
        assert topics.topic("new") is None
        await stage.loop.sleep(SECOND)
        stage.cluster.add_partitions("new", 5)
        await stage.loop.sleep(SECOND)
        stage.cluster.delete_topic("new")
        await stage.loop.sleep(SECOND)
        assert [one for one in heard if "new" in one[1]] == [
            ("g", ("new",), 2),
            ("g", ("new",), 5),
            ("g", ("new",), None),
        ]

    run(story)


def test_counted_logs_push_topics_too(heard: list[Any]) -> None:
    """Their brokers hear of a topic at once; its id is the one that clients see."""

    async def main(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, ClusterConfig.with_counted_logs(brokers=2))
        cluster.create_topic("t", 3)
        got: list[Any] = []
        for node in (0, 1):
            cluster.network.connect("home", "home", node, "coordinator").send(COMMIT, got.append, SECOND)
        await loop.sleep(SECOND)
        heard.clear()
        cluster.create_topic("new", 4)
        assert heard == [("g", ("new",), 4)]
        (topics,) = {node.metadata.topics.topic("new") for node in cluster.brokers.values()}
        assert topics is not None
        assert len(topics.topic_id) == 22
        assert topics.topic_id == cluster.brokers[0].metadata.topic_id("new")

    run_virtual(main, seed=3)
