"""What a client library's profile says: the answers to everything that libraries do differently.

A simulated consumer asks the profile and nothing else; no module tests for a name. The profiles themselves are in
`profiles.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen

from groupsim.eventloop.units import MS_US
from groupsim.members.profiles.pace import HEARTBEAT_THREAD, Pace
from groupsim.members.profiles.reactions import JAVA, OTHERWISE, Reaction
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api


class OnError(StrEnum):
    """What the application does with an exception out of poll."""

    STOP = "stop"  # the process ends: consumer closed, error reported
    RETRY = "retry"  # log it, wait `error_pause`, poll again (as Spring's container), but end when fenced
    RETRY_ALL = "retry-all"  # poll again whatever it was: one that was fenced joins again under its instance id


class SessionCheck(StrEnum):
    """When a library checks whether session.timeout.ms has passed without an answer to a heartbeat.

    The check only makes the client look for its coordinator again: the coordinator alone expels.
    """

    BEFORE_SENDING = "before each heartbeat"
    AFTER_FAILURE = "when a heartbeat has failed"
    WHILE_UNANSWERED = "while a heartbeat is unanswered"
    NEVER = "never"


class RebalanceTimeout(StrEnum):
    """What a library sends as rebalance timeout."""

    MAX_POLL = "max.poll.interval.ms"
    SESSION = "session.timeout.ms"
    OWN = "rebalance.timeout.ms"
    UNSENT = "nothing (JoinGroup v0: the broker takes the session timeout)"


class AfterBreak(StrEnum):
    """What becomes of a coordinator that was found again after the connection to it had broken."""

    GIVES_UP = "given up while reconnect.backoff.ms lasts, and looked for again after the backoff"
    ASKS_AGAIN = "given up, and looked for again at once, after which it can be sent to"
    CONNECTS = "known, and connected to"


class RequestBound(StrEnum):
    """How request.timeout.ms bounds the timeout of a request that may be parked."""

    NONE = "not at all"
    AT_LEAST = "the timeout is never shorter"
    AT_MOST = "the timeout is never longer"


class ParkedBase(StrEnum):
    """The timeout that a library begins with for a request that may be parked."""

    REBALANCE = "its rebalance timeout"
    SESSION = "session.timeout.ms"
    NOTHING = "0"


@frozen
class ParkedTimeout:
    """How long a library waits for the answer to a request that the coordinator may park: a base and a slack."""

    base: ParkedBase
    slack_ms: int = 0
    bound: RequestBound = RequestBound.NONE


@frozen
class ErrorLoop:
    """What the usual application of a library does after an exception out of poll: the default of `on-error`.

    The pause doubles with each failure in a row, up to the longest one; `because` says where that comes from.
    """

    policy: OnError
    because: str
    first_pause_ms: int = 1_000
    longest_pause_ms: int = 1_000

    def pause_us(self, failures: int) -> int:
        """The wait before the next poll after so many failures in a row."""
        longer = min(failures - 1, 32)
        return min(self.first_pause_ms << longer, self.longest_pause_ms) * MS_US


#: `poll` throws, and an application without a handler of its own ends.
ENDS = ErrorLoop(OnError.STOP, "throws it out of `poll()`, or of what it calls that")


#: The Java consumer since 2.0 (KIP-266, KAFKA-7050): max(request.timeout.ms, rebalance timeout + 5 s).
JAVA_PARKED: Mapping[Api, ParkedTimeout] = {
    Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 5_000, RequestBound.AT_LEAST)
}


@frozen
class SettingName:
    """A library's own name for one of Kafka's keys; its numbers times `factor` are Kafka's (seconds: 1000)."""

    key: str
    factor: int = 1


@frozen
class ClientProfile:
    """One library of one age. Times are milliseconds; keys of `defaults` are Kafka's names."""

    name: str
    title: str
    client_id: str
    defaults: Mapping[str, object]
    versions: Mapping[Api, int]
    subscription_version: int = 3
    eager_generation: bool = True  #: an eager assignor's subscription, too, carries the generation
    no_user_data: bytes | None = None  #: sent for an assignor that has none
    pace: Pace = HEARTBEAT_THREAD  #: what it sees to by itself, and what waits for `poll`
    #: When the client checks its own session.
    session_check: SessionCheck = SessionCheck.BEFORE_SENDING
    #: Heartbeats start at the JoinGroup answer (KAFKA-10122), not only once the SyncGroup answer is there.
    heartbeats_while_syncing: bool = True
    #: The first heartbeat goes out at once when heartbeats start, not an interval later.
    heartbeats_at_start: bool = False
    rebalance_timeout: RebalanceTimeout = RebalanceTimeout.MAX_POLL
    #: max.poll.interval.ms is enforced by leaving (KIP-62).
    enforces_poll_limit: bool = True
    #: How often the background thread looks whether the poll limit has passed.
    poll_check_ms: int = 100
    #: With a heartbeat alone it looks at the poll limit; who has left by it joins again when polled, its own pace kept.
    poll_limit_by_heartbeat: bool = False
    #: One heartbeat is in flight at a time.
    heartbeats_in_turn: bool = False
    #: Every JoinGroup that is tried again waits for retry.backoff.ms first, but for the one with a given member id.
    rejoins_after_pause: bool = False
    asks_for_stable: bool = True  #: no offsets of transactions that are still open (KIP-447)
    gives_reasons: bool = True  #: LeaveGroup 5 says why (KIP-800)
    #: What an eager member gives up and is assigned again goes on at its position: it does not ask what is committed.
    keeps_positions: bool = False
    #: Committed offsets are asked for one partition after the other.
    offsets_one_by_one: bool = False
    #: Timeouts of requests that a coordinator may park; a request without an entry has request.timeout.ms.
    parked: Mapping[Api, ParkedTimeout] = JAVA_PARKED
    #: A JoinGroup or SyncGroup without an answer is thrown from poll (sarama returns it from Consume).
    throws_unanswered: bool = False
    #: Group requests queue behind everything else sent to that broker.
    shared_connection: bool = False
    #: Who lost the coordinator while joining looks for it at once, not after retry.backoff.ms.
    looks_up_at_once: bool = True
    #: Whose question for the coordinator came to nothing asks for metadata, too, before the next one.
    looks_up_with_new_metadata: bool = False
    #: The connection to a coordinator that another has replaced, or that was silent for a session, is closed.
    closes_lost_connection: bool = True
    #: With a coordinator found the heartbeat's interval and the poll limit begin anew, not only the session.
    restarts_when_found: bool = False
    #: After FENCED_INSTANCE_ID from a heartbeat a poll joins again; else it goes on with neither heartbeats nor a join.
    joins_when_fenced: bool = True
    #: JoinGroup, OffsetFetch and OffsetCommit to a coordinator just found wait for retry.backoff.ms: by then it is
    #: connected to.
    connects_before_sending: bool = False
    after_break: AfterBreak = AfterBreak.GIVES_UP
    #: Partitions of a lost membership are called back as lost, not as revoked (KIP-429).
    tells_lost: bool = True
    #: Callbacks are given partitions by topic and number; up to 3.1 Java gave them as a HashSet has them.
    sorts_partitions: bool = True
    #: close and unsubscribe call back what they give up (KIP-429).
    revokes_on_leaving: bool = True
    leaves_on_close: bool = True
    static_leaves_on_close: bool = False
    static_leaves_on_unsubscribe: bool = False
    #: A cooperative assignor's user data are those of `sticky`: the last assignment with its generation.
    claims_in_user_data: bool = False
    #: The sticky assignors know quotas, where all subscriptions are equal (Java since 2.6).
    sticky_by_quotas: bool = True
    #: Assignors put static members first, by instance id; else only among themselves.
    static_first: bool = True
    #: The application is told of what Java says nothing of: the poll limit, a pattern that matches nothing.
    tells_more: bool = False
    exponential_backoff: bool = True
    given_id_is_failure: bool = False  #: it joins with the id it was given "due to MemberIdRequiredException"
    #: A JoinGroup or SyncGroup to be tried again follows at once, with no backoff (KAFKA-12639; Java up to 3.4).
    rejoins_without_pause: bool = False
    #: A commit before a rebalance that was refused goes out again when anything wakes `poll` (Java since 3.2).
    recommits_when_stirred: bool = False
    #: A pause before *every* new attempt after a failed join or sync (brod); None: at once or after retry.backoff.ms.
    rejoin_delay_ms: int | None = None
    #: A pause after a Fetch that brought nothing (brod's sleep_timeout; with its min_bytes of 0 it would spin).
    empty_fetch_pause_ms: int = 0
    #: Auto-commit repeats offsets that have not changed (Java commits all positions at each interval).
    commits_unchanged: bool = True
    commits_after_batch: bool = False
    #: Offsets are committed with the leader epoch of the last record (KIP-320).
    commits_epochs: bool = True
    #: With client.rack set, a replica that is away is a rack that is gone: a rebalance (KAFKA-20778; not in 4.4).
    offline_racks_count: bool = False
    reactions: Mapping[Api, Mapping[ErrorCode, Reaction]] = {}
    setting_names: Mapping[str, SettingName] = {}
    error_loop: ErrorLoop = ENDS
    #: The release that was asked for, where it is not the profile's name: logs have its words.
    release: str = ""
    #: auto.offset.reset = by_duration:… (KIP-1106).
    resets_by_duration: bool = False

    #: The callback for revoked partitions comes before the first join, too, with none (Java up to 2.3).
    revokes_nothing: bool = False
    #: A leader whose topics changed while it waited for its SyncGroup joins again at once (Java up to 0.10.0).
    discards_outdated: bool = False
    #: A rebalance counts as one for the topics subscribed to at its end, not at its JoinGroup (Java up to 0.10.0).
    forgets_change_while_joining: bool = False

    # Defects of single releases, True where there is one; `defects.py` has their names and releases.

    #: A leader compares topics with what they were at the end of its rebalance, not when it assigned (KAFKA-3117).
    compares_from_end: bool = False
    #: A SyncGroup whose connection breaks is not tried again: the rebalance counts as over (KAFKA-5154).
    settles_at_join: bool = False
    #: An auto-commit without a coordinator waits for one and does not look for it (KAFKA-6362).
    commits_without_lookup: bool = False
    #: A pattern's topics are not matched again before a JoinGroup (KAFKA-7126).
    joins_with_old_topics: bool = False
    #: An assignment of topics that are not subscribed to any more is thrown at the application (KAFKA-7961).
    throws_at_old_assignment: bool = False
    #: A membership lost in the middle of a rebalance is not followed by the callback for lost partitions (KAFKA-12983).
    keeps_claims_after_reset: bool = False
    #: A cooperative-sticky subscription does not say of which generation its claims are (KAFKA-12984).
    claims_without_generation: bool = False
    #: A retriable failure of JoinGroup or SyncGroup costs the member id (KAFKA-13214).
    resets_after_retriable: bool = False
    #: Every turn of poll starts the commit before a rebalance again; no answer ends it (KAFKA-14024).
    restarts_commit: bool = False
    #: Records are delivered while the commit before a rebalance is under way (KAFKA-14196).
    delivers_while_committing: bool = False
    #: A leader does not notice that a topic has more partitions (sarama 1462).
    ignores_new_partitions: bool = False
    #: Heartbeats end with the one that tells of a rebalance, and not with the next JoinGroup (sarama 1608).
    stops_heartbeats_early: bool = False
    #: A member without partitions sends no heartbeats (kafkajs 1361).
    idle_without_heartbeats: bool = False
    #: Assignors are offered in the library's order, not in that of the configuration (librdkafka 3818).
    own_assignor_order: bool = False
    #: What an eager sticky member owned is cleared before it is written into its JoinGroup (franz-go dcfcacb5).
    joins_without_claims: bool = False

    def reaction(self, api: Api, error: ErrorCode) -> Reaction:
        """What this library does when `api` is answered with `error`."""
        return self.reactions.get(api, {}).get(error) or JAVA[api].get(error, OTHERWISE[api])


def versions_of(
    join: int,
    sync: int,
    heartbeat: int,
    leave: int,
    commit: int,
    fetch: int,
    find: int,
    metadata: int,
    data: tuple[int, int, int | None],
) -> dict[Api, int]:
    """The newest version of each API that a library speaks.

    `data`: Fetch, ListOffsets, and OffsetForLeaderEpoch if the library sends it.
    """
    records, ends, epochs = data
    return {
        Api.FETCH: records,
        Api.LIST_OFFSETS: ends,
        **({} if epochs is None else {Api.OFFSET_FOR_LEADER_EPOCH: epochs}),
        Api.JOIN_GROUP: join,
        Api.SYNC_GROUP: sync,
        Api.HEARTBEAT: heartbeat,
        Api.LEAVE_GROUP: leave,
        Api.OFFSET_COMMIT: commit,
        Api.OFFSET_FETCH: fetch,
        Api.FIND_COORDINATOR: find,
        Api.METADATA: metadata,
    }


def defaults_of(session: int, heartbeat: int, assignors: str, **others: object) -> dict[str, object]:
    """A library's defaults, by Kafka's names; `others` have underscores for the points."""
    own = {key.replace("_", "."): value for key, value in others.items()}
    return {
        "session.timeout.ms": session,
        "heartbeat.interval.ms": heartbeat,
        "partition.assignment.strategy": assignors,
        **own,
    }
