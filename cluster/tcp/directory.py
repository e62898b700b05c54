"""The names that one broker knows: topics and their ids, brokers and their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Broker


class NodeDirectory:
    """Implements `protocol.wire.Directory` for a broker, from the broker's current image."""

    def __init__(self, node: Broker, cluster_id: str, addresses: Mapping[int, tuple[str, int]]) -> None:
        """`addresses` of all brokers may be added later."""
        self._node = node
        self._addresses = addresses
        self.cluster_id = cluster_id

    @property
    def controller(self) -> int:
        """The broker that clients send requests for the controller to; -1 when none is up."""
        return self._node.metadata.controller

    def topic_id(self, name: str) -> str | None:
        """Return the id of a topic; None for a topic unknown to this broker."""
        return self._node.metadata.topic_id(name)

    def topic_name(self, topic_id: str) -> str | None:
        """Return the topic of an id; None for an id unknown to this broker."""
        return self._node.metadata.topic_name(topic_id)

    def address(self, node: int) -> tuple[str, int]:
        """Return host and port of a broker for clients; ("", -1) for an unknown broker."""
        return self._addresses.get(node, ("", -1))

    def rack(self, node: int) -> str | None:
        """Return the rack of a broker."""
        return self._node.metadata.rack(node)
