"""Differences of libraries by subject: the rows of a profile. The defaults are those of the newest Java consumer."""

from __future__ import annotations

from enum import StrEnum

from groupsim.protocol.values import frozen


class SessionCheck(StrEnum):
    """When a library checks for session.timeout.ms without an answer to a heartbeat.

    The check only makes the client look the coordinator up: the coordinator alone removes a member.
    """

    BEFORE_SENDING = "before each heartbeat"
    AFTER_FAILURE = "when a heartbeat has failed"
    WHILE_UNANSWERED = "while a heartbeat is unanswered"
    NEVER = "never"


class AfterBreak(StrEnum):
    """Handling of a coordinator that was found again after its connection broke."""

    GIVES_UP = "given up while reconnect.backoff.ms lasts, and looked for again after the backoff"
    ASKS_AGAIN = "given up, and looked for again at once, after which it can be sent to"
    CONNECTS = "known, and connected to"


@frozen
class SubscriptionRow:
    """Content of a member's subscription in JoinGroup."""

    version: int = 3
    eager_generation: bool = True  #: the subscription of an eager assignor has a generation, too
    no_user_data: bytes | None = None  #: user data for an assignor without any
    #: A cooperative assignor has the user data of `sticky`: the last assignment with its generation (librdkafka).
    claims_in_user_data: bool = False
    #: A rebalance counts for the topics subscribed to at its end, not at its JoinGroup (Java up to 0.10.0).
    taken_at_end: bool = False


@frozen
class LeaderRow:
    """Assignment by the leader."""

    sticky_by_quotas: bool = True  #: sticky assignors use quotas if all subscriptions are equal (Java since 2.6)
    static_first: bool = True  #: static members are sorted before dynamic ones, by instance id
    #: Each member's assignment has the user data of its subscription (librdkafka), whatever the assignor.
    returns_user_data: bool = False
    #: A leader whose topics changed during its SyncGroup joins again at once (Java up to 0.10.0).
    discards_outdated: bool = False


@frozen
class HeartbeatRow:
    """Start of heartbeats, and effects of their answers; the pace sends them."""

    session_check: SessionCheck = SessionCheck.BEFORE_SENDING
    #: They start at the JoinGroup answer (KAFKA-10122), not at the SyncGroup answer.
    while_syncing: bool = True
    at_start: bool = False  #: the first one is sent at once, not after an interval
    #: A look-up restarts their interval and the poll limit, not only the session timer.
    restart_when_found: bool = False
    #: After FENCED_INSTANCE_ID a poll joins again; else there is neither heartbeat nor join.
    joins_when_fenced: bool = True


@frozen
class PollLimitRow:
    """max.poll.interval.ms (KIP-62)."""

    enforced: bool = True  #: the member leaves when the limit expires
    check_ms: int = 100  #: period of the background thread's checks


@frozen
class CoordinatorRow:
    """Look-up of the coordinator, and the connection to it."""

    shared_connection: bool = False  #: group requests share the connection of all other requests
    looks_up_at_once: bool = True  #: a coordinator lost while joining is looked up without retry.backoff.ms
    refreshes_metadata: bool = False  #: a failed look-up is followed by a metadata update before the next one
    #: The connection to a replaced or silent coordinator is closed.
    closes_lost: bool = True
    #: JoinGroup, OffsetFetch and OffsetCommit to a new coordinator wait for retry.backoff.ms, until it is connected.
    connects_first: bool = False
    after_break: AfterBreak = AfterBreak.GIVES_UP
    #: A look-up follows the answer to the last one after retry.backoff.ms at the earliest, also after a success.
    spaced: bool = False
    #: A connection that broke with nothing in flight is made again with the next request; the coordinator stays known.
    reconnects: bool = False


@frozen
class RetryRow:
    """Waits before a request is repeated."""

    exponential: bool = True  #: backoffs grow (KIP-580)
    given_id_is_failure: bool = False  #: the second JoinGroup gives it as a failure (Java 3.2 to 3.6)
    #: A JoinGroup or SyncGroup is repeated without a backoff (KAFKA-12639; Java up to 3.4).
    joins_without_pause: bool = False
    #: Pause before every attempt after a failed join or sync (brod); None: none, or retry.backoff.ms.
    join_delay_ms: int | None = None


@frozen
class CallbackRow:
    """Callbacks of the listener, and their arguments (KIP-429)."""

    lost: bool = True  #: lost partitions have their own callback, not that of revoked ones
    by_number: bool = True  #: partitions are sorted by topic and number; in Java up to 3.1 as in a HashSet
    on_leaving: bool = True  #: close and unsubscribe call back for the partitions they give up
    before_first_join: bool = False  #: the revoked callback runs before the first join, too (Java up to 2.3)


@frozen
class LeavingRow:
    """When a member sends LeaveGroup."""

    on_close: bool = True
    static_on_close: bool = False
    static_on_unsubscribe: bool = False
    with_reason: bool = True  #: LeaveGroup v5 has a reason (KIP-800)
    #: A callback that throws while the process closes does not keep the member from leaving.
    despite_callback: bool = False


@frozen
class CommitRow:
    """Content and times of auto-commits."""

    unchanged: bool = True  #: unchanged offsets are committed, too (Java commits all positions at each interval)
    #: Only positions of partitions with delivered records are committed (librdkafka; franz-go's UncommittedOffsets).
    delivered_only: bool = False
    after_batch: bool = False  #: a commit follows each batch, besides those at intervals
    epochs: bool = True  #: offsets have the leader epoch of the last record (KIP-320)
    #: An auto-commit waits for the answer to the last one, and for the interval also after a failure.
    in_turn: bool = False
    #: A failed commit before a rebalance is repeated at any event that wakes `poll` (Java since 3.2).
    retried_on_any_event: bool = False


@frozen
class PositionRow:
    """Look-up of positions."""

    stable: bool = True  #: OffsetFetch has require_stable: no offsets of open transactions (KIP-447)
    one_by_one: bool = False  #: committed offsets are requested one partition after the other
    #: Eager partitions that are assigned again continue at their position, without OffsetFetch (kafka-python 3).
    kept: bool = False
    reset_by_duration: bool = False  #: auto.offset.reset = by_duration:… (KIP-1106)
    #: Pause after a Fetch without records (brod's sleep_timeout; with its min_bytes of 0 it would spin).
    empty_fetch_pause_ms: int = 0


@frozen
class ReportRow:
    """Reports to the application beyond those of Java."""

    consumer_errors: bool = False  #: the poll limit, and a pattern without a match (librdkafka)
    #: A JoinGroup or SyncGroup without an answer is thrown from poll (sarama returns it from Consume).
    unanswered: bool = False


@frozen
class ConsumerProtocolRow:
    """Differences under the consumer group protocol (KIP-848). The defaults are those of Java 4.4."""

    offsets_by_id: bool = True  #: OffsetCommit and OffsetFetch name topics by id (version 10; Java since 4.2)
    rack: bool = True  #: the heartbeat that joins has `client.rack` (Java since 4.1)
    #: Metadata of a regular expression are requested by the ids of its target, not of all topics (Java since 4.1).
    metadata_by_id: bool = True
    #: A round that revokes begins in `poll` alone, also without auto-commit (Java since 4.2).
    revokes_in_poll: bool = True
    #: GROUP_ID_NOT_FOUND ends a member that has left, too (Java up to 4.1).
    ends_when_out: bool = False
    regex_beside_topics: bool = False  #: a heartbeat with topics by name has an empty regular expression, too
    patterns_to_broker: bool = (
        False  #: a pattern is sent to the coordinator as `(^pattern$)`, not matched by the client
    )
    instance_always: bool = True  #: each heartbeat of a static member has its instance id, not the first and last alone
    leaves_named: bool = True  #: the heartbeat that leaves has the instance id; a broker refuses one with -2 without it
    leaves_in_full: bool = True  #: the heartbeat that leaves is built like any other; else it has ids and epoch alone
    loses_when_fatal: bool = True  #: a fatal error is preceded by the callback for lost partitions
    #: A heartbeat that was refused, or not answered, is sent again as it was; all fields follow a broken connection or
    #: another coordinator alone.
    repeats: bool = False
    #: A join that was refused waits for the backoff, too; Java sends it again at once.
    joins_after_backoff: bool = False
    unreleased_retries: int = 0  #: so often a refused join is repeated after UNRELEASED_INSTANCE_ID
    #: The first assignment is no news when it is empty: no callback; each heartbeat has all fields until there is one.
    awaits_partitions: bool = False
    #: A target is reconciled when all of its topics are known, in part only if it lacks partitions that are owned.
    awaits_names: bool = False
    #: The leave of a member whose join was not answered yet is not sent.
    leaves_when_joined: bool = False
    #: Beyond the poll limit heartbeats go on; the member reports the limit, loses its partitions, leaves and joins when
    #: the application polls again. Else it leaves when the next heartbeat is due.
    leaves_when_polled: bool = False
    quiet_while_leaving: bool = False  #: no heartbeats while the callback of a close or unsubscribe runs
    resends_topics: bool = False  #: each call of subscribe() sends the topics again, also the same ones
    errors_in_order: bool = False  #: errors come in their place among the callbacks, not after all that are due
    acknowledges_after_us: int = 0  #: an acknowledgement waits so long for the next pass of the main thread
    silent_ms: int = 0  #: an error that the member survives is not thrown again for so long
    survives_unexpected: bool = False  #: an error that the client does not expect of a heartbeat is retried, not fatal
    in_full: bool = False  #: a heartbeat that has any field has all of them, and one that owns nothing has (franz-go)
    assignor: str | None = None  #: the assignor that is asked for without `group.remote.assignor`
    new_id_when_unknown: bool = False  #: UNKNOWN_MEMBER_ID makes the client draw another member id
    leaves_when_fatal: bool = False  #: a member that a fatal error has ended sends a leave when it closes
    #: `poll` with a timeout looks at its work at times, and hands an event to the background thread (Java since 4.3).
    poll_events: bool = True
    finishes_rounds: bool = False  #: a round goes on to its assigned callback when the member is fenced during it
    #: An auto-commit waits for the last one, and for the interval also after a failure (`CommitRow.in_turn`).
    commits_in_turn: bool = True
    #: Before a revocation the positions of revoked partitions are committed, after the callback; not those of all.
    commits_revoked: bool = False
