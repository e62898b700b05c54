"""One broker of the replicated cluster: its replicas, its agent at the controller, its coordinators, its answers.

What a broker does follows from the image it has, never from the truth: an image makes its replicas lead, follow or go;
what they lead of `__consumer_offsets` and `__transaction_state` its coordinators load, what they lead no longer they
give up; and Metadata and FindCoordinator are answered from it. A broker that hears nothing goes on as before.

    image ──▶ replicas ──▶ on_leading, on_not_leading ──▶ coordinators of groups and of transactions
      └─────▶ metadata (what clients are told)

Lives: a crash ends all but the stores of the logs; a start begins with an empty image and takes no connection before
the controller has let the broker out of fencing, as Kafka opens its port only then. A broker that is told to
stop hands over what it leads before it goes (controlled shutdown); one that cannot reach the controller keeps trying,
for five minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.cluster.acl.checks import gate_of
from groupsim.cluster.acl.operations import allowed_everything
from groupsim.cluster.acl.requests import AclRequests
from groupsim.cluster.admin.auto_creation import AutoCreation
from groupsim.cluster.admin.effective import Settings
from groupsim.cluster.admin.forwarding import Forwarding
from groupsim.cluster.admin.operators import OperatorRequests
from groupsim.cluster.admin.requests import AdminRequests
from groupsim.cluster.broker import broker_name
from groupsim.cluster.controller.agent import ControllerAgent
from groupsim.cluster.controller.controller import CONTROLLER_NODE
from groupsim.cluster.endpoint import QUIET, Endpoint, nobody
from groupsim.cluster.metadata import TRANSACTION_KEY, BrokerMetadata, with_errors
from groupsim.cluster.offsets_topic import OffsetsTopic
from groupsim.cluster.producer_ids import ProducerIdBlocks, ProducerIds
from groupsim.cluster.replica.manager import ReplicaManager
from groupsim.cluster.stores import disk_of
from groupsim.cluster.transactions.config import TRANSACTION_TOPIC
from groupsim.cluster.transactions.coordinator import TransactionCoordinator
from groupsim.cluster.transactions.verification import Verification
from groupsim.cluster.transactions.wiring import Transactions
from groupsim.coordinator.ids import MemberIds
from groupsim.coordinator.placement import OFFSETS_TOPIC
from groupsim.coordinator.service import GroupCoordinator
from groupsim.coordinator.versions import parse_version
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.cluster_messages import ClusterImage, MetadataLogResponse
from groupsim.protocol.data_messages import (
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
    ProduceResponse,
)
from groupsim.protocol.messages import FindCoordinatorRequest, HeartbeatRequest, MetadataRequest
from groupsim.protocol.versions import normalise_request

if TYPE_CHECKING:
    from groupsim.cluster.connection import Connection
    from groupsim.cluster.lines import Line
    from groupsim.cluster.log.interfaces import SegmentStore
    from groupsim.cluster.network import Network
    from groupsim.cluster.replicated_config import ReplicatedConfig

_CONTROLLED_SHUTDOWN_US = 5 * 60 * 1_000_000


class Node(Endpoint):
    """A broker on its host."""

    def __init__(
        self,
        network: Network,
        node: int,
        rack: str | None,
        config: ReplicatedConfig,
        open_store: Callable[[TopicPartition], SegmentStore],
        blocks: ProducerIdBlocks,
        make_transaction_topic: Callable[[], None],
    ) -> None:
        loop, name = network.loop, broker_name(node)
        super().__init__(loop, name)
        self.node = node
        self.rack = rack
        self.metadata = BrokerMetadata()
        self._config = config
        self._network = network
        self._opened = True
        self.on_open: list[Callable[[bool], None]] = []  #: told when it begins or ceases to take connections
        self._stopped = False
        self._blocks = blocks
        self._make_transaction_topic = make_transaction_topic
        self.peers: Callable[[int], Node | None] = lambda node: None  #: the brokers by their numbers
        host = self.host
        to_controller = partial(network.connect, name, name, CONTROLLER_NODE, "controller")
        self.agent = ControllerAgent(loop, host, node, rack, to_controller, self.take, config.controller)
        self.agent.on_running = partial(self.take_connections, True)
        self.replicas = ReplicaManager(
            loop, host, node, rack, config.replica, open_store, self._connect_to_peer, self.agent.alter
        )
        self.replicas.on_leading.append(self._leading)
        self.replicas.on_not_leading.append(self._not_leading)
        self._own: dict[type, Callable[[Any, Any], None]] = {
            FetchRequest: self._fetch,
            ProduceRequest: self._produce,
            ListOffsetsRequest: lambda call, request: call.answer(self.replicas.list_offsets(request)),
            OffsetForLeaderEpochRequest: lambda call, request: call.answer(self.replicas.epoch_ends(request)),
            MetadataRequest: self._describe,
            FindCoordinatorRequest: self._find_coordinator,
        }
        self._member_ids: MemberIds | None = None
        self._new_coordinators()

    def _connect_to_peer(self, node: int) -> Connection:
        return self._network.connect(self.host.name, self.host.name, node, "replication")

    def _new_coordinators(self) -> None:
        """What begins anew with each life of the broker."""
        config = self._config
        coordinator = config.coordinator_of(self.node)
        version = coordinator.broker_version
        self.log = OffsetsTopic(
            self._loop, self.host, self.replicas, config.loading, version, lambda name: self.metadata.topic_id(name)
        )
        self.groups = GroupCoordinator(self._loop, self.host, self.node, coordinator, self.log, self.metadata)
        if self._member_ids is not None:
            self.groups.ids = self._member_ids
        self.heartbeat, self.steady = self.groups.heartbeat, self.groups.steady
        first_block_us = config.transactions.first_block_ms * 1_000
        self._ids = ProducerIds(self._blocks, lambda: self._loop.now_us, first_block_us)
        self.transactions = Transactions(
            self._loop,
            self.host,
            self.node,
            config.transactions,
            replicas=self.replicas,
            groups=self.groups,
            image=lambda: self.metadata.image,
            connect=self._connect_to_peer,
            fresh_producer_id=self._ids.fresh,
            make_topic=self._make_transaction_topic,
            loading=config.loading,
        )
        if Verification.is_done_by(parse_version(version)):
            self.groups.verify = Verification(self.replicas, self._coordinator_of)
        self._administrators()
        parts = (self.transactions, self.admin, self._acls, self._operators)
        handlers = {**self._own, **{kind: take for part in parts for kind, take in part.handlers.items()}}
        gate = gate_of(config, lambda: self.metadata.image)
        self._everybody = gate is None
        if gate is not None:
            handlers = gate.guarded(handlers, lambda call, request: self.groups.handle(call))
            self.heartbeat, self.steady = gate.heartbeat(self.groups.heartbeat), nobody
            self.admin.forbids = gate.forbids
        self._handlers = handlers

    def _coordinator_of(self, transactional_id: str) -> TransactionCoordinator | None:
        """Who coordinates a transactional id, as this broker has heard; None while nobody does."""
        if TRANSACTION_TOPIC not in self.metadata.image.topics:
            return None
        found = self.transactions.find_coordinator(transactional_id)
        peer = None if found.error else self.peers(found.node)
        return None if peer is None or not peer.is_open else peer.transactions.coordinator

    def _administrators(self) -> None:
        """What a life of the broker has for administrators; its own way to the controller, opened when it is needed."""
        name = self.host.name
        connect = partial(self._network.connect, name, name, CONTROLLER_NODE, "controller")
        self._forwarding = Forwarding(self._loop, self.host, connect, lambda: self.metadata.image.version)
        self.auto_creation = AutoCreation(self._config, self._forwarding)
        self._settings = Settings(self._config, self.node, self.rack)
        self.admin = AdminRequests(self.node, self._settings, self._forwarding, lambda: self.metadata.image)
        self._operators = OperatorRequests(
            lambda: self.metadata.image,
            self.replicas,
            self.transactions.coordinator,
            partial(disk_of, self._config.storage, name),
            self.admin.pass_on,
        )
        self._acls = AclRequests(self._config.acl.enabled, lambda: self.metadata.image, self.admin.pass_on)

    # --- lives -----------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether it takes connections."""
        return self._opened and self.host.alive

    def take_connections(self, opened: bool) -> None:
        """Take connections from now on, or refuse them while it lives on, as behind a closed port."""
        self._opened = opened
        for told in self.on_open:
            told(opened)

    def begin(self, epoch: int, image: ClusterImage) -> None:
        """Go on from where a cluster that was formed before the run stands."""
        self.agent.start_formed(epoch, image)

    def start(self) -> None:
        """Begin a life: register, catch up, be let out of fencing."""
        self.replicas.start()
        self.agent.start()

    def hand_out(self, ids: MemberIds) -> None:
        """Member ids come from here from now on, in later lives too: a recorded play is given its own ids again."""
        self._member_ids = self.groups.ids = ids

    def restart(self, config: ReplicatedConfig | None = None) -> None:
        """Begin the next life of a broker whose host has died, its coordinators with other settings if given."""
        self._config = self._config if config is None else config
        self.host.start()
        self._stopped = False
        self.metadata = BrokerMetadata()
        self._new_coordinators()
        self.start()

    def crash(self, *, machine: bool) -> None:
        """Die: the process, or the whole machine, whose page cache is lost."""
        self.take_connections(False)
        self.host.crash()
        self.replicas.crash(machine=machine)

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Controlled shutdown: hand over what it leads, then go; `on_stopped` is called when it is gone.

        It goes after five minutes at the latest, though the controller be out of reach: Kafka's own limit.
        """
        stopping = self.host.incarnation

        def gone(_: object = None) -> None:
            if self.host.alive and self.host.incarnation == stopping and not self._stopped:
                self._stopped = True
                self.transactions.stop()
                self.groups.stop()
                self.replicas.shut_down()
                on_stopped()

        self.agent.shut_down(gone)
        self.host.call_at(self._loop.now_us + _CONTROLLED_SHUTDOWN_US, gone)

    # --- the image -------------------------------------------------------------------------------------------

    def take(self, image: ClusterImage, changed: MetadataLogResponse) -> None:
        """Act on an image: first what clients are told, then who leads, then what was deleted."""
        if image.configs is not self.metadata.image.configs:
            self.replicas.set_defaults(self._settings.log_defaults(image))
        self.metadata.take(image)
        self.replicas.apply(image, changed.partitions)
        for topic in changed.topics:
            if topic not in image.topics:
                self.groups.topic_deleted(topic)
        self._forwarding.known()

    def _leading(self, partition: TopicPartition, epoch: int) -> None:
        if partition.topic == OFFSETS_TOPIC:
            loading_us = self.log.loading_us(partition.partition)
            self.groups.elect(partition.partition, epoch, load_us=loading_us + self._config.load_us)
        else:
            self.transactions.leading(partition, epoch, load_us=self._config.load_us)

    def _not_leading(self, partition: TopicPartition, epoch: int) -> None:
        if partition.topic == OFFSETS_TOPIC and self.metadata.image.partition(partition) is None:
            self.groups.abandon(partition.partition)
        elif partition.topic == OFFSETS_TOPIC:
            self.groups.resign(partition.partition, epoch)
        else:
            self.transactions.not_leading(partition, epoch)

    # --- requests --------------------------------------------------------------------------------------------

    def receive(self, call: Line) -> None:
        """Take the request in hand of a connection; quiet heartbeats go straight to `heartbeat`."""
        call.request = request = normalise_request(call.request)
        kind = type(request)
        if kind not in QUIET or self._trace.heartbeats:
            self.note_received(call)
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(call, request)
        elif kind is HeartbeatRequest:
            self.heartbeat(call)
        else:
            self.groups.handle(call)

    def _fetch(self, call: Line, request: FetchRequest) -> None:
        call.took_us = self._loop.now_us
        give_up = self.replicas.fetch(request, call.answer)
        if call.busy:
            call.give_up = give_up

    def _produce(self, call: Line, request: ProduceRequest) -> None:
        if request.acks != 0:
            self.replicas.produce(request, call.client_id, call.answer)
            return
        failed: list[ProduceResponse] = []
        self.replicas.produce(request, call.client_id, failed.append)
        if failed:  # the one way to tell somebody who wants no answer
            call.cut("the broker closed the connection")
        else:
            call.no_answer()

    def _describe(self, call: Line, request: MetadataRequest) -> None:
        making, said = self.auto_creation, {}
        if request.auto_create and making.enabled and request.topics:
            there = self.metadata.image.topics
            said = making.make(name for name in sorted(set(request.topics)) if name not in there)
        answer = self.metadata.describe(request.topics)
        answer = with_errors(answer, said) if said else answer
        call.answer(allowed_everything(answer, request) if self._everybody else answer)

    def _find_coordinator(self, call: Line, request: FindCoordinatorRequest) -> None:
        if request.key_type == TRANSACTION_KEY:
            call.answer(self.transactions.find_coordinator(request.key))
        else:
            if OFFSETS_TOPIC not in self.metadata.image.topics:
                self.auto_creation.make([OFFSETS_TOPIC])
            call.answer(self.metadata.find_coordinator(request))
