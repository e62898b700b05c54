"""The tables that a sweep writes, as data: every column with its type, its unit and its meaning.

One place for the tables in memory, in Parquet, in Spark and in `docs/tables.md` (made from here). The rules:

- Everything is an integer, a boolean or text: no floats, so that tables are equal wherever they were made. Times are
  microseconds of virtual time (`_us`), lag areas are record-milliseconds.
- Every table of runs (`TABLES`) begins with `cell` (the number of the cell in the grid) and `seed`; rows are sorted by
  these two and then as the run made them. `CELLS` describes the cells; it depends on the experiment alone.
- What depends on the machine (wall-clock and CPU time, the number of workers) is not in a table.
- No column has a name that means something in SQL (a test has the words): `group_id`, not `group`. A trace's columns
  have the names of Parquet traces (`PARQUET` in `eventloop/trace/sinks.py`).
- Any change of the columns (a name, a type, a meaning, a new one) raises `TABLES_VERSION`. A directory of another
  version is refused, for reading and for sweeping: no reader has to guess the values of an absent column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.pipeline.tables.column_types import KEY, Table, Type, flag, large, text, whole

if TYPE_CHECKING:
    import pyarrow as pa

TABLES_VERSION = 4

PLACE = (
    text("group_id", "group.id"),
    text("topic", "topic"),
    whole("partition_id", "partition"),
)

CELLS = Table(
    "cells",
    "one setting of one cell: a label of one axis. A grid of three axes has three rows for each cell",
    (
        text("axis", "name of the axis, as under `vary` in the experiment"),
        text("value", "label of its value in this cell"),
        flag("given", "the axis is a circumstance (`given`), not a choice"),
        flag("baseline", "the cell is the baseline"),
    ),
    key=KEY[:1],
)

RUNS = Table(
    "runs",
    "one run: a cell with a seed, its totals over all groups, or the error that ended it",
    (
        text("status", "`done`, or `failed` when the run raised an error"),
        text("error", "the error of a failed run", null=True),
        text("repeat", "the command that runs the same again"),
        text("document", "hash of the canonical document of the cell (sha256, hex)"),
        text("code", "hash of the code that simulated it (sha256, hex)"),
        text("headline", "the run in one sentence", null=True),
        large("virtual_us", "virtual time simulated", null=True),
        large("events", "events in the trace", null=True),
        whole("expectations_failed", "expectations of the scenario that do not hold", null=True),
        whole("rebalances", "rebalances after each group had formed", null=True),
        whole("generations", "generations, the first ones included", null=True),
        large(
            "stopped_us", "time in which at least one partition of a group was unserved, summed over groups", null=True
        ),
        whole("moved", "how often a partition changed its process", null=True),
        whole("moved_back", "moves that brought a partition back to where it had come from", null=True),
        large(
            "formed_us",
            "from the first join to the first stable generation, the slowest group; nothing while one never formed",
            null=True,
        ),
        large(
            "settled_us",
            "from the first action or fault of the timeline to the last time a group became stable, or to the end of "
            "the run when a rebalance was still open; 0 when there was no rebalance after it",
            null=True,
        ),
        large("delivered", "records delivered", null=True),
        large("duplicates", "records delivered again", null=True),
        large(
            "lost",
            "records that no member of a group was ever given although a later one of the partition was",
            null=True,
        ),
        large(
            "lag_area",
            "lag summed over partitions and time, in record-milliseconds: the sum of that column of `deliveries`",
            null=True,
        ),
        large("lag_max", "the largest lag of one group at any instant, in records", null=True),
        whole("commits", "commits that succeeded", null=True),
        whole("commits_failed", "commits that failed", null=True),
        whole(
            "evictions",
            "members removed by the coordinator for silence (session, rebalance or sync timeout)",
            null=True,
        ),
        whole("false_evictions", "evictions of members whose process was alive and used this member id", null=True),
        whole("poll_evictions", "members that left because max.poll.interval.ms ran out", null=True),
        whole("crashes", "deaths of members without LeaveGroup", null=True),
        large(
            "detection_us",
            "from a death without LeaveGroup to the removal of the member, the longest; nothing without a removal",
            null=True,
        ),
        large("overlap_us", "time in which a partition had two processes working on it, summed", null=True),
        whole("idle_members", "members alive and without a partition at the end", null=True),
        whole(
            "skew",
            "partitions of the fullest minus the emptiest member alive at the end, the worst group",
            null=True,
        ),
        whole(
            "undetected",
            "members at the end whose process had died: `detection_us` does not know of them yet",
            null=True,
        ),
        large(
            "unserved_us",
            "time in which there was no process that could work on a partition, summed over partitions: the sum of "
            "`stops`",
            null=True,
        ),
        large("worst_unserved_us", "the same for the partition that has the most of it", null=True),
        large("once", "records delivered once, over all groups", null=True),
        large("again", "records delivered more than once", null=True),
        large(
            "skipped",
            "records never delivered though the group reads further on: a position was reset or committed past them",
            null=True,
        ),
        large("expired", "records deleted by retention before the group came to them", null=True),
        large("waiting", "records that the group would have come to", null=True),
        large("truncated", "records cut off from a log after a change of its leader, by groups", null=True),
        large("phantoms", "of the truncated records, those that had been delivered", null=True),
        large("lost_acknowledged", "of the truncated records, those acknowledged to their producers", null=True),
        large(
            "gap_us", "the longest time in which no process could work on one partition (see `deliveries`)", null=True
        ),
        whole("producer_crashes", "deaths of processes that only produce, those beside a member included", null=True),
        large(
            "rollout_us",
            "of a rollout (`rolling-restart`), from the first stop to the last pod ready and the group stable with "
            "all of them, the longest; nothing without one, or when one was not over",
            null=True,
        ),
        large("fetches", "fetches of all members; nothing of counted logs", null=True),
        large("fetches_empty", "of these, answered with neither records nor an error", null=True),
        whole("groups_rebalanced", "groups that rebalanced after they had formed", null=True),
        large(
            "without_coordinator_us",
            "time in which a group had no coordinator, from the step that ended its broker on, summed over groups; one "
            "that was cut off or stood still does not count",
            null=True,
        ),
        whole("groups_without_at_once", "groups that had none at the same time, at most", null=True),
    ),
)

CHANGES = Table(
    "changes",
    "one change of who is in a group and owns what; with the classic protocol one rebalance, from PreparingRebalance "
    "to its end",
    (
        text("group_id", "group.id"),
        text("kind", "rebalance"),
        whole("generation", "the generation it led to, or would have"),
        text("cause", "why it began, from the closed list of causes"),
        text(
            "kafka_cause",
            "what the coordinator noticed, by Kafka's code (ADD_MEMBER, HEARTBEAT_EXPIRED …)",
            null=True,
        ),
        text("culprit", "the process that brought it about", null=True),
        text("why", "a clause with the culprit as its subject"),
        flag(
            "first_start",
            "an attempt to form the group, up to its first stable generation; not one of `runs.rebalances`",
        ),
        flag("follow_up", "the second half of a cooperative rebalance: what began the first half began it, too"),
        large("began_us", "begin of PreparingRebalance"),
        large("completing_us", "begin of CompletingRebalance", null=True),
        large("stable_us", "when the group was stable", null=True),
        large("ended_us", "end of the rebalance, or of the trace"),
        text("outcome", "stable, empty, abandoned, lost or open"),
        text("held_by", "the process it waited for longest", null=True),
        large("held_us", "how long it waited for that process", null=True),
        text("held_why", "what kept that process, or why it was removed", null=True),
        whole("members", "members in the generation"),
        text("leader", "process of the leader", null=True),
        text("protocol", "assignor chosen", null=True),
        whole("moves", "partitions that changed their process"),
        whole("moves_back", "moves that brought a partition back"),
        large("stopped_us", "time in which at least one partition was unserved because of it"),
        text(
            "hindered",
            "what hindered the group then besides: joins given up, offsets held by a transaction or deleted, "
            "partitions without an owner; sentences, parted by `; `",
            null=True,
        ),
    ),
)

SPANS = Table(
    "spans",
    "one process owning one partition",
    (
        *PLACE,
        text("host", "the process"),
        whole("generation", "generation in which it was assigned", null=True),
        large("owned_us", "when it owned it"),
        large("fetchable_us", "from when on it could fetch", null=True),
        large("released_us", "when it gave it up; nothing when it still owned it at the end", null=True),
        text("release", "revoked, lost, closed, crashed or failed", null=True),
    ),
)

STOPS = Table(
    "stops",
    "one standstill of one partition: between two owners no process could work on it",
    (
        *PLACE,
        text("origin", "process of the old owner"),
        text("target", "process of the new owner", null=True),
        whole("generation", "generation that ended it", null=True),
        large("began_us", "when the old owner began to release it (callback included), crashed or was paused"),
        large("ended_us", "when the new owner could fetch, or the end of the trace"),
        text("basis", "what `began_us` is: released, crashed or paused"),
        flag("open", "no member had taken it over when the trace ended"),
    ),
)

PHASES = Table(
    "phases",
    "a stretch in the life of one process",
    (
        text("group_id", "group.id", null=True),
        text("host", "the process"),
        text("phase", "outside, joining, syncing, working, in callback, evicted, paused or dead"),
        large("began_us", "begin"),
        large("ended_us", "end"),
    ),
)

MEMBERS = Table(
    "members",
    "one process that was a member, or a producer (its profile is java-producer, and it has no group)",
    (
        text("group_id", "group.id", null=True),
        text("host", "the process"),
        text("profile", "client profile", null=True),
        large("heartbeats", "quiet heartbeats answered"),
        large("delivered", "records it was given"),
        large("duplicates", "of these, records that had been delivered before"),
        whole("commits", "commits that succeeded; auto-commits that changed nothing are not counted"),
        whole("commits_failed", "commits that failed"),
        text("failed", "the fatal error that ended it", null=True),
        large("fetches", "fetches it sent, long polls one by one; nothing of counted logs and producers", null=True),
        large("fetches_empty", "of these, answered with neither records nor an error", null=True),
        large("fetch_waited_us", "time that its fetches had waited at brokers until they were answered", null=True),
    ),
)

DELIVERIES = Table(
    "deliveries",
    "one partition that a group subscribed to, or a member had, and what became of its records",
    (
        *PLACE,
        large("delivered", "records delivered"),
        large("duplicates", "records delivered again"),
        large("lost", "records skipped: never delivered although a later one was"),
        large("committed", "last offset committed", null=True),
        large("lag_end", "log end less the offset up to which the group had processed it, when the run ended"),
        large("lag_max", "the largest lag at any instant, in records"),
        large("lag_area", "lag summed over every microsecond, in record-milliseconds, rounded down"),
        large(
            "written",
            "records ever in the log: the sum of the next seven columns, and truncated less phantoms",
            null=True,
        ),
        large("once", "records delivered once", null=True),
        large("again", "records delivered more than once", null=True),
        large("skipped", "records never delivered though the group reads further on", null=True),
        large("older", "records never delivered, before every position the group ever had", null=True),
        large("expired", "records deleted by retention before the group came to them", null=True),
        large("waiting", "records that the group would have come to", null=True),
        large("aborted", "records of aborted transactions, never delivered", null=True),
        large("truncated", "records cut off from the log after a change of its leader", null=True),
        large("phantoms", "of the truncated records, those that had been delivered", null=True),
        large("lost_acknowledged", "of the truncated records, those acknowledged to their producers", null=True),
        large("unprocessed", "records delivered that no handler has finished", null=True),
        large(
            "gap_us",
            "the longest time in which no process could work on it, once the group had it; all of it if it never had",
        ),
        large("lag_max_us", "when the lag was first that large"),
    ),
)

COMMITS = Table(
    "commits",
    "commits of one process with one result",
    (
        text("group_id", "group.id", null=True),
        text("host", "the process"),
        flag("auto", "by enable.auto.commit"),
        text("error", "Kafka's error; nothing when they succeeded", null=True),
        whole("n", "how many"),
    ),
)

EVICTIONS = Table(
    "evictions",
    "one member removed against its will, or gone without a word",
    (
        text("group_id", "group.id"),
        text("host", "the process"),
        text("member_id", "member id"),
        text(
            "reason",
            "session-expired, join-timeout, sync-timeout (these count as evictions in `runs`), poll-limit, "
            "pending-expired, fenced, over-capacity or admin",
        ),
        text(
            "cause",
            "what had happened to the process: crash, stop (closed without LeaveGroup), pause, starved (its heartbeat "
            "thread got no time), busy (a callback, the handler or the assignor kept it), poll-limit, network, stall "
            "(the coordinator stood still), coordinator (it had lost it), timeout (it gave up a request too soon), "
            "abandoned (it had joined again and used another member id), refused (it was not allowed to speak), "
            "sent-away (nothing: the reason says all) or unknown",
        ),
        flag("alive", "the process was alive and used this member id: a false eviction"),
        large("removed_us", "when the coordinator removed it"),
        large(
            "silent_us",
            "since its process died, stood still or should have polled; else since the rebalance that waited for it "
            "began, or for the session timeout. For a crash, the time to detect it",
            null=True,
        ),
    ),
)

DOINGS = Table(
    "faults",
    "an action of the timeline, a fault, or something to note (a fencing, an expired offset, a warning)",
    (
        text("kind", "action, fault or note"),
        text("host", "the process concerned", null=True),
        large("began_us", "when"),
        large("ended_us", "when a fault ended", null=True),
        text("what", "in words"),
    ),
)

CALLBACKS = Table(
    "callbacks",
    "one call of the rebalance listener",
    (
        text("group_id", "group.id", null=True),
        text("host", "the process"),
        text("callback", "assigned, revoked or lost"),
        whole("partitions", "how many partitions"),
        large("began_us", "begin"),
        large("ended_us", "end", null=True),
        text("error", "what it raised", null=True),
    ),
)

STATES = Table(
    "states",
    "a stretch in which a group was in one state",
    (
        text("group_id", "group.id"),
        text(
            "state", "Empty, PreparingRebalance, CompletingRebalance, Stable, Dead, or Unloaded (no coordinator has it)"
        ),
        whole("generation", "the group's generation"),
        large("began_us", "begin"),
        large("ended_us", "end"),
        text("reason", "why it came into the state", null=True),
    ),
)

MESSAGES = Table(
    "messages",
    "one request of the group protocol: joins, syncs, leaves, and heartbeats answered with an error",
    (
        text("group_id", "group.id", null=True),
        text("host", "the process that asked"),
        text("broker", "the broker it asked", null=True),
        text("api", "JoinGroup, SyncGroup, LeaveGroup or Heartbeat"),
        text("member_id", "member id in the request", null=True),
        whole("generation", "generation in the request, or for a join in the answer", null=True),
        large("sent_us", "sent by the process; nothing for a heartbeat", null=True),
        large("received_us", "received by the broker", null=True),
        large("answered_us", "answered by the broker", null=True),
        large("returned_us", "answer received by the process", null=True),
        text("error", "Kafka's error, or DISCONNECTED or TIMED_OUT", null=True),
        text("reason", "why it was parked, or the client's own words", null=True),
        whole("subscriptions", "subscriptions in the answer to a JoinGroup: all for the leader, else 0", null=True),
        whole("assignments", "assignments in a SyncGroup: all from the leader, else 0", null=True),
    ),
)

TRACES = Table(
    "traces",
    "one event of one run (docs/traces.md); only on request",
    (
        large("seq", "number of the event in its run"),
        large("t_us", "when"),
        text("kind", "what happened"),
        text("host", "host", null=True),
        text("group_id", "group.id", null=True),
        text("member_id", "member id", null=True),
        whole("generation", "generation", null=True),
        text("topic", "topic", null=True),
        whole("partition_id", "partition", null=True),
        text("api", "API", null=True),
        large("correlation", "correlation id", null=True),
        text("error", "error", null=True),
        text("from_state", "state before", null=True),
        text("to_state", "state after", null=True),
        text("reason", "reason", null=True),
        large("span_id", "a number that ties the begin of something to its end", null=True),
        large("cause_seq", "`seq` of the event that brought this one about, or 0"),
        text("payload", "the rest, as JSON", null=True),
    ),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        RUNS,
        CHANGES,
        SPANS,
        STOPS,
        PHASES,
        MEMBERS,
        DELIVERIES,
        COMMITS,
        EVICTIONS,
        DOINGS,
        CALLBACKS,
        STATES,
        MESSAGES,
        TRACES,
    )
}

QUERIED: dict[str, Table] = {CELLS.name: CELLS, **TABLES}
"""The tables of a sweep's directory for queries: the cells, and the tables of runs."""


def arrow_schema(table: Table) -> pa.Schema:
    """The table's schema in Arrow, with the meaning of each column and the version as metadata."""
    import pyarrow as pa

    types = {Type.INT: pa.int32(), Type.LONG: pa.int64(), Type.BOOL: pa.bool_(), Type.TEXT: pa.string()}
    fields = [
        pa.field(column.name, types[column.type], nullable=column.null, metadata={"meaning": column.meaning})
        for column in table.columns
    ]
    return pa.schema(fields, metadata={"groupsim.table": table.name, "groupsim.tables": str(TABLES_VERSION)})
