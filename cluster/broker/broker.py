"""One broker: its host, its partitions, its agent at the controller, its group coordinator, its answers.

What a broker does follows from the image it has, never from the truth: an image makes its replicas lead, follow or go;
what they lead of `__consumer_offsets` and `__transaction_state` its coordinators load, what they lead no longer they
give up; and Metadata and FindCoordinator are answered from it. A broker that hears nothing goes on as before.

    image ──▶ replicas ──▶ on_leading, on_not_leading ──▶ coordinators of groups and of transactions
      └─────▶ metadata (what clients are told)

The parts that depend on the kind of logs (agent, replicas, the coordinator's log, the services beside groups) are made
by a `Logs`: `replicated` over logs on the brokers, `counted.logs` over counted ones.

Lives: a crash ends all but the stores of the logs; a start begins with an empty image and takes no connection before
the controller has let the broker out of fencing, as Kafka opens its port only then. A broker that is told to
stop hands over what it leads before it goes (controlled shutdown); one that cannot reach the controller keeps trying,
for five minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

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
    from groupsim.cluster.network.broker_connection import Line
    from groupsim.cluster.network.connection import Connection
    from groupsim.cluster.network.network import Network
    from groupsim.protocol.batch.batch import Batch

_CONTROLLED_SHUTDOWN_US = 5 * 60 * 1_000_000


class Logs(Protocol):
    """A cluster's kind of logs: its controller, its feed, and the parts of its brokers."""

    @property
    def controller(self) -> ClusterController: ...
    @property
    def feed(self) -> Feed: ...
    @property
    def others(self) -> Mapping[int, Endpoint]:
        """What else can be reached over the network, by node id."""

    def begin(self, brokers: Mapping[int, Node]) -> None:
        """The brokers are made: let them stand as after a long time, each with what it leads."""

    def broker_died(self, node: int) -> None:
        """A broker has died, and its connections have broken."""

    def broker_returned(self, node: int) -> None:
        """A broker has begun its next life."""

    def log_ends(self, *, internal: bool) -> dict[str, list[int]]:
        """Start, end and high watermark of every partition with a leader."""

    def offsets_batches(self, number: int) -> Sequence[Batch]:
        """A partition of `__consumer_offsets` as its leader has it; nothing while it has none."""

    def hold_appends(self, number: int, for_us: int) -> None:
        """Let nothing of a partition of `__consumer_offsets` commit for a while."""

    def close(self) -> None:
        """The run is over: let go of files."""

    # --- parts of a broker ---------------------------------------------------------------------------------

    def metadata(self) -> BrokerMetadata:
        """What one life of a broker knows of the cluster."""

    def agent(self, broker: Node) -> Agent:
        """The broker's agent, for all of its lives."""

    def replicas(self, broker: Node) -> Replicas:
        """The broker's partitions, for all of its lives."""

    def offsets(self, broker: Node) -> OffsetsLog:
        """The coordinator's log, for one life."""

    def load_us(self, broker: Node, partition: int, epoch: int) -> int:
        """How long the broker's coordinator takes to load a partition that the broker leads from `epoch` on."""

    def services(self, broker: Node) -> Services:
        """The other requests, for one life; made after the broker's coordinator."""


class Node(Endpoint):
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
        self.on_open: list[Callable[[bool], None]] = []  #: told when it begins or ceases to take connections
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
        """What begins anew with each life of the broker."""
        self.log = self._logs.offsets(self)
        coordinator = self.config.coordinator_of(self.node)
        self.groups = GroupCoordinator(self.loop, self.host, self.node, coordinator, self.log, self.metadata)
        if self._member_ids is not None:
            self.groups.ids = self._member_ids
        self.services = self._logs.services(self)
        self._handlers = self.services.handlers

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

    def restart(self, config: ClusterConfig | None = None) -> None:
        """Begin the next life of a broker whose host has died, its coordinators with other settings if given."""
        self.config = self.config if config is None else config
        self.host.start()
        self._stopped = False
        self.metadata = self._logs.metadata()
        self._new_life()
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
                self.services.stop()
                self.groups.stop()
                self.replicas.shut_down()
                on_stopped()

        self.agent.shut_down(gone)
        self.host.call_at(self.loop.now_us + _CONTROLLED_SHUTDOWN_US, gone)

    # --- the image -------------------------------------------------------------------------------------------

    def take(self, image: ClusterImage, changed: MetadataLogResponse) -> None:
        """Act on an image: first what clients are told, then who leads, then what was deleted."""
        self.services.image_changes(image)
        self.metadata.take(image)
        self.replicas.apply(image, changed.partitions)
        for topic in changed.topics:
            if topic not in image.topics:
                self.groups.topic_deleted(topic)
        self.services.image_changed()

    def _leading(self, partition: TopicPartition, epoch: int) -> None:
        if partition.topic == OFFSETS_TOPIC:
            number = partition.partition
            self.groups.elect(number, epoch, load_us=self._logs.load_us(self, number, epoch))
        else:
            self.services.leading(partition, epoch)

    def _not_leading(self, partition: TopicPartition, epoch: int) -> None:
        if partition.topic == OFFSETS_TOPIC and self.metadata.image.partition(partition) is None:
            self.groups.abandon(partition.partition)
        elif partition.topic == OFFSETS_TOPIC:
            self.groups.resign(partition.partition, epoch)
        else:
            self.services.not_leading(partition, epoch)

    # --- requests --------------------------------------------------------------------------------------------

    def receive(self, call: Line) -> None:
        """Take the request in hand of a connection."""
        call.request = request = normalise_request(call.request)
        kind = type(request)
        if kind not in QUIET or self._trace.heartbeats:
            self.note_received(call)
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(call, request)
        else:
            self.groups.handle(call)
