"""A partition that is copied here: taking what the leader sent, and cutting off what the leader does not have.

A follower's log can hold records that the new leader's does not: they were never committed. It finds out from its
first fetch, in which it names the epoch of its last record; the leader answers with the largest epoch not above that
which it knows, and where that ends (KIP-595). The follower cuts its log there, or at the end of the largest epoch that
it knows itself and asks again (KIP-279). A log that lies outside the leader's altogether is cut to the leader's end, or
begun anew at the leader's start.

Source: `ReplicaFetcherThread.processPartitionData`, `AbstractFetcherThread.getOffsetTruncationState`,
`fetchOffsetAndTruncate`.
"""

from __future__ import annotations

from groupsim.cluster.replica.partition import Hosted
from groupsim.protocol.messages.data import EpochEnd, FetchPartition, PartitionData


def begin(hosted: Hosted) -> None:
    """Before the first fetch of a new leader: without epochs there is no telling what the leader has."""
    log = hosted.log
    if log.latest_epoch < 0 and log.end_offset > log.high_watermark:
        hosted.truncate(log.high_watermark, "no leader epochs")


def position(hosted: Hosted) -> FetchPartition:
    """What to ask the leader for next."""
    log = hosted.log
    limit = hosted.station.config.replica_fetch_max_bytes
    return FetchPartition(hosted.name, log.end_offset, limit, hosted.epoch, log.latest_epoch, log.start_offset)


def take(hosted: Hosted, data: PartitionData) -> None:
    """Append the leader's records; its high watermark is ours as far as our log reaches."""
    log, station = hosted.log, hosted.station
    if data.batches:
        log.append_copied(data.batches, station.now_ms)
    moved = data.high_watermark > log.high_watermark and hosted.advance(data.high_watermark)
    if data.log_start_offset > log.start_offset:
        log.advance_start(min(data.log_start_offset, log.high_watermark))
    if not hosted.looked_after:
        station.upkeep.look(hosted)
    if moved and hosted.waiting:
        hosted.poke()


def cut(hosted: Hosted, diverging: EpochEnd) -> None:
    """Cut the log where it leaves the leader's, as far as that is known."""
    hosted.truncate(_cut_offset(hosted, diverging), f"the leader's epoch {diverging.epoch} ends there")


def _cut_offset(hosted: Hosted, diverging: EpochEnd) -> int:
    log = hosted.log
    own = log.epoch_end(diverging.epoch)
    if own.epoch < 0:
        return min(diverging.end_offset, log.end_offset)
    if own.epoch != diverging.epoch:
        return min(own.end_offset, log.end_offset)
    return min(own.end_offset, diverging.end_offset, log.end_offset)
