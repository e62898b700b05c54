"""Maintenance of logs, when they need it: retention, compaction, flushing, producers that are forgotten.

A log says itself when it next needs something (`PartitionLog.next_maintenance_ms`, on the grid of Kafka's checks). It
is asked when it was opened, when it was rolled and committed beyond the roll, when its settings changed, and after each
maintenance; a log that never needs anything costs no events.

Source: `LogManager.cleanupLogs`, `LogCleaner`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.cluster.config.log import NEVER
from groupsim.cluster.replica.partition import Hosted
from groupsim.protocol.batch.batch import EPOCH_MS

if TYPE_CHECKING:
    from groupsim.cluster.replica.broker_replicas import Station


class Upkeep:
    """The logs of one broker that will need something, and one event for the first of them."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._due: dict[Hosted, int] = {}  # microseconds
        self._at_us: int | None = None

    def look(self, hosted: Hosted) -> None:
        """When does a log need something next?"""
        log = hosted.log
        settled = log.store.segments[-1].base_offset <= log.high_watermark
        hosted.looked_after = settled and log.config.flush_ms >= NEVER
        due_ms = log.next_maintenance_ms(self._station.now_ms)
        if due_ms is None:
            self._due.pop(hosted, None)
        else:
            self._due[hosted] = due_us = (due_ms - EPOCH_MS) * 1_000
            self._arm(due_us)

    def _arm(self, due_us: int) -> None:
        if self._at_us is None or due_us < self._at_us:
            self._at_us = due_us
            self._station.host.call_at(due_us, self._go, due_us)

    def _go(self, due_us: int) -> None:
        if due_us != self._at_us:
            return  # it was set for earlier since
        self._at_us = None
        now_us = self._station.loop.now_us
        for hosted, due in tuple(self._due.items()):
            if self._station.partitions.get(hosted.name) is not hosted:
                del self._due[hosted]
            elif due <= now_us:
                self._maintain(hosted)
        if self._due:
            self._arm(min(self._due.values()))

    def _maintain(self, hosted: Hosted) -> None:
        before = hosted.log.start_offset
        hosted.log.maintain(self._station.now_ms)
        if hosted.lead is not None and hosted.log.start_offset != before:
            hosted.lead.start_moved()
        self.look(hosted)
