"""The trace's one event class, and the closed list of its kinds.

Everything that happens in a run is one `TraceEvent` with the columns below; `KINDS` gives the columns that a kind fills
and the keys of its `payload`. The terminal timeline, the invariants, the report, the Spark tables, the
written logs and the pytest assertions read these events and nothing else.

`cause` is the `seq` of the event that caused this one: following it answers "what caused this?". 0 means no
cause (the scenario itself). `span` connects a begin to its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

SCHEMA_VERSION = 1


class Kind(StrEnum):
    """The kind of an event. The value is its name in the trace."""

    # actions of the scenario (host: the one concerned)
    RUN_STARTED = "run.started"  # payload: scenario, seed, schema, version
    RUN_ENDED = "run.ended"  # payload: heartbeats: {member host: count of quiet heartbeats answered}; where there are
    #   brokers to fetch from, fetches: {member host: sent, empty, waited_us}
    ACTION = "action"  # reason: the action in words; payload: the action as data
    ACTION_REFUSED = "action.refused"  # reason: why; payload: the action in words; cause: the action
    ROLLOUT_ENDED = "rollout.ended"  # the last new pod counts as ready and the last old one has ended; group; payload:
    #   kind, replaced, pods (names), first_stop_us (the first SIGTERM; null without one)
    FAULT_BEGUN = "fault.begun"  # reason: in words; payload: as data; span
    FAULT_ENDED = "fault.ended"  # span
    METADATA_CHANGED = "metadata.changed"  # topic; payload: partitions, before

    # processes
    PROCESS_STARTED = "process.started"  # host, group; payload: client_id, profile, instance_id, config (what differs)
    PROCESS_STOPPED = "process.stopped"  # clean close finished; reason
    PROCESS_CRASHED = "process.crashed"  # reason
    PROCESS_PAUSED = "process.paused"  # payload: pause_us
    PROCESS_RESUMED = "process.resumed"
    HEARTBEATS_BLOCKED = "heartbeats.blocked"  # its heartbeat thread gets no time; payload: blocked_us
    PROCESS_FAILED = "process.failed"  # a fatal error came out of poll(): error, reason

    # messages, as each end sees them (api, correlation, group, member, generation; payload: peer, version …)
    REQUEST_SENT = "request.sent"  # host: the client; payload: to, and api-specific fields
    REQUEST_RECEIVED = "request.received"  # host: the broker; payload: from
    REQUEST_PARKED = "request.parked"  # host: the broker; reason: the condition that completes it
    RESPONSE_SENT = "response.sent"  # host: the broker; error; generation; payload: waited_us, members (JoinGroup)
    RESPONSE_RECEIVED = "response.received"  # host: the client; error
    REQUEST_FAILED = "request.failed"  # host: the client; error DISCONNECTED or TIMED_OUT; reason
    REQUEST_DROPPED = "request.dropped"  # host: the broker; parked for ever or answered into a dead connection; reason

    # the coordinator (host: the broker)
    GROUP_STATE = "group.state"  # from, to, reason, generation (the group's, after), member (its cause);
    #   to PreparingRebalance: payload: client_reason (the client's own words), cause_code (ADD_MEMBER ...)
    #   to CompletingRebalance: payload: members, leader, protocol, static
    #   to Stable: payload: leader
    #   to Empty: generation is the new one
    MEMBER_PENDING = "member.pending"  # MEMBER_ID_REQUIRED was answered; payload: state, client_id
    MEMBER_ADDED = "member.added"  # payload: instance_id, client_id, client_host, session_timeout_ms,
    #   rebalance_timeout_ms, protocols, state (before), known_id (true: a pending id came back; false: added at once)
    MEMBER_UPDATED = "member.updated"  # protocols or timeouts of a known member changed by its JoinGroup
    MEMBER_REPLACED = "member.replaced"  # static: payload: old (member id), instance_id, rebalance (bool)
    MEMBER_REMOVED = (
        "member.removed"  # reason: session-expired, pending-expired, left, join-timeout, sync-timeout, fenced,
    )
    #   over-capacity, admin; payload: instance_id, client_reason
    MEMBER_FENCED = "member.fenced"  # payload: instance_id, current; reason: the operation
    EPOCH_BUMPED = "epoch.bumped"  # of a consumer group; member (its cause); payload: epoch, triggers (created, joined,
    #   subscription, regex, regex-resolved, metadata, assignor, left, session-expired, rebalance-timeout, join-timeout,
    #   sync-timeout)
    TARGET_COMPUTED = "target.computed"  # payload: epoch, assignor, members (with another target), moved (partitions),
    #   waited_us (since the first bump)
    MEMBER_EPOCH = "member.epoch"  # from, to: the member's epoch; payload: state, assigned, pending (topic id: numbers)
    REGEX_RESOLVED = "regex.resolved"  # reason: the text; member (whose heartbeat began it); payload: topics
    LEADER_ELECTED = "leader.elected"  # member
    TIMER_SET = "timer.set"  # reason: the timer's name (join-g, sync-g, heartbeat-g-m …); payload: due_us
    TIMER_FIRED = "timer.fired"  # reason: its name
    TIMER_CANCELLED = "timer.cancelled"  # reason: its name
    RECORD_APPENDED = "record.appended"  # topic, partition (of __consumer_offsets); payload: type, key, value summary
    APPEND_DONE = "append.done"  # error when it failed
    GROUP_LOADED = "group.loaded"  # topic, partition; payload: members, generation, epoch
    GROUP_UNLOADED = "group.unloaded"
    GROUP_DELETED = "group.deleted"  # reason
    GROUP_CONVERTED = "group.converted"  # from, to: classic, consumer; member (its cause); reason; payload: members,
    #   before (the state of the former group), state, and of a classic group protocol and leader
    OFFSET_EXPIRED = "offset.expired"  # topic, partition; payload: offset

    # the consumer (host: the member's process)
    CLIENT_STATE = "client.state"  # from, to (UNJOINED, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE; of 0.8's
    #   consumer UNREGISTERED, REGISTERED, REBALANCING, CONSUMING); reason
    COORDINATOR_FOUND = "coordinator.found"  # payload: node
    COORDINATOR_LOST = "coordinator.lost"  # reason
    REJOIN_REQUESTED = "rejoin.requested"  # reason: the client's own words
    GENERATION_RESET = "generation.reset"  # reason; payload: member_id_too
    ASSIGNMENT_COMPUTED = "assignment.computed"  # the leader: payload: assignor, counts, assignment
    CALLBACK_BEGUN = "callback.begun"  # reason: assigned, revoked or lost; payload: partitions; span
    CALLBACK_ENDED = "callback.ended"  # span; error, when it raised
    PARTITION_OWNED = "partition.owned"  # topic, partition, generation: may deliver its records from now on
    PARTITION_RELEASED = "partition.released"  # reason: revoked, lost, closed, crashed
    POSITION_SET = "position.set"  # topic, partition; payload: offset; reason: committed, reset, truncated
    RECORDS_DELIVERED = "records.delivered"  # topic, partition; payload: base, count (poll returned them)
    RECORDS_PROCESSED = "records.processed"  # topic, partition; payload: base, count (the handler finished)
    OFFSETS_COMMITTED = "offsets.committed"  # host: the member; payload: offsets {topic-partition: offset}, auto
    COMMIT_FAILED = "commit.failed"  # error; payload: offsets, auto
    BUFFER_GREW = "buffer.grew"  # records pushed to a member that it has not handled; payload: bytes, limit, pieces
    POLL_EXPIRED = "poll.expired"  # max.poll.interval.ms ran out; payload: limit_us
    SESSION_EXPIRED = "session.expired"  # the client's own session timer: it only looks for the coordinator again
    PLUGIN_ERROR = "plugin.error"  # an assignor or callback of the user's raised or returned nonsense; reason
    # the logs and leaders of the cluster (host: the broker, or the controller)
    BROKER_FENCED = "broker.fenced"  # host: the controller; reason; payload: node
    BROKER_UNFENCED = "broker.unfenced"  # host: the controller; payload: node, epoch
    PARTITION_LEADER = "partition.leader"  # host: the controller; topic, partition; from, to: node ids as text ("-1":
    #   none); reason: created, clean, unclean, preferred, moved, offline …; payload: epoch, isr
    ISR_CHANGED = "isr.changed"  # host: the controller; topic, partition; payload: isr, before, epoch; reason
    RECORDS_APPENDED = "records.appended"  # host: the leader; topic, partition; payload: base, count, epoch, and
    #   producer (the client id) if one sent them; transaction (the producer id), marker (commit, abort)
    RECORDS_ACKNOWLEDGED = "records.acknowledged"  # host: the producer; topic, partition; payload: base, count
    PRODUCE_FAILED = "produce.failed"  # host: the producer; topic, partition; error; payload: count
    HIGH_WATERMARK = "high-watermark"  # only in full traces; host: the leader; topic, partition; payload: offset
    LOG_TRUNCATED = "log.truncated"  # host: the replica; topic, partition; reason; payload: to, end (before)
    LOG_ROLLED = "log.rolled"  # host; topic, partition; reason: size, time, index; payload: base
    LOG_DELETED = "log.deleted"  # host; topic, partition; reason: time, size, start offset; payload: start, segments
    LOG_COMPACTED = "log.compacted"  # host; topic, partition; payload: records, left, tombstones
    LOG_ENDS = "log.ends"  # at the end of the run; payload: ends {topic-partition: [start, end, high watermark]},
    #   of counted logs also growth: what was done to their topics, in order
    TRANSACTION_STATE = "transaction.state"  # host: its coordinator; from, to; payload: transactional_id,
    #   producer_id, epoch
    WARNING = "warning"  # anything else the client's own log would warn of; reason


class TraceEvent(NamedTuple):
    """One row of the trace. Columns in schema order; None means the kind does not fill it (docs/traces.md).

    seq, t_us         its number, from 1; virtual time since the start
        kind, host        its kind; the process of it, `broker-0` or a member's
        group, member, generation, topic, partition    of the group; member is the id that the coordinator gave
        api, correlation, error    of a request or response; Kafka's name of the error, None for none
        from_, to, reason    old and new state, and the reason as text (for timers their name)
        span              connects a begin to its end
        cause             `seq` of the event that caused this one; 0 for none
        payload           the kind's other data

    A tuple, not an attrs class: a run creates tens of thousands, and a frozen attrs class of so many fields takes nine
    times as long to make.
    """

    seq: int
    t_us: int
    kind: Kind
    host: str | None = None
    group: str | None = None
    member: str | None = None
    generation: int | None = None
    topic: str | None = None
    partition: int | None = None
    api: str | None = None
    correlation: int | None = None
    error: str | None = None
    from_: str | None = None
    to: str | None = None
    reason: str | None = None
    span: int | None = None
    cause: int = 0
    payload: Mapping[str, Any] | None = None
