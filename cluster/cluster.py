"""The cluster: brokers, a controller, topics, and the network between them and the clients.

Members and scenarios see a `Cluster` only: `transport` and `data` are for members, `network` is for faults, and the
other methods are an administrator's. The kind of logs is a strategy, a `broker.Logs`:
`replicated.logs.ReplicatedLogs`, or `counted.logs.CountedLogs`, where records are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from groupsim.cluster.broker.admin.effective import group_rules
from groupsim.cluster.broker.broker import Broker
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.network.causes import caused_by
from groupsim.cluster.network.network import Network, Timing
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.coordinator.base.snapshot import GroupSnapshot
from groupsim.coordinator.service import GroupCoordinator
from groupsim.eventloop.interface import EventLoop
from groupsim.members.interfaces import Transport
from groupsim.members.producer.load import DEFAULT_SIZES, Sizes
from groupsim.members.producer.traffic import as_rate
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import NO_LEADER, ClusterImage

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Logs
    from groupsim.cluster.controller.controller import Controller
    from groupsim.cluster.counted.feed import Data
    from groupsim.cluster.counted.logs import CountedLogs
    from groupsim.cluster.log.log import PartitionLog
    from groupsim.cluster.replicated.logs import ReplicatedLogs
    from groupsim.protocol.batch.batch import Batch

Rate = int | float | str | Decimal


class Cluster:
    """A running cluster, which begins with every broker up, every partition led and every coordinator loaded."""

    def __init__(self, loop: EventLoop, config: ClusterConfig | None = None) -> None:
        self.loop = loop
        self.config = config = ClusterConfig() if config is None else config
        self.network = Network(
            loop, Timing(config.latency, config.processing), config.coordinator_config.broker_version
        )
        self.network.roles = ClusterRoles(self)
        self._counted: CountedLogs | None = None
        self._replicated: ReplicatedLogs | None = None
        self._logs = logs = self._make_logs()
        self.brokers = {node: Broker(self.network, node, self.rack_of(node), config, logs) for node in config.nodes}
        self.network.attach(self.brokers, logs.others)
        self._had_message_fault = False
        self.network.link_faults.watchers.append(self._update_trouble)
        self.network.watchers.append(self._message_fault_began)
        logs.begin(self.brokers)

    def _make_logs(self) -> Logs:
        """Return the kind of logs; only the module that is needed is imported, which shortens the start."""
        if self.config.counted is not None:
            from groupsim.cluster.counted.logs import CountedLogs

            self._counted = CountedLogs(self.network, self.config, self.config.counted)
            return self._counted
        from groupsim.cluster.replicated.logs import ReplicatedLogs

        self._replicated = ReplicatedLogs(self.network, self.config)
        return self._replicated

    def rack_of(self, node: int) -> str | None:
        """Return the rack of a broker; None in a cluster without racks."""
        racks = self.config.racks
        return racks[self.config.nodes.index(node) % len(racks)] if racks else None

    # --- kinds of logs ---------------------------------------------------------------------------------------

    @property
    def replicated(self) -> ReplicatedLogs:
        """The replicated logs. Raises `ValueError` where records are only counted."""
        if self._replicated is None:
            raise ValueError("counted logs are on no broker; leave `logs: counted` out of `cluster`")
        return self._replicated

    @property
    def is_counted(self) -> bool:
        """Whether records are only counted."""
        return self._counted is not None

    @property
    def data(self) -> Data | None:
        """The counted records that consumers read; None where consumers fetch from brokers."""
        return None if self._counted is None else self._counted.feed

    @property
    def controller(self) -> Controller:
        """The controller of replicated logs. Raises `ValueError` where records are only counted."""
        return self.replicated.controller

    @property
    def cluster_id(self) -> str:
        """The cluster id: 22 characters of base64, as in Kafka. Raises `ValueError` where records are only counted."""
        return self.replicated.cluster_id

    @property
    def image(self) -> ClusterImage:
        """The cluster's metadata at the controller."""
        return self._logs.controller.image

    def watch(self, listener: Callable[[ClusterImage], None]) -> None:
        """Call `listener` with every future image of the controller."""
        self._logs.controller.on_image.append(listener)

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
        sizes: Sizes = DEFAULT_SIZES,
    ) -> None:
        """Create a topic that gets `rate` records per second of `sizes`, distributed by `weights` (default: equal).

        `replication` is `default.replication.factor` unless given; `assignment` lists each partition's replicas. Raises
        `ValueError` when the topic exists, or when the numbers contradict each other.
        """
        shares = [1] * partitions if weights is None else list(weights)
        if len(shares) != partitions:
            raise ValueError(f"topic {name!r}: {len(shares)} weights for {partitions} partitions; give one for each")
        speed = as_rate(rate)
        factor = self.config.default_replication_factor if replication is None else replication
        with caused_by(self.loop.trace):
            self._logs.controller.create_topic(
                name, partitions, replication=factor, config=config, assignment=assignment
            )
            self._logs.feed.open(name, shares, speed, sizes)

    def add_partitions(self, topic: str, total: int) -> None:
        """Add partitions to a topic, up to `total`. Raises `ValueError` for an unknown topic or too few."""
        known = self.image.topics.get(topic)
        before = 0 if known is None else len(known.partitions)
        with caused_by(self.loop.trace):
            self._logs.controller.add_partitions(topic, total)
            self._logs.feed.grow(topic, [1] * (total - before))

    def delete_topic(self, name: str) -> None:
        """Delete a topic, its data and its committed offsets. Raises `ValueError` for an unknown topic."""
        with caused_by(self.loop.trace):
            self._logs.controller.delete_topic(name)
            self._logs.feed.close(name)

    def alter_group_config(self, group: str, changes: Mapping[str, str | None]) -> None:
        """Set settings of a group, as `kafka-configs --entity-type groups` does; None resets one.

        Raises `ValueError` with Kafka's message for a name or value that the brokers refuse.
        """
        after = {**self.image.groups.get(group, {}), **changes}
        settings = {name: value for name, value in after.items() if value is not None}
        group_rules(self.config).check(settings)
        with caused_by(self.loop.trace):
            self._logs.controller.set_group_config(group, settings)

    def set_rate(self, topic: str, rate: Rate) -> None:
        """Produce `rate` records per second to a topic; 0 stops. Raises `ValueError` for an unknown topic."""
        self._logs.feed.set_rate(topic, as_rate(rate))

    def burst(self, topic: str, records: int) -> None:
        """Produce records at once, distributed by the topic's weights. Raises `ValueError` like `set_rate`."""
        self._logs.feed.burst(topic, records)

    def log(self, topic: str, partition: int, node: int | None = None) -> PartitionLog:
        """Return the log of a partition on a broker (default: its leader), to read, not to change.

        Raises `LookupError` when there is no leader, or no replica on the broker.
        """
        log = self.replicated.log_of(TopicPartition(topic, partition), node)
        if log is None:
            where = "its leader" if node is None else f"broker {node}"
            raise LookupError(f"{topic}-{partition}: no replica on {where}")
        return log

    def log_ends(self, *, internal: bool = False) -> dict[str, list[int]]:
        """Return start, end and high watermark of every partition's log on its leader, for the trace's `log.ends`.

        A partition without a leader is left out; so are internal topics, unless `internal` is set.
        """
        return self._logs.log_ends(internal=internal)

    # --- groups ----------------------------------------------------------------------------------------------

    def coordinator_of(self, group_id: str) -> tuple[int, GroupCoordinator]:
        """Return node and coordinator of a group by the controller's image. Raises `LookupError` without a leader."""
        where = TopicPartition(OFFSETS_TOPIC, partition_for(group_id, self.config.offsets_partitions))
        state = self.image.partition(where)
        if state is None or state.leader == NO_LEADER:
            raise LookupError(f"group {group_id!r}: {where} has no leader")
        return state.leader, self.brokers[state.leader].groups

    def snapshot(self, group: str) -> GroupSnapshot | None:
        """Return the group's state at its coordinator; None without a coordinator or without such a group."""
        try:
            _, coordinator = self.coordinator_of(group)
        except LookupError:
            return None
        return coordinator.snapshot(group)

    def committed_offsets(self, group: str) -> Mapping[TopicPartition, int] | None:
        """Return the group's committed offsets by partition at its coordinator; None without a coordinator."""
        try:
            _, coordinator = self.coordinator_of(group)
        except LookupError:
            return None
        return coordinator.committed_offsets(group)

    def move_coordinator(self, partition: int, to_node: int) -> None:
        """Move the leadership of a partition of `__consumer_offsets`.

        Raises `ValueError` for a broker that is down, or has no replica in sync.
        """
        self._logs.controller.move_leader(TopicPartition(OFFSETS_TOPIC, partition), to_node)

    def fail_appends(self, group_id: str, error: ErrorCode, times: int) -> None:
        """Fail the next appends of a group's coordinator with `error`. Raises `LookupError` without a coordinator."""
        node, _ = self.coordinator_of(group_id)
        self.brokers[node].log.fail_next(partition_for(group_id, self.config.offsets_partitions), error, times)

    def hold_appends(self, partition: int, for_us: int) -> None:
        """Delay every commit in a partition of `__consumer_offsets` for `for_us`."""
        self._logs.hold_appends(partition, for_us)

    def offsets_batches(self, partition: int) -> Sequence[Batch]:
        """Return the batches of a partition of `__consumer_offsets` on its leader."""
        return self._logs.offsets_batches(partition)

    # --- brokers ---------------------------------------------------------------------------------------------

    def crash_broker(self, node: int, *, machine: bool = False) -> None:
        """Kill a broker's process: its connections break. With `machine` its unflushed data is lost, too."""
        broker = self.brokers[node]
        broker.crash(machine=machine)
        self._update_trouble()
        self.network.cut_broker(broker.host.name, "the broker went away")
        self._logs.broker_died(node)

    def restart_broker(self, node: int, config: ClusterConfig | None = None) -> None:
        """Start a broker that crashed or was stopped, as a new incarnation with its old logs.

        With a `config` its coordinators use other settings from now on; logs and replicas keep theirs.
        """
        self.brokers[node].restart(config)
        self._update_trouble()
        self._logs.broker_returned(node)

    def pause_broker(self, node: int) -> None:
        """Pause a broker's process, as in a long garbage collection, until `resume_broker`."""
        self.brokers[node].host.pause()
        self._update_trouble()

    def resume_broker(self, node: int) -> None:
        """Resume a paused broker."""
        self.brokers[node].host.resume()
        self._update_trouble()

    def stop_broker(self, node: int, on_stopped: Callable[[], None] | None = None) -> None:
        """Stop a broker by controlled shutdown; `on_stopped` is called when it is down.

        The broker moves its leaderships first, which takes time. Raises `RuntimeError` when it is stopping already.
        """

        def down() -> None:
            self.crash_broker(node)
            if on_stopped is not None:
                on_stopped()

        self.brokers[node].stop(down)

    def close_files(self) -> None:
        """End the run: running brokers write their checkpoint files, and every file is closed."""
        self._logs.close()

    # --- trouble ---------------------------------------------------------------------------------------------

    def _update_trouble(self) -> None:
        """Schedule long polls by events while no host or link has a fault, and by the clock while one has.

        A dead broker breaks its connections, which consumers notice at once, so the network's polls ignore it.
        """
        trouble = self._had_message_fault or bool(self.network.link_faults.conditions)
        trouble = trouble or any(broker.host.paused for broker in self.brokers.values())
        self.network.set_clocked(trouble)
        trouble = trouble or any(not broker.host.alive for broker in self.brokers.values())
        for broker in self.brokers.values():
            broker.replicas.set_clocked(trouble)

    def _message_fault_began(self) -> None:
        """Schedule long polls by the clock from now on, since a message fault may leave a silent connection behind."""
        self._had_message_fault = True
        self._update_trouble()


class ClusterRoles:
    """The hosts of roles in the cluster; a scenario adds its members' numbers.

    `coordinator` is the broker's host, `leader` the host of the group's leader; members count in order of joining.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def role(self, name: str, group: str | None) -> str | None:
        """See `network.Roles.role`. Raises `ValueError` for an unknown role, or without a group."""
        if name not in ("coordinator", "leader"):
            raise ValueError(f"unknown role {name!r}: choose coordinator or leader")
        if group is None:
            raise ValueError(f"role {name!r}: of which group? Give `group` with it")
        if name == "coordinator":
            return self._coordinator(group)
        snapshot = self._cluster.snapshot(group)
        if snapshot is None or snapshot.leader is None:
            return None
        hosts = [m.client_host for m in snapshot.members if m.member_id == snapshot.leader]
        return hosts[0].removeprefix("/") if hosts else None

    def _coordinator(self, group: str) -> str | None:
        try:
            node, _ = self._cluster.coordinator_of(group)
        except LookupError:
            return None
        return self._cluster.brokers[node].host.name

    def member(self, index: int, group: str | None) -> str | None:
        """See `network.Roles.member`. Raises `ValueError` without a group."""
        if group is None:
            raise ValueError(f"member {index}: of which group? Give `group` with it")
        snapshot = self._cluster.snapshot(group)
        if snapshot is None or not 0 <= index < len(snapshot.members):
            return None
        return snapshot.members[index].client_host.removeprefix("/")
