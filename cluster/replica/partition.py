"""One replica on this broker: its log, its leader, and the consumers' fetches that wait for records.

The replica is the leader (then `lead` is set) or a follower; `manager.py` changes its role.

The high watermark is checkpointed every `replica.high.watermark.checkpoint.interval.ms`; a broker starts after a crash
with the last checkpoint. That takes no events: the value at the last interval follows from the time of the last change.

Source: `Partition`, `ReplicaManager.checkpointHighWatermarks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.cluster.log.log import HIGH_WATERMARK_CHECKPOINT, PartitionLog
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition

if TYPE_CHECKING:
    from groupsim.cluster.replica.broker_replicas import BrokerReplicas
    from groupsim.cluster.replica.consumers import ParkedFetch
    from groupsim.cluster.replica.leader import Leadership


class HostedPartition:
    """One replica. `epoch` is the leader epoch, `leader` a node id or -1, `waiting` has consumers' parked fetches."""

    __slots__ = (
        "_checkpointed",
        "_checkpointed_tick",
        "_ticks_us",
        "epoch",
        "internal",
        "lead",
        "leader",
        "local",
        "log",
        "maintenance_scheduled",
        "name",
        "partition_epoch",
        "topic_id",
        "waiting",
    )

    def __init__(
        self, local: BrokerReplicas, name: TopicPartition, topic_id: str, log: PartitionLog, *, internal: bool
    ) -> None:
        self.local = local
        self.name = name
        self.topic_id = topic_id
        self.log = log
        self.internal = internal
        self.leader = -1
        self.epoch = -1
        self.partition_epoch = -1
        self.lead: Leadership | None = None
        self.waiting: dict[ParkedFetch, None] = {}
        self.maintenance_scheduled = False  # whether no new maintenance time can arise until the next roll
        log.on_roll = self._rolled
        self._ticks_us = local.config.replica_high_watermark_checkpoint_interval_ms * 1_000
        self._checkpointed = log.high_watermark
        self._checkpointed_tick = self._tick()

    def _rolled(self) -> None:
        self.maintenance_scheduled = False

    # --- the high watermark ------------------------------------------------------------------------------------------

    def advance(self, offset: int) -> bool:
        """Raise the high watermark; return whether it rose."""
        log = self.log
        before = log.high_watermark
        if not log.advance_high_watermark(offset):
            return False
        local = self.local
        tick = (local.loop.now_us - local.began_us) // self._ticks_us
        if tick != self._checkpointed_tick:
            self._checkpointed, self._checkpointed_tick = before, tick
        return True

    def _tick(self) -> int:
        return (self.local.loop.now_us - self.local.began_us) // self._ticks_us

    def checkpoint_high_watermark(self, *, now: bool) -> None:
        """Write the checkpoint of the high watermark: the current one, or that of the last interval."""
        current = self.log.high_watermark
        kept = current if now or self._tick() != self._checkpointed_tick else min(self._checkpointed, current)
        self.log.store.write_checkpoint(HIGH_WATERMARK_CHECKPOINT, str(kept))

    # --- truncation -------------------------------------------------------------------------------------------------

    def truncate(self, offset: int, reason: str) -> None:
        """Truncate the log, and emit LOG_TRUNCATED."""
        before = self.log.end_offset
        self.log.truncate_to(offset)
        if self.log.end_offset < before:
            self._emit_truncated(before, reason)

    def restart_at(self, offset: int, reason: str) -> None:
        """Delete all records and restart the log at an offset, and emit LOG_TRUNCATED."""
        before = self.log.end_offset
        self.log.restart_at(offset)
        self._emit_truncated(before, reason)

    def _emit_truncated(self, before: int, reason: str) -> None:
        topic, number = self.name
        self.local.trace.emit(
            Kind.LOG_TRUNCATED,
            host=self.local.host.name,
            topic=topic,
            partition=number,
            reason=reason,
            payload={"to": self.log.end_offset, "end": before},
        )

    def check_waiting(self) -> None:
        """Check the parked fetches after a change of the high watermark or the leadership."""
        for parked in tuple(self.waiting):
            parked.check(self)
