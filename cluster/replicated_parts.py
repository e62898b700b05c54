"""The parts of brokers over replicated logs: agents at the controller, replicas, the services of every broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from groupsim.cluster.controller.agent import ControllerAgent
from groupsim.cluster.controller.controller import CONTROLLER_NODE
from groupsim.cluster.metadata import BrokerMetadata
from groupsim.cluster.offsets_topic import OffsetsTopic
from groupsim.cluster.replica.manager import ReplicaManager
from groupsim.cluster.services import ReplicatedServices
from groupsim.cluster.transactions.config import TRANSACTION_TOPIC

if TYPE_CHECKING:
    from groupsim.cluster.connection import Connection
    from groupsim.cluster.node import Node
    from groupsim.cluster.producer_ids import ProducerIdBlocks
    from groupsim.cluster.stores import Stores
    from groupsim.cluster.transactions.coordinator import TransactionCoordinator


class ReplicatedParts:
    """Makes the parts; implements `parts.Parts`. `brokers` are all brokers by number, as far as they are made."""

    def __init__(self, stores: Stores, blocks: ProducerIdBlocks, make_transaction_topic: Callable[[], None]) -> None:
        self.brokers: Mapping[int, Node] = {}
        self._stores = stores
        self._blocks = blocks
        self._make_transaction_topic = make_transaction_topic
        self._agents: dict[int, ControllerAgent] = {}
        self._replicas: dict[int, ReplicaManager] = {}
        self._offsets: dict[int, OffsetsTopic] = {}
        self._services: dict[int, ReplicatedServices] = {}

    def metadata(self) -> BrokerMetadata:
        """See `parts.Parts.metadata`."""
        return BrokerMetadata()

    def agent(self, broker: Node) -> ControllerAgent:
        """See `parts.Parts.agent`."""
        agent = self._agents[broker.node] = ControllerAgent(
            broker.loop,
            broker.host,
            broker.node,
            broker.rack,
            self._to_controller(broker),
            broker.take,
            broker.config.controller,
        )
        return agent

    def replicas(self, broker: Node) -> ReplicaManager:
        """See `parts.Parts.replicas`."""
        replicas = self._replicas[broker.node] = ReplicaManager(
            broker.loop,
            broker.host,
            broker.node,
            broker.rack,
            broker.config.replica,
            self._stores.of(broker.node),
            broker.connect_to_peer,
            self._agents[broker.node].alter,
        )
        return replicas

    def offsets(self, broker: Node) -> OffsetsTopic:
        """See `parts.Parts.offsets`."""
        config = broker.config
        version = config.coordinator_of(broker.node).broker_version
        replicas = self._replicas[broker.node]
        log = self._offsets[broker.node] = OffsetsTopic(
            broker.loop, broker.host, replicas, config.loading, version, lambda name: broker.metadata.topic_id(name)
        )
        return log

    def load_us(self, broker: Node, partition: int, epoch: int) -> int:
        """See `parts.Parts.load_us`: what the log's size says, and what is configured on top."""
        return self._offsets[broker.node].loading_us(partition) + broker.config.load_us

    def services(self, broker: Node) -> ReplicatedServices:
        """See `parts.Parts.services`."""
        services = self._services[broker.node] = ReplicatedServices(
            broker,
            self._replicas[broker.node],
            self._blocks,
            make_transaction_topic=self._make_transaction_topic,
            to_controller=self._to_controller(broker),
            coordinator_of=partial(self._coordinator_of, broker),
        )
        return services

    def _to_controller(self, broker: Node) -> Callable[[], Connection]:
        name = broker.host.name
        return partial(broker.network.connect, name, name, CONTROLLER_NODE, "controller")

    # --- transactions ----------------------------------------------------------------------------------------

    def transaction_coordinator_on(self, node: int) -> TransactionCoordinator:
        """The transaction coordinator of a broker's present life."""
        return self._services[node].transactions.coordinator

    def _coordinator_of(self, broker: Node, transactional_id: str) -> TransactionCoordinator | None:
        """Who coordinates a transactional id, as a broker has heard; None while nobody does."""
        if TRANSACTION_TOPIC not in broker.metadata.image.topics:
            return None
        found = self._services[broker.node].transactions.find_coordinator(transactional_id)
        peer = None if found.error else self.brokers.get(found.node)
        return None if peer is None or not peer.is_open else self.transaction_coordinator_on(peer.node)
