"""What one broker can tell of names: topics and their ids as it knows them, brokers and where clients reach them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Broker


class NodeDirectory:
    """Implements `protocol.wire.Directory` for a broker, from the image that broker has just now."""

    def __init__(self, node: Broker, cluster_id: str, addresses: Mapping[int, tuple[str, int]]) -> None:
        """`addresses`, of all brokers, may be filled in later."""
        self._node = node
        self._addresses = addresses
        self.cluster_id = cluster_id

    @property
    def controller(self) -> int:
        """The broker that administrators are sent to; -1 when none is up."""
        return self._node.metadata.controller

    def topic_id(self, name: str) -> str | None:
        """The id of a topic; None for one that this broker does not know."""
        return self._node.metadata.topic_id(name)

    def topic_name(self, topic_id: str) -> str | None:
        """The topic of an id; None for one that this broker does not know."""
        return self._node.metadata.topic_name(topic_id)

    def address(self, node: int) -> tuple[str, int]:
        """Where clients reach a broker; ("", -1) for one that was never there."""
        return self._addresses.get(node, ("", -1))

    def rack(self, node: int) -> str | None:
        """The rack of a broker."""
        return self._node.metadata.rack(node)
