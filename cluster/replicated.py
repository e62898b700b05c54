"""The replicated cluster: brokers with logs of their own, a controller that elects, a network between all of them.

`ReplicatedCluster` is to members and scenarios what `Cluster` (the light one) is, and costs more: records are batches
in logs, followers fetch them, a crash is noticed when the broker's session with the controller runs out, and what a
coordinator knows it reads from `__consumer_offsets`. There is no `data`: consumers pull from the brokers.

It stands when it is made (`formation`), `__consumer_offsets` included, as in any cluster that was ever used; with
`ReplicatedConfig.fresh` the first FindCoordinator has that topic made (`admin.auto_creation`). `__transaction_state` is
made as Kafka makes it, when the first transactional producer looks for its coordinator, or before the run on demand
(`make_transaction_topic`); a cluster without transactions is without it.

With `ReplicatedConfig.kept` it goes on where an earlier process with the same folder stopped (`controller.kept`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from decimal import Decimal

from attrs import evolve

from groupsim.cluster.admin.effective import Settings
from groupsim.cluster.controller.config import ControllerConfig
from groupsim.cluster.controller.controller import CONTROLLER_HOST, CONTROLLER_NODE, Controller
from groupsim.cluster.controller.placement import Refused
from groupsim.cluster.endpoint import Endpoint
from groupsim.cluster.formation import Formation
from groupsim.cluster.keeping import Keeping
from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.network import Network, Timing
from groupsim.cluster.node import Node
from groupsim.cluster.replicated_config import ReplicatedConfig
from groupsim.cluster.replicated_parts import ReplicatedParts
from groupsim.cluster.roles import ClusterRoles
from groupsim.cluster.stores import Stores
from groupsim.cluster.transactions.config import TRANSACTION_TOPIC
from groupsim.cluster.transactions.coordinator import TransactionCoordinator
from groupsim.coordinator.placement import OFFSETS_TOPIC, partition_for
from groupsim.coordinator.service import GroupCoordinator
from groupsim.coordinator.snapshot import GroupSnapshot
from groupsim.eventloop.interface import EventLoop
from groupsim.members.interfaces import Transport
from groupsim.members.producer.load import Load, Sizes
from groupsim.members.producer.producer import Producer
from groupsim.members.producer.settings import producer_settings_from
from groupsim.members.producer.traffic import as_rate
from groupsim.protocol.acl_messages import Acl
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.cluster_messages import NO_LEADER, TopicState
from groupsim.protocol.javahash import java_abs_mod

Rate = int | float | str | Decimal
DEFAULT_SIZES = Sizes(100, 100)


class ControllerEndpoint(Endpoint):
    """The controller as the network reaches it."""

    def __init__(self, loop: EventLoop, controller: Controller) -> None:
        super().__init__(loop, CONTROLLER_HOST)
        self._controller = controller

    def receive(self, call: object) -> None:
        """Take a broker's request."""
        if self._trace.heartbeats:
            self.note_received(call)  # type: ignore[arg-type]
        self._controller.receive(call)  # type: ignore[arg-type]


class ReplicatedCluster:
    """A running cluster. Every broker is up, every partition has its leader, every coordinator has loaded."""

    data: None = None
    """There is no stand-in for the logs: consumers made with it pull from the brokers."""

    def __init__(self, loop: EventLoop, config: ReplicatedConfig | None = None) -> None:
        self.loop = loop
        self.config = config = ReplicatedConfig() if config is None else config
        self._keeping = Keeping(loop, config)
        self.cluster_id = self._keeping.cluster_id
        self.network = Network(
            loop, Timing(config.latency, config.processing), config.coordinator_config.broker_version
        )
        self.network.roles = ClusterRoles(self)
        self.controller = Controller(loop, self._controller_config())
        self.controller.administration.describe = Settings(config).created
        self.controller.administration.on_deleted.append(self._end_feed)
        self._keeping.begin(self.controller)
        self._stores = Stores(loop, config.storage, config.replica.log, self._known_to, kept=config.kept)
        self._stores.begin(self.controller.image.topics)
        self._parts = ReplicatedParts(self._stores, self._keeping.blocks, self.make_transaction_topic)
        self.brokers = {node: Node(self.network, node, self._rack(node), config, self._parts) for node in config.nodes}
        self._parts.brokers = self.brokers
        self.network.attach(self.brokers, {CONTROLLER_NODE: ControllerEndpoint(loop, self.controller)})
        self.feeds: dict[str, Producer] = {}
        self._tapped = False
        self.network.links.watchers.append(self._look_for_trouble)
        self.network.watchers.append(self._messages_are_harmed)
        self._formation = Formation(loop, self.controller, self.brokers)
        self._formation.form()
        self._make_offsets_topic()

    def _controller_config(self) -> ControllerConfig:
        config = self.config
        stale = dict.fromkeys(config.nodes, config.metadata_stale_us) if config.metadata_stale_us else {}
        return evolve(
            config.controller,
            default_replication_factor=config.default_replication_factor,
            stale_metadata_us={**stale, **config.controller.stale_metadata_us},
        )

    def _rack(self, node: int) -> str | None:
        racks = self.config.racks
        return racks[self.config.nodes.index(node) % len(racks)] if racks else None

    def _known_to(self, node: int, topic: str) -> TopicState | None:
        return self.brokers[node].metadata.image.topics.get(topic)

    def _make_offsets_topic(self) -> None:
        config = self.config
        if config.fresh or OFFSETS_TOPIC in self.controller.image.topics:
            return
        with self._formation.unseen():
            self.controller.create_topic(
                OFFSETS_TOPIC,
                config.offsets_partitions,
                replication=config.offsets_replicas,
                config=config.offsets_topic_settings(),
                internal=True,
            )

    def make_transaction_topic(self) -> None:
        """Make `__transaction_state`, unless it is there; before the run begins the trace does not tell of it.

        A broker asks the controller for it by CreateTopics in Kafka, and here at once. What cannot be placed just now
        is not made: the next who asks tries again.
        """
        if TRANSACTION_TOPIC in self.controller.image.topics:
            return
        config, brokers = self.config.transactions, self.config.brokers
        with self._formation.unseen() if self._formation.open else nullcontext(), suppress(Refused):
            self.controller.create_topic(
                TRANSACTION_TOPIC,
                config.num_partitions,
                replication=min(config.replication_factor, brokers),
                config=config.topic_settings(brokers),
                internal=True,
            )

    def make_acls(self, acls: frozenset[Acl]) -> None:
        """Make ACLs; before the run begins they have been there all along."""
        with self._formation.unseen() if self._formation.open else nullcontext():
            self.controller.add_acls(acls)

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
        replication: int | None = None,
        weights: Sequence[int] | None = None,
        config: Mapping[str, str] | None = None,
        assignment: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic; with a `rate` a steady producer writes so many records a second, shared out by `weights`.

        `replication` is `default.replication.factor` unless given; `assignment` places replicas by hand. Raises
        `ValueError` when the topic exists, or when the numbers make no sense.
        """
        if weights is not None and len(weights) != partitions:
            raise ValueError(f"topic {name!r}: {len(weights)} weights for {partitions} partitions; give one for each")
        speed = as_rate(rate)
        factor = self.config.default_replication_factor if replication is None else replication
        self.controller.create_topic(name, partitions, replication=factor, config=config or {}, assignment=assignment)
        if speed:
            self.attach_feed(name, rate, weights or [1] * partitions)

    def add_partitions(self, topic: str, total: int) -> None:
        """Give a topic more partitions, `total` in all. Raises `ValueError` for an unknown topic or too few."""
        self.controller.add_partitions(topic, total)

    def delete_topic(self, name: str) -> None:
        """Delete a topic: its data, and what groups committed for it. Raises `ValueError` when there is none."""
        self.controller.delete_topic(name)
        self._end_feed(name)

    def _end_feed(self, name: str) -> None:
        feed = self.feeds.pop(name, None)
        if feed is not None:
            feed.crash("its topic was deleted")

    def attach_feed(
        self, topic: str, rate: Rate, weights: Sequence[int] | None = None, *, sizes: Sizes = DEFAULT_SIZES
    ) -> Producer:
        """A steady producer on the host "producer-<topic>": acks=1, no retries lost, batches that do not linger.

        Records come at the instants of `producer.traffic`, those of the light cluster. Raises `ValueError` for a topic
        that has one already.
        """
        if topic in self.feeds:
            raise ValueError(f"topic {topic!r} has a feed already; use set_rate")
        name = f"producer-{topic}"
        settings, _ = producer_settings_from({"client.id": name, "acks": "1", "enable.idempotence": "false"})
        shares = None if weights is None else tuple(weights)
        load = Load(topic, rate=as_rate(rate), sizes=sizes, weights=shares)
        producer = Producer(self.loop, name, settings, self.network, [load])
        self.feeds[topic] = producer
        producer.start()
        return producer

    def set_rate(self, topic: str, rate: Rate) -> None:
        """Produce `rate` records per second to a topic from now on; 0 stops."""
        feed = self.feeds.get(topic)
        if feed is None:
            self.attach_feed(topic, rate, [1] * self._known(topic))
        else:
            feed.process.set_rate(topic, as_rate(rate))

    def _known(self, topic: str) -> int:
        known = self.controller.image.topics.get(topic)
        if known is None:
            raise ValueError(f"there is no topic {topic!r}; there are: {', '.join(self.controller.image.topics)}")
        return len(known.partitions)

    def log(self, topic: str, partition: int, node: int | None = None) -> PartitionLog:
        """The log of a partition on a broker, on its leader's unless given; for looking at, not for changing.

        Raises `LookupError` when there is no leader, or no replica there.
        """
        where = TopicPartition(topic, partition)
        state = self.controller.image.partition(where)
        at = node if node is not None or state is None else state.leader
        broker = None if at is None else self.brokers.get(at)
        log = None if broker is None else broker.replicas.log(where)
        if log is None:
            raise LookupError(f"{where}: no replica on broker {at}")
        return log

    def log_ends(self, *, internal: bool = False) -> dict[str, list[int]]:
        """Start, end and high watermark of every partition's log on its leader, for the trace's `log.ends`.

        A partition without a leader is left out; internal topics are, unless asked for.
        """
        ends = {}
        for name, topic in self.controller.image.topics.items():
            if topic.internal and not internal:
                continue
            for number, state in enumerate(topic.partitions):
                broker = self.brokers.get(state.leader)
                log = None if broker is None else broker.replicas.log(TopicPartition(name, number))
                if log is not None:
                    ends[f"{name}-{number}"] = [log.start_offset, log.end_offset, log.high_watermark]
        return ends

    # --- groups ----------------------------------------------------------------------------------------------

    def coordinator_of(self, group_id: str) -> tuple[int, GroupCoordinator]:
        """The node and coordinator of a group, as the controller has decided. Raises `LookupError` when nobody is."""
        where = TopicPartition(OFFSETS_TOPIC, partition_for(group_id, self.config.offsets_partitions))
        state = self.controller.image.partition(where)
        if state is None or state.leader == NO_LEADER:
            raise LookupError(f"group {group_id!r}: nobody leads {where} just now")
        return state.leader, self.brokers[state.leader].groups

    def transaction_coordinator_of(self, transactional_id: str) -> tuple[int, TransactionCoordinator]:
        """The node and coordinator of a transactional id, as the controller has decided.

        Raises `LookupError` when nobody is, or `__transaction_state` has not been made yet.
        """
        topic = self.controller.image.topics.get(TRANSACTION_TOPIC)
        number = -1 if topic is None else java_abs_mod(transactional_id, len(topic.partitions))
        leader = NO_LEADER if topic is None else topic.partitions[number].leader
        if leader == NO_LEADER:
            raise LookupError(
                f"transactional id {transactional_id!r}: nobody leads its partition of {TRANSACTION_TOPIC} just now"
            )
        return leader, self._parts.transaction_coordinator_on(leader)

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
        """Move the leadership of a partition of `__consumer_offsets`; see `Controller.move_leader`.

        Raises `ValueError` for a broker that is down or has no replica in sync.
        """
        self.controller.move_leader(TopicPartition(OFFSETS_TOPIC, partition), to_node)

    # --- brokers ---------------------------------------------------------------------------------------------

    def crash_broker(self, node: int, *, machine: bool = False) -> None:
        """Kill a broker's process: its connections break; with `machine` its unflushed data is gone, too.

        The controller notices when the broker's session is over.
        """
        broker = self.brokers[node]
        broker.crash(machine=machine)
        self._look_for_trouble()
        self.network.cut_broker(broker.host.name, "the broker went away")

    def restart_broker(self, node: int, config: ReplicatedConfig | None = None) -> None:
        """Bring a broker back that crashed or was stopped, as a new incarnation with the logs it had.

        With a `config` its coordinators go by other settings from now on; logs and replicas keep theirs.
        """
        self.brokers[node].restart(config)
        self._look_for_trouble()

    def pause_broker(self, node: int) -> None:
        """Let a broker stand still, as in a long garbage collection, until `resume_broker`."""
        self.brokers[node].host.pause()
        self._look_for_trouble()

    def resume_broker(self, node: int) -> None:
        """Let a paused broker go on."""
        self.brokers[node].host.resume()
        self._look_for_trouble()

    def stop_broker(self, node: int, on_stopped: Callable[[], None] | None = None) -> None:
        """Stop a broker in good order (controlled shutdown); `on_stopped` is called when it is down.

        It hands its leaderships over first, so this takes time. Raises `RuntimeError` when it is stopping already.
        """

        def down() -> None:
            self.crash_broker(node)
            if on_stopped is not None:
                on_stopped()

        self.brokers[node].stop(down)

    def close_files(self) -> None:
        """The run is over: brokers that are up write what they keep beside their logs, and every file is closed."""
        with self.loop.trace.muted():
            for broker in self.brokers.values() if self._stores.opened else ():
                if broker.host.alive:
                    broker.replicas.shut_down()
            self._stores.close()
        self._keeping.close()

    # --- trouble ---------------------------------------------------------------------------------------------

    def _look_for_trouble(self) -> None:
        """While all is well long polls cost nothing; while something is wrong they go by the clock.

        A dead broker breaks its connections, which consumers notice at once.
        """
        trouble = self._tapped or bool(self.network.links.conditions)
        trouble = trouble or any(broker.host.paused for broker in self.brokers.values())
        self.network.go_by_the_clock(trouble)
        trouble = trouble or any(not broker.host.alive for broker in self.brokers.values())
        for broker in self.brokers.values():
            broker.replicas.set_clocked(trouble)

    def _messages_are_harmed(self) -> None:
        """A fault of messages may leave a silent connection behind: from the first one on nothing is taken on trust."""
        self._tapped = True
        self._look_for_trouble()
