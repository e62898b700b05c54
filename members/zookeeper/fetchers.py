"""Records for 0.8's consumer: as for later ones, but ZooKeeper has the first offsets, not a coordinator."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.members.fetch.fetcher import PullFetcher
from groupsim.members.fetch.light import LightFetcher
from groupsim.protocol.messages.group import FetchedOffset, TopicPartition


class LightFromZookeeper(LightFetcher):
    """Records on the light cluster."""

    __slots__ = ()

    def look_up(self) -> None:
        """Do nothing: there is no coordinator."""

    def begin(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Begin at these offsets; -1 means by auto.offset.reset."""
        self._start(tuple(FetchedOffset(partition, offset) for partition, offset in offsets.items()))


class PullFromZookeeper(PullFetcher):
    """Records from the partitions' leaders."""

    __slots__ = ()

    def look_up(self) -> None:
        """Do nothing: there is no coordinator."""

    def begin(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Begin at these offsets; -1 means by auto.offset.reset."""
        self._start(tuple(FetchedOffset(partition, offset) for partition, offset in offsets.items()))


FromZookeeper = LightFromZookeeper | PullFromZookeeper
