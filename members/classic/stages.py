"""The stages of a member's rebalance."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """Progress of the current rebalance."""

    IDLE = "nothing in flight"
    COMMITTING = "auto-commit before the join"
    JOINING = "JoinGroup in flight"
    JOINED = "JoinGroup answered"
    SYNCING = "SyncGroup in flight"
    SYNC_FAILED = "SyncGroup answered with an error"
    SYNC_AGAIN = "SyncGroup is to be sent again"
    SYNCED = "assignment received"
