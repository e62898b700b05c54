"""Counted logs as a cluster's kind of logs: implements `parts.Logs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from groupsim.cluster.counted.controller import CountedController
from groupsim.cluster.counted.data import Data
from groupsim.cluster.counted.offsets import CountedOffsets
from groupsim.cluster.counted.parts import CountedParts
from groupsim.coordinator.serde import offset_version

if TYPE_CHECKING:
    from groupsim.cluster.config import ClusterConfig
    from groupsim.cluster.counted.config import CountedConfig
    from groupsim.cluster.endpoint import Endpoint
    from groupsim.cluster.network import Network
    from groupsim.cluster.node import Node
    from groupsim.protocol.basics import TopicPartition
    from groupsim.protocol.batch import Batch
    from groupsim.protocol.cluster_messages import ClusterImage


class CountedLogs:
    """One cluster's counted logs. `feed` is what consumers read, `offsets` is `__consumer_offsets`."""

    def __init__(self, network: Network, config: ClusterConfig, counted: CountedConfig) -> None:
        loop = network.loop
        self.controller = CountedController(loop, config, counted)
        self.feed = Data(network, self.controller)
        self.controller.on_deleted.append(self.feed.close)
        self.offsets = CountedOffsets(loop, config.offsets_partitions, counted.append_latency)
        self.parts = CountedParts(self.controller, self.offsets)
        self.others: Mapping[int, Endpoint] = {}
        self._version = offset_version(config.coordinator_config.broker_version)

    @property
    def image(self) -> ClusterImage:
        """See `parts.Logs.image`."""
        return self.controller.image

    def watch(self, listener: Callable[[ClusterImage], None]) -> None:
        """See `parts.Logs.watch`."""
        self.controller.on_image.append(lambda image, _: listener(image))

    def begin(self, brokers: Mapping[int, Node]) -> None:
        """See `parts.Logs.begin`."""
        for broker in brokers.values():
            broker.begin(0, self.image)

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication: int,
        config: Mapping[str, str],
        assignment: Sequence[Sequence[int]] | None,
    ) -> None:
        """See `parts.Logs.create_topic`; replicas that do not exist are not placed, so `assignment` has no effect."""
        self.controller.create_topic(name, partitions, replication=replication, config=config)

    def add_partitions(self, name: str, total: int) -> None:
        """See `parts.Logs.add_partitions`."""
        self.controller.add_partitions(name, total)

    def delete_topic(self, name: str) -> None:
        """See `parts.Logs.delete_topic`."""
        self.controller.delete_topic(name)

    def move_leader(self, partition: TopicPartition, node: int) -> None:
        """See `parts.Logs.move_leader`."""
        self.controller.move_leader(partition, node)

    def broker_died(self, node: int) -> None:
        """See `parts.Logs.broker_died`: it is missed at once."""
        self.controller.broker_down(node)
        self.feed.replan()

    def broker_returned(self, node: int) -> None:
        """See `parts.Logs.broker_returned`."""
        self.feed.replan()

    def log_ends(self, *, internal: bool) -> dict[str, list[int]]:
        """See `parts.Logs.log_ends`; of `__consumer_offsets` there is none."""
        return self.feed.ends()

    def offsets_batches(self, number: int) -> Sequence[Batch]:
        """See `parts.Logs.offsets_batches`; here it does not matter who leads."""
        return self.offsets.batches(number, self._version)

    def hold_appends(self, number: int, for_us: int) -> None:
        """See `parts.Logs.hold_appends`."""
        self.offsets.hold(number, for_us)

    def close(self) -> None:
        """See `parts.Logs.close`: there are no files."""
