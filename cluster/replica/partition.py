"""One replica that this broker keeps: its log, who leads it, and the consumers that wait for it to grow.

The replica is led here (`lead` is there) or copied from elsewhere; `manager.py` moves it from one role to the other.

The high watermark is written to disk every `replica.high.watermark.checkpoint.interval.ms`; a broker that comes back
after a crash begins with the one written last. No event is spent on that: what stood there at the last tick follows
from when the high watermark last moved.

Source: `Partition`, `ReplicaManager.checkpointHighWatermarks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.cluster.log.log import HIGH_WATERMARK_CHECKPOINT, PartitionLog
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition

if TYPE_CHECKING:
    from groupsim.cluster.replica.broker_replicas import Station
    from groupsim.cluster.replica.consumers import ParkedFetch
    from groupsim.cluster.replica.leader import Leadership


class Hosted:
    """One replica. `epoch` is the leader epoch, `leader` a node id or -1; `waiting` the consumers' parked fetches."""

    __slots__ = (
        "_kept",
        "_kept_tick",
        "_ticks_us",
        "epoch",
        "internal",
        "lead",
        "leader",
        "log",
        "looked_after",
        "name",
        "partition_epoch",
        "station",
        "topic_id",
        "waiting",
    )

    def __init__(
        self, station: Station, name: TopicPartition, topic_id: str, log: PartitionLog, *, internal: bool
    ) -> None:
        self.station = station
        self.name = name
        self.topic_id = topic_id
        self.log = log
        self.internal = internal
        self.leader = -1
        self.epoch = -1
        self.partition_epoch = -1
        self.lead: Leadership | None = None
        self.waiting: dict[ParkedFetch, None] = {}
        self.looked_after = False  # whether it is known when the log needs maintenance
        log.on_roll = self._rolled
        self._ticks_us = station.config.replica_high_watermark_checkpoint_interval_ms * 1_000
        self._kept = log.high_watermark
        self._kept_tick = self._tick()

    def _rolled(self) -> None:
        self.looked_after = False

    # --- the high watermark ------------------------------------------------------------------------------------------

    def advance(self, offset: int) -> bool:
        """Raise the high watermark; returns whether it moved."""
        log = self.log
        before = log.high_watermark
        if not log.advance_high_watermark(offset):
            return False
        station = self.station
        tick = (station.loop.now_us - station.began_us) // self._ticks_us
        if tick != self._kept_tick:
            self._kept, self._kept_tick = before, tick
        return True

    def _tick(self) -> int:
        return (self.station.loop.now_us - self.station.began_us) // self._ticks_us

    def keep_high_watermark(self, *, now: bool) -> None:
        """Write the high watermark beside the log: as it is, or as the last tick wrote it."""
        current = self.log.high_watermark
        kept = current if now or self._tick() != self._kept_tick else min(self._kept, current)
        self.log.store.write_checkpoint(HIGH_WATERMARK_CHECKPOINT, str(kept))

    # --- what happens to the log ------------------------------------------------------------------------------------

    def truncate(self, offset: int, reason: str) -> None:
        """Cut the log off, and say so."""
        before = self.log.end_offset
        self.log.truncate_to(offset)
        if self.log.end_offset < before:
            self._tell_truncated(before, reason)

    def restart_at(self, offset: int, reason: str) -> None:
        """Drop all and begin anew at an offset."""
        before = self.log.end_offset
        self.log.restart_at(offset)
        self._tell_truncated(before, reason)

    def _tell_truncated(self, before: int, reason: str) -> None:
        topic, number = self.name
        self.station.trace.emit(
            Kind.LOG_TRUNCATED,
            host=self.station.host.name,
            topic=topic,
            partition=number,
            reason=reason,
            payload={"to": self.log.end_offset, "end": before},
        )

    def poke(self) -> None:
        """Something changed that consumers wait for: the high watermark, the leadership."""
        for parked in tuple(self.waiting):
            parked.look_at(self)
