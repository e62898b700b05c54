"""Topics as a value, for benches: `KnownTopics` implements `interfaces.TopicsImage`, `NO_TOPICS` has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field

from groupsim.coordinator.base.interfaces import TopicView
from groupsim.protocol.values import frozen


def _by_name(topics: Sequence[TopicView]) -> Mapping[str, TopicView]:
    return {topic.name: topic for topic in topics}


@frozen
class KnownTopics:
    """These topics at this version."""

    _topics: Mapping[str, TopicView] = field(factory=tuple, converter=_by_name)
    version: int = 0
    created_version: int = 0

    def topic(self, name: str) -> TopicView | None:
        """Return the topic of that name."""
        return self._topics.get(name)

    def topic_by_id(self, topic_id: str) -> TopicView | None:
        """Return the topic with that id."""
        return next((topic for topic in self._topics.values() if topic.topic_id == topic_id), None)

    def names(self) -> Sequence[str]:
        """Return the names of all topics."""
        return tuple(self._topics)


NO_TOPICS = KnownTopics()
"""The image of a broker that has no metadata yet."""
