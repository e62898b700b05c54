"""What the modules of one broker's replicas share: the loop, the settings, what the broker believes, its partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groupsim.cluster.replica.purgatory import Lanes
from groupsim.eventloop.interface import EventLoop, Host
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import ClusterImage, IsrChange, PartitionState
from groupsim.protocol.messages.data import NO_LEADER_EPOCH, LeaderIs

if TYPE_CHECKING:
    from groupsim.cluster.config.replica import ReplicaConfig
    from groupsim.cluster.replica.follower_sessions import Peer
    from groupsim.cluster.replica.isr import LagWatch
    from groupsim.cluster.replica.log_maintenance import Upkeep
    from groupsim.cluster.replica.partition import Hosted

_NONE = ErrorCode.NONE  # members of an enumeration are found slowly, and this is asked of every message
Alter = Callable[[IsrChange, Callable[[ErrorCode, PartitionState | None], None]], None]


class Station:
    """One life of a broker's replicas, in memory. A crash ends it; the start begins a new one."""

    __slots__ = (
        "ailing",
        "alter",
        "began_us",
        "clocked",
        "config",
        "host",
        "image",
        "lag",
        "lanes",
        "loop",
        "node",
        "offline",
        "partitions",
        "peers",
        "trace",
        "upkeep",
    )

    lag: LagWatch
    upkeep: Upkeep

    def __init__(self, loop: EventLoop, host: Host, node: int, config: ReplicaConfig, alter: Alter) -> None:
        self.loop = loop
        self.host = host
        self.node = node
        self.config = config
        self.alter = alter
        self.trace = loop.trace
        self.image = ClusterImage()
        self.lanes = Lanes(loop, host)
        self.partitions: dict[TopicPartition, Hosted] = {}
        self.offline: set[TopicPartition] = set()  # whose log cannot be opened
        self.ailing: set[tuple[TopicPartition, int | None]] = set()  # what storage_failed has told
        self.peers: dict[int, Peer] = {}
        self.clocked = False
        self.began_us = loop.now_us

    @property
    def now_ms(self) -> int:
        """The timestamp of this instant, as logs want it (`batch.timestamp_ms`)."""
        return EPOCH_MS + self.loop.now_us // 1_000

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration, as far as it knows; -1 before it has heard of it."""
        broker = self.image.brokers.get(self.node)
        return -1 if broker is None else broker.epoch

    def next_boundary_us(self, every_us: int) -> int:
        """The next tick of something that Kafka does periodically from the broker's start on."""
        passed = (self.loop.now_us - self.began_us) // every_us
        return self.began_us + (passed + 1) * every_us

    def refusal(self, partition: TopicPartition, epoch: int, *, leader_only: bool) -> ErrorCode:
        """Why a request for a partition is refused, NONE when it is not.

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
        """Warn, once for each reason, that a log cannot be opened, read or written; raise it where it ends the run."""
        if self.config.storage_failure_ends_run:
            raise error
        if (partition, error.errno) in self.ailing:
            return
        self.ailing.add((partition, error.errno))
        where = f" ({error.filename})" if error.filename else ""
        reason = f"{partition} has no storage: {error.strerror or error}{where}"
        self.host.call_at(self.loop.now_us, self._warn, (partition, reason))  # not while the trace is mute

    def _warn(self, said: tuple[TopicPartition, str]) -> None:
        (topic, number), reason = said
        self.trace.emit(Kind.WARNING, host=self.host.name, topic=topic, partition=number, reason=reason)

    def leader_of(self, partition: TopicPartition) -> LeaderIs | None:
        """Who leads, as this broker knows it: told with a refusal (KIP-951)."""
        hosted = self.partitions.get(partition)
        if hosted is not None:
            return LeaderIs(hosted.leader, hosted.epoch)
        state = self.image.partition(partition)
        return None if state is None else LeaderIs(state.leader, state.leader_epoch)

    def note_of(self, partition: TopicPartition) -> Callable[[Kind, str, dict[str, object]], None]:
        """How the log of a partition tells the trace of what it does."""

        def note(kind: Kind, reason: str, payload: dict[str, object]) -> None:
            topic, number = partition
            self.trace.emit(kind, host=self.host.name, topic=topic, partition=number, reason=reason, payload=payload)

        return note
