"""The hash of the topics of a group, against values of hash4j 0.22.0 in Kafka's layout."""

from __future__ import annotations

from attrs import evolve, frozen

from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.base.versions import differences
from groupsim.coordinator.consumer.assignment.metadata_hash import metadata_hash, topic_hash

TOPIC_ID = "AQIDBAUGBwiJCgsMDQ4PEA"
ORDERS = TopicView(TOPIC_ID, "orders", 2)
WITH_RACKS = TopicView(TOPIC_ID, "orders", 2, (("a", "b"), ("c",)))
LARGE = TopicView(TOPIC_ID, "payé", 100)


@frozen
class Image:
    """Some topics, as a broker's view."""

    topics: tuple[TopicView, ...]
    version: int = 0
    created_version: int = 0

    def topic(self, name: str) -> TopicView | None:
        return next((one for one in self.topics if one.name == name), None)

    def topic_by_id(self, topic_id: str) -> TopicView | None:
        return next((one for one in self.topics if one.topic_id == topic_id), None)

    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.topics)


def test_a_topic_hashes_as_in_kafka() -> None:
    """Id, name, number of partitions, and the racks of each; texts of any length, in UTF-16."""
    hashes = [topic_hash(topic) for topic in (ORDERS, WITH_RACKS, LARGE)]
    assert hashes == [461538831437333400, 4129639853723805977, 4303155696948024920]


def test_each_replica_in_a_rack_counts() -> None:
    """Two replicas in one rack are two racks in the hash, so that a replica which moves there bumps the epoch."""
    topic_id = "AAAAAAAAAAAAAAAAAAAAAQ"
    moved, before = (TopicView(topic_id, "orders", 2, (racks, ("a", "b"))) for racks in (("a", "a"), ("a", "b")))
    assert metadata_hash(["orders"], Image((moved,)), differences()) == -3678388501671594524
    assert topic_hash(moved) != topic_hash(before)
    assert topic_hash(evolve(moved, racks=(("a",), ("a", "b")))) != topic_hash(moved)


def test_a_group_hashes_its_topics_by_name() -> None:
    """Topics are in order of their names; a name without a topic has no part, and no topic at all is 0."""
    image = Image((LARGE, ORDERS))
    assert metadata_hash(["orders"], image, differences()) == -8833099719805665918
    assert metadata_hash(["payé", "orders", "unknown"], image, differences()) == 6545612753604164858
    assert metadata_hash(["unknown"], image, differences()) == 0


def test_racks_count_since_4_1() -> None:
    """A replica that moves to another rack changed nothing in 4.0 (KAFKA-17747)."""
    one, other = Image((ORDERS,)), Image((WITH_RACKS,))
    equal = {
        v: metadata_hash(["orders"], one, differences(v)) == metadata_hash(["orders"], other, differences(v))
        for v in ("4.0", "4.1")
    }
    assert equal == {"4.0": True, "4.1": False}
