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

    def in_force(self, group_id: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the settings of a group, empty without any, and the changed settings of the broker."""
        image = self._metadata.image
        own, configs = image.groups.get(group_id, _NONE), image.configs
        return own, self._of_broker(configs) if configs else _NONE

    def _of_broker(self, configs: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
        if self._merged is None or self._merged[0] is not configs:
            self._merged = configs, {**configs.get("", _NONE), **configs.get(self._node, _NONE)}
        return self._merged[1]
