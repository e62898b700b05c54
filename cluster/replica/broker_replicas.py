"""The state that the modules of a broker's replicas share: the loop, the settings, the image, the partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groupsim.cluster.replica.purgatory import Deadlines
from groupsim.eventloop.interface import EventLoop, Host
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import ClusterImage, IsrChange, PartitionState
from groupsim.protocol.messages.data import NO_LEADER_EPOCH, LeaderIs

if TYPE_CHECKING:
    from groupsim.cluster.config.replica import ReplicaConfig
    from groupsim.cluster.replica.follower_sessions import FollowerSession
    from groupsim.cluster.replica.isr import LagWatch
    from groupsim.cluster.replica.log_maintenance import LogMaintenance
    from groupsim.cluster.replica.partition import HostedPartition

_NONE = ErrorCode.NONE  # looked up once: access to a member of an enumeration is slow, and every message needs it
Alter = Callable[[IsrChange, Callable[[ErrorCode, PartitionState | None], None]], None]


class BrokerReplicas:
    """The in-memory state of a broker's replicas from a start to the next crash."""

    __slots__ = (
        "alter",
        "began_us",
        "clocked",
        "config",
        "deadlines",
        "host",
        "image",
        "lag",
        "loop",
        "maintenance",
        "node",
        "offline",
        "partitions",
        "peers",
        "reported_failures",
        "trace",
    )

    lag: LagWatch
    maintenance: LogMaintenance

    def __init__(self, loop: EventLoop, host: Host, node: int, config: ReplicaConfig, alter: Alter) -> None:
        self.loop = loop
        self.host = host
        self.node = node
        self.config = config
        self.alter = alter
        self.trace = loop.trace
        self.image = ClusterImage()
        self.deadlines = Deadlines(loop, host)
        self.partitions: dict[TopicPartition, HostedPartition] = {}
        self.offline: set[TopicPartition] = set()  # the log cannot be opened
        self.reported_failures: set[tuple[TopicPartition, int | None]] = set()  # already emitted by storage_failed
        self.peers: dict[int, FollowerSession] = {}
        self.clocked = False
        self.began_us = loop.now_us

    @property
    def now_ms(self) -> int:
        """The current time as a record timestamp in ms."""
        return EPOCH_MS + self.loop.now_us // 1_000

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration in its image; -1 if the image has none."""
        broker = self.image.brokers.get(self.node)
        return -1 if broker is None else broker.epoch

    def next_boundary_us(self, every_us: int) -> int:
        """Return the next instant of a task that Kafka repeats from the broker's start on."""
        passed = (self.loop.now_us - self.began_us) // every_us
        return self.began_us + (passed + 1) * every_us

    def refusal(self, partition: TopicPartition, epoch: int, *, leader_only: bool) -> ErrorCode:
        """Return the error that refuses a request for a partition, or NONE.

        Source: `ReplicaManager.getPartitionOrError`, `Partition.getLocalLog`.
        """
        hosted = self.partitions.get(partition)
        if hosted is None:
            if partition in self.offline:
                return ErrorCode.KAFKA_STORAGE_ERROR
            known = self.image.partition(partition) is not None
            return ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if epoch != NO_LEADER_EPOCH and epoch != hosted.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH if epoch < hosted.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        if leader_only and hosted.lead is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _NONE

    def storage_failed(self, partition: TopicPartition, error: OSError) -> None:
        """Emit one warning per reason about a failed log; raise the error if `storage_failure_ends_run` is set."""
        if self.config.storage_failure_ends_run:
            raise error
        if (partition, error.errno) in self.reported_failures:
            return
        self.reported_failures.add((partition, error.errno))
        where = f" ({error.filename})" if error.filename else ""
        reason = f"{partition} has no storage: {error.strerror or error}{where}"
        self.host.call_at(self.loop.now_us, self._warn, (partition, reason))  # the trace may be muted now

    def _warn(self, failure: tuple[TopicPartition, str]) -> None:
        (topic, number), reason = failure
        self.trace.emit(Kind.WARNING, host=self.host.name, topic=topic, partition=number, reason=reason)

    def leader_of(self, partition: TopicPartition) -> LeaderIs | None:
        """Return the leader known to this broker, which refusals carry (KIP-951)."""
        hosted = self.partitions.get(partition)
        if hosted is not None:
            return LeaderIs(hosted.leader, hosted.epoch)
        state = self.image.partition(partition)
        return None if state is None else LeaderIs(state.leader, state.leader_epoch)

    def event_emitter(self, partition: TopicPartition) -> Callable[[Kind, str, dict[str, object]], None]:
        """Return the function with which a partition's log emits its events."""

        def emit(kind: Kind, reason: str, payload: dict[str, object]) -> None:
            topic, number = partition
            self.trace.emit(kind, host=self.host.name, topic=topic, partition=number, reason=reason, payload=payload)

        return emit
