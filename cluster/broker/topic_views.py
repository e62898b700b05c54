"""The topics as the coordinator of one broker sees them: ids, numbers of partitions, racks of replicas.

They are read from the broker's own image (`metadata`), so a topic that the controller has created is unknown here until
the broker has heard of it. A view is made at its first use, and again when its topic or any broker has changed.

A replica's rack counts while its broker is registered, fenced or not, as in `KRaftCoordinatorMetadataImage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from groupsim.coordinator.base.interfaces import TopicView
from groupsim.protocol.messages.cluster import BrokerState, ClusterImage, PartitionState, TopicState


class BrokerTopics:
    """The topics of a broker's present image; implements `coordinator.base.interfaces.TopicsImage`.

    `image` returns the image, `topic_name` the name of a topic by its id.
    """

    def __init__(self, image: Callable[[], ClusterImage], topic_name: Callable[[str], str | None]) -> None:
        self._image = image
        self._topic_name = topic_name
        self._views: dict[str, tuple[TopicState, TopicView]] = {}
        self._brokers: Mapping[int, BrokerState] | None = None  # the views have their racks
        self.created_version = 0

    @property
    def version(self) -> int:
        """The version of the image."""
        return self._image().version

    def created(self, image: ClusterImage, changed: Iterable[str]) -> None:
        """Note whether one of the changed topics of an image is a new one; called before the broker takes the image."""
        old, new = self._image().topics, image.topics
        if any(_id(new, name) not in (None, _id(old, name)) for name in changed):
            self.created_version = image.version

    def topic(self, name: str) -> TopicView | None:
        """Return the topic of that name."""
        image = self._image()
        topic = image.topics.get(name)
        if topic is None:
            return None
        if self._brokers is not image.brokers:
            self._brokers = image.brokers
            self._views.clear()
        kept = self._views.get(name)
        if kept is None or kept[0] is not topic:
            kept = self._views[name] = topic, _view(topic, image.brokers)
        return kept[1]

    def topic_by_id(self, topic_id: str) -> TopicView | None:
        """Return the topic with that id."""
        name = self._topic_name(topic_id)
        return None if name is None else self.topic(name)

    def names(self) -> Sequence[str]:
        """Return the names of all topics."""
        return tuple(self._image().topics)


def _id(topics: Mapping[str, TopicState], name: str) -> str | None:
    topic = topics.get(name)
    return None if topic is None else topic.topic_id


def _view(topic: TopicState, brokers: Mapping[int, BrokerState]) -> TopicView:
    racks = tuple([_racks(partition, brokers) for partition in topic.partitions])
    return TopicView(topic.topic_id, topic.name, len(topic.partitions), racks if any(racks) else ())


def _racks(partition: PartitionState, brokers: Mapping[int, BrokerState]) -> tuple[str, ...]:
    """Return the racks of the replicas, in any order: an image with the same replicas in another order is no change."""
    found = (brokers.get(node) for node in partition.replicas)
    return tuple(sorted(broker.rack for broker in found if broker is not None and broker.rack is not None))
