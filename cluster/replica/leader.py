"""A partition that is led here: what its followers have, how far it is committed, and who waits for that.

The leader learns what a follower has from the offset the follower asks for next. The *high watermark* is the lowest
end among the leader, the in-sync replicas (those a proposal would add included, KIP-497), and the replicas that are
not in sync but so nearly caught up that they are about to be; it does not move while there are fewer in-sync replicas
than `min.insync.replicas` (KIP-966). Whoever waits for an offset is kept in a list sorted by offset, and settled when
the high watermark passes.

*Caught up* is a matter of time. Each replica has the last instant at which it had all that the leader had when it
asked (or when it asked the time before). A follower whose long poll is parked has asked just now, as far as Kafka is
concerned, because it asks twice a second; so its progress is brought up to date lazily, when an append leaves it
behind (`Replica.renew`).

Source: `Partition`, `Replica`, `ReplicaState`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from groupsim.cluster.log.errors import LogRefused
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import IsrChange, PartitionState

if TYPE_CHECKING:
    from groupsim.cluster.replica.deletions import ParkedDeletion
    from groupsim.cluster.replica.follower_sessions import Peer
    from groupsim.cluster.replica.partition import Hosted
    from groupsim.cluster.replica.purgatory import Waiter

_NONE: Final = ErrorCode.NONE  # members of an enumeration are found slowly, and this is asked of every message
LONG_AGO: Final = -(1 << 62)
UNKNOWN: Final = -1


class Replica:
    """A follower of a partition that is led here: its progress, and its place in the follower's fetch session."""

    __slots__ = (
        "broker_epoch",
        "caught_up_us",
        "end_offset",
        "epoch",
        "fetched_epoch",
        "fetched_us",
        "in_session",
        "lead",
        "max_bytes",
        "name",
        "node",
        "peer",
        "position",
        "seen_end",
        "start_offset",
        "told_high_watermark",
        "told_start",
        "trouble",
    )

    def __init__(self, lead: Leadership, peer: Peer) -> None:
        self.lead = lead
        self.peer = peer
        self.node = peer.node
        self.name: TopicPartition = lead.hosted.name
        self.end_offset = UNKNOWN
        self.start_offset = UNKNOWN
        self.seen_end = 0  # the leader's end at its last fetch
        self.fetched_us = LONG_AGO
        self.caught_up_us = LONG_AGO
        self.broker_epoch: int | None = None
        # its place in the session
        self.in_session = False
        self.trouble = False  # its position is not one of this log: to be answered, not recorded
        self.position = UNKNOWN
        self.epoch = -1
        self.fetched_epoch = -1
        self.max_bytes = 0
        self.told_high_watermark = UNKNOWN
        self.told_start = UNKNOWN

    @property
    def is_over(self) -> bool:
        """Whether what it asked for is led here no longer, or at a later epoch."""
        lead = self.lead
        return lead.over or (self.epoch != lead.epoch and self.epoch != -1)

    def reset(self, now_us: int, leader_end: int, *, new_leader: bool, in_sync: bool) -> None:
        """A new leader epoch: what is known of a follower begins anew, entirely if the leader is new too."""
        self.caught_up_us = now_us if in_sync else LONG_AGO
        if new_leader:
            self.start_offset = self.end_offset = self.seen_end = UNKNOWN
            self.fetched_us = LONG_AGO
            self.broker_epoch = None
        else:
            self.seen_end = leader_end
            self.fetched_us = now_us if in_sync else LONG_AGO

    def record(self, now_us: int, leader_end: int, broker_epoch: int) -> None:
        """It asks from `position` on, so it has what comes before."""
        position = self.position
        if position >= leader_end:
            if now_us > self.caught_up_us:
                self.caught_up_us = now_us
        elif position >= self.seen_end:
            self.caught_up_us = max(self.caught_up_us, self.fetched_us)
        self.end_offset = position
        if leader_end > self.seen_end:
            self.seen_end = leader_end
        self.fetched_us = now_us
        self.broker_epoch = broker_epoch

    def renew(self, asked_us: int, leader_end: int) -> None:
        """It had everything up to now, and its long poll was renewed last at `asked_us`."""
        if asked_us > self.fetched_us:
            self.fetched_us = asked_us
            if leader_end > self.seen_end:
                self.seen_end = leader_end
            if asked_us > self.caught_up_us:
                self.caught_up_us = asked_us

    def is_caught_up(self, leader_end: int, now_us: int, lag_us: int) -> bool:
        """Whether it has all, or had all a short time ago."""
        return leader_end == self.end_offset or now_us - self.caught_up_us <= lag_us


class Leadership:
    """The leader's side of a partition, for as long as it leads. `isr` is what the controller has confirmed."""

    __slots__ = (
        "_waiters",
        "_waits",
        "deletions",
        "epoch",
        "epoch_start",
        "followers",
        "hosted",
        "isr",
        "maximal",
        "over",
        "pending",
        "watched",
    )

    def __init__(self, hosted: Hosted) -> None:
        self.hosted = hosted
        self.epoch = -1
        self.epoch_start = 0
        self.followers: dict[int, Replica] = {}
        self.isr: tuple[int, ...] = ()
        self.maximal: tuple[int, ...] = ()
        self.pending: IsrChange | None = None
        self.over = False
        self.watched = False
        self.deletions: dict[ParkedDeletion, None] = {}  # who waits for the logs to begin later
        self._waiters: list[tuple[int, int, int, Waiter]] = []
        self._waits = 0

    # --- what the controller says ----------------------------------------------------------------------------------

    def take(self, state: PartitionState) -> bool:
        """The controller's word: replicas, in-sync replicas, perhaps a new epoch. Returns whether the epoch is new."""
        hosted, now = self.hosted, self.hosted.station.loop.now_us
        is_new = state.leader_epoch > self.epoch
        first = self.epoch < 0
        self._set_followers(state.replicas)
        self.confirm(state.isr)
        if is_new:
            self.epoch = state.leader_epoch
            self.epoch_start = hosted.log.end_offset
            hosted.log.assign_epoch(self.epoch, self.epoch_start)
            for replica in self.followers.values():
                in_sync = replica.node in state.isr
                replica.reset(now, self.epoch_start, new_leader=first, in_sync=in_sync)
                if replica.in_session:
                    replica.peer.lost(replica)  # it asked at an epoch that is over
        return is_new

    def _set_followers(self, replicas: tuple[int, ...]) -> None:
        station = self.hosted.station
        for node in tuple(self.followers):
            if node not in replicas:
                gone = self.followers.pop(node)
                gone.peer.remove(gone)
        for node in replicas:
            if node != station.node and node not in self.followers:
                self.followers[node] = Replica(self, station.peers[node])

    def confirm(self, isr: tuple[int, ...]) -> None:
        """These are in sync; nothing is proposed any more."""
        self.isr = self.maximal = isr
        self.pending = None
        for replica in self.followers.values():
            replica.peer.mark(replica)
        if self.followers:
            self.hosted.station.lag.watch(self)

    def end(self) -> None:
        """It leads no more: who waits for the high watermark is told so, followers that ask are sent away."""
        self.over = True
        waiters, self._waiters = self._waiters, []
        for _, _, index, waiter in waiters:
            waiter.reached(index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.start_known()
        for replica in self.followers.values():
            replica.peer.lost(replica)

    # --- appending ---------------------------------------------------------------------------------------------------

    @property
    def effective_min_isr(self) -> int:
        """`min.insync.replicas`, or, since 3.7, all replicas if it asks for more."""
        asked = self.hosted.log.config.min_insync_replicas
        return min(asked, len(self.followers) + 1) if self._min_isr_commits else asked

    @property
    def under_min_isr(self) -> bool:
        """Whether fewer replicas are in sync than `min.insync.replicas` wants."""
        return len(self.isr) < self.effective_min_isr

    def append(self, batches: Sequence[Batch]) -> tuple[Batch, ...]:
        """Append; the caller must `tell` when it has appended all it has. Raises LogRefused."""
        hosted = self.hosted
        log, station = hosted.log, hosted.station
        before = log.end_offset
        try:
            placed = log.append(batches, self.epoch, station.now_ms)
        except OSError as error:
            station.storage_failed(hosted.name, error)
            raise LogRefused(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None
        if log.end_offset != before:
            for replica in self.followers.values():
                if replica.end_offset == before and replica.in_session:
                    replica.renew(replica.peer.asked_us, before)
            if not self.watched and self.followers:
                station.lag.watch(self)
        return placed

    def tell(self) -> None:
        """The log has grown: whoever waits for that gets it."""
        if self.advance():
            self.passed()
        for replica in self.followers.values():
            if replica.in_session:
                replica.peer.has_data(replica)

    # --- the high watermark ------------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Raise the high watermark as far as it goes; returns whether it moved (then call `passed`)."""
        hosted = self.hosted
        log, followers = hosted.log, self.followers
        end = lowest = log.end_offset
        # With every replica in sync there are enough of them, whatever is asked for.
        if end == log.high_watermark or (len(self.isr) <= len(followers) and self._is_held_back()):
            return False
        maximal = self.maximal
        for node, replica in followers.items():
            if replica.end_offset < lowest and (node in maximal or self._is_joining(replica, end)):
                lowest = replica.end_offset
        return lowest > log.high_watermark and hosted.advance(lowest)

    def _is_held_back(self) -> bool:
        """Whether too few are in sync for anything to be committed."""
        return self._min_isr_commits and self.under_min_isr

    @property
    def _min_isr_commits(self) -> bool:
        return self.hosted.station.config.min_isr_commits or self.hosted.internal

    def _is_joining(self, replica: Replica, end: int) -> bool:
        """Whether it is not in sync yet, but keeps up so well that the high watermark should wait for it."""
        station = self.hosted.station
        now, lag = station.loop.now_us, station.config.lag_us
        return replica.is_caught_up(end, now, lag) and self.is_eligible(replica)

    def is_eligible(self, replica: Replica) -> bool:
        """Whether the controller would let it in: alive, not leaving, and this very life of it."""
        broker = self.hosted.station.image.brokers.get(replica.node)
        if broker is None or broker.fenced or broker.in_controlled_shutdown or replica.broker_epoch is None:
            return False
        return replica.broker_epoch in (-1, broker.epoch)

    def passed(self) -> None:
        """The high watermark moved: settle who waited for it, and let followers and consumers know."""
        hosted = self.hosted
        high_watermark = hosted.log.high_watermark
        if not hosted.looked_after:
            hosted.station.upkeep.look(hosted)
        if self._waiters:
            self._settle(high_watermark)
        for replica in self.followers.values():
            if replica.in_session:
                replica.peer.has_news(replica)
        if hosted.waiting:
            hosted.poke()
        trace = hosted.station.trace
        if trace.heartbeats:
            topic, number = hosted.name
            told = {"offset": high_watermark}
            name = hosted.station.host.name
            trace.emit(Kind.HIGH_WATERMARK, host=name, topic=topic, partition=number, payload=told)

    def start_moved(self) -> None:
        """The log begins later than it did: followers will do the same."""
        for replica in self.followers.values():
            if replica.in_session:
                replica.peer.has_news(replica)

    def start_known(self) -> None:
        """A follower has said where its log begins."""
        for deletion in tuple(self.deletions):
            deletion.look()

    def wait_for(self, offset: int, waiter: Waiter, index: int) -> None:
        """Tell `waiter` when the high watermark reaches this offset, at once if it has."""
        if self.hosted.log.high_watermark >= offset:
            waiter.reached(index, self._verdict())
            return
        self._waits += 1
        insort(self._waiters, (offset, self._waits, index, waiter))

    def _settle(self, high_watermark: int) -> None:
        waiters = self._waiters
        count = 0
        while count < len(waiters) and waiters[count][0] <= high_watermark:
            count += 1
        settled = waiters[:count]
        del waiters[:count]
        for _, _, index, waiter in settled:
            waiter.reached(index, self._verdict())

    def _verdict(self) -> ErrorCode:
        few = self.effective_min_isr > len(self.maximal)
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if few else _NONE
