"""The leader's state of a partition: its followers, the high watermark, and the requests that wait for it.

A follower's fetch offset is the end offset of its log. The *high watermark* is the lowest end offset of the leader, the
maximal ISR (with replicas proposed for joining, KIP-497), and the replicas that are caught up and may join next. It
does not advance while fewer replicas are in sync than `min.insync.replicas` (KIP-966). Waiting requests are sorted by
offset, and completed when the high watermark reaches it.

Whether a replica is *caught up* depends on time. Each replica has the last instant at which it had all records that the
leader had at the time of the fetch (or of the fetch before). In Kafka a follower with a parked fetch fetches twice a
second; here the progress of a parked fetch is updated lazily, at the append that leaves the follower behind
(`Replica.renew`).

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
    from groupsim.cluster.replica.follower_sessions import FollowerSession
    from groupsim.cluster.replica.partition import HostedPartition
    from groupsim.cluster.replica.purgatory import Waiter

_NONE: Final = ErrorCode.NONE  # looked up once: access to an enumeration's member is slow, every message needs it
LONG_AGO: Final = -(1 << 62)
UNKNOWN: Final = -1


class Replica:
    """A follower of a partition: its progress, and its position in the follower's fetch session."""

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
        "sent_high_watermark",
        "sent_start",
        "start_offset",
        "trouble",
    )

    def __init__(self, lead: Leadership, peer: FollowerSession) -> None:
        self.lead = lead
        self.peer = peer
        self.node = peer.node
        self.name: TopicPartition = lead.hosted.name
        self.end_offset = UNKNOWN
        self.start_offset = UNKNOWN
        self.seen_end = 0  # the leader's end offset at the last fetch
        self.fetched_us = LONG_AGO
        self.caught_up_us = LONG_AGO
        self.broker_epoch: int | None = None
        # its position in the session
        self.in_session = False
        self.trouble = False  # its position is not in this log: to be answered, not recorded
        self.position = UNKNOWN
        self.epoch = -1
        self.fetched_epoch = -1
        self.max_bytes = 0
        self.sent_high_watermark = UNKNOWN
        self.sent_start = UNKNOWN

    @property
    def is_over(self) -> bool:
        """Whether the leadership has ended, or has another epoch than the last fetch."""
        lead = self.lead
        return lead.over or (self.epoch != lead.epoch and self.epoch != -1)

    def reset(self, now_us: int, leader_end: int, *, new_leader: bool, in_sync: bool) -> None:
        """Reset the progress for a new leader epoch, completely for a new leader (`Replica.resetReplicaState`)."""
        self.caught_up_us = now_us if in_sync else LONG_AGO
        if new_leader:
            self.start_offset = self.end_offset = self.seen_end = UNKNOWN
            self.fetched_us = LONG_AGO
            self.broker_epoch = None
        else:
            self.seen_end = leader_end
            self.fetched_us = now_us if in_sync else LONG_AGO

    def record(self, now_us: int, leader_end: int, broker_epoch: int) -> None:
        """Record a fetch at `position`: the follower has all records below it (`updateFetchStateOrThrow`)."""
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
        """Record the last renewal, at `asked_us`, of a parked fetch of a follower that had all records."""
        if asked_us > self.fetched_us:
            self.fetched_us = asked_us
            if leader_end > self.seen_end:
                self.seen_end = leader_end
            if asked_us > self.caught_up_us:
                self.caught_up_us = asked_us

    def is_caught_up(self, leader_end: int, now_us: int, lag_us: int) -> bool:
        """Whether it has all records, or had them within the last `lag_us`."""
        return leader_end == self.end_offset or now_us - self.caught_up_us <= lag_us


class Leadership:
    """The state of a partition's leader while it leads. `isr` is the ISR confirmed by the controller."""

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

    def __init__(self, hosted: HostedPartition) -> None:
        self.hosted = hosted
        self.epoch = -1
        self.epoch_start = 0
        self.followers: dict[int, Replica] = {}
        self.isr: tuple[int, ...] = ()
        self.maximal: tuple[int, ...] = ()
        self.pending: IsrChange | None = None
        self.over = False
        self.watched = False
        self.deletions: dict[ParkedDeletion, None] = {}  # DeleteRecords that wait for the followers
        self._waiters: list[tuple[int, int, int, Waiter]] = []
        self._waits = 0

    # --- states of the controller ----------------------------------------------------------------------------------

    def apply(self, state: PartitionState) -> bool:
        """Apply the controller's state of the partition; return whether the leader epoch is new."""
        hosted, now = self.hosted, self.hosted.local.loop.now_us
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
                    replica.peer.lost(replica)  # its fetch has the old epoch
        return is_new

    def _set_followers(self, replicas: tuple[int, ...]) -> None:
        local = self.hosted.local
        for node in tuple(self.followers):
            if node not in replicas:
                gone = self.followers.pop(node)
                gone.peer.remove(gone)
        for node in replicas:
            if node != local.node and node not in self.followers:
                self.followers[node] = Replica(self, local.peers[node])

    def confirm(self, isr: tuple[int, ...]) -> None:
        """Set the in-sync replicas, and drop a pending proposal."""
        self.isr = self.maximal = isr
        self.pending = None
        for replica in self.followers.values():
            replica.peer.mark(replica)
        if self.followers:
            self.hosted.local.lag.watch(self)

    def end(self) -> None:
        """End the leadership: requests that wait for the high watermark and parked fetches get an error."""
        self.over = True
        waiters, self._waiters = self._waiters, []
        for _, _, index, waiter in waiters:
            waiter.reached(index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.check_deletions()
        for replica in self.followers.values():
            replica.peer.lost(replica)

    # --- appending ---------------------------------------------------------------------------------------------------

    @property
    def effective_min_isr(self) -> int:
        """`min.insync.replicas`; since 3.7 at most the number of replicas (KAFKA-15583)."""
        asked = self.hosted.log.config.min_insync_replicas
        return min(asked, len(self.followers) + 1) if self._min_isr_commits else asked

    @property
    def under_min_isr(self) -> bool:
        """Whether fewer replicas are in sync than `min.insync.replicas`."""
        return len(self.isr) < self.effective_min_isr

    def append(self, batches: Sequence[Batch]) -> tuple[Batch, ...]:
        """Append; the caller calls `notify_appended` after its last append. Raises LogRefused."""
        hosted = self.hosted
        log, local = hosted.log, hosted.local
        before = log.end_offset
        try:
            placed = log.append(batches, self.epoch, local.now_ms)
        except OSError as error:
            local.storage_failed(hosted.name, error)
            raise LogRefused(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None
        if log.end_offset != before:
            for replica in self.followers.values():
                if replica.end_offset == before and replica.in_session:
                    replica.renew(replica.peer.asked_us, before)
            if not self.watched and self.followers:
                local.lag.watch(self)
        return placed

    def notify_appended(self) -> None:
        """Advance the high watermark and answer parked fetches after appends."""
        if self.advance():
            self.high_watermark_moved()
        for replica in self.followers.values():
            if replica.in_session:
                replica.peer.has_data(replica)

    # --- the high watermark ------------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Raise the high watermark as far as possible; return whether it rose (then call `high_watermark_moved`)."""
        hosted = self.hosted
        log, followers = hosted.log, self.followers
        end = lowest = log.end_offset
        # With every replica in sync there are enough of them.
        if end == log.high_watermark or (len(self.isr) <= len(followers) and self._is_held_back()):
            return False
        maximal = self.maximal
        for node, replica in followers.items():
            if replica.end_offset < lowest and (node in maximal or self._is_joining(replica, end)):
                lowest = replica.end_offset
        return lowest > log.high_watermark and hosted.advance(lowest)

    def _is_held_back(self) -> bool:
        """Whether too few replicas are in sync to commit records."""
        return self._min_isr_commits and self.under_min_isr

    @property
    def _min_isr_commits(self) -> bool:
        return self.hosted.local.config.min_isr_commits or self.hosted.internal

    def _is_joining(self, replica: Replica, end: int) -> bool:
        """Whether the high watermark waits for it to join the ISR (`shouldWaitForReplicaToJoinIsr`)."""
        local = self.hosted.local
        now, lag = local.loop.now_us, local.config.lag_us
        return replica.is_caught_up(end, now, lag) and self.is_eligible(replica)

    def is_eligible(self, replica: Replica) -> bool:
        """Whether the controller would accept it: not fenced, not shutting down, and in its current incarnation."""
        broker = self.hosted.local.image.brokers.get(replica.node)
        if broker is None or broker.fenced or broker.in_controlled_shutdown or replica.broker_epoch is None:
            return False
        return replica.broker_epoch in (-1, broker.epoch)

    def high_watermark_moved(self) -> None:
        """Complete the requests that waited for the high watermark, and notify followers and consumers."""
        hosted = self.hosted
        high_watermark = hosted.log.high_watermark
        if not hosted.maintenance_scheduled:
            hosted.local.maintenance.schedule(hosted)
        if self._waiters:
            self._settle(high_watermark)
        for replica in self.followers.values():
            if replica.in_session:
                replica.peer.has_news(replica)
        if hosted.waiting:
            hosted.check_waiting()
        trace = hosted.local.trace
        if trace.heartbeats:
            topic, number = hosted.name
            payload = {"offset": high_watermark}
            name = hosted.local.host.name
            trace.emit(Kind.HIGH_WATERMARK, host=name, topic=topic, partition=number, payload=payload)

    def start_moved(self) -> None:
        """Notify followers of a new log start offset."""
        for replica in self.followers.values():
            if replica.in_session:
                replica.peer.has_news(replica)

    def check_deletions(self) -> None:
        """Check the waiting DeleteRecords after a follower's new start offset."""
        for deletion in tuple(self.deletions):
            deletion.check()

    def wait_for(self, offset: int, waiter: Waiter, index: int) -> None:
        """Call `waiter.reached` when the high watermark reaches this offset, at once if it has."""
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
