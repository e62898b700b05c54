"""Records for 0.8's consumer: as for its successors, but where it begins ZooKeeper says, not a coordinator."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.members.fetch.fetcher import PullFetcher
from groupsim.members.fetch.light import LightFetcher
from groupsim.protocol.messages.group import FetchedOffset, TopicPartition


class LightFromZookeeper(LightFetcher):
    """From a stand-in for the topics' data."""

    __slots__ = ()

    def look_up(self) -> None:
        """No coordinator is asked."""

    def begin(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Begin at these offsets; where one is -1, as auto.offset.reset says."""
        self._start(tuple(FetchedOffset(partition, offset) for partition, offset in offsets.items()))


class PullFromZookeeper(PullFetcher):
    """From the partitions' leaders."""

    __slots__ = ()

    def look_up(self) -> None:
        """No coordinator is asked."""

    def begin(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Begin at these offsets; where one is -1, as auto.offset.reset says."""
        self._start(tuple(FetchedOffset(partition, offset) for partition, offset in offsets.items()))


FromZookeeper = LightFromZookeeper | PullFromZookeeper
