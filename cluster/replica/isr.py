"""Changes of the in-sync replicas (ISR): lagging ones leave, caught-up ones join, always through the controller.

A leader *proposes* a change by AlterPartition, one at a time for each partition. Until the response the high watermark
depends on the *maximal* ISR (KIP-497): a replica proposed for joining counts already, one proposed for leaving counts
still. A response is ignored if a newer image has arrived. After most errors the proposal stays pending: the leader's
state is out of date, and the next image replaces it.

* A follower **leaves** when it has not been caught up for longer than `replica.lag.time.max.ms`. Kafka checks all
  partitions at every half of that time. Here `LagWatch` checks, at the same instants, only partitions with a follower
  behind; without one there is no event.
* A follower **joins** when, at a fetch, it has all committed records and has reached the start of the leader's epoch.

Source: `Partition.maybeShrinkIsr`, `maybeExpandIsr`, `submitAlterPartition`, `handleAlterPartitionError`.
"""

from __future__ import annotations

from functools import partial

from groupsim.cluster.replica.broker_replicas import BrokerReplicas
from groupsim.cluster.replica.leader import Leadership, Replica
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import IsrChange, PartitionState

_STALE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
"""The leader's state is out of date: the proposal stays until the next image (`handleAlterPartitionError`)."""
_NOT_DONE = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})
"""Nothing was changed: the leader returns to the last committed ISR, and a later fetch proposes again."""


def maybe_expand(lead: Leadership, replica: Replica) -> None:
    """Propose a follower that has caught up."""
    if lead.pending is not None or replica.node in lead.isr:
        return
    enough = max(lead.hosted.log.high_watermark, lead.epoch_start)
    if replica.end_offset >= enough and lead.is_eligible(replica):
        isr = (*lead.isr, replica.node)
        lead.maximal = isr
        _propose(lead, isr)


def maybe_shrink(lead: Leadership) -> None:
    """Propose to remove the followers that lag."""
    if lead.pending is not None:
        return
    lagging = _lagging(lead)
    if lagging:
        _propose(lead, tuple(node for node in lead.isr if node not in lagging))


def _lagging(lead: Leadership) -> tuple[int, ...]:
    local, end = lead.hosted.local, lead.hosted.log.end_offset
    now, lag = local.loop.now_us, local.config.lag_us
    followers = lead.followers
    return tuple(
        node
        for node in lead.isr
        if node != local.node and (node not in followers or not followers[node].is_caught_up(end, now, lag))
    )


def _propose(lead: Leadership, isr: tuple[int, ...]) -> None:
    hosted = lead.hosted
    change = IsrChange(hosted.name, lead.epoch, isr, hosted.partition_epoch)
    lead.pending = change
    _submit(lead, change)


def _submit(lead: Leadership, change: IsrChange) -> None:
    lead.hosted.local.alter(change, partial(_answered, lead, change))


def _answered(lead: Leadership, change: IsrChange, error: ErrorCode, state: PartitionState | None) -> None:
    """Handle the controller's response to a proposal."""
    if lead.over or lead.pending is not change:
        return
    if error is ErrorCode.NONE:
        if state is not None:
            _confirmed(lead, state)
    elif error in _NOT_DONE:
        lead.confirm(lead.isr)
    elif error not in _STALE:
        _submit(lead, change)


def _confirmed(lead: Leadership, state: PartitionState) -> None:
    hosted = lead.hosted
    if state.leader_epoch != lead.epoch or state.partition_epoch < hosted.partition_epoch:
        return
    hosted.partition_epoch = state.partition_epoch
    lead.confirm(state.isr)
    if lead.advance():
        lead.high_watermark_moved()


class LagWatch:
    """The partitions in which an in-sync follower may be behind, checked at the instants of Kafka's scheduler."""

    def __init__(self, local: BrokerReplicas) -> None:
        self._local = local
        self._behind: dict[Leadership, None] = {}
        self._armed = False

    def watch(self, lead: Leadership) -> None:
        """Check a partition at the next instant."""
        if lead.watched:
            return
        lead.watched = True
        self._behind[lead] = None
        if not self._armed:
            self._arm()

    def _arm(self) -> None:
        self._armed = True
        every = self._local.config.lag_us // 2
        self._local.host.call_at(self._local.next_boundary_us(every), self._check)

    def _check(self, _: object) -> None:
        self._armed = False
        behind, self._behind = self._behind, {}
        for lead in behind:
            lead.watched = False
            if lead.over:
                continue
            maybe_shrink(lead)
            if self._some_behind(lead):
                self.watch(lead)

    def _some_behind(self, lead: Leadership) -> bool:
        end, followers = lead.hosted.log.end_offset, lead.followers
        return any(node in followers and followers[node].end_offset != end for node in lead.isr)
