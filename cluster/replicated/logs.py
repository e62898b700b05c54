"""The logs of a cluster with replicated logs: logs on the brokers, a controller, and a network between them.

Records are batches in logs, and followers fetch them. The controller notices a crash when the broker's session expires.
A coordinator loads its state from `__consumer_offsets`. Consumers fetch from the brokers.

The cluster is up at the start of the run (`instant_start`), with `__consumer_offsets`. With `ClusterConfig.fresh` the
first FindCoordinator creates that topic (`admin.auto_creation`). As in Kafka, the first FindCoordinator of a
transactional producer creates `__transaction_state`; `make_transaction_topic` creates it before the run.

With `ClusterConfig.kept` the cluster continues the state of an earlier process (`controller.metadata_store`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

from attrs import evolve

from groupsim.cluster.broker.admin.effective import Settings, group_rules
from groupsim.cluster.broker.metadata import BrokerMetadata
from groupsim.cluster.broker.offsets_topic import OffsetsTopic
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.config.transactions import TRANSACTION_TOPIC
from groupsim.cluster.controller.agent import ControllerAgent
from groupsim.cluster.controller.controller import CONTROLLER_HOST, CONTROLLER_NODE, Controller
from groupsim.cluster.controller.placement import Refused
from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.network import faults as net
from groupsim.cluster.network.endpoint import Endpoint
from groupsim.cluster.network.network import Network
from groupsim.cluster.replica.manager import ReplicaManager
from groupsim.cluster.replicated.cluster_identity import ClusterIdentity
from groupsim.cluster.replicated.feed import ProducerFeed
from groupsim.cluster.replicated.instant_start import InstantStart
from groupsim.cluster.replicated.services import ReplicatedServices
from groupsim.cluster.replicated.stores import Stores
from groupsim.cluster.transactions.coordinator import TransactionCoordinator
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.eventloop.interface import EventLoop
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.javahash import java_abs_mod
from groupsim.protocol.messages.acl import Acl
from groupsim.protocol.messages.cluster import NO_LEADER, TopicState

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Broker
    from groupsim.cluster.network.broker_connection import BrokerConnection
    from groupsim.cluster.network.connection import Connection
    from groupsim.protocol.batch.batch import Batch


class ControllerEndpoint(Endpoint):
    """The controller's endpoint in the network."""

    def __init__(self, loop: EventLoop, controller: Controller) -> None:
        super().__init__(loop, CONTROLLER_HOST)
        self._controller = controller

    def receive(self, call: BrokerConnection) -> None:
        """Pass a broker's request to the controller."""
        if self._trace.heartbeats:
            self.emit_received(call)
        self._controller.receive(call)


class ReplicatedLogs:
    """One cluster's replicated logs; implements `broker.Logs`."""

    def __init__(self, network: Network, config: ClusterConfig) -> None:
        loop = network.loop
        self._loop = loop
        self._network = network
        self._config = config
        self._identity = ClusterIdentity(loop, config)
        self.cluster_id = self._identity.cluster_id
        self.controller = Controller(loop, _controller_config(config))
        self.feed = ProducerFeed(loop, network, lambda: self.controller.image)
        self.controller.administration.describe = Settings(config).created
        self.controller.administration.group_rules = group_rules(config)
        self.controller.administration.on_deleted.append(self.feed.close)
        self._identity.begin(self.controller)
        self._stores = Stores(loop, config.storage, config.replica.log, self._topic_on, kept=config.kept)
        self._stores.begin(self.controller.image.topics)
        self.others: Mapping[int, Endpoint] = {CONTROLLER_NODE: ControllerEndpoint(loop, self.controller)}
        self._brokers: Mapping[int, Broker] = {}
        self._agents: dict[int, ControllerAgent] = {}
        self._replicas: dict[int, ReplicaManager] = {}
        self._offsets: dict[int, OffsetsTopic] = {}
        self._services: dict[int, ReplicatedServices] = {}

    def _topic_on(self, node: int, topic: str) -> TopicState | None:
        return self._brokers[node].metadata.image.topics.get(topic)

    def begin(self, brokers: Mapping[int, Broker]) -> None:
        self._brokers = brokers
        self._start = InstantStart(self._loop, self.controller, brokers)
        self._start.start()
        self._make_offsets_topic()

    def _make_offsets_topic(self) -> None:
        config = self._config
        if config.fresh or OFFSETS_TOPIC in self.controller.image.topics:
            return
        with self._start.unseen():
            self.controller.create_topic(
                OFFSETS_TOPIC,
                config.offsets_partitions,
                replication=config.offsets_replicas,
                config=config.offsets_topic_settings(),
                internal=True,
            )

    # --- transactions and ACLs -------------------------------------------------------------------------------

    def make_transaction_topic(self) -> None:
        """Create `__transaction_state`, unless it exists; without trace events before the run begins.

        In Kafka a broker sends CreateTopics to the controller; here it takes no time. If the topic cannot be placed,
        the next call tries again.
        """
        if TRANSACTION_TOPIC in self.controller.image.topics:
            return
        config, brokers = self._config.transactions, self._config.brokers
        with self._start.unseen() if self._start.open else nullcontext(), suppress(Refused):
            self.controller.create_topic(
                TRANSACTION_TOPIC,
                config.num_partitions,
                replication=min(config.replication_factor, brokers),
                config=config.topic_settings(brokers),
                internal=True,
            )

    def make_acls(self, acls: frozenset[Acl]) -> None:
        """Create ACLs; without trace events before the run begins."""
        with self._start.unseen() if self._start.open else nullcontext():
            self.controller.add_acls(acls)

    def transaction_coordinator_of(self, transactional_id: str) -> tuple[int, TransactionCoordinator]:
        """Return the node and coordinator of a transactional id, by the controller's image.

        Raises `LookupError` while its partition has no leader, or `__transaction_state` does not exist.
        """
        topic = self.controller.image.topics.get(TRANSACTION_TOPIC)
        number = -1 if topic is None else java_abs_mod(transactional_id, len(topic.partitions))
        leader = NO_LEADER if topic is None else topic.partitions[number].leader
        if leader == NO_LEADER:
            raise LookupError(
                f"transactional id {transactional_id!r}: its partition of {TRANSACTION_TOPIC} has no leader"
            )
        return leader, self._services[leader].transactions.coordinator

    def _coordinator_of(self, broker: Broker, transactional_id: str) -> TransactionCoordinator | None:
        """Return the coordinator of a transactional id by a broker's image; None without one."""
        if TRANSACTION_TOPIC not in broker.metadata.image.topics:
            return None
        found = self._services[broker.node].transactions.find_coordinator(transactional_id)
        peer = None if found.error else self._brokers.get(found.node)
        return None if peer is None or not peer.is_open else self._services[peer.node].transactions.coordinator

    # --- logs ------------------------------------------------------------------------------------------------

    def log_of(self, where: TopicPartition, node: int | None = None) -> PartitionLog | None:
        """Return a partition's log on a broker, by default the leader; None without a leader or a replica."""
        state = self.controller.image.partition(where)
        at = node if node is not None or state is None else state.leader
        broker = None if at is None else self._brokers.get(at)
        return None if broker is None else broker.replicas.log(where)

    def log_ends(self, *, internal: bool) -> dict[str, list[int]]:
        """See `broker.Logs.log_ends`; internal topics are omitted unless requested."""
        ends = {}
        for name, topic in self.controller.image.topics.items():
            for number in range(len(topic.partitions)) if internal or not topic.internal else ():
                log = self.log_of(TopicPartition(name, number))
                if log is not None:
                    ends[f"{name}-{number}"] = [log.start_offset, log.end_offset, log.high_watermark]
        return ends

    def offsets_batches(self, number: int) -> Sequence[Batch]:
        log = self.log_of(TopicPartition(OFFSETS_TOPIC, number))
        return () if log is None else list(log.batches(log.start_offset, log.end_offset))

    def hold_appends(self, number: int, for_us: int) -> None:
        """See `broker.Logs.hold_appends`: stalls replication from the leader to the followers, of all partitions."""
        state = self.controller.image.partition(TopicPartition(OFFSETS_TOPIC, number))
        for node in state.replicas if state is not None else ():
            if state is not None and node != state.leader and state.leader in self._brokers:
                follower, leader = self._brokers[node].host.name, self._brokers[state.leader].host.name
                match = net.Match(host=follower, peer=leader, purpose="replication")
                self._network.inject(net.Stall(match, net.Direction.BOTH, for_us))

    # --- parts of a broker -----------------------------------------------------------------------------------

    def metadata(self) -> BrokerMetadata:
        return BrokerMetadata()

    def agent(self, broker: Broker) -> ControllerAgent:
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

    def replicas(self, broker: Broker) -> ReplicaManager:
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

    def offsets(self, broker: Broker) -> OffsetsTopic:
        config = broker.config
        version = config.coordinator_of(broker.node).broker_version
        replicas = self._replicas[broker.node]
        log = self._offsets[broker.node] = OffsetsTopic(
            broker.loop, broker.host, replicas, config.loading, version, lambda name: broker.metadata.topic_id(name)
        )
        return log

    def load_us(self, broker: Broker, partition: int, epoch: int) -> int:
        """See `broker.Logs.load_us`: the time for the log's size, plus the configured time."""
        return self._offsets[broker.node].loading_us(partition) + broker.config.load_us

    def services(self, broker: Broker) -> ReplicatedServices:
        services = self._services[broker.node] = ReplicatedServices(
            broker,
            self._replicas[broker.node],
            self._identity.blocks,
            make_transaction_topic=self.make_transaction_topic,
            to_controller=self._to_controller(broker),
            coordinator_of=partial(self._coordinator_of, broker),
        )
        return services

    def _to_controller(self, broker: Broker) -> Callable[[], Connection]:
        name = broker.host.name
        return partial(broker.network.connect, name, name, CONTROLLER_NODE, "controller")

    # --- crash and close -------------------------------------------------------------------------------------

    def broker_died(self, node: int) -> None:
        """See `broker.Logs.broker_died`: the controller notices when the broker's session expires."""

    def broker_returned(self, node: int) -> None:
        """See `broker.Logs.broker_returned`: the broker's agent registers it."""

    def close(self) -> None:
        """See `broker.Logs.close`: live brokers write their checkpoints, and files are closed."""
        with self._loop.trace.muted():
            for broker in self._brokers.values() if self._stores.opened else ():
                if broker.host.alive:
                    broker.replicas.shut_down()
            self._stores.close()
        self._identity.close()


def _controller_config(config: ClusterConfig) -> ControllerConfig:
    stale = dict.fromkeys(config.nodes, config.metadata_stale_us) if config.metadata_stale_us else {}
    return evolve(
        config.controller,
        default_replication_factor=config.default_replication_factor,
        stale_metadata_us={**stale, **config.controller.stale_metadata_us},
    )
