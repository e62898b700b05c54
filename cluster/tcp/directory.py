"""What one broker can tell of names: topics and their ids as it knows them, brokers and where clients reach them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupsim.cluster.node import Node
    from groupsim.protocol.cluster_messages import TopicState


class NodeDirectory:
    """Implements `protocol.wire.Directory` for a broker, from the image that broker has."""

    def __init__(self, node: Node, cluster_id: str, addresses: Mapping[int, tuple[str, int]]) -> None:
        """`addresses`, of all brokers, may be filled in later."""
        self._node = node
        self._addresses = addresses
        self._cluster_id = cluster_id
        self._named: Mapping[str, TopicState] | None = None
        self._names: dict[str, str] = {}

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return self._cluster_id

    @property
    def controller(self) -> int:
        """The first broker that is up: any of them takes what is for the controller, as with KRaft."""
        image = self._node.metadata.image
        return next((node for node in sorted(image.brokers) if image.is_up(node)), -1)

    def topic_id(self, name: str) -> str | None:
        """The id of a topic; None for one that this broker does not know."""
        topic = self._node.metadata.image.topics.get(name)
        return None if topic is None else topic.topic_id

    def topic_name(self, topic_id: str) -> str | None:
        """The topic of an id; None for one that this broker does not know."""
        topics = self._node.metadata.image.topics
        if topics is not self._named:
            self._named = topics
            self._names = {topic.topic_id: name for name, topic in topics.items()}
        return self._names.get(topic_id)

    def address(self, node: int) -> tuple[str, int]:
        """Where clients reach a broker; ("", -1) for one that was never there."""
        return self._addresses.get(node, ("", -1))

    def rack(self, node: int) -> str | None:
        """The rack of a broker."""
        broker = self._node.metadata.image.brokers.get(node)
        return None if broker is None else broker.rack
