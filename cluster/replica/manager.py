"""A broker's replicas: the partitions it leads, those it copies, and everybody who waits for one of them.

How an append becomes a committed record, and where to read on:

1. A producer's batch or a coordinator's records come in (`appends.py`) and are appended to the leader's log
   (`leader.py`). With acks=all the request is parked (`purgatory.py`).
2. Every follower has a Fetch parked at the leader (`follower_sessions.py`); the append answers it.
3. The follower appends what it got (`follower.py`), and its loop asks for what comes next (`fetcher.py`).
4. That tells the leader how far the follower is. The lowest of the in-sync replicas is the new high watermark
   (`leader.py`); it answers parked produces, coordinators, and consumers' fetches (`consumers.py`).
5. Followers learn of the high watermark with the next answer, or when their long poll ends.

With two followers an append costs four messages, each one event, and one timer now and then. Nothing here loops over
all partitions, but for what the controller's image has changed.

Followers that lag are taken out of the in-sync replicas, and back in, through the controller (`isr.py`). Who leads
is decided there too; this class carries it out (`apply`): partitions are led, copied or deleted as the image says, in
this order: what is gone, what is led, what is copied; then those who listen for leadership are told.

**What triggers what when nothing happens.** Quiet partitions cost no events: a parked Fetch has no timer unless a
renewal would bring something, or `set_clocked(True)` said that hosts or links are in trouble (`follower_sessions.py`);
lag is only watched where a follower is behind (`isr.py`); high watermarks are checkpointed in retrospect
(`partition.py`); logs are maintained when they need it (`log_maintenance.py`).

**A crash** ends a `Station`, the memory of one life. What is left are the stores; logs are opened anew from them, with
the high watermark that was checkpointed last, when the broker is told its partitions again.

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
from groupsim.cluster.replica.broker_replicas import Alter, Station
from groupsim.cluster.replica.fetcher import Connect, Fetcher
from groupsim.cluster.replica.follower_sessions import Peers
from groupsim.cluster.replica.isr import LagWatch
from groupsim.cluster.replica.leader import Leadership
from groupsim.cluster.replica.log_maintenance import Upkeep
from groupsim.cluster.replica.partition import Hosted
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
Told = list[tuple[list[Listener], TopicPartition, int]]
"""Listeners to be called when all partitions are in place, with what."""
_AT_ONCE = 250
"""Partitions led, copied or deleted in one go: some 20 ms of work on memory."""
_BREATH_US = 1_000
_DONE = object()


def _as_java_goes(told: Told) -> Told:
    """The same, the partitions of a topic in the order of the HashMaps of `LocalReplicaChanges`."""
    ordered: Told = []
    for _, run in groupby(told, key=lambda one: (id(one[0]), one[1].topic)):
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
        station = self._station = Station(self._loop, self._host, self.node, self.config, self._alter)
        station.peers = Peers(station)
        station.lag = LagWatch(station)
        station.upkeep = Upkeep(station)
        station.clocked = self._clocked
        self._fetchers: dict[int, Fetcher] = {}
        self._taking: deque[Iterator[None]] = deque()  # images whose partitions are being taken, oldest first

    # --- what clients and other brokers ask --------------------------------------------------------------------------

    def produce(self, request: ProduceRequest, client_id: str, answer: Callable[[ProduceResponse], None]) -> None:
        """Append a producer's batches; with acks 0 `answer` is called only when something was refused."""
        appends.produce(self._station, request, client_id, answer)

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

        `on_appended` gets the base offset at once, when the leader's log has the records; `done` is called later, as
        an append result: with None when the high watermark has passed them, with an error when they were refused or
        the leadership was lost. Calls for one partition come in the order of the appends. Who gives `on_refused` is
        told of a refusal at once by it, and by `done` no more.

        With `timeout_ms` the append is one with acks=all: refused with too few in-sync replicas, and given up after
        so long (the records stay).
        """
        appends.append(self._station, partition, batches, done, on_appended, on_refused, timeout_ms)

    def fetch(self, request: FetchRequest, answer: Callable[[FetchResponse], None]) -> Callable[[], None]:
        """Answer a Fetch of a follower or a consumer, now or when there is enough.

        Returns what gives a parked one up: to be called when its connection is gone.
        """
        if request.replica_id >= 0:
            return self._station.peers[request.replica_id].fetch(request, answer)
        return consumers.fetch(self._station, request, answer)

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """Where logs begin, end, or reach a point in time."""
        return offsets.list_offsets(self._station, request)

    def epoch_ends(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        """Where leader epochs end."""
        return offsets.epoch_ends(self._station, request)

    def delete_records(self, request: DeleteRecordsRequest, answer: Callable[[DeleteRecordsResponse], None]) -> None:
        """Let logs that are led here begin later; answered when their followers do, too, or in vain in time."""
        deletions.delete_records(self._station, request, answer)

    def log_sizes(self) -> dict[TopicPartition, tuple[int, int]]:
        """Of each log its bytes, and how many offsets it is behind what is committed."""
        return inspection.log_sizes(self._station)

    def producers_of(self, partition: TopicPartition) -> ProducersOf:
        """The producers that the log of a partition led here has in mind."""
        return inspection.producers_of(self._station, partition)

    def log(self, partition: TopicPartition) -> PartitionLog | None:
        """The log of a replica of this broker; None when there is none."""
        hosted = self._station.partitions.get(partition)
        return None if hosted is None else hosted.log

    def leads(self, partition: TopicPartition) -> int | None:
        """The leader epoch at which this broker leads a partition; None when it does not."""
        hosted = self._station.partitions.get(partition)
        return hosted.epoch if hosted is not None and hosted.lead is not None else None

    def set_clocked(self, clocked: bool) -> None:
        """Say whether hosts or links are in trouble anywhere: then long polls go by the clock (`follower_sessions.py`).

        To be called with True before a broker pauses or crashes or a link is harmed, with False when all is well again.
        """
        self._clocked, before = clocked, self._clocked
        if clocked and not before:
            for peer in self._station.peers.values():
                peer.arm()
            for fetcher in self._fetchers.values():
                fetcher.watch()
        self._station.clocked = clocked

    # --- what the controller says ------------------------------------------------------------------------------------

    def apply(self, image: ClusterImage, partitions: Sequence[TopicPartition]) -> None:
        """Lead, copy or delete what has changed in the image. `partitions` may name those of other brokers too.

        Very many are taken in parts, with time between them for what else the broker has to do; an image that comes
        meanwhile waits for its turn.
        """
        self._taking.append(self._take(image, partitions))
        if len(self._taking) == 1:  # else the one before it goes on by itself
            self._take_on(None)

    def _take_on(self, _: object) -> None:
        while self._taking:
            taking = self._taking.popleft()
            if next(taking, _DONE) is not _DONE:
                self._taking.appendleft(taking)
                self._host.call_at(self._loop.now_us + _BREATH_US, self._take_on)
                return

    def _take(self, image: ClusterImage, partitions: Sequence[TopicPartition]) -> Iterator[None]:
        """Take an image, yielding after each part of the work but the last."""
        old, self._station.image = self._station.image, image
        self._reconfigure(old, image)
        told: Told = []
        gone, led, copied = [], [], []
        for name in partitions:
            state = image.partition(name)
            if state is None or self.node not in state.replicas:
                gone.append(name)
            elif state.leader == self.node:
                led.append((self._lead, name, state))
            else:
                copied.append((self._copy, name, state))
        for number, name in enumerate(gone, 1):
            self._delete(name, told)
            if number % _AT_ONCE == 0:
                yield
        for number, (take, name, state) in enumerate(chain(led, copied), 1):
            self._try(take, image.topics[name.topic], name, state, told)
            if number % _AT_ONCE == 0:
                yield
        self._start_fetchers()
        for listeners, name, epoch in _as_java_goes(told):
            for listener in listeners:
                listener(name, epoch)

    def _try(
        self, take: Callable[..., None], topic: TopicState, name: TopicPartition, state: PartitionState, told: Told
    ) -> None:
        """Lead or copy; a partition whose log cannot be opened is offline until an image names it again.

        Source: `HostedPartition.Offline`.
        """
        try:
            take(topic, name, state, told)
            self._station.offline.discard(name)
        except OSError as error:
            self._station.offline.add(name)
            self._station.storage_failed(name, error)

    def set_defaults(self, log: LogConfig) -> None:
        """What holds for topics that say nothing themselves has changed while the broker ran."""
        self.config = evolve(self.config, log=log)
        topics = self._station.image.topics
        for name, hosted in self._station.partitions.items():
            if name.topic in topics:
                self._configure(hosted, topics[name.topic])

    def _configure(self, hosted: Hosted, topic: TopicState) -> None:
        hosted.log.config = self._config_of(topic)
        self._station.upkeep.look(hosted)

    def _reconfigure(self, old: ClusterImage, image: ClusterImage) -> None:
        """Settings of topics may have changed."""
        changed = {
            name
            for name, topic in image.topics.items()
            if name in old.topics and old.topics[name] is not topic and old.topics[name].config != topic.config
        }
        if not changed:
            return
        for name, hosted in self._station.partitions.items():
            if name.topic in changed:
                self._configure(hosted, image.topics[name.topic])

    def _hosted(self, topic: TopicState, name: TopicPartition) -> Hosted:
        """The replica, its log opened if need be; a log of an earlier topic of this name is dropped."""
        hosted = self._station.partitions.get(name)
        if hosted is not None and hosted.topic_id == topic.topic_id:
            return hosted
        if hosted is not None:
            self._remove(hosted)
        store = self._store(topic, name)
        log = PartitionLog(store, self._config_of(topic), now_ms=self._station.now_ms, emit=self._station.note_of(name))
        hosted = Hosted(self._station, name, topic.topic_id, log, internal=topic.internal)
        self._station.partitions[name] = hosted
        self._station.upkeep.look(hosted)
        return hosted

    def _config_of(self, topic: TopicState) -> LogConfig:
        """What holds for a topic's logs: one object for all partitions of the topic that an image changes together."""
        said, defaults, config = self._last_config
        if said is not topic.config or defaults is not self.config.log:
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

    def _lead(
        self,
        topic: TopicState,
        name: TopicPartition,
        state: PartitionState,
        told: Told,
    ) -> None:
        hosted = self._hosted(topic, name)
        if state.partition_epoch < hosted.partition_epoch:
            return
        self._stop_copying(hosted)
        lead = hosted.lead
        if lead is None:
            lead = hosted.lead = Leadership(hosted)
        hosted.leader, hosted.epoch, hosted.partition_epoch = self.node, state.leader_epoch, state.partition_epoch
        is_new = lead.take(state)
        if lead.advance():
            lead.passed()
        if is_new:
            hosted.poke()
            told.append((self.on_leading, name, state.leader_epoch))

    def _copy(
        self,
        topic: TopicState,
        name: TopicPartition,
        state: PartitionState,
        told: Told,
    ) -> None:
        hosted = self._hosted(topic, name)
        if state.partition_epoch < hosted.partition_epoch:
            return
        is_new = state.leader_epoch > hosted.epoch
        if is_new or state.leader != hosted.leader:
            self._stop_copying(hosted)
        hosted.leader, hosted.epoch, hosted.partition_epoch = state.leader, state.leader_epoch, state.partition_epoch
        self._resign(hosted, told)
        if is_new and state.leader >= 0:
            self._fetcher(state.leader).add(hosted)
        if is_new:
            hosted.poke()

    def _resign(self, hosted: Hosted, told: Told) -> None:
        lead, hosted.lead = hosted.lead, None
        if lead is not None:
            lead.end()
            told.append((self.on_not_leading, hosted.name, hosted.epoch))

    def _delete(self, name: TopicPartition, told: Told) -> None:
        """The topic is gone, or this broker keeps no replica of the partition any more."""
        hosted = self._station.partitions.pop(name, None)
        self._station.offline.discard(name)
        if hosted is not None:
            self._stop_copying(hosted)
            self._resign(hosted, told)
            hosted.poke()
        kept = self._disk.pop(name, None)
        if kept is not None:
            self._discard(kept[1])

    def _discard(self, store: SegmentStore) -> None:
        store.delete(self.config.log.file_delete_delay_ms)

    def _remove(self, hosted: Hosted) -> None:
        self._delete(hosted.name, [])

    # --- copying -----------------------------------------------------------------------------------------------------

    def _fetcher(self, leader: int) -> Fetcher:
        fetcher = self._fetchers.get(leader)
        if fetcher is None:
            fetcher = self._fetchers[leader] = Fetcher(self._station, leader, self._connect)
        return fetcher

    def _stop_copying(self, hosted: Hosted) -> None:
        fetcher = self._fetchers.get(hosted.leader)
        if fetcher is not None:
            fetcher.remove(hosted.name)

    def _start_fetchers(self) -> None:
        """Let loops with something new go on, and end those with nothing left."""
        for leader, fetcher in tuple(self._fetchers.items()):
            if fetcher.is_idle:
                fetcher.close()
                del self._fetchers[leader]
            else:
                fetcher.go()

    # --- crash and start ---------------------------------------------------------------------------------------------

    def crash(self, *, machine: bool) -> None:
        """The process is gone, or the machine with it: stores stay, as far as they survive that; the rest is forgotten.

        To be called after the host crashed, or before; nobody who waits is told anything.
        """
        for fetcher in self._fetchers.values():
            fetcher.close()
        for hosted in self._station.partitions.values():
            hosted.keep_high_watermark(now=False)
            hosted.log.crash(machine=machine)
        self._begin()

    def shut_down(self) -> None:
        """A clean stop: high watermarks are checkpointed as they are, logs are flushed."""
        for fetcher in self._fetchers.values():
            fetcher.close()
        for hosted in self._station.partitions.values():
            hosted.keep_high_watermark(now=True)
            hosted.log.flush()
        self._begin()

    def start(self) -> None:
        """The broker is back: its partitions come with the next `apply`, which must name all of them."""
        self._begin()
