"""The cluster: brokers, topics, data, the offsets log and the network, wired together.

One `Cluster` is all that members and scenarios need of the world: `transport` and `data` for the members, `network`
for faults, and what an administrator does (topics, leadership, stopping a broker).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from groupsim.cluster.broker import Broker, broker_name
from groupsim.cluster.causes import caused_by
from groupsim.cluster.config import ClusterConfig
from groupsim.cluster.data import Data
from groupsim.cluster.leadership import Leadership
from groupsim.cluster.network import Network, Timing
from groupsim.cluster.offsets_log import OffsetsLog
from groupsim.cluster.roles import ClusterRoles
from groupsim.cluster.topics import Topics
from groupsim.cluster.traffic import as_rate
from groupsim.coordinator.placement import partition_for
from groupsim.coordinator.service import GroupCoordinator
from groupsim.coordinator.snapshot import GroupSnapshot
from groupsim.eventloop.interface import EventLoop
from groupsim.members.interfaces import Transport
from groupsim.protocol.basics import TopicPartition

Rate = int | float | str | Decimal


class Cluster:
    """A running cluster. Every coordinator is elected and has loaded when it is made."""

    def __init__(self, loop: EventLoop, config: ClusterConfig | None = None) -> None:
        self.loop = loop
        self.config = config = ClusterConfig() if config is None else config
        names = [(node, broker_name(node)) for node in config.nodes]
        self.topics = Topics(loop, names, config.racks, offsets_partitions=config.offsets_partitions)
        self.network = Network(
            loop, Timing(config.latency, config.processing), config.coordinator_config.broker_version
        )
        self.network.roles = ClusterRoles(self)
        self.offsets_log = OffsetsLog(loop, config.offsets_partitions, config.append_latency)
        self.brokers = {node: Broker(loop, node, self.topics) for node, _ in names}
        self.network.attach(self.brokers)
        self.data = Data(self.network, self.topics)
        self._coordinators: dict[int, GroupCoordinator] = {}
        for broker in self.brokers.values():
            self._start_coordinator(broker)
        self._leadership = Leadership(loop, config, self.topics, self.offsets_log, self._coordinators, self.brokers)
        self._leadership.elect_all()

    def _start_coordinator(self, broker: Broker) -> None:
        log = self.offsets_log.seen_by(broker.host)
        config = self.config.coordinator_of(broker.node)
        coordinator = GroupCoordinator(self.loop, broker.host, broker.node, config, log, self.topics)
        self._coordinators[broker.node] = coordinator
        broker.serve_groups(coordinator)

    @property
    def transport(self) -> Transport:
        """The network as clients use it."""
        return self.network

    # --- topics ----------------------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int,
        *,
        rate: Rate = 0,
        replication: int = 1,
        weights: Sequence[int] | None = None,
    ) -> None:
        """Create a topic that gets `rate` records per second, shared out by `weights` (equal unless given).

        Raises `ValueError` when it exists, or when the numbers make no sense.
        """
        shares = [1] * partitions if weights is None else list(weights)
        if len(shares) != partitions:
            raise ValueError(f"topic {name!r}: {len(shares)} weights for {partitions} partitions; give one for each")
        speed = as_rate(rate)
        with caused_by(self.loop.trace):
            self.topics.create(name, partitions, replication)
            self.data.open(name, shares, speed)

    def add_partitions(self, topic: str, total: int) -> None:
        """Give a topic more partitions, `total` in all. Raises `ValueError` for an unknown topic or too few."""
        before = self.topics.partition_count(topic) or 0
        with caused_by(self.loop.trace):
            self.topics.grow(topic, total)
            self.data.grow(topic, [1] * (total - before))

    def delete_topic(self, name: str) -> None:
        """Delete a topic: its data, and what groups committed for it. Raises `ValueError` when there is none."""
        with caused_by(self.loop.trace):
            self.topics.delete(name)
            self.data.close(name)
            for coordinator in self._coordinators.values():
                coordinator.topic_deleted(name)

    def log_ends(self) -> dict[str, list[int]]:
        """Start, end and high watermark of every partition's log, for the trace's `log.ends`."""
        return self.data.ends()

    def set_rate(self, topic: str, rate: Rate) -> None:
        """Produce `rate` records per second to a topic from now on; 0 stops."""
        self.data.set_rate(topic, as_rate(rate))

    # --- groups ----------------------------------------------------------------------------------------------

    def coordinator_of(self, group_id: str) -> tuple[int, GroupCoordinator]:
        """The node and coordinator of a group. Raises `LookupError` while its partition has no leader."""
        partition = partition_for(group_id, self.config.offsets_partitions)
        leader = self.topics.offsets_leader(partition)
        if leader is None:
            raise LookupError(f"group {group_id!r}: nobody leads __consumer_offsets-{partition} just now")
        return leader, self._coordinators[leader]

    def snapshot(self, group: str) -> GroupSnapshot | None:
        """The group as its coordinator sees it now; None when nobody knows it."""
        try:
            _, coordinator = self.coordinator_of(group)
        except LookupError:
            return None
        return coordinator.snapshot(group)

    def committed_offsets(self, group: str) -> Mapping[TopicPartition, int] | None:
        """The group's committed offsets by partition, as its coordinator has them now; None while there is none."""
        try:
            _, coordinator = self.coordinator_of(group)
        except LookupError:
            return None
        return coordinator.committed_offsets(group)

    def move_coordinator(self, partition: int, to_node: int) -> None:
        """Move the leadership of a partition of `__consumer_offsets`: resign, a gap, election, loading."""
        self._leadership.move(partition, to_node)

    # --- brokers ---------------------------------------------------------------------------------------------

    def crash_broker(self, node: int) -> None:
        """Kill a broker: its connections break, its partitions go to the next broker that is up."""
        broker = self.brokers[node]
        broker.host.crash()
        self.network.cut_broker(broker.host.name, "the broker went away")
        self.topics.set_live(node, False)
        self._leadership.abandon(node)
        self.data.replan()

    def restart_broker(self, node: int) -> None:
        """Bring a crashed broker back, with an empty coordinator; partitions nobody leads go to it."""
        broker = self.brokers[node]
        broker.host.start()
        self._start_coordinator(broker)
        self.topics.set_live(node, True)
        self._leadership.adopt(node)
        self.data.replan()
