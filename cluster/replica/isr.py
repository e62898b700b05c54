"""Who is in sync: replicas that lag leave, replicas that have caught up come back, always through the controller.

A leader *proposes*: one AlterPartition per partition at a time. Until the answer is there, the high watermark counts
the larger of the two sets (KIP-497): a replica proposed for joining counts already, one proposed for leaving still.
The answer is dropped when the controller's image has overtaken it. After most errors the proposal simply stays: the
leader's knowledge is out of date, and the next image settles it.

* A follower **leaves** when it has not been caught up for longer than `replica.lag.time.max.ms`. Kafka looks at all
  partitions every half of that time; here only those with a follower behind are on the list (`LagWatch`), and when
  there are none there is no event. What is on the list is looked at on Kafka's ticks.
* A follower **joins** when, at a fetch, it has all that is committed and the start of the leader's epoch.

Source: `Partition.maybeShrinkIsr`, `maybeExpandIsr`, `submitAlterPartition`, `handleAlterPartitionError`.
"""

from __future__ import annotations

from functools import partial

from groupsim.cluster.replica.broker_replicas import Station
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
"""The leader's knowledge is out of date: nothing to do but to wait for the next image."""
_NOT_DONE = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})
"""Nothing was changed, and the leader's knowledge is good: back to what was, and a later fetch proposes anew."""


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
    """Propose to go on without the followers that lag."""
    if lead.pending is not None:
        return
    lagging = _lagging(lead)
    if lagging:
        _propose(lead, tuple(node for node in lead.isr if node not in lagging))


def _lagging(lead: Leadership) -> tuple[int, ...]:
    station, end = lead.hosted.station, lead.hosted.log.end_offset
    now, lag = station.loop.now_us, station.config.lag_us
    followers = lead.followers
    return tuple(
        node
        for node in lead.isr
        if node != station.node and (node not in followers or not followers[node].is_caught_up(end, now, lag))
    )


def _propose(lead: Leadership, isr: tuple[int, ...]) -> None:
    hosted = lead.hosted
    change = IsrChange(hosted.name, lead.epoch, isr, hosted.partition_epoch)
    lead.pending = change
    _submit(lead, change)


def _submit(lead: Leadership, change: IsrChange) -> None:
    lead.hosted.station.alter(change, partial(_answered, lead, change))


def _answered(lead: Leadership, change: IsrChange, error: ErrorCode, state: PartitionState | None) -> None:
    """The controller's answer to a proposal."""
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
        lead.passed()


class LagWatch:
    """The led partitions in which some in-sync follower may be behind, looked at on the ticks of Kafka's scheduler."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._behind: dict[Leadership, None] = {}
        self._armed = False

    def watch(self, lead: Leadership) -> None:
        """Look at a partition on the next tick."""
        if lead.watched:
            return
        lead.watched = True
        self._behind[lead] = None
        if not self._armed:
            self._arm()

    def _arm(self) -> None:
        self._armed = True
        every = self._station.config.lag_us // 2
        self._station.host.call_at(self._station.next_boundary_us(every), self._look)

    def _look(self, _: object) -> None:
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
