"""The leader's side of replication: one fetch session per follower broker, and its one parked fetch.

A follower asks its leader for all partitions it copies from it, with one request after the other. To name all of them
every time, and to look at all of them, would make the cost of an append grow with the number of partitions; Kafka has
*incremental fetch sessions* against that (KIP-227), and so has this. The leader remembers the position of each
partition of the session; a request names those that are new or have moved, and those to forget; a response names those
that have something to say. Request `n` of a session has `session_epoch` n; 0 begins one anew.

What the leader has to look at is therefore kept in small lists:

* `ready`: partitions with records for the follower, or whose position is none of this log (it has diverged, is out of
  range, or is led here no longer). One of them answers the parked fetch, once there are `min_bytes`.
* `news`: partitions whose high watermark or start moved since the follower was told. They ride along with the next
  answer; they do not bring it about (neither do they in Kafka, where a follower learns of them after
  `replica.fetch.wait.max.ms` at the latest).
* `unsettled`: partitions that the follower should copy from here but has not in its session, or of whose in-sync
  replicas it is none. Each fetch may change that, so there have to be fetches.

**The long poll.** In Kafka a fetch that finds nothing is answered after `replica.fetch.wait.max.ms`, and the follower
asks again, for ever. Here a parked fetch has no timer as long as there is nothing that a renewal would bring: no news,
nothing unsettled, and `Station.clocked` false, which says that all is well with hosts and links. The poll counts as
renewed until now (`asked_us`). Whoever breaks something, pauses a broker, or harms a link, sets `clocked`
(`ReplicaManager.set_clocked`); from then on parked fetches are answered on the boundaries they would have been
answered on, and a follower that does not ask again begins to lag. A fetch given up, because its connection broke,
ends the renewals too.

Source: `ReplicaManager.fetchMessages`, `Partition.fetchRecords`, `FetchSession`, `DelayedFetch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from groupsim.cluster.log.log import OffsetOutOfRange
from groupsim.cluster.replica.broker_replicas import Station
from groupsim.cluster.replica.isr import maybe_expand
from groupsim.cluster.replica.leader import UNKNOWN, Replica
from groupsim.eventloop.interface import Handle
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import EpochEnd, FetchPartition, FetchRequest, FetchResponse, PartitionData

NO_SESSION = -1
_NONE = ErrorCode.NONE  # members of an enumeration are found slowly, and this is asked of every message


class _Parked(NamedTuple):
    """A follower's fetch that waits."""

    request: FetchRequest
    answer: Callable[[FetchResponse], None]
    since_us: int


class Peer:
    """One other broker, as a follower of partitions that are led here."""

    __slots__ = (
        "_asked_us",
        "_due_us",
        "_epoch",
        "_next_session_epoch",
        "_parked",
        "_station",
        "_timer",
        "_timer_us",
        "news",
        "node",
        "ready",
        "session",
        "unsettled",
    )

    def __init__(self, station: Station, node: int) -> None:
        self._station = station
        self.node = node
        self.session: dict[TopicPartition, Replica] = {}
        self.ready: dict[TopicPartition, Replica] = {}
        self.news: dict[TopicPartition, Replica] = {}
        self.unsettled: dict[TopicPartition, Replica] = {}
        self._next_session_epoch = NO_SESSION
        self._epoch = -1
        self._asked_us = 0
        self._parked: _Parked | None = None
        self._due_us = 0  # when the parked fetch is to be answered; 0: when there is something
        self._timer: Handle | None = None
        self._timer_us = 0

    @property
    def asked_us(self) -> int:
        """When it last asked: now, while its long poll is parked and all is well."""
        if self._parked is not None and not self._station.clocked:
            return self._station.loop.now_us
        return self._asked_us

    # --- a fetch -----------------------------------------------------------------------------------------------------

    def fetch(self, request: FetchRequest, answer: Callable[[FetchResponse], None]) -> Callable[[], None]:
        """A follower asks; answered now, or parked. Returns what gives a parked fetch up."""
        self._parked = None
        if not self._admit(request):
            answer(FetchResponse(ErrorCode.INVALID_FETCH_SESSION_EPOCH))
            return _nothing
        whole = request.session_epoch <= 0
        self._asked_us, self._epoch = self._station.loop.now_us, request.replica_epoch
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
        """Whether the request is the next one of the session, or the first of a new one."""
        if request.session_epoch <= 0:
            self._begin()
        elif request.session_epoch != self._next_session_epoch:
            return False
        self._next_session_epoch = request.session_epoch + 1
        return True

    def _begin(self) -> None:
        """A new session: nothing is known of the follower's positions."""
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
        """The next position of a partition that the follower copies, as in nearly every fetch: placed and recorded.

        False, and nothing is done, where any of the questions of `_place` might have another answer than before.
        """
        name, position, max_bytes, epoch, fetched_epoch, start_offset = asked
        replica = self.session.get(name)
        if replica is None:
            return False
        lead, log = replica.lead, replica.lead.hosted.log
        if lead.over or epoch != lead.epoch or fetched_epoch != log.latest_epoch:
            return False
        broker = self._station.image.brokers.get(self.node)
        old = broker is not None and self._epoch < broker.epoch
        if old or not log.start_offset <= position <= log.end_offset:
            return False
        replica.position, replica.epoch, replica.fetched_epoch = position, epoch, fetched_epoch
        replica.start_offset, replica.max_bytes, replica.trouble = start_offset, max_bytes, False
        if lead.deletions:
            lead.start_known()
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
        """Take a position into the session; an error, when this is no partition for it to copy from here."""
        station = self._station
        name, epoch = asked.partition, asked.current_leader_epoch
        error = station.refusal(name, epoch, leader_only=True)
        if error:
            return error
        lead = station.partitions[name].lead
        assert lead is not None
        replica = lead.followers.get(self.node)
        if replica is None:
            stated = epoch >= 0
            return ErrorCode.UNKNOWN_LEADER_EPOCH if stated else ErrorCode.NOT_LEADER_OR_FOLLOWER
        broker = station.image.brokers.get(self.node)
        if broker is not None and -1 < self._epoch < broker.epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER  # a request of an earlier life
        replica.position = asked.fetch_offset
        replica.epoch = epoch
        replica.fetched_epoch = asked.last_fetched_epoch
        replica.start_offset = asked.log_start_offset
        if lead.deletions:
            lead.start_known()
        replica.max_bytes = asked.max_bytes
        if whole:
            replica.told_high_watermark = UNKNOWN
        if not replica.in_session:
            replica.in_session = True
            self.session[name] = replica
            self.mark(replica)
        replica.trouble = self._divergence(replica) is not None
        return _NONE

    def _changed(self, asked: Sequence[FetchPartition]) -> list[Replica]:
        """The replicas whose progress this fetch may change: Kafka looks at all, which comes to the same."""
        changed = {partition.partition: None for partition in asked} | dict.fromkeys(self.ready)
        if self.unsettled:
            changed |= dict.fromkeys(self.unsettled)
        return [self.session[name] for name in changed if name in self.session]

    def _record(self, replica: Replica) -> None:
        """Its position says what the follower has."""
        lead = replica.lead
        if replica.trouble or replica.is_over:
            self.ready[replica.name] = replica
            return
        log, before = lead.hosted.log, replica.end_offset
        replica.record(self._asked_us, log.end_offset, self._epoch)
        if self.node not in lead.isr:
            maybe_expand(lead, replica)
        if replica.position != before and lead.advance():
            lead.passed()
        if replica.position < log.end_offset:
            self.ready[replica.name] = replica
        elif self.ready:
            self.ready.pop(replica.name, None)
        if replica.told_high_watermark != log.high_watermark or replica.told_start != log.start_offset:
            self.news[replica.name] = replica

    # --- parked ------------------------------------------------------------------------------------------------------

    def _park(self, parked: _Parked) -> None:
        self._parked = parked
        self._due_us = 0
        if self.news or self.unsettled or self._station.clocked:
            self.arm()

    def _give_up(self) -> None:
        """The connection is gone: the follower asked until now, and no longer."""
        self._asked_us = self.asked_us
        self._parked = None

    def arm(self) -> None:
        """The parked fetch is answered at the end of its wait."""
        if self._parked is None or self._due_us:
            return
        now, since = self._station.loop.now_us, self._parked.since_us
        wait = max(self._parked.request.max_wait_ms, 1) * 1_000
        self._asked_us = since + (now - since) // wait * wait
        self._due_us = self._asked_us + wait
        if self._timer is None or self._timer_us > self._due_us:
            self._set_timer()

    def _set_timer(self) -> None:
        host = self._station.host
        if self._timer is not None:
            host.cancel(self._timer)
        self._timer_us = self._due_us
        self._timer = host.call_at(self._due_us, self._expire)

    def _expire(self, _: object) -> None:
        self._timer = None
        if self._parked is None or not self._due_us:
            return
        if self._due_us > self._station.loop.now_us:
            self._set_timer()
        else:
            self._answer(self._parked, [])

    def has_data(self, replica: Replica) -> None:
        """A partition of the session has grown."""
        self.ready[replica.name] = replica
        parked = self._parked
        if parked is not None and (parked.request.min_bytes <= 1 or self._is_enough(parked.request)):
            self._answer(parked, [])

    def has_news(self, replica: Replica) -> None:
        """The high watermark or the start of a partition of the session moved."""
        self.news[replica.name] = replica
        if self._parked is not None and not self._due_us:
            self.arm()

    def mark(self, replica: Replica) -> None:
        """Keep note of whether the follower copies a partition and is in sync."""
        if replica.lead.over or (replica.in_session and self.node in replica.lead.isr):
            self.unsettled.pop(replica.name, None)
        else:
            self.unsettled[replica.name] = replica
            if self._parked is not None:
                self.arm()

    def lost(self, replica: Replica) -> None:
        """A partition is led here no longer; if the follower waits for it, it is told so."""
        if replica.lead.over:
            self.unsettled.pop(replica.name, None)
        self.news.pop(replica.name, None)
        if replica.in_session:
            self.ready[replica.name] = replica
            if self._parked is not None:
                self._answer(self._parked, [])

    def remove(self, replica: Replica) -> None:
        """The broker is no replica of a partition any more."""
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
        """Say what there is: errors first, then records as far as the response reaches, then news."""
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
                self._station.storage_failed(replica.name, error)
                self._forget(replica.name)
                data = PartitionData(replica.name, ErrorCode.KAFKA_STORAGE_ERROR)
            ready.pop(replica.name, None)
            news.pop(replica.name, None)
            for batch in data.batches:
                first = False
                room -= batch.size
            found.append(data)
        if news:
            found.extend([self._tell(replica) for replica in news.values()])
            news.clear()
        parked.answer(FetchResponse(_NONE, tuple(found)))

    def _read(self, replica: Replica, max_bytes: int, at_least_one: bool) -> PartitionData:
        name, log = replica.name, replica.lead.hosted.log
        inside = log.start_offset <= replica.position <= log.end_offset
        if inside and replica.fetched_epoch == log.latest_epoch and not replica.is_over:  # as nearly always
            return self._tell(replica, log.read(replica.position, max_bytes, at_least_one=at_least_one))
        if replica.is_over:
            self._forget(name)
            error = self._station.refusal(name, replica.epoch, leader_only=True)
            return self._refusal(name, error or ErrorCode.FENCED_LEADER_EPOCH)
        diverging = self._divergence(replica)
        if isinstance(diverging, EpochEnd):
            return self._tell(replica, diverging=diverging)
        if diverging is not None:
            self._forget(name)
            return PartitionData(name, diverging)
        try:
            return self._tell(replica, log.read(replica.position, max_bytes, at_least_one=at_least_one))
        except OffsetOutOfRange:
            self._forget(name)
            return PartitionData(name, ErrorCode.OFFSET_OUT_OF_RANGE)

    def _divergence(self, replica: Replica) -> EpochEnd | ErrorCode | None:
        """Where the follower's log leaves this one, if it does (KIP-595, KIP-279)."""
        log = replica.lead.hosted.log
        position, epoch = replica.position, replica.fetched_epoch
        inside = log.start_offset <= position <= log.end_offset
        if inside and (epoch == log.latest_epoch or epoch < 0):
            return None  # as nearly always
        if epoch < 0:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        end = log.epoch_end(epoch)
        if end.epoch < 0 or end.end_offset < 0 or position < log.start_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return end if end.epoch < epoch or end.end_offset < position else None

    def _tell(
        self, replica: Replica, batches: tuple[Batch, ...] = (), diverging: EpochEnd | None = None
    ) -> PartitionData:
        log = replica.lead.hosted.log
        # A follower that has to cut its log takes nothing else from the answer.
        high_watermark, start = log.high_watermark, log.start_offset
        replica.told_high_watermark = high_watermark if diverging is None else UNKNOWN
        replica.told_start = start
        stable = log.last_stable_offset
        return PartitionData(replica.name, _NONE, high_watermark, stable, start, batches, (), diverging)

    def _refusal(self, name: TopicPartition, error: ErrorCode) -> PartitionData:
        return PartitionData(name, error, current_leader=self._station.leader_of(name))


class Peers(dict[int, Peer]):
    """The other brokers by node id, made when first needed."""

    def __init__(self, station: Station) -> None:
        self._station = station

    def __missing__(self, node: int) -> Peer:
        peer = self[node] = Peer(self._station, node)
        return peer


def _nothing() -> None:
    """There is nothing to give up."""
