"""The leader's side of replication: one fetch session per follower broker, with at most one parked fetch.

A follower fetches all partitions that it replicates from a leader with one request at a time. If every request named
all of them, the cost of an append would grow with the number of partitions. As in Kafka there are *incremental fetch
sessions* instead (KIP-227). The leader keeps the position of each partition of the session; a request names the
partitions that are new, have a new position, or are to be removed; a response names the partitions with data or
changes. Request `n` of a session has `session_epoch` n; 0 begins a new session.

The leader keeps the partitions that need work in three tables:

* `ready`: partitions with records for the follower, or with a position that is not in this log (diverged, out of range,
  or no longer led here). They complete the parked fetch once there are `min_bytes`.
* `news`: partitions with a high watermark or start offset that the follower does not have yet. The next response
  carries them, but they do not complete a fetch. Kafka does the same: a follower gets them at the latest after
  `replica.fetch.wait.max.ms` (`DelayedFetch`).
* `unsettled`: partitions that the follower should have in its session but has not, or for which it is not in sync. Any
  fetch may change that, so fetches must not stay parked.

**The long poll.** In Kafka a fetch without data is answered after `replica.fetch.wait.max.ms`, and the follower fetches
again. Here a parked fetch has no timer while a new fetch would change nothing: `news` and `unsettled` are empty, and
`BrokerReplicas.clocked` is false, that is no host or link has a fault. The fetch counts as renewed until now
(`asked_us`). A fault of a host or a link sets `clocked` (`ReplicaManager.set_clocked`). From then on parked fetches are
answered at the instants at which Kafka would answer them, and a follower that does not fetch again begins to lag. A
broken connection ends the renewals too.

Source: `ReplicaManager.fetchMessages`, `Partition.fetchRecords`, `FetchSession`, `DelayedFetch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from groupsim.cluster.log.log import OffsetOutOfRange
from groupsim.cluster.replica.broker_replicas import BrokerReplicas
from groupsim.cluster.replica.isr import maybe_expand
from groupsim.cluster.replica.leader import UNKNOWN, Replica
from groupsim.eventloop.interface import Handle
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import EpochEnd, FetchPartition, FetchRequest, FetchResponse, PartitionData

NO_SESSION = -1
_NONE = ErrorCode.NONE  # looked up once: access to a member of an enumeration is slow, and every message needs it


class _Parked(NamedTuple):
    """A parked fetch of a follower."""

    request: FetchRequest
    answer: Callable[[FetchResponse], None]
    since_us: int


class FollowerSession:
    """The fetch session of one other broker, for the partitions with their leader on this broker."""

    __slots__ = (
        "_asked_us",
        "_due_us",
        "_epoch",
        "_local",
        "_next_session_epoch",
        "_parked",
        "_timer",
        "_timer_us",
        "news",
        "node",
        "ready",
        "session",
        "unsettled",
    )

    def __init__(self, local: BrokerReplicas, node: int) -> None:
        self._local = local
        self.node = node
        self.session: dict[TopicPartition, Replica] = {}
        self.ready: dict[TopicPartition, Replica] = {}
        self.news: dict[TopicPartition, Replica] = {}
        self.unsettled: dict[TopicPartition, Replica] = {}
        self._next_session_epoch = NO_SESSION
        self._epoch = -1
        self._asked_us = 0
        self._parked: _Parked | None = None
        self._due_us = 0  # when the parked fetch is answered at the latest; 0 for no limit
        self._timer: Handle | None = None
        self._timer_us = 0

    @property
    def asked_us(self) -> int:
        """The time of the last fetch; the current time while a fetch is parked without a timer."""
        if self._parked is not None and not self._local.clocked:
            return self._local.loop.now_us
        return self._asked_us

    # --- a fetch -----------------------------------------------------------------------------------------------------

    def fetch(self, request: FetchRequest, answer: Callable[[FetchResponse], None]) -> Callable[[], None]:
        """Answer a follower's fetch, or park it; return the function that gives it up."""
        self._parked = None
        if not self._admit(request):
            answer(FetchResponse(ErrorCode.INVALID_FETCH_SESSION_EPOCH))
            return _nothing
        whole = request.session_epoch <= 0
        self._asked_us, self._epoch = self._local.loop.now_us, request.replica_epoch
        for name in request.forgotten:
            self._forget(name)
        asked = request.partitions
        if whole or len(asked) != 1 or self.ready or self.unsettled or not self._step(asked[0]):
            refused = self._place_all(asked, whole)
            for replica in self._changed(asked):
                self._record(replica)
        else:
            refused = []
        parked = _Parked(request, answer, self._asked_us)
        if refused or not self.session or request.max_wait_ms <= 0 or self._is_enough(request):
            self._answer(parked, refused)
            return _nothing
        self._park(parked)
        return self._give_up

    def _admit(self, request: FetchRequest) -> bool:
        """Whether the request is the next one of the session, or begins a new session."""
        if request.session_epoch <= 0:
            self._begin()
        elif request.session_epoch != self._next_session_epoch:
            return False
        self._next_session_epoch = request.session_epoch + 1
        return True

    def _begin(self) -> None:
        """Begin a new session, without the follower's positions."""
        for name in tuple(self.session):
            self._forget(name)
        self.ready.clear()
        self.news.clear()

    def _forget(self, name: TopicPartition) -> None:
        replica = self.session.pop(name, None)
        self.ready.pop(name, None)
        self.news.pop(name, None)
        if replica is not None:
            replica.in_session = False
            self.mark(replica)

    def _step(self, asked: FetchPartition) -> bool:
        """Set and record the new position of one partition, the usual fetch; return whether that was possible.

        Nothing is done if a check of `_place` could give another result than before.
        """
        name, position, max_bytes, epoch, fetched_epoch, start_offset = asked
        replica = self.session.get(name)
        if replica is None:
            return False
        lead, log = replica.lead, replica.lead.hosted.log
        if lead.over or epoch != lead.epoch or fetched_epoch != log.latest_epoch:
            return False
        broker = self._local.image.brokers.get(self.node)
        old = broker is not None and self._epoch < broker.epoch
        if old or not log.start_offset <= position <= log.end_offset:
            return False
        replica.position, replica.epoch, replica.fetched_epoch = position, epoch, fetched_epoch
        replica.start_offset, replica.max_bytes, replica.trouble = start_offset, max_bytes, False
        if lead.deletions:
            lead.check_deletions()
        self._record(replica)
        return True

    def _place_all(self, asked: Sequence[FetchPartition], whole: bool) -> list[PartitionData]:
        refused = []
        for partition in asked:
            error = self._place(partition, whole)
            if error:
                self._forget(partition.partition)
                refused.append(self._refusal(partition.partition, error))
        return refused

    def _place(self, asked: FetchPartition, whole: bool) -> ErrorCode:
        """Set a partition's position in the session; return the error if the follower cannot replicate it from here."""
        local = self._local
        name, epoch = asked.partition, asked.current_leader_epoch
        error = local.refusal(name, epoch, leader_only=True)
        if error:
            return error
        lead = local.partitions[name].lead
        assert lead is not None
        replica = lead.followers.get(self.node)
        if replica is None:
            stated = epoch >= 0
            return ErrorCode.UNKNOWN_LEADER_EPOCH if stated else ErrorCode.NOT_LEADER_OR_FOLLOWER
        broker = local.image.brokers.get(self.node)
        if broker is not None and -1 < self._epoch < broker.epoch:
            # A request from before the follower's restart (KIP-903).
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        replica.position = asked.fetch_offset
        replica.epoch = epoch
        replica.fetched_epoch = asked.last_fetched_epoch
        replica.start_offset = asked.log_start_offset
        if lead.deletions:
            lead.check_deletions()
        replica.max_bytes = asked.max_bytes
        if whole:
            replica.sent_high_watermark = UNKNOWN
        if not replica.in_session:
            replica.in_session = True
            self.session[name] = replica
            self.mark(replica)
        replica.trouble = self._divergence(replica) is not None
        return _NONE

    def _changed(self, asked: Sequence[FetchPartition]) -> list[Replica]:
        """Return the replicas whose progress this fetch may change; Kafka checks all, with the same result."""
        changed = {partition.partition: None for partition in asked} | dict.fromkeys(self.ready)
        if self.unsettled:
            changed |= dict.fromkeys(self.unsettled)
        return [self.session[name] for name in changed if name in self.session]

    def _record(self, replica: Replica) -> None:
        """Record a replica's progress: its log ends at the fetched position."""
        lead = replica.lead
        if replica.trouble or replica.is_over:
            self.ready[replica.name] = replica
            return
        log, before = lead.hosted.log, replica.end_offset
        replica.record(self._asked_us, log.end_offset, self._epoch)
        if self.node not in lead.isr:
            maybe_expand(lead, replica)
        if replica.position != before and lead.advance():
            lead.high_watermark_moved()
        if replica.position < log.end_offset:
            self.ready[replica.name] = replica
        elif self.ready:
            self.ready.pop(replica.name, None)
        if replica.sent_high_watermark != log.high_watermark or replica.sent_start != log.start_offset:
            self.news[replica.name] = replica

    # --- parked ------------------------------------------------------------------------------------------------------

    def _park(self, parked: _Parked) -> None:
        self._parked = parked
        self._due_us = 0
        if self.news or self.unsettled or self._local.clocked:
            self.arm()

    def _give_up(self) -> None:
        """Drop the parked fetch after its connection was lost; it counted as renewed until now."""
        self._asked_us = self.asked_us
        self._parked = None

    def arm(self) -> None:
        """Set the timer that answers the parked fetch at the end of its current wait."""
        if self._parked is None or self._due_us:
            return
        now, since = self._local.loop.now_us, self._parked.since_us
        wait = max(self._parked.request.max_wait_ms, 1) * 1_000
        self._asked_us = since + (now - since) // wait * wait
        self._due_us = self._asked_us + wait
        if self._timer is None or self._timer_us > self._due_us:
            self._set_timer()

    def _set_timer(self) -> None:
        host = self._local.host
        if self._timer is not None:
            host.cancel(self._timer)
        self._timer_us = self._due_us
        self._timer = host.call_at(self._due_us, self._expire)

    def _expire(self, _: object) -> None:
        self._timer = None
        if self._parked is None or not self._due_us:
            return
        if self._due_us > self._local.loop.now_us:
            self._set_timer()
        else:
            self._answer(self._parked, [])

    def has_data(self, replica: Replica) -> None:
        """Account for new records in a partition of the session."""
        self.ready[replica.name] = replica
        parked = self._parked
        if parked is not None and (parked.request.min_bytes <= 1 or self._is_enough(parked.request)):
            self._answer(parked, [])

    def has_news(self, replica: Replica) -> None:
        """Account for a new high watermark or start offset in a partition of the session."""
        self.news[replica.name] = replica
        if self._parked is not None and not self._due_us:
            self.arm()

    def mark(self, replica: Replica) -> None:
        """Update `unsettled`: whether the follower has a partition in its session and is in sync."""
        if replica.lead.over or (replica.in_session and self.node in replica.lead.isr):
            self.unsettled.pop(replica.name, None)
        else:
            self.unsettled[replica.name] = replica
            if self._parked is not None:
                self.arm()

    def lost(self, replica: Replica) -> None:
        """Account for a partition that this broker no longer leads; a parked fetch for it is answered."""
        if replica.lead.over:
            self.unsettled.pop(replica.name, None)
        self.news.pop(replica.name, None)
        if replica.in_session:
            self.ready[replica.name] = replica
            if self._parked is not None:
                self._answer(self._parked, [])

    def remove(self, replica: Replica) -> None:
        """Remove a partition of which the follower is no longer a replica."""
        self._forget(replica.name)
        self.unsettled.pop(replica.name, None)

    def _is_enough(self, request: FetchRequest) -> bool:
        if request.min_bytes <= 1:
            return bool(self.ready)
        available = 0
        for replica in self.ready.values():
            if replica.is_over or replica.trouble:
                return True
            log = replica.lead.hosted.log
            available += min(log.bytes_between(replica.position, log.end_offset), replica.max_bytes)
        return available >= request.min_bytes

    # --- the answer --------------------------------------------------------------------------------------------------

    def _answer(self, parked: _Parked, found: list[PartitionData]) -> None:
        """Answer with errors first, then records up to the response's limit, then changed offsets."""
        if self._parked is parked:
            self._asked_us = self.asked_us
            self._parked = None
        room = parked.request.max_bytes
        first = True
        ready, news = self.ready, self.news
        for replica in tuple(ready.values()):
            if room <= 0 and not first:
                break
            try:
                data = self._read(replica, min(room, replica.max_bytes), first)
            except OSError as error:
                self._local.storage_failed(replica.name, error)
                self._forget(replica.name)
                data = PartitionData(replica.name, ErrorCode.KAFKA_STORAGE_ERROR)
            ready.pop(replica.name, None)
            news.pop(replica.name, None)
            for batch in data.batches:
                first = False
                room -= batch.size
            found.append(data)
        if news:
            found.extend([self._data(replica) for replica in news.values()])
            news.clear()
        parked.answer(FetchResponse(_NONE, tuple(found)))

    def _read(self, replica: Replica, max_bytes: int, at_least_one: bool) -> PartitionData:
        name, log = replica.name, replica.lead.hosted.log
        inside = log.start_offset <= replica.position <= log.end_offset
        if inside and replica.fetched_epoch == log.latest_epoch and not replica.is_over:  # the usual case
            return self._data(replica, log.read(replica.position, max_bytes, at_least_one=at_least_one))
        if replica.is_over:
            self._forget(name)
            error = self._local.refusal(name, replica.epoch, leader_only=True)
            return self._refusal(name, error or ErrorCode.FENCED_LEADER_EPOCH)
        diverging = self._divergence(replica)
        if isinstance(diverging, EpochEnd):
            return self._data(replica, diverging=diverging)
        if diverging is not None:
            self._forget(name)
            return PartitionData(name, diverging)
        try:
            return self._data(replica, log.read(replica.position, max_bytes, at_least_one=at_least_one))
        except OffsetOutOfRange:
            self._forget(name)
            return PartitionData(name, ErrorCode.OFFSET_OUT_OF_RANGE)

    def _divergence(self, replica: Replica) -> EpochEnd | ErrorCode | None:
        """Return where the follower's log diverges from this one, if it does (KIP-595, KIP-279)."""
        log = replica.lead.hosted.log
        position, epoch = replica.position, replica.fetched_epoch
        inside = log.start_offset <= position <= log.end_offset
        if inside and (epoch == log.latest_epoch or epoch < 0):
            return None  # the usual case
        if epoch < 0:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        end = log.epoch_end(epoch)
        if end.epoch < 0 or end.end_offset < 0 or position < log.start_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return end if end.epoch < epoch or end.end_offset < position else None

    def _data(
        self, replica: Replica, batches: tuple[Batch, ...] = (), diverging: EpochEnd | None = None
    ) -> PartitionData:
        log = replica.lead.hosted.log
        # A follower that has to truncate its log ignores the rest of the response.
        high_watermark, start = log.high_watermark, log.start_offset
        replica.sent_high_watermark = high_watermark if diverging is None else UNKNOWN
        replica.sent_start = start
        stable = log.last_stable_offset
        return PartitionData(replica.name, _NONE, high_watermark, stable, start, batches, (), diverging)

    def _refusal(self, name: TopicPartition, error: ErrorCode) -> PartitionData:
        return PartitionData(name, error, current_leader=self._local.leader_of(name))


class FollowerSessions(dict[int, FollowerSession]):
    """The sessions of the other brokers by node id, created on first access."""

    def __init__(self, local: BrokerReplicas) -> None:
        self._local = local

    def __missing__(self, node: int) -> FollowerSession:
        peer = self[node] = FollowerSession(self._local, node)
        return peer


def _nothing() -> None:
    """Give up nothing: the fetch has been answered."""
