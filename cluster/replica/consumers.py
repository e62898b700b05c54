"""Fetches of consumers: what a replica shows them, where else they might read, and how long they wait.

A consumer sees records below the high watermark, or below the last stable offset if it reads committed transactions
only. Any replica may serve it (KIP-392), each up to its own high watermark; the leader alone tells a consumer that
names its rack of a better replica to read from. An offset above what may be seen, but within the log, yields nothing;
outside the log it is OFFSET_OUT_OF_RANGE.

A fetch that finds less than `min_bytes` waits until the high watermark has moved far enough, or into another segment
of one of its logs, `max_wait_ms` at most. One that is `renewed` has no timer, so a quiet consumer costs nothing.

Source: `ReplicaManager.fetchMessages`, `readFromLog`, `findPreferredReadReplica`, `DelayedFetch`,
`RackAwareReplicaSelector`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groupsim.cluster.config.replica import RACK_AWARE
from groupsim.cluster.log.log import OffsetOutOfRange
from groupsim.cluster.log.reading import segment_base
from groupsim.cluster.replica.broker_replicas import Station
from groupsim.cluster.replica.leader import Leadership
from groupsim.cluster.replica.partition import Hosted
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    NO_LEADER_EPOCH,
    READ_COMMITTED,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

_NONE = ErrorCode.NONE  # members of an enumeration are found slowly, and this is asked of every message
FROM_FOLLOWERS_SINCE = 11
"""The version of Fetch from which consumers may read from followers."""


class ParkedFetch:
    """A consumer's fetch that waits for bytes, on the list of each of its partitions."""

    __slots__ = ("_answer", "_available", "_cause", "_enough", "_request", "_segments", "_station", "_watched", "done")

    def __init__(self, station: Station, request: FetchRequest, answer: Callable[[FetchResponse], None]) -> None:
        self._station = station
        self._request = request
        self._answer = answer
        self._cause = station.trace.cause
        self._watched: dict[Hosted, FetchPartition] = {}
        self._available: dict[Hosted, int] = {}
        self._segments: dict[Hosted, int] = {}  # where each is asked for, when it was
        self._enough = max(request.min_bytes, 1)
        self.done = False

    def park(self) -> None:
        """Wait, unless something is amiss already."""
        partitions = self._station.partitions
        self._watch([partitions[asked.partition] for asked in self._request.partitions])
        for hosted in tuple(self._watched):
            if not self.done:
                self.look_at(hosted)
        if not self.done:
            self._set_limit()

    def wait(self, replicas: Sequence[Hosted]) -> None:
        """Wait for the replicas of the partitions asked for, none of which has anything now."""
        self._watch(replicas)
        self._set_limit()

    def _watch(self, replicas: Sequence[Hosted]) -> None:
        for hosted, asked in zip(replicas, self._request.partitions, strict=True):
            self._watched[hosted] = asked
            if self._enough > 1:
                self._segments[hosted] = segment_base(hosted.log.store.segments, asked.fetch_offset)
            hosted.waiting[self] = None

    def _set_limit(self) -> None:
        if not self._request.renewed:
            self._station.lanes.add(self._request.max_wait_ms * 1_000, self)

    def look_at(self, hosted: Hosted) -> None:
        """Something changed in one of its partitions: is that enough?"""
        asked, request, log = self._watched[hosted], self._request, hosted.log
        if _refusal(self._station, request, asked):
            self.expire()
            return
        limit = log.last_stable_offset if request.isolation_level == READ_COMMITTED else log.high_watermark
        if asked.fetch_offset > limit:
            self.expire()  # the log was cut: the consumer has to know
        elif asked.fetch_offset < limit:
            if self._enough == 1:
                if asked.max_bytes > 0:
                    self.expire()
                return
            if segment_base(log.store.segments, limit - 1) > self._segments[hosted]:
                self.expire()  # what lies behind a roll is the next fetch's: this one has all that it can get
                return
            size = log.bytes_between(asked.fetch_offset, limit)
            self._available[hosted] = min(size, asked.max_bytes)
            if sum(self._available.values()) >= self._enough:
                self.expire()

    def expire(self) -> None:
        """Answer with what there is."""
        self.give_up()
        trace = self._station.trace
        before, trace.cause = trace.cause, self._cause
        self._answer(FetchResponse(_NONE, tuple(read_all(self._station, self._request))))
        trace.cause = before

    def give_up(self) -> None:
        """Wait no longer; nobody is answered."""
        self.done = True
        for hosted in self._watched:
            hosted.waiting.pop(self, None)


def fetch(station: Station, request: FetchRequest, answer: Callable[[FetchResponse], None]) -> Callable[[], None]:
    """Answer a consumer's fetch, or park it; returns what gives it up."""
    ended = _all_ended(station, request)
    if ended:
        parked = ParkedFetch(station, request, answer)
        parked.wait(ended)
        return parked.give_up
    found = read_all(station, request)
    if request.max_wait_ms == 0 or not found or _is_enough(request, found):
        answer(FetchResponse(_NONE, tuple(found)))
        return _nothing
    parked = ParkedFetch(station, request, answer)
    parked.park()
    return parked.give_up


def _all_ended(station: Station, request: FetchRequest) -> list[Hosted]:
    """The replicas, when each is asked for just the end of what may be seen of it, as most fetches do; else none.

    Such a fetch has to wait; reading all of it would come to that as well.
    """
    ended: list[Hosted] = []
    if request.max_wait_ms == 0 or request.min_bytes <= 0 or request.rack_id or request.version < FROM_FOLLOWERS_SINCE:
        return ended
    partitions, committed = station.partitions, request.isolation_level == READ_COMMITTED
    for name, offset, _, epoch, fetched_epoch, _ in request.partitions:
        hosted = partitions.get(name)
        if hosted is None or (epoch != hosted.epoch and epoch != NO_LEADER_EPOCH) or fetched_epoch != NO_LEADER_EPOCH:
            return []
        log = hosted.log
        limit = log.last_stable_offset if committed else log.high_watermark
        if offset != limit or offset < log.start_offset:
            return []
        ended.append(hosted)
    return ended


def _is_enough(request: FetchRequest, found: list[PartitionData]) -> bool:
    size = 0
    for data in found:
        if data.error or data.diverging is not None or data.preferred_read_replica >= 0:
            return True
        for batch in data.batches:
            size += batch.size
    return size >= request.min_bytes


def read_all(station: Station, request: FetchRequest) -> list[PartitionData]:
    """What each partition has; the limit of the response holds, but for the first batch found."""
    found: list[PartitionData] = []
    room, first = request.max_bytes, True
    for asked in request.partitions:
        data = _read(station, request, asked, min(room, asked.max_bytes), first)
        if data.batches:
            first = False
            room = max(room - sum([batch.size for batch in data.batches]), 0)
        found.append(data)
    return found


def _refusal(station: Station, request: FetchRequest, asked: FetchPartition) -> ErrorCode:
    leader_only = request.version < FROM_FOLLOWERS_SINCE
    return station.refusal(asked.partition, asked.current_leader_epoch, leader_only=leader_only)


def _read(
    station: Station, request: FetchRequest, asked: FetchPartition, max_bytes: int, at_least_one: bool
) -> PartitionData:
    name = asked.partition
    error = _refusal(station, request, asked)
    if error:
        return PartitionData(name, error, current_leader=station.leader_of(name))
    hosted = station.partitions[name]
    log = hosted.log
    preferred = _preferred(station, hosted, request, asked) if request.rack_id else -1
    if preferred >= 0:
        return PartitionData(
            name,
            ErrorCode.NONE,
            log.high_watermark,
            log.last_stable_offset,
            log.start_offset,
            preferred_read_replica=preferred,
        )
    if asked.last_fetched_epoch != NO_LEADER_EPOCH:
        parted = _parted(hosted, asked)
        if parted is not None:
            return parted
    stable = log.last_stable_offset
    limit = stable if request.isolation_level == READ_COMMITTED else log.high_watermark
    try:
        batches = log.read(asked.fetch_offset, max_bytes, up_to=limit, at_least_one=at_least_one)
    except OffsetOutOfRange:
        return PartitionData(name, ErrorCode.OFFSET_OUT_OF_RANGE)
    except OSError as failed:
        station.storage_failed(name, failed)
        return PartitionData(name, ErrorCode.KAFKA_STORAGE_ERROR)
    aborted: tuple[tuple[int, int], ...] = ()
    if batches and request.isolation_level == READ_COMMITTED:
        aborted = log.aborted(asked.fetch_offset, batches[-1].next_offset)
    return PartitionData(name, _NONE, log.high_watermark, stable, log.start_offset, batches, aborted)


def _parted(hosted: Hosted, asked: FetchPartition) -> PartitionData | None:
    """Where the log that the reader remembers leaves this one."""
    log, name = hosted.log, hosted.name
    end = log.epoch_end(asked.last_fetched_epoch)
    if end.epoch < 0 or end.end_offset < 0 or asked.fetch_offset < log.start_offset:
        return PartitionData(name, ErrorCode.OFFSET_OUT_OF_RANGE)
    if end.epoch < asked.last_fetched_epoch or end.end_offset < asked.fetch_offset:
        high_watermark, stable = log.high_watermark, log.last_stable_offset
        return PartitionData(name, ErrorCode.NONE, high_watermark, stable, log.start_offset, diverging=end)
    return None


def _preferred(station: Station, hosted: Hosted, request: FetchRequest, asked: FetchPartition) -> int:
    """The in-sync replica in the consumer's rack that has most; -1 to read here."""
    lead = hosted.lead
    if lead is None or station.config.replica_selector_class != RACK_AWARE:
        return -1
    own = station.image.brokers.get(station.node)
    if own is not None and own.rack == request.rack_id:
        return -1
    best = max(_candidates(station, lead, request.rack_id, asked.fetch_offset), default=None)
    return -1 if best is None else best[-1]


def _candidates(station: Station, lead: Leadership, rack: str, offset: int) -> list[tuple[int, int, int]]:
    found = []
    for node, replica in lead.followers.items():
        broker = station.image.brokers.get(node)
        if broker is None or broker.fenced or broker.rack != rack or node not in lead.isr:
            continue
        if replica.start_offset <= offset <= replica.end_offset:
            found.append((replica.end_offset, replica.caught_up_us, node))
    return found


def _nothing() -> None:
    """There is nothing to give up."""
