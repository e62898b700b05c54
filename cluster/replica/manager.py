"""A broker's replicas: the partitions it leads, those it replicates, and the requests parked on them.

From an append to a committed record:

1. A producer's batch or a coordinator's records (`appends.py`) are appended to the leader's log (`leader.py`). With
   acks=all the request is parked (`purgatory.py`).
2. Every follower has a Fetch parked at the leader (`follower_sessions.py`); the append answers it.
3. The follower appends the records (`follower.py`), and its loop sends the next Fetch (`fetcher.py`).
4. The offset of that Fetch is the follower's end offset. The lowest end offset of the in-sync replicas is the new high
   watermark (`leader.py`), which completes parked produces, coordinators' appends and consumers' fetches
   (`consumers.py`).
5. Followers get the high watermark with the next response, or at the end of their long poll.

With two followers an append costs four messages, each one event, and sometimes a timer. No loop visits all partitions;
only changed partitions of an image are visited.

Followers leave and join the in-sync replicas through the controller (`isr.py`). The controller also elects leaders;
this class applies its image (`apply`): first it deletes replicas, then it makes leaders, then followers; last it calls
the listeners for leadership.

**Quiet partitions cost no events.** A parked Fetch has a timer only if a new Fetch would change something, or a host or
link has a fault (`set_clocked`, `follower_sessions.py`). Lag is checked only while a follower is behind (`isr.py`).
High watermarks are checkpointed in retrospect (`partition.py`). Logs are maintained when it is due
(`log_maintenance.py`).

**A crash** ends a `BrokerReplicas`, the state in memory. The stores remain; logs are opened from them again, with the
last checkpointed high watermark, when the first image after the start names their partitions.

Left out: future replicas (moves between disks), quotas and throttling, tiered storage, share fetches.

Source: `ReplicaManager`, `Partition`, `ReplicaFetcherManager`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby

from attrs import evolve

from groupsim.cluster.config.log import LogConfig, topic_config
from groupsim.cluster.config.replica import ReplicaConfig
from groupsim.cluster.log.interfaces import SegmentStore
from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.replica import appends, consumers, deletions, inspection, offsets
from groupsim.cluster.replica.broker_replicas import Alter, BrokerReplicas
from groupsim.cluster.replica.fetcher import Connect, Fetcher
from groupsim.cluster.replica.follower_sessions import FollowerSessions
from groupsim.cluster.replica.isr import LagWatch
from groupsim.cluster.replica.leader import Leadership
from groupsim.cluster.replica.log_maintenance import LogMaintenance
from groupsim.cluster.replica.partition import HostedPartition
from groupsim.eventloop.interface import EventLoop, Host
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import JavaHashMap
from groupsim.protocol.messages.cluster import ClusterImage, PartitionState, TopicState
from groupsim.protocol.messages.data import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProduceRequest,
    ProduceResponse,
)
from groupsim.protocol.messages.operator import DeleteRecordsRequest, DeleteRecordsResponse, ProducersOf

Listener = Callable[[TopicPartition, int], None]
Notifications = list[tuple[list[Listener], TopicPartition, int]]
"""Listeners to be called when all partitions of an image are applied, with their arguments."""
_PER_STEP = 250
"""Partitions applied in one step: some 20 ms of work on logs in memory."""
_PAUSE_US = 1_000
_DONE = object()


def _in_java_order(notifications: Notifications) -> Notifications:
    """Sort each topic's partitions in the order of the HashMaps of Kafka's `LocalReplicaChanges`."""
    ordered: Notifications = []
    for _, run in groupby(notifications, key=lambda one: (id(one[0]), one[1].topic)):
        ordered += JavaHashMap((one[1], one) for one in run).values()
    return ordered


class ReplicaManager:
    """All replicas of one broker. `on_leading` and `on_not_leading` are called with partition and leader epoch."""

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        node: int,
        rack: str | None,
        config: ReplicaConfig,
        open_store: Callable[[TopicPartition], SegmentStore],
        connect: Connect,
        alter: Alter,
    ) -> None:
        self._loop = loop
        self._host = host
        self.node = node
        self.rack = rack
        self.config = config
        self._open_store = open_store
        self._connect = connect
        self._alter = alter
        self.on_leading: list[Listener] = []
        self.on_not_leading: list[Listener] = []
        self._disk: dict[TopicPartition, tuple[str, SegmentStore]] = {}
        self._clocked = False
        nothing: Mapping[str, str] = {}
        self._last_config = nothing, config.log, config.log
        self._begin()

    def _begin(self) -> None:
        local = self._local = BrokerReplicas(self._loop, self._host, self.node, self.config, self._alter)
        local.peers = FollowerSessions(local)
        local.lag = LagWatch(local)
        local.maintenance = LogMaintenance(local)
        local.clocked = self._clocked
        self._fetchers: dict[int, Fetcher] = {}
        self._applying: deque[Iterator[None]] = deque()  # images being applied, oldest first

    # --- requests of clients and brokers -----------------------------------------------------------------------------

    def produce(self, request: ProduceRequest, client_id: str, answer: Callable[[ProduceResponse], None]) -> None:
        """Append a producer's batches; with acks 0 `answer` is called only if a batch was refused."""
        appends.produce(self._local, request, client_id, answer)

    def append(
        self,
        partition: TopicPartition,
        batches: Sequence[Batch],
        done: Callable[[ErrorCode | None], None],
        *,
        on_appended: Callable[[int], None] | None = None,
        on_refused: Callable[[ErrorCode], None] | None = None,
        timeout_ms: int | None = None,
    ) -> None:
        """Append for a coordinator of this broker.

        `on_appended` is called at once with the base offset. `done` is called later, as an append result: with None
        when the high watermark has passed the records, with an error when they were refused or the leadership was lost.
        Calls for one partition come in the order of the appends. If `on_refused` is given, it is called at once for a
        refusal, in place of `done`.

        With `timeout_ms` the append is like acks=all: it is refused with too few in-sync replicas, and fails with
        REQUEST_TIMED_OUT after that time (the records stay).
        """
        appends.append(self._local, partition, batches, done, on_appended, on_refused, timeout_ms)

    def fetch(self, request: FetchRequest, answer: Callable[[FetchResponse], None]) -> Callable[[], None]:
        """Answer a Fetch of a follower or a consumer, now or when enough bytes are there.

        Returns the function that gives up a parked Fetch, for a lost connection.
        """
        if request.replica_id >= 0:
            return self._local.peers[request.replica_id].fetch(request, answer)
        return consumers.fetch(self._local, request, answer)

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """Answer a ListOffsets."""
        return offsets.list_offsets(self._local, request)

    def epoch_ends(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        """Answer an OffsetForLeaderEpoch."""
        return offsets.epoch_ends(self._local, request)

    def delete_records(self, request: DeleteRecordsRequest, answer: Callable[[DeleteRecordsResponse], None]) -> None:
        """Handle a DeleteRecords; answered when the followers have done it too, or at its timeout."""
        deletions.delete_records(self._local, request, answer)

    def log_sizes(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return the bytes of each log, and its lag behind the high watermark."""
        return inspection.log_sizes(self._local)

    def producers_of(self, partition: TopicPartition) -> ProducersOf:
        """Return the producers in the log of a partition."""
        return inspection.producers_of(self._local, partition)

    def log(self, partition: TopicPartition) -> PartitionLog | None:
        """Return the log of a replica of this broker; None if it has none."""
        hosted = self._local.partitions.get(partition)
        return None if hosted is None else hosted.log

    def leads(self, partition: TopicPartition) -> int | None:
        """Return the leader epoch at which this broker leads a partition; None if it does not."""
        hosted = self._local.partitions.get(partition)
        return hosted.epoch if hosted is not None and hosted.lead is not None else None

    def set_clocked(self, clocked: bool) -> None:
        """Set whether a host or link has a fault; then long polls have timers (`follower_sessions.py`).

        Called with True before a broker pauses or crashes or a link gets a fault, with False after the last fault ends.
        """
        self._clocked, before = clocked, self._clocked
        if clocked and not before:
            for peer in self._local.peers.values():
                peer.arm()
            for fetcher in self._fetchers.values():
                fetcher.watch()
        self._local.clocked = clocked

    # --- images of the controller ------------------------------------------------------------------------------------

    def apply(self, image: ClusterImage, partitions: Sequence[TopicPartition]) -> None:
        """Apply the changed partitions of an image; `partitions` may name those of other brokers too.

        Many partitions are applied in steps, with pauses for the broker's other work; a newer image waits for the
        older one.
        """
        self._applying.append(self._apply_image(image, partitions))
        if len(self._applying) == 1:  # otherwise the older image continues by its own timer
            self._continue(None)

    def _continue(self, _: object) -> None:
        while self._applying:
            steps = self._applying.popleft()
            if next(steps, _DONE) is not _DONE:
                self._applying.appendleft(steps)
                self._host.call_at(self._loop.now_us + _PAUSE_US, self._continue)
                return

    def _apply_image(self, image: ClusterImage, partitions: Sequence[TopicPartition]) -> Iterator[None]:
        """Apply an image; yield after each step but the last."""
        old, self._local.image = self._local.image, image
        self._reconfigure(old, image)
        notifications: Notifications = []
        removed, led, followed = [], [], []
        for name in partitions:
            state = image.partition(name)
            if state is None or self.node not in state.replicas:
                removed.append(name)
            elif state.leader == self.node:
                led.append((self._make_leader, name, state))
            else:
                followed.append((self._make_follower, name, state))
        for number, name in enumerate(removed, 1):
            self._delete(name, notifications)
            if number % _PER_STEP == 0:
                yield
        for number, (make, name, state) in enumerate(chain(led, followed), 1):
            self._try(make, image.topics[name.topic], name, state, notifications)
            if number % _PER_STEP == 0:
                yield
        self._start_fetchers()
        for listeners, name, epoch in _in_java_order(notifications):
            for listener in listeners:
                listener(name, epoch)

    def _try(
        self,
        make: Callable[..., None],
        topic: TopicState,
        name: TopicPartition,
        state: PartitionState,
        notifications: Notifications,
    ) -> None:
        """Make a leader or follower; if its log cannot be opened, it is offline until an image names it again.

        Source: `HostedPartition.Offline`.
        """
        try:
            make(topic, name, state, notifications)
            self._local.offline.discard(name)
        except OSError as error:
            self._local.offline.add(name)
            self._local.storage_failed(name, error)

    def set_defaults(self, log: LogConfig) -> None:
        """Change the defaults of topics' settings while the broker runs."""
        self.config = evolve(self.config, log=log)
        topics = self._local.image.topics
        for name, hosted in self._local.partitions.items():
            if name.topic in topics:
                self._configure(hosted, topics[name.topic])

    def _configure(self, hosted: HostedPartition, topic: TopicState) -> None:
        hosted.log.config = self._config_of(topic)
        self._local.maintenance.schedule(hosted)

    def _reconfigure(self, old: ClusterImage, image: ClusterImage) -> None:
        """Configure the logs of topics whose settings differ between two images."""
        changed = {
            name
            for name, topic in image.topics.items()
            if name in old.topics and old.topics[name] is not topic and old.topics[name].config != topic.config
        }
        if not changed:
            return
        for name, hosted in self._local.partitions.items():
            if name.topic in changed:
                self._configure(hosted, image.topics[name.topic])

    def _get_or_open(self, topic: TopicState, name: TopicPartition) -> HostedPartition:
        """Return the replica, with its log opened; a log of an earlier topic of this name is deleted."""
        hosted = self._local.partitions.get(name)
        if hosted is not None and hosted.topic_id == topic.topic_id:
            return hosted
        if hosted is not None:
            self._remove(hosted)
        store = self._store(topic, name)
        log = PartitionLog(
            store, self._config_of(topic), now_ms=self._local.now_ms, emit=self._local.event_emitter(name)
        )
        hosted = HostedPartition(self._local, name, topic.topic_id, log, internal=topic.internal)
        self._local.partitions[name] = hosted
        self._local.maintenance.schedule(hosted)
        return hosted

    def _config_of(self, topic: TopicState) -> LogConfig:
        """Return the settings of a topic's logs; the last result is reused for the topic's other partitions."""
        topic_settings, defaults, config = self._last_config
        if topic_settings is not topic.config or defaults is not self.config.log:
            config = topic_config(topic.config, self.config.log)
            self._last_config = topic.config, self.config.log, config
        return config

    def _store(self, topic: TopicState, name: TopicPartition) -> SegmentStore:
        kept = self._disk.get(name)
        if kept is not None and kept[0] != topic.topic_id:
            self._discard(kept[1])
            kept = None
        if kept is None:
            kept = self._disk[name] = (topic.topic_id, self._open_store(name))
        return kept[1]

    def _make_leader(
        self, topic: TopicState, name: TopicPartition, state: PartitionState, notifications: Notifications
    ) -> None:
        hosted = self._get_or_open(topic, name)
        if state.partition_epoch < hosted.partition_epoch:
            return
        self._stop_fetching(hosted)
        lead = hosted.lead
        if lead is None:
            lead = hosted.lead = Leadership(hosted)
        hosted.leader, hosted.epoch, hosted.partition_epoch = self.node, state.leader_epoch, state.partition_epoch
        is_new = lead.apply(state)
        if lead.advance():
            lead.high_watermark_moved()
        if is_new:
            hosted.check_waiting()
            notifications.append((self.on_leading, name, state.leader_epoch))

    def _make_follower(
        self, topic: TopicState, name: TopicPartition, state: PartitionState, notifications: Notifications
    ) -> None:
        hosted = self._get_or_open(topic, name)
        if state.partition_epoch < hosted.partition_epoch:
            return
        is_new = state.leader_epoch > hosted.epoch
        if is_new or state.leader != hosted.leader:
            self._stop_fetching(hosted)
        hosted.leader, hosted.epoch, hosted.partition_epoch = state.leader, state.leader_epoch, state.partition_epoch
        self._resign(hosted, notifications)
        if is_new and state.leader >= 0:
            self._fetcher(state.leader).add(hosted)
        if is_new:
            hosted.check_waiting()

    def _resign(self, hosted: HostedPartition, notifications: Notifications) -> None:
        lead, hosted.lead = hosted.lead, None
        if lead is not None:
            lead.end()
            notifications.append((self.on_not_leading, hosted.name, hosted.epoch))

    def _delete(self, name: TopicPartition, notifications: Notifications) -> None:
        """Delete a replica: its topic was deleted, or the partition has moved to other brokers."""
        hosted = self._local.partitions.pop(name, None)
        self._local.offline.discard(name)
        if hosted is not None:
            self._stop_fetching(hosted)
            self._resign(hosted, notifications)
            hosted.check_waiting()
        kept = self._disk.pop(name, None)
        if kept is not None:
            self._discard(kept[1])

    def _discard(self, store: SegmentStore) -> None:
        store.delete(self.config.log.file_delete_delay_ms)

    def _remove(self, hosted: HostedPartition) -> None:
        self._delete(hosted.name, [])

    # --- replication -------------------------------------------------------------------------------------------------

    def _fetcher(self, leader: int) -> Fetcher:
        fetcher = self._fetchers.get(leader)
        if fetcher is None:
            fetcher = self._fetchers[leader] = Fetcher(self._local, leader, self._connect)
        return fetcher

    def _stop_fetching(self, hosted: HostedPartition) -> None:
        fetcher = self._fetchers.get(hosted.leader)
        if fetcher is not None:
            fetcher.remove(hosted.name)

    def _start_fetchers(self) -> None:
        """Continue the loops with new partitions, and close those without partitions."""
        for leader, fetcher in tuple(self._fetchers.items()):
            if fetcher.is_idle:
                fetcher.close()
                del self._fetchers[leader]
            else:
                fetcher.go()

    # --- crash and start ---------------------------------------------------------------------------------------------

    def crash(self, *, machine: bool) -> None:
        """Drop the state in memory after a crash of the process or the machine; stores keep their durable part.

        Called before or after the host's crash; parked requests are not answered.
        """
        for fetcher in self._fetchers.values():
            fetcher.close()
        for hosted in self._local.partitions.values():
            hosted.checkpoint_high_watermark(now=False)
            hosted.log.crash(machine=machine)
        self._begin()

    def shut_down(self) -> None:
        """Stop cleanly: checkpoint the current high watermarks and flush the logs."""
        for fetcher in self._fetchers.values():
            fetcher.close()
        for hosted in self._local.partitions.values():
            hosted.checkpoint_high_watermark(now=True)
            hosted.log.flush()
        self._begin()

    def start(self) -> None:
        """Start again; the next `apply` must name all partitions."""
        self._begin()
