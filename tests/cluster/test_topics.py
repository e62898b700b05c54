"""Topics, placement, metadata."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.topics import Topics

BROKERS = [(node, f"broker-{node}") for node in range(3)]


def test_leaders_and_replicas_go_round_the_brokers_with_their_racks(play: Any) -> None:
    """Partition p is led by broker p mod n; its replicas are the next brokers, each with its rack."""

    async def story(rig: Any) -> None:
        topics = Topics(rig.loop, BROKERS, ["a", "b"])
        topics.create("t", 4, 2)
        (info,) = topics.describe(("t",)).topics
        assert [(p.leader, p.replicas, p.racks) for p in info.partitions] == [
            (0, (0, 1), ("a", "b")),
            (1, (1, 2), ("b", "a")),
            (2, (2, 0), ("a", "a")),
            (0, (0, 1), ("a", "b")),
        ]

    play(story)


def test_metadata_follows_every_change(play: Any) -> None:
    """A topic appears, grows and goes, and each change is told with the numbers before and after."""

    async def story(rig: Any) -> None:
        topics = Topics(rig.loop, BROKERS)
        counts = []
        for change in (
            lambda: topics.create("t", 2),
            lambda: topics.grow("t", 5),
            lambda: topics.delete("t"),
        ):
            change()
            counts.append(topics.partition_count("t"))
        assert counts == [2, 5, None]
        assert topics.version == 3

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
            rig.topics.create(name, 1)
        assert [topic.name for topic in rig.topics.describe(None).topics] == ["a", "b", "c"]

    play(story)


def test_one_answer_serves_all_until_something_changes(play: Any) -> None:
    """A thousand members asking the same get the same object, and a new one after a change."""

    async def story(rig: Any) -> None:
        rig.topics.create("t", 1)
        first = rig.topics.describe(("t",))
        assert rig.topics.describe(("t",)) is first
        rig.topics.grow("t", 2)
        assert rig.topics.describe(("t",)) is not first

    play(story)


def test_leadership_goes_to_the_next_live_replica(play: Any) -> None:
    """With its leader down a partition is led by the next replica that is up, or by nobody; the dead are not listed."""

    async def story(rig: Any) -> None:
        rig.topics.create("t", 1, 2)
        rig.topics.set_live(0, False)
        answer = rig.topics.describe(("t",))
        assert answer.topics[0].partitions[0].leader == 1
        assert [node for node, _ in answer.brokers] == [1, 2]
        rig.topics.set_live(1, False)
        assert rig.topics.describe(("t",)).topics[0].partitions[0].leader == -1

    play(story)


def test_moved_leader_is_seen_late(play: Any) -> None:
    """Brokers name the old leader of an offsets partition until metadata has caught up."""

    async def story(rig: Any) -> None:
        assert rig.topics.set_offsets_leader(7, 2, stale_us=1_000_000) == 1
        assert (rig.topics.offsets_leader(7), rig.topics.offsets_leader_seen(7)) == (2, 1)
        await rig.loop.sleep(1_000_000)
        assert rig.topics.offsets_leader_seen(7) == 2

    play(story)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda topics: topics.create("t", 1), "exists already"),
        (lambda topics: topics.create("u", 0), "at least one"),
        (lambda topics: topics.create("u", 1, 4), "replication 4 with 3 brokers"),
        (lambda topics: topics.grow("t", 2), "only added"),
        (lambda topics: topics.delete("u"), "no topic 'u'; there are: t"),
    ],
)
def test_mistakes_name_the_topic_and_the_remedy(play: Any, change: Any, message: str) -> None:
    """What cannot be done to a topic is refused in words."""

    async def story(rig: Any) -> None:
        rig.topics.create("t", 2)
        with pytest.raises(ValueError, match=message):
            change(rig.topics)

    play(story)
