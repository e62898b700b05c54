"""A partition with its leader on another broker: appends the leader's records and truncates diverging ones.

A follower's log can have records that the new leader's log lacks; they were never committed. The follower's first fetch
carries the epoch of its last record. If the logs diverge, the leader answers with the largest epoch that it knows, not
above that one, and the end offset of that epoch (KIP-595). The follower truncates its log there, or at the end of the
largest such epoch that it knows itself, and fetches again (KIP-279). A log out of the leader's range is truncated to
the leader's end offset, or restarted at the leader's start offset.

Source: `ReplicaFetcherThread.processPartitionData`, `AbstractFetcherThread.getOffsetTruncationState`,
`fetchOffsetAndTruncate`.
"""

from __future__ import annotations

from groupsim.cluster.replica.partition import HostedPartition
from groupsim.protocol.messages.data import EpochEnd, FetchPartition, PartitionData


def start(hosted: HostedPartition) -> None:
    """Prepare a log for the first fetch from a new leader."""
    log = hosted.log
    # Without leader epochs a divergence cannot be found: only committed records stay (`truncateToHighWatermark`).
    if log.latest_epoch < 0 and log.end_offset > log.high_watermark:
        hosted.truncate(log.high_watermark, "no leader epochs")


def position(hosted: HostedPartition) -> FetchPartition:
    """Return the partition's next fetch."""
    log = hosted.log
    limit = hosted.local.config.replica_fetch_max_bytes
    return FetchPartition(hosted.name, log.end_offset, limit, hosted.epoch, log.latest_epoch, log.start_offset)


def append(hosted: HostedPartition, data: PartitionData) -> None:
    """Append the leader's records and take over its high watermark and start offset."""
    log, local = hosted.log, hosted.local
    if data.batches:
        log.append_copied(data.batches, local.now_ms)
    moved = data.high_watermark > log.high_watermark and hosted.advance(data.high_watermark)
    if data.log_start_offset > log.start_offset:
        log.advance_start(min(data.log_start_offset, log.high_watermark))
    if not hosted.maintenance_scheduled:
        local.maintenance.schedule(hosted)
    if moved and hosted.waiting:
        hosted.check_waiting()


def truncate(hosted: HostedPartition, diverging: EpochEnd) -> None:
    """Truncate the log where it diverges from the leader's, as far as the epochs show it."""
    hosted.truncate(_truncation_offset(hosted, diverging), f"the leader's epoch {diverging.epoch} ends there")


def _truncation_offset(hosted: HostedPartition, diverging: EpochEnd) -> int:
    log = hosted.log
    own = log.epoch_end(diverging.epoch)
    if own.epoch < 0:
        return min(diverging.end_offset, log.end_offset)
    if own.epoch != diverging.epoch:
        return min(own.end_offset, log.end_offset)
    return min(own.end_offset, diverging.end_offset, log.end_offset)
