"""The logs of a cluster with counted logs; implements `broker.Logs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from groupsim.cluster.counted.broker_parts import CountedAgent, CountedMetadata, CountedReplicas, CountedServices
from groupsim.cluster.counted.controller import CountedController
from groupsim.cluster.counted.feed import Data
from groupsim.cluster.counted.offsets import BrokerOffsets, CountedOffsets
from groupsim.coordinator.base.serde import form_of

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Broker
    from groupsim.cluster.config.cluster import ClusterConfig
    from groupsim.cluster.config.counted import CountedConfig
    from groupsim.cluster.network.endpoint import Endpoint
    from groupsim.cluster.network.network import Network
    from groupsim.protocol.batch.batch import Batch


class CountedLogs:
    """One cluster's counted logs: `feed` for consumers, `offsets_log` for `__consumer_offsets`."""

    def __init__(self, network: Network, config: ClusterConfig, counted: CountedConfig) -> None:
        loop = network.loop
        self.controller = CountedController(loop, config, counted)
        self.feed = Data(network, self.controller)
        self.offsets_log = CountedOffsets(loop, counted.append_latency)
        self.others: Mapping[int, Endpoint] = {}
        self._form = form_of(config.coordinator_config.broker_version)

    def begin(self, brokers: Mapping[int, Broker]) -> None:
        for broker in brokers.values():
            broker.begin(0, self.controller.image)

    def broker_died(self, node: int) -> None:
        """See `broker.Logs.broker_died`: the controller notices it at once."""
        self.controller.broker_down(node)
        self.feed.replan()

    def broker_returned(self, node: int) -> None:
        self.feed.replan()

    def log_ends(self, *, internal: bool) -> dict[str, list[int]]:
        """See `broker.Logs.log_ends`; `__consumer_offsets` has no log ends."""
        return self.feed.ends()

    def offsets_batches(self, number: int) -> Sequence[Batch]:
        """See `broker.Logs.offsets_batches`; the leader does not matter here."""
        return self.offsets_log.batches(number, self._form)

    def hold_appends(self, number: int, for_us: int) -> None:
        self.offsets_log.hold(number, for_us)

    def close(self) -> None:
        """See `broker.Logs.close`: there are no files."""

    # --- parts of a broker -----------------------------------------------------------------------------------

    def metadata(self) -> CountedMetadata:
        return CountedMetadata(self.controller)

    def agent(self, broker: Broker) -> CountedAgent:
        return CountedAgent(self.controller, broker)

    def replicas(self, broker: Broker) -> CountedReplicas:
        return CountedReplicas(self.offsets_log, broker.host, broker.node)

    def offsets(self, broker: Broker) -> BrokerOffsets:
        return self.offsets_log.seen_by(broker.host)

    def load_us(self, broker: Broker, partition: int, epoch: int) -> int:
        """See `broker.Logs.load_us`: 0 for the first leader, which has nothing to load."""
        return broker.config.load_us if epoch else 0

    def services(self, broker: Broker) -> CountedServices:
        return CountedServices(broker)
