"""What libraries do differently, by subject: the rows of a profile, whose defaults are the newest Java consumer's."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen


class SessionCheck(StrEnum):
    """When a library checks whether session.timeout.ms has passed without an answer to a heartbeat.

    The check only makes the client look for its coordinator again: the coordinator alone expels.
    """

    BEFORE_SENDING = "before each heartbeat"
    AFTER_FAILURE = "when a heartbeat has failed"
    WHILE_UNANSWERED = "while a heartbeat is unanswered"
    NEVER = "never"


class AfterBreak(StrEnum):
    """What becomes of a coordinator that was found again after the connection to it had broken."""

    GIVES_UP = "given up while reconnect.backoff.ms lasts, and looked for again after the backoff"
    ASKS_AGAIN = "given up, and looked for again at once, after which it can be sent to"
    CONNECTS = "known, and connected to"


@frozen
class SubscriptionRow:
    """What a JoinGroup says of a member's topics, and of what it owned."""

    version: int = 3
    eager_generation: bool = True  #: an eager assignor's subscription, too, carries the generation
    no_user_data: bytes | None = None  #: sent for an assignor that has none
    #: A cooperative assignor's user data are those of `sticky`: the last assignment with its generation.
    claims_in_user_data: bool = False
    #: A rebalance counts as one for the topics subscribed to at its end, not at its JoinGroup (Java up to 0.10.0).
    taken_at_end: bool = False


@frozen
class LeaderRow:
    """How a leader assigns."""

    sticky_by_quotas: bool = True  #: the sticky assignors know quotas, where all subscriptions are equal (Java 2.6)
    static_first: bool = True  #: assignors put static members first, by instance id; else only among themselves
    #: A leader whose topics changed while it waited for its SyncGroup joins again at once (Java up to 0.10.0).
    discards_outdated: bool = False


@frozen
class HeartbeatRow:
    """When heartbeats begin, and what their answers change; how they are sent is the pace's."""

    session_check: SessionCheck = SessionCheck.BEFORE_SENDING
    #: They start at the JoinGroup answer (KAFKA-10122), not only once the SyncGroup answer is there.
    while_syncing: bool = True
    at_start: bool = False  #: the first one goes out at once, not an interval later
    #: With a coordinator found their interval and the poll limit begin again, not only the session.
    restart_when_found: bool = False
    #: After FENCED_INSTANCE_ID a poll joins again; else it goes on with neither heartbeats nor a join.
    joins_when_fenced: bool = True


@frozen
class PollLimitRow:
    """max.poll.interval.ms (KIP-62)."""

    enforced: bool = True  #: the member leaves when it is exceeded
    check_ms: int = 100  #: how often the background thread looks at it


@frozen
class CoordinatorRow:
    """How the coordinator is looked for, connected to and given up."""

    shared_connection: bool = False  #: group requests queue behind everything else sent to that broker
    looks_up_at_once: bool = True  #: one lost while joining is looked for at once, not after retry.backoff.ms
    refreshes_metadata: bool = False  #: a look-up that came to nothing asks for metadata, too, before the next one
    #: The connection to a coordinator that another has replaced, or that was silent for a session, is closed.
    closes_lost: bool = True
    #: JoinGroup, OffsetFetch and OffsetCommit to one just found wait for retry.backoff.ms: by then it is connected to.
    connects_first: bool = False
    after_break: AfterBreak = AfterBreak.GIVES_UP


@frozen
class RetryRow:
    """The wait before a JoinGroup or another request is tried again."""

    exponential: bool = True  #: backoffs grow (KIP-580)
    given_id_is_failure: bool = False  #: it joins with the id it was given "due to MemberIdRequiredException"
    #: A JoinGroup or SyncGroup to be tried again follows at once, with no backoff (KAFKA-12639; Java up to 3.4).
    joins_without_pause: bool = False
    #: A pause before *every* new attempt after a failed join or sync (brod); None: at once or after retry.backoff.ms.
    join_delay_ms: int | None = None


@frozen
class CallbackRow:
    """Which callbacks of the listener are called, and with what (KIP-429)."""

    lost: bool = True  #: partitions of a lost membership are called back as lost, not as revoked
    by_number: bool = True  #: partitions come by topic and number; up to 3.1 Java gave them as a HashSet has them
    on_leaving: bool = True  #: close and unsubscribe call back what they give up
    before_first_join: bool = False  #: the one for revoked partitions comes then, too, with none (Java up to 2.3)


@frozen
class LeavingRow:
    """When a member sends LeaveGroup."""

    on_close: bool = True
    static_on_close: bool = False
    static_on_unsubscribe: bool = False
    with_reason: bool = True  #: LeaveGroup 5 says why (KIP-800)


@frozen
class CommitRow:
    """What auto-commit commits, and when."""

    unchanged: bool = True  #: offsets that have not changed, too (Java commits all positions at each interval)
    after_batch: bool = False  #: after each batch, and not only at intervals
    epochs: bool = True  #: offsets with the leader epoch of the last record (KIP-320)
    #: A commit before a rebalance that was refused goes out again when anything wakes `poll` (Java since 3.2).
    retried_on_any_event: bool = False


@frozen
class PositionRow:
    """How a member finds where to read."""

    stable: bool = True  #: asks for no offsets of transactions that are still open (KIP-447)
    one_by_one: bool = False  #: asks for committed offsets one partition after the other
    #: What an eager member gives up and is assigned again goes on at its position: it does not ask what is committed.
    kept: bool = False
    reset_by_duration: bool = False  #: auto.offset.reset = by_duration:… (KIP-1106)
    #: A pause after a Fetch that brought nothing (brod's sleep_timeout; with its min_bytes of 0 it would spin).
    empty_fetch_pause_ms: int = 0


@frozen
class ReportRow:
    """What the application hears of, where Java says nothing."""

    consumer_errors: bool = False  #: the poll limit, and a pattern that matches nothing (librdkafka)
    #: A JoinGroup or SyncGroup without an answer is thrown from poll (sarama returns it from Consume).
    unanswered: bool = False
