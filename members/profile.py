"""What a client library's profile says: the answers to everything that libraries do differently.

A simulated consumer asks the profile and nothing else; no module tests for a name. The profiles themselves are in
`profiles.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen

from groupsim.members.reactions import JAVA, OTHERWISE, Reaction
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import Api


class HeartbeatPlacement(StrEnum):
    """Where heartbeats are sent from."""

    BACKGROUND = "a thread or task of its own"
    IN_POLL = "only from within poll"
    BETWEEN_BATCHES = "from poll, and between the batches of one poll"


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
    heartbeats: HeartbeatPlacement = HeartbeatPlacement.BACKGROUND
    #: Heartbeats start at the JoinGroup answer (KAFKA-10122), not only once the SyncGroup answer is there.
    heartbeats_while_syncing: bool = True
    rebalance_timeout: RebalanceTimeout = RebalanceTimeout.MAX_POLL
    #: max.poll.interval.ms is enforced by leaving (KIP-62).
    enforces_poll_limit: bool = True
    #: How often the background thread looks whether the poll limit has passed.
    poll_check_ms: int = 100
    #: JoinGroup waits on its socket for the rebalance timeout + 5 s, not only for request.timeout.ms.
    join_waits_for_rebalance: bool = True
    #: Group requests queue behind everything else sent to that broker.
    shared_connection: bool = False
    #: Who lost the coordinator while joining looks for it at once, not after retry.backoff.ms.
    looks_up_at_once: bool = True
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
    #: close and unsubscribe call back what they give up (KIP-429).
    revokes_on_leaving: bool = True
    leaves_on_close: bool = True
    static_leaves_on_close: bool = False
    exponential_backoff: bool = True
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
    #: auto.offset.reset = by_duration:… (KIP-1106).
    resets_by_duration: bool = False

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
