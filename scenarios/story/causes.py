"""The closed list of causes: every generation has exactly one of these names, so that they can be counted.

The coordinator knows only what it noticed (a member was added, a heartbeat did not arrive); the list below has the
cause that lies behind it. `SINGLE` maps a cause code of the coordinator to a cause where the code alone decides it.
`scenarios/story/rebalances/blame.py` finds the other causes in the trace.
"""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """Why a generation began. The value is what reports print."""

    FIRST_START = "first start"
    DEPLOY_JOIN = "deploy-join"
    DEPLOY_LEAVE = "deploy-leave"
    SESSION_CRASH = "session-expiry (crash)"
    SESSION_PAUSE = "session-expiry (pause)"
    SESSION_STARVED = "session-expiry (starved)"
    SESSION_STALL = "session-expiry (coordinator stall)"
    SESSION_NETWORK = "session-expiry (network)"
    SESSION_SILENT = "session-expiry"
    POLL_LIMIT = "poll-limit"
    LEADER_REJOIN = "leader-rejoin loop"
    METADATA = "metadata change"
    SUBSCRIPTION_MIX = "subscription mix"
    TIMEOUT_INVERSION = "timeout inversion"
    CALLBACK = "callback blocks join"
    ASSIGNOR = "assignor too slow"
    STATIC_FENCE = "static fence"
    COORDINATOR_MOVE = "coordinator move"
    COORDINATOR_BACK = "coordinator restart"
    WRONG_ANSWER = "wrong answer"
    STUCK = "stuck application"
    PROTOCOL = "protocol mismatch"
    OFFSET_EXPIRY = "offset expiry"
    PENDING = "pending member"
    REVOCATION = "rebalance-timeout (revocation not acknowledged)"
    PATTERN = "pattern resolved"
    ASSIGNOR_VOTE = "preferred assignor"

    @property
    def meaning(self) -> str:
        """One sentence that explains the name."""
        return MEANING[self]

    @property
    def is_session(self) -> bool:
        """Whether the coordinator removed a member because no heartbeat arrived."""
        return self.value.startswith("session-expiry")


MEANING: dict[Cause, str] = {
    Cause.FIRST_START: "the group forms: its first members join an empty group",
    Cause.DEPLOY_JOIN: "a process joined: a start, a scale-up, or the new half of a restart",
    Cause.DEPLOY_LEAVE: "a process left in an orderly way: a stop, a scale-down, or the old half of a restart",
    Cause.SESSION_CRASH: "a process died or stopped without leaving; the coordinator noticed when its session ended",
    Cause.SESSION_PAUSE: "a process was paused (GC, swap, a busy poll thread) for longer than its session",
    Cause.SESSION_STARVED: "a heartbeat thread got no CPU time for a session (GIL, a lock) while its application ran",
    Cause.SESSION_STALL: "the coordinator was paused and then found sessions overdue; the members were alive",
    Cause.SESSION_NETWORK: "heartbeats were lost in the network for longer than the session",
    Cause.SESSION_SILENT: "heartbeats were refused, or stopped for a reason that the trace does not have",
    Cause.POLL_LIMIT: "max.poll.interval.ms ran out between two calls of poll(), so the client left the group",
    Cause.LEADER_REJOIN: "the leader joined again without a change of membership or metadata",
    Cause.METADATA: "a topic was created or deleted, its partition count changed, or a subscription changed",
    Cause.SUBSCRIPTION_MIX: "members of one group subscribe to different topics",
    Cause.TIMEOUT_INVERSION: "a client's request timeout is shorter than the time the coordinator holds its request",
    Cause.CALLBACK: "a rebalance callback kept a member from joining in time",
    Cause.ASSIGNOR: "the leader computed the assignment for longer than the group waits",
    Cause.STATIC_FENCE: "two processes used one group.instance.id",
    Cause.COORDINATOR_MOVE: "the group moved to another broker, or was loaded again",
    Cause.COORDINATOR_BACK: "the coordinator stopped, and the same broker loaded the group again",
    Cause.WRONG_ANSWER: "a fault of the scenario answered a request with an error that was not the broker's",
    Cause.STUCK: "no rebalance: the owner sends heartbeats, and its worker, callback or poll thread is blocked",
    Cause.PROTOCOL: "the members have no assignor in common, or a static member joined again with another one",
    Cause.OFFSET_EXPIRY: "committed offsets were deleted by retention",
    Cause.PENDING: "a client received a member id and never joined with it",
    Cause.REVOCATION: "a member did not confirm within its rebalance timeout that it had revoked its partitions",
    Cause.PATTERN: "the coordinator found other topics for a regular expression of a member",
    Cause.ASSIGNOR_VOTE: "the members prefer another assignor of the coordinator",
}

# Cause code of the coordinator (log-formats reference, section 2) → cause, where the code alone decides it.
SINGLE: dict[str, Cause] = {
    "STATIC_PROTOCOL": Cause.PROTOCOL,
    "STORE_ERROR": Cause.COORDINATOR_MOVE,
    "OVER_CAPACITY": Cause.COORDINATOR_MOVE,
    "ASSIGNOR_VOTE": Cause.ASSIGNOR_VOTE,
}

# A part of the client's reason (KIP-800 and the Java client's log) → cause. The first entry that fits counts.
CLIENT_REASONS: tuple[tuple[str, Cause], ...] = (
    ("poll timeout has expired", Cause.POLL_LIMIT),
    ("cached metadata has changed", Cause.METADATA),
    ("subscription has changed", Cause.METADATA),
    ("unsubscribed from all topics", Cause.DEPLOY_LEAVE),
    ("being closed", Cause.DEPLOY_LEAVE),
    ("enforced by user", Cause.LEADER_REJOIN),
    ("NotCoordinator", Cause.COORDINATOR_MOVE),
)

# A cooperative member that revoked partitions joins again at once: the second rebalance of KIP-429.
FOLLOW_UP_REASON = "need to revoke partitions"

# A member whose JoinGroup or SyncGroup failed joins again: the cause is that of the round before.
FAILED_REASON = "rebalance failed"


def from_client_reason(reason: str | None) -> Cause | None:
    """Return the cause that a client's reason names; None for no reason or an unknown one."""
    return next((cause for part, cause in CLIENT_REASONS if reason and part in reason), None)
