"""The controller of counted logs: topics, placement, metadata, coordinators."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.counted import CountedConfig
from groupsim.cluster.counted.broker_parts import CountedMetadata
from groupsim.cluster.counted.controller import CountedController
from groupsim.protocol.basics import TopicPartition


def made(loop: Any, **config: Any) -> CountedController:
    """A controller of three brokers."""
    return CountedController(loop, ClusterConfig.with_counted_logs(brokers=3, **config), CountedConfig())


def seen(controller: CountedController) -> CountedMetadata:
    """Return the images of the brokers from now on."""
    metadata = CountedMetadata(controller)
    metadata.take(controller.image)
    controller.on_image.append(metadata.take)
    return metadata


def test_leaders_and_replicas_go_round_the_brokers_with_their_racks(play: Any) -> None:
    """Partition p is led by broker p mod n; its replicas are the next brokers, each with its rack."""

    async def story(rig: Any) -> None:
        controller = made(rig.loop, racks=("a", "b"))
        controller.create_topic("t", 4, replication=2)
        (info,) = seen(controller).describe(("t",)).topics
        assert [(p.leader, p.replicas, p.racks) for p in info.partitions] == [
            (0, (0, 1), ("a", "b")),
            (1, (1, 2), ("b", "a")),
            (2, (2, 0), ("a", "a")),
            (0, (0, 1), ("a", "b")),
        ]

    play(story)


def test_metadata_follows_every_change(play: Any) -> None:
    """Creation, growth and deletion of a topic are emitted with the numbers before and after."""

    async def story(rig: Any) -> None:
        controller = made(rig.loop)
        topics, before = seen(controller), controller.image.version
        counts = []
        for change in (
            lambda: controller.create_topic("t", 2),
            lambda: controller.add_partitions("t", 5),
            lambda: controller.delete_topic("t"),
        ):
            change()
            counts.append(topics.partition_count("t"))
        assert counts == [2, 5, None]
        assert controller.image.version == before + 3

    events = play(story)
    assert [(e.topic, e.payload) for e in events if e.kind == "metadata.changed"] == [
        ("t", {"partitions": 2, "before": 0}),
        ("t", {"partitions": 5, "before": 2}),
        ("t", {"partitions": 0, "before": 5}),
    ]


def test_all_topics_come_sorted_by_name(play: Any) -> None:
    """A request for all topics lists them by name, whatever the order they were made in."""

    async def story(rig: Any) -> None:
        for name in ("b", "c", "a"):
            rig.controller.create_topic(name, 1)
        assert [topic.name for topic in seen(rig.controller).describe(None).topics] == ["a", "b", "c"]

    play(story)


def test_one_answer_serves_all_until_something_changes(play: Any) -> None:
    """Equal requests of a thousand members get the same object, and a new one after a change."""

    async def story(rig: Any) -> None:
        topics = seen(rig.controller)
        rig.controller.create_topic("t", 1)
        first = topics.describe(("t",))
        assert topics.describe(("t",)) is first
        rig.controller.add_partitions("t", 2)
        assert topics.describe(("t",)) is not first

    play(story)


def test_leadership_goes_to_the_next_live_replica(play: Any) -> None:
    """With its leader down the next live replica leads, or none; brokers that are down are not listed."""

    async def story(rig: Any) -> None:
        topics = seen(rig.controller)
        rig.controller.create_topic("t", 1, replication=2)
        rig.controller.broker_down(0)
        answer = topics.describe(("t",))
        assert answer.topics[0].partitions[0].leader == 1
        assert [node for node, _ in answer.brokers] == [1, 2]
        rig.controller.broker_down(1)
        assert topics.describe(("t",)).topics[0].partitions[0].leader == -1

    play(story)


def test_moved_leader_is_seen_late(play: Any) -> None:
    """Brokers name the old leader of an offsets partition until metadata has caught up."""

    async def story(rig: Any) -> None:
        controller = made(rig.loop, metadata_stale_us=100_000)
        controller.move_leader(TopicPartition("__consumer_offsets", 7), 2)
        state = controller.image.topics["__consumer_offsets"].partitions[7]
        assert (state.leader, state.leader_epoch, controller.named_leader(7)) == (-1, 1, 1)
        await rig.loop.sleep(100_000)
        assert controller.named_leader(7) == -1
        await rig.loop.sleep(100_001)
        assert controller.named_leader(7) == 2

    play(story)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda topics: topics.create_topic("t", 1), "exists already"),
        (lambda topics: topics.create_topic("u", 0), "at least one"),
        (lambda topics: topics.create_topic("u", 1, replication=4), "replication 4 with 3 brokers"),
        (lambda topics: topics.add_partitions("t", 2), "only added"),
        (lambda topics: topics.delete_topic("u"), "no topic 'u'; there are: t"),
    ],
)
def test_mistakes_name_the_topic_and_the_remedy(play: Any, change: Any, message: str) -> None:
    """A wrong change of a topic raises an error that names the topic and the remedy."""

    async def story(rig: Any) -> None:
        rig.controller.create_topic("t", 2)
        with pytest.raises(ValueError, match=message):
            change(rig.controller)

    play(story)
