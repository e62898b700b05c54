"""Maintenance of logs when it is due: retention, compaction, flush, expiry of producers.

`PartitionLog.next_maintenance_ms` returns when a log needs maintenance, at an instant of Kafka's periodic checks. It is
asked after a log was opened, after a roll when the high watermark has passed it, after a change of settings, and after
each maintenance. A log that needs no maintenance costs no events.

Source: `LogManager.cleanupLogs`, `LogCleaner`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.cluster.config.log import NEVER
from groupsim.cluster.replica.partition import HostedPartition
from groupsim.protocol.batch.batch import EPOCH_MS

if TYPE_CHECKING:
    from groupsim.cluster.replica.broker_replicas import BrokerReplicas


class LogMaintenance:
    """The logs of one broker that will need maintenance, and one event for the first of them."""

    def __init__(self, local: BrokerReplicas) -> None:
        self._local = local
        self._due: dict[HostedPartition, int] = {}  # microseconds
        self._at_us: int | None = None

    def schedule(self, hosted: HostedPartition) -> None:
        """Schedule the next maintenance of a log."""
        log = hosted.log
        settled = log.store.segments[-1].base_offset <= log.high_watermark
        hosted.maintenance_scheduled = settled and log.config.flush_ms >= NEVER
        due_ms = log.next_maintenance_ms(self._local.now_ms)
        if due_ms is None:
            self._due.pop(hosted, None)
        else:
            self._due[hosted] = due_us = (due_ms - EPOCH_MS) * 1_000
            self._arm(due_us)

    def _arm(self, due_us: int) -> None:
        if self._at_us is None or due_us < self._at_us:
            self._at_us = due_us
            self._local.host.call_at(due_us, self._go, due_us)

    def _go(self, due_us: int) -> None:
        if due_us != self._at_us:
            return  # an earlier event was scheduled since
        self._at_us = None
        now_us = self._local.loop.now_us
        for hosted, due in tuple(self._due.items()):
            if self._local.partitions.get(hosted.name) is not hosted:
                del self._due[hosted]
            elif due <= now_us:
                self._maintain(hosted)
        if self._due:
            self._arm(min(self._due.values()))

    def _maintain(self, hosted: HostedPartition) -> None:
        before = hosted.log.start_offset
        hosted.log.maintain(self._local.now_ms)
        if hosted.lead is not None and hosted.log.start_offset != before:
            hosted.lead.start_moved()
        self.schedule(hosted)
