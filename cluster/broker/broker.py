"""One broker: its host, its partitions, its agent at the controller, its group coordinator, its request handlers.

A broker acts on its own image only, which may be older than the controller's. The image decides which partitions the
replicas lead, follow or drop, which partitions of `__consumer_offsets` and `__transaction_state` the coordinators load
or unload, and the answers to Metadata and FindCoordinator. A broker without news of the controller keeps its image.

    image ──▶ replicas ──▶ on_leading, on_not_leading ──▶ coordinators of groups and of transactions
      └─────▶ metadata (answers to clients)

A `Logs` makes the parts that depend on the kind of logs (agent, replicas, the coordinator's log, the services beside
groups): `replicated` for logs on the brokers, `counted.logs` for counted records.

Lives: a crash keeps only the stores of the logs. A start begins with an empty image, and the broker takes no connection
before the controller has unfenced it, as Kafka opens its port only then. A controlled shutdown moves leaderships before
the broker stops; a broker that cannot reach the controller tries for five minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from groupsim.cluster.broker.group_configs import BrokerGroupSettings
from groupsim.cluster.network.endpoint import QUIET, Endpoint, broker_name
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.ids import MemberIds
from groupsim.coordinator.service import GroupCoordinator
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.cluster import ClusterImage, MetadataLogResponse
from groupsim.protocol.messages.versions import normalise_request

if TYPE_CHECKING:
    from groupsim.cluster.broker.metadata import BrokerMetadata
    from groupsim.cluster.broker.parts import Agent, ClusterController, Feed, OffsetsLog, Replicas, Services
    from groupsim.cluster.config.cluster import ClusterConfig
    from groupsim.cluster.network.broker_connection import BrokerConnection
    from groupsim.cluster.network.connection import Connection
    from groupsim.cluster.network.network import Network
    from groupsim.protocol.batch.batch import Batch

# The time that `KafkaBroker.shutdown` grants to the controlled shutdown.
_CONTROLLED_SHUTDOWN_US = 5 * 60 * 1_000_000


class Logs(Protocol):
    """A cluster's kind of logs: its controller, its load, and the parts of its brokers."""

    @property
    def controller(self) -> ClusterController: ...
    @property
    def feed(self) -> Feed: ...
    @property
    def others(self) -> Mapping[int, Endpoint]:
        """Endpoints beside the brokers, by node id."""

    def begin(self, brokers: Mapping[int, Broker]) -> None:
        """Put the new brokers into the state of a cluster that has run for long, each with its leaderships."""

    def broker_died(self, node: int) -> None:
        """React to the death of a broker, after its connections broke."""

    def broker_returned(self, node: int) -> None:
        """React to a broker's next life."""

    def log_ends(self, *, internal: bool) -> dict[str, list[int]]:
        """Return start, end and high watermark of every partition with a leader."""

    def offsets_batches(self, number: int) -> Sequence[Batch]:
        """Return the batches of a partition of `__consumer_offsets` on its leader; none without a leader."""

    def hold_appends(self, number: int, for_us: int) -> None:
        """Delay every commit in a partition of `__consumer_offsets` for `for_us`."""

    def close(self) -> None:
        """Close all files at the end of the run."""

    # --- parts of a broker ---------------------------------------------------------------------------------

    def metadata(self) -> BrokerMetadata:
        """Make the metadata of one life of a broker."""

    def agent(self, broker: Broker) -> Agent:
        """Make the broker's agent, for all of its lives."""

    def replicas(self, broker: Broker) -> Replicas:
        """Make the broker's partitions, for all of its lives."""

    def offsets(self, broker: Broker) -> OffsetsLog:
        """Make the coordinator's log, for one life."""

    def load_us(self, broker: Broker, partition: int, epoch: int) -> int:
        """Return how long the coordinator takes to load a partition that the broker leads from `epoch` on."""

    def services(self, broker: Broker) -> Services:
        """Make the other services, for one life; called after the broker's coordinator was made."""


class Broker(Endpoint):
    """A broker on its host."""

    def __init__(self, network: Network, node: int, rack: str | None, config: ClusterConfig, logs: Logs) -> None:
        super().__init__(network.loop, broker_name(node))
        self.loop = network.loop
        self.network = network
        self.node = node
        self.rack = rack
        self.config = config
        self.metadata = logs.metadata()
        self._logs = logs
        self._opened = True
        self.on_open: list[Callable[[bool], None]] = []  #: called when the broker begins or ceases to take connections
        self._stopped = False
        self.agent = logs.agent(self)
        self.agent.on_running = partial(self.take_connections, True)
        self.replicas = logs.replicas(self)
        self.replicas.on_leading.append(self._leading)
        self.replicas.on_not_leading.append(self._not_leading)
        self._member_ids: MemberIds | None = None
        self._new_life()

    def connect_to_peer(self, node: int) -> Connection:
        """Open a connection to another broker."""
        return self.network.connect(self.host.name, self.host.name, node, "replication")

    def _new_life(self) -> None:
        """Make the parts that last for one life of the broker."""
        self.log = self._logs.offsets(self)
        coordinator = self.config.coordinator_of(self.node)
        self.groups = GroupCoordinator(
            self.loop, self.host, self.node, coordinator, self.log, self.metadata, self.metadata.topics
        )
        self.groups.settings = BrokerGroupSettings(self.metadata, self.node)
        if self._member_ids is not None:
            self.groups.ids = self._member_ids
        self.services = self._logs.services(self)
        self._handlers = self.services.handlers

    # --- lives -----------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether the broker takes connections."""
        return self._opened and self.host.alive

    def take_connections(self, opened: bool) -> None:
        """Take connections from now on, or refuse them while the process runs, as behind a closed port."""
        self._opened = opened
        for listener in self.on_open:
            listener(opened)

    def begin(self, epoch: int, image: ClusterImage) -> None:
        """Begin as a broker of a cluster that was formed before the run."""
        self.agent.start_formed(epoch, image)

    def start(self) -> None:
        """Begin a life: register, catch up with the image, wait to be unfenced."""
        self.replicas.start()
        self.agent.start()

    def restart(self, config: ClusterConfig | None = None) -> None:
        """Begin the next life of a broker whose host has died; `config` changes the settings of its coordinators."""
        self.config = self.config if config is None else config
        self.host.start()
        self._stopped = False
        self.metadata = self._logs.metadata()
        self._new_life()
        self.start()

    def crash(self, *, machine: bool) -> None:
        """Kill the process, or with `machine` the whole machine, whose page cache is lost."""
        self.take_connections(False)
        self.host.crash()
        self.replicas.crash(machine=machine)

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Move the leaderships, then stop (controlled shutdown); `on_stopped` is called at the end.

        After five minutes the broker stops without the controller's answer.
        """
        stopping = self.host.incarnation

        def finish(_: object = None) -> None:
            if self.host.alive and self.host.incarnation == stopping and not self._stopped:
                self._stopped = True
                self.services.stop()
                self.groups.stop()
                self.replicas.shut_down()
                on_stopped()

        self.agent.shut_down(finish)
        self.host.call_at(self.loop.now_us + _CONTROLLED_SHUTDOWN_US, finish)

    # --- the image -------------------------------------------------------------------------------------------

    def take(self, image: ClusterImage, changed: MetadataLogResponse) -> None:
        """Apply an image: to the answers to clients, to the replicas, to offsets of deleted topics, to the groups."""
        self.services.image_changes(image)
        self.metadata.topics.created(image, changed.topics)
        self.metadata.take(image)
        self.replicas.apply(image, changed.partitions)
        for topic in changed.topics:
            if topic not in image.topics:
                self.groups.topic_deleted(topic)
        if changed.topics:
            self.groups.metadata_changed(changed.topics)
        self.services.image_changed()

    def _leading(self, partition: TopicPartition, epoch: int) -> None:
        if partition.topic == OFFSETS_TOPIC:
            number = partition.partition
            self.groups.elect(number, epoch, load_us=self._logs.load_us(self, number, epoch))
        else:
            self.services.leading(partition, epoch)

    def _not_leading(self, partition: TopicPartition, epoch: int) -> None:
        # Without the partition in the image the topic was deleted: there is no epoch to resign with.
        if partition.topic == OFFSETS_TOPIC and self.metadata.image.partition(partition) is None:
            self.groups.abandon(partition.partition)
        elif partition.topic == OFFSETS_TOPIC:
            self.groups.resign(partition.partition, epoch)
        else:
            self.services.not_leading(partition, epoch)

    # --- requests --------------------------------------------------------------------------------------------

    def receive(self, call: BrokerConnection) -> None:
        """Handle the current request of a connection."""
        call.request = request = normalise_request(call.request)
        kind = type(request)
        if kind not in QUIET or self._trace.heartbeats:
            self.emit_received(call)
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(call, request)
        else:
            self.groups.handle(call)
