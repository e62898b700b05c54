"""The settings of groups as the coordinator of one broker sees them: those of the broker's own image.

A change takes effect when the broker has heard of it. Settings of the broker itself take precedence over those of all
brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from groupsim.protocol.messages.cluster import ClusterImage

_NONE: Final[Mapping[str, str]] = {}


class HasImage(Protocol):
    """What has the broker's present image."""

    @property
    def image(self) -> ClusterImage: ...


class BrokerGroupSettings:
    """Implements `coordinator.base.interfaces.GroupSettings` for one life of a broker, with its metadata."""

    def __init__(self, metadata: HasImage, node: int) -> None:
        self._metadata = metadata
        self._node = str(node)
        self._merged: tuple[Mapping[str, Mapping[str, str]], Mapping[str, str]] | None = None

    def of_group(self, group_id: str) -> Mapping[str, str]:
        """Return the settings of a group; empty without any."""
        return self._metadata.image.groups.get(group_id, _NONE)

    def of_broker(self) -> Mapping[str, str]:
        """Return the changed settings of the broker."""
        configs = self._metadata.image.configs
        if not configs:
            return _NONE
        if self._merged is None or self._merged[0] is not configs:
            self._merged = configs, {**configs.get("", _NONE), **configs.get(self._node, _NONE)}
        return self._merged[1]
