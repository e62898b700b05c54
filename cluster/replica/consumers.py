"""Fetches of consumers: visible records, preferred replicas and the wait for records.

A consumer gets records below the high watermark, or with `read_committed` below the last stable offset. Any replica may
serve it (KIP-392), up to its own high watermark; only the leader returns a preferred read replica to a consumer with a
rack. An offset above that limit, but within the log, gets no records; outside the log it is OFFSET_OUT_OF_RANGE.

A fetch that finds less than `min_bytes` waits at most `max_wait_ms`, until the high watermark has advanced far enough
or into another segment of a log. A `renewed` fetch has no timer, so a quiet consumer costs no events.

Source: `ReplicaManager.fetchMessages`, `readFromLog`, `findPreferredReadReplica`, `DelayedFetch`,
`RackAwareReplicaSelector`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groupsim.cluster.config.replica import RACK_AWARE
from groupsim.cluster.log.log import OffsetOutOfRange
from groupsim.cluster.log.segment_reads import segment_base
from groupsim.cluster.replica.broker_replicas import BrokerReplicas
from groupsim.cluster.replica.leader import Leadership
from groupsim.cluster.replica.partition import HostedPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    NO_LEADER_EPOCH,
    READ_COMMITTED,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

_NONE = ErrorCode.NONE  # looked up once: access to a member of an enumeration is slow, and every message needs it
FROM_FOLLOWERS_SINCE = 11
"""The version of Fetch from which consumers may read from followers."""


class ParkedFetch:
    """A consumer's fetch that waits for bytes; each of its partitions has it in `waiting`."""

    __slots__ = ("_answer", "_available", "_cause", "_enough", "_local", "_request", "_segments", "_watched", "done")

    def __init__(self, local: BrokerReplicas, request: FetchRequest, answer: Callable[[FetchResponse], None]) -> None:
        self._local = local
        self._request = request
        self._answer = answer
        self._cause = local.trace.cause
        self._watched: dict[HostedPartition, FetchPartition] = {}
        self._available: dict[HostedPartition, int] = {}
        self._segments: dict[
            HostedPartition, int
        ] = {}  # base offset of the segment to be read, at the time of the request
        self._enough = max(request.min_bytes, 1)
        self.done = False

    def park(self) -> None:
        """Wait, unless a partition completes the fetch already."""
        partitions = self._local.partitions
        self._watch([partitions[asked.partition] for asked in self._request.partitions])
        for hosted in tuple(self._watched):
            if not self.done:
                self.check(hosted)
        if not self.done:
            self._set_limit()

    def wait(self, replicas: Sequence[HostedPartition]) -> None:
        """Wait for these replicas of the fetched partitions, none of which has new records."""
        self._watch(replicas)
        self._set_limit()

    def _watch(self, replicas: Sequence[HostedPartition]) -> None:
        for hosted, asked in zip(replicas, self._request.partitions, strict=True):
            self._watched[hosted] = asked
            if self._enough > 1:
                self._segments[hosted] = segment_base(hosted.log.store.segments, asked.fetch_offset)
            hosted.waiting[self] = None

    def _set_limit(self) -> None:
        if not self._request.renewed:
            self._local.deadlines.add(self._request.max_wait_ms * 1_000, self)

    def check(self, hosted: HostedPartition) -> None:
        """Answer the fetch if a change of this partition completes it (`DelayedFetch.tryComplete`)."""
        asked, request, log = self._watched[hosted], self._request, hosted.log
        if _refusal(self._local, request, asked):
            self.expire()
            return
        limit = log.last_stable_offset if request.isolation_level == READ_COMMITTED else log.high_watermark
        if asked.fetch_offset > limit:
            self.expire()  # the log was truncated, which the consumer must learn
        elif asked.fetch_offset < limit:
            if self._enough == 1:
                if asked.max_bytes > 0:
                    self.expire()
                return
            if segment_base(log.store.segments, limit - 1) > self._segments[hosted]:
                self.expire()  # a fetch ends with its segment, so waiting longer adds nothing
                return
            size = log.bytes_between(asked.fetch_offset, limit)
            self._available[hosted] = min(size, asked.max_bytes)
            if sum(self._available.values()) >= self._enough:
                self.expire()

    def expire(self) -> None:
        """Answer with the available records."""
        self.give_up()
        trace = self._local.trace
        before, trace.cause = trace.cause, self._cause
        self._answer(FetchResponse(_NONE, tuple(read_all(self._local, self._request))))
        trace.cause = before

    def give_up(self) -> None:
        """Stop waiting without an answer."""
        self.done = True
        for hosted in self._watched:
            hosted.waiting.pop(self, None)


def fetch(local: BrokerReplicas, request: FetchRequest, answer: Callable[[FetchResponse], None]) -> Callable[[], None]:
    """Answer a consumer's fetch, or park it; return the function that gives it up."""
    ended = _all_ended(local, request)
    if ended:
        parked = ParkedFetch(local, request, answer)
        parked.wait(ended)
        return parked.give_up
    found = read_all(local, request)
    if request.max_wait_ms == 0 or not found or _is_enough(request, found):
        answer(FetchResponse(_NONE, tuple(found)))
        return _nothing
    parked = ParkedFetch(local, request, answer)
    parked.park()
    return parked.give_up


def _all_ended(local: BrokerReplicas, request: FetchRequest) -> list[HostedPartition]:
    """Return the replicas if every partition is fetched from the end of its visible records, else an empty list.

    Most fetches do that. Such a fetch has to wait; reading the partitions would give the same result.
    """
    ended: list[HostedPartition] = []
    if request.max_wait_ms == 0 or request.min_bytes <= 0 or request.rack_id or request.version < FROM_FOLLOWERS_SINCE:
        return ended
    partitions, committed = local.partitions, request.isolation_level == READ_COMMITTED
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


def read_all(local: BrokerReplicas, request: FetchRequest) -> list[PartitionData]:
    """Read every partition up to the response's limit, which the first batch may exceed (KIP-74)."""
    found: list[PartitionData] = []
    room, first = request.max_bytes, True
    for asked in request.partitions:
        data = _read(local, request, asked, min(room, asked.max_bytes), first)
        if data.batches:
            first = False
            room = max(room - sum([batch.size for batch in data.batches]), 0)
        found.append(data)
    return found


def _refusal(local: BrokerReplicas, request: FetchRequest, asked: FetchPartition) -> ErrorCode:
    leader_only = request.version < FROM_FOLLOWERS_SINCE
    return local.refusal(asked.partition, asked.current_leader_epoch, leader_only=leader_only)


def _read(
    local: BrokerReplicas, request: FetchRequest, asked: FetchPartition, max_bytes: int, at_least_one: bool
) -> PartitionData:
    name = asked.partition
    error = _refusal(local, request, asked)
    if error:
        return PartitionData(name, error, current_leader=local.leader_of(name))
    hosted = local.partitions[name]
    log = hosted.log
    preferred = _preferred(local, hosted, request, asked) if request.rack_id else -1
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
        diverging = _divergence(hosted, asked)
        if diverging is not None:
            return diverging
    stable = log.last_stable_offset
    limit = stable if request.isolation_level == READ_COMMITTED else log.high_watermark
    try:
        batches = log.read(asked.fetch_offset, max_bytes, up_to=limit, at_least_one=at_least_one)
    except OffsetOutOfRange:
        return PartitionData(name, ErrorCode.OFFSET_OUT_OF_RANGE)
    except OSError as failed:
        local.storage_failed(name, failed)
        return PartitionData(name, ErrorCode.KAFKA_STORAGE_ERROR)
    aborted: tuple[tuple[int, int], ...] = ()
    if batches and request.isolation_level == READ_COMMITTED:
        aborted = log.aborted(asked.fetch_offset, batches[-1].next_offset)
    return PartitionData(name, _NONE, log.high_watermark, stable, log.start_offset, batches, aborted)


def _divergence(hosted: HostedPartition, asked: FetchPartition) -> PartitionData | None:
    """Return where the log that the consumer has read diverges from this one; None if it does not."""
    log, name = hosted.log, hosted.name
    end = log.epoch_end(asked.last_fetched_epoch)
    if end.epoch < 0 or end.end_offset < 0 or asked.fetch_offset < log.start_offset:
        return PartitionData(name, ErrorCode.OFFSET_OUT_OF_RANGE)
    if end.epoch < asked.last_fetched_epoch or end.end_offset < asked.fetch_offset:
        high_watermark, stable = log.high_watermark, log.last_stable_offset
        return PartitionData(name, ErrorCode.NONE, high_watermark, stable, log.start_offset, diverging=end)
    return None


def _preferred(local: BrokerReplicas, hosted: HostedPartition, request: FetchRequest, asked: FetchPartition) -> int:
    """Return the in-sync replica in the consumer's rack with the largest end offset; -1 to read here (KIP-392)."""
    lead = hosted.lead
    if lead is None or local.config.replica_selector_class != RACK_AWARE:
        return -1
    own = local.image.brokers.get(local.node)
    if own is not None and own.rack == request.rack_id:
        return -1
    best = max(_candidates(local, lead, request.rack_id, asked.fetch_offset), default=None)
    return -1 if best is None else best[-1]


def _candidates(local: BrokerReplicas, lead: Leadership, rack: str, offset: int) -> list[tuple[int, int, int]]:
    found = []
    for node, replica in lead.followers.items():
        broker = local.image.brokers.get(node)
        if broker is None or broker.fenced or broker.rack != rack or node not in lead.isr:
            continue
        if replica.start_offset <= offset <= replica.end_offset:
            found.append((replica.end_offset, replica.caught_up_us, node))
    return found


def _nothing() -> None:
    """Give up nothing: the fetch has been answered."""
