"""The stages of a rebalance, as one member goes through it."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """How far the present rebalance has come."""

    IDLE = "nothing in flight"
    COMMITTING = "auto-commit before the join"
    JOINING = "JoinGroup in flight"
    JOINED = "JoinGroup answered"
    SYNCING = "SyncGroup in flight"
    SYNC_FAILED = "SyncGroup answered with an error"
    SYNC_AGAIN = "SyncGroup is to be sent again"
    SYNCED = "assignment received"
