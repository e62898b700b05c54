"""Who leads which partition of `__consumer_offsets`: first election, moves, and what a broker's end brings about.

A light stand-in for the controller: it decides at once and tells each broker directly; only the gap before an
election, the loading and the staleness of metadata take time (classic-protocol reference, 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.cluster.broker import Broker
from groupsim.cluster.config import ClusterConfig
from groupsim.cluster.offsets_log import OffsetsLog
from groupsim.cluster.topics import Topics
from groupsim.coordinator.service import GroupCoordinator
from groupsim.eventloop.interface import EventLoop


class Leadership:
    """Elections of the coordinators."""

    def __init__(
        self,
        loop: EventLoop,
        config: ClusterConfig,
        topics: Topics,
        log: OffsetsLog,
        coordinators: Mapping[int, GroupCoordinator],
        brokers: Mapping[int, Broker],
    ) -> None:
        self._loop = loop
        self._config = config
        self._topics = topics
        self._log = log
        self._coordinators = coordinators
        self._brokers = brokers
        self._next: dict[int, int] = {}

    def elect_all(self) -> None:
        """The elections of a cluster that starts: no gap, nothing to load."""
        for partition in range(self._topics.offsets_partitions):
            leader = self._topics.offsets_leader(partition)
            if leader is not None:
                self._coordinators[leader].elect(partition, self._topics.offsets_epoch(partition))

    def move(self, partition: int, to_node: int) -> None:
        """Resign at the old leader, elect at `to_node` after the gap. Raises `ValueError` for a broker that is down."""
        if to_node not in self._brokers or not self._topics.is_live(to_node):
            raise ValueError(f"cannot move __consumer_offsets-{partition} to broker {to_node}: it is not up")
        old = self._topics.offsets_leader(partition)
        if old == to_node:
            return
        if old is not None:
            self._coordinators[old].resign(partition, self._topics.offsets_epoch(partition) + 1)
            self._log.abandon(partition, self._brokers[old].host)
        self._vacate(partition, to_node)

    def abandon(self, node: int) -> None:
        """A broker is gone: what it led, or was about to lead, goes to the next one that is up."""
        for partition in range(self._topics.offsets_partitions):
            if self._topics.offsets_leader(partition) == node:
                self._log.abandon(partition, self._brokers[node].host)
                self._vacate(partition, self._successor(partition))
            elif self._next.get(partition) == node:
                self._vacate(partition, self._successor(partition))

    def adopt(self, node: int) -> None:
        """A broker is back: it gets the partitions that nobody leads or is about to."""
        for partition in range(self._topics.offsets_partitions):
            if self._topics.offsets_leader(partition) is None and partition not in self._next:
                self._vacate(partition, node)

    def _successor(self, partition: int) -> int | None:
        live = self._topics.live
        return live[partition % len(live)] if live else None

    def _vacate(self, partition: int, to_node: int | None) -> None:
        """Nobody leads the partition from now on, until the one who follows is elected."""
        self._topics.set_offsets_leader(partition, None, self._config.metadata_stale_us)
        if to_node is None:
            self._next.pop(partition, None)
            return
        self._next[partition] = to_node
        self._loop.call_at(self._loop.now_us + self._config.election_us, self._elect, (partition, to_node))

    def _elect(self, election: tuple[int, int]) -> None:
        partition, node = election
        if self._next.get(partition) != node or not self._topics.is_live(node):
            return
        del self._next[partition]
        epoch = self._topics.set_offsets_leader(partition, node)
        self._coordinators[node].elect(partition, epoch, load_us=self._config.load_us)
