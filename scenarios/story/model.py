"""The story as values. Times are microseconds of virtual time (`_us`); a process is named by its host."""

from __future__ import annotations

from enum import StrEnum
from operator import add

from attrs import astuple

from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.rebalances.partition_set import Assignment
from groupsim.scenarios.story.records.failed_produces import FailedProduce
from groupsim.scenarios.story.records.fetches import Fetches


class Outcome(StrEnum):
    """How the rebalance to a generation ended."""

    STABLE = "stable"
    EMPTY = "empty"  # no member was left
    ABANDONED = "abandoned"  # another rebalance began before it was stable
    LOST = "lost"  # the coordinator stopped before it was over
    OPEN = "open"  # in progress when the trace ends


class Phase(StrEnum):
    """What a member's process was doing, as an observer outside the process sees it."""

    OUTSIDE = "outside"
    JOINING = "joining"
    SYNCING = "syncing"
    WORKING = "working"
    CALLBACK = "in callback"
    EVICTED = "evicted"  # removed by the coordinator and not yet aware of it
    PAUSED = "paused"
    DEAD = "dead"


@frozen
class MemberName:
    """The name of a member: its process, and the member id that it had at the time."""

    host: str
    member: str | None = None


@frozen
class LateMember:
    """A member that a rebalance waited for: the last to join, to revoke or to reconcile, or one that did not join."""

    name: MemberName
    after_us: int  # from the begin of the rebalance to the join, or to the removal
    came: bool
    removal: str | None = None  # reason of its removal: session-expired, join-timeout, pending-expired …
    cause: Cause | None = None  # why it was late, from the closed list; None if the trace does not show it
    why: str = ""  # a clause: "crashed at 0:31.000"
    revoked: bool = False  # a member of a consumer group that had partitions to revoke


@frozen
class Move:
    """A partition that another process owns now; `back`: that process had owned it before the last owner."""

    partition: TopicPartition
    origin: str
    target: str
    back: bool = False


@frozen
class Hindrance:
    """Something that hindered a group and did not begin a rebalance: a clause, its times, its cause.

    `minor`: it cost no time and no record, as members without a partition do.
    """

    began_us: int
    ended_us: int
    words: str
    cause: Cause | None = None
    minor: bool = False


@frozen
class GroupWords:
    """The words of a protocol for a change of the assignment.

    change, number    the change and its number; `head` is the number in a table
    last, abandoned   its last member; its end by another change
    """

    change: str
    number: str
    head: str
    last: str
    abandoned: str


OF_GENERATIONS = GroupWords("rebalance", "generation", "gen", "last to join", "abandoned")
OF_EPOCHS = GroupWords("reassignment", "epoch", "epoch", "last to reconcile", "overtaken")


@frozen
class Generation:
    """One rebalance of one group, from PreparingRebalance to its end.

    number         the generation that it led to, or would have led to
    cause, culprit, why    from the closed list; the member that caused it; a clause about it: "left (rolling restart)"
    kafka_cause, follow_up    Kafka's cause code; whether it is the second rebalance of a cooperative one (KIP-429)
    began_us, completing_us, stable_us    when the group entered each state; None for never
    ended_us       the end of the rebalance, or of the trace
    late, absent   the last member to join, or in a consumer group to reconcile; those that did not join
    members, size  members of the generation; their number, also if the trace does not list them
    moves          partitions that another process owns now
    stopped_us, hindrances    how long partitions were unserved because of it; what hindered it and did not begin it
    words          those of the group's protocol
    assignment     the owners of partitions once it is stable; None if it never was, or if the trace does not show them
    """

    group: str
    number: int
    cause: Cause
    culprit: MemberName | None
    why: str
    follow_up: bool
    began_us: int
    completing_us: int | None
    stable_us: int | None
    ended_us: int
    outcome: Outcome
    late: LateMember | None
    absent: tuple[LateMember, ...]
    members: tuple[MemberName, ...]
    size: int
    leader: MemberName | None
    protocol: str | None
    moves: tuple[Move, ...] = ()
    stopped_us: int = 0
    hindrances: tuple[Hindrance, ...] = ()
    assignment: Assignment | None = None
    kafka_cause: str | None = None
    words: GroupWords = OF_GENERATIONS

    @property
    def duration_us(self) -> int:
        """Time from the begin of the rebalance to a stable group, or to another end."""
        return self.ended_us - self.began_us

    @property
    def held_by(self) -> LateMember | None:
        """The member that held it open: one that did not join, else the last to join."""
        return max(self.absent, key=lambda one: one.after_us, default=self.late)

    @property
    def delayed_by(self) -> LateMember | None:
        """The same; None if that member learned of the rebalance at its next heartbeat, as it should."""
        held = self.held_by
        return held if held is not None and (held.removal or held.cause) else None


@frozen
class Span:
    """The time in which one process owned one partition. From `fetchable_us` on it could fetch."""

    partition: TopicPartition
    host: str
    member: str | None
    generation: int | None
    owned_us: int
    fetchable_us: int | None
    released_us: int | None
    release: str | None


@frozen
class Standstill:
    """The unserved time of a partition between two owners: no process could work on it from `began_us` to `ended_us`.

    It begins when the old owner begins to release it (the callback included), crashes or is paused: `basis` is
    released, crashed or paused. It ends when the new owner can fetch, or with the trace (`open`).
    """

    partition: TopicPartition
    origin: str
    target: str | None
    generation: int | None
    began_us: int
    ended_us: int
    basis: str
    open: bool = False

    @property
    def length_us(self) -> int:
        """Its length."""
        return self.ended_us - self.began_us


@frozen
class Unanswered:
    """A standstill after the end of a process that no rebalance followed; it lasts to the end of the trace."""

    stop: Standstill
    how: str  # crashed, stopped without leaving, failed
    ended_us: int  # when the process did


@frozen
class Overlap:
    """A time in which the old owner (`zombie`) processed records after the new owner could fetch."""

    partition: TopicPartition
    zombie: str
    owner: str
    began_us: int
    ended_us: int


@frozen
class Records:
    """The account of the records of a log for one group; `records/accounts.py` defines each figure."""

    written: int = 0  # all that were ever in it
    once: int = 0
    again: int = 0
    older: int = 0
    skipped: int = 0
    expired: int = 0
    waiting: int = 0
    aborted: int = 0
    truncated: int = 0
    phantoms: int = 0  # of the truncated: had been delivered
    lost: int = 0  # of the truncated: had been acknowledged to their producers
    unprocessed: int = 0  # delivered, and not finished by a handler

    @property
    def never(self) -> int:
        """Records that were there for the group and that no member can receive any more."""
        return self.skipped + self.expired + self.truncated - self.phantoms

    def __add__(self, other: Records) -> Records:
        return Records(*map(add, astuple(self), astuple(other)))


@frozen
class Lag:
    """The lag of one partition, or of a whole group, over a run, in records."""

    end: int
    most: int
    most_us: int  # when it had that value; of a partition, the first time
    area: int  # record-milliseconds


@frozen
class Gap:
    """A time in which no process could work on a partition. `open`: until the end of the run."""

    began_us: int
    ended_us: int
    open: bool = False

    @property
    def length_us(self) -> int:
        """How long."""
        return self.ended_us - self.began_us


@frozen
class Account:
    """The account of one partition's records in one group; None for figures that the trace does not have."""

    group: str
    partition: TopicPartition
    delivered: int
    duplicates: int  # delivered again
    lost: int  # not delivered although later ones were
    first_lost: tuple[int, int] | None = None  # their first offsets
    records: Records | None = None
    lag: Lag | None = None
    gap: Gap | None = None  # the longest one; the time before the first owner does not count


@frozen
class GroupAccount:
    """The accounts of a group's partitions together."""

    group: str
    partitions: int
    delivered: int
    duplicates: int
    lost: int
    records: Records | None
    lag: Lag | None
    gap: TopicPartition | None  # the partition with the longest gap


class EvictionCause(StrEnum):
    """Why the coordinator removed a member, or why it left without having polled, seen from its process."""

    CRASH = "crash"
    STOP = "stop"  # stopped in an orderly way, without LeaveGroup
    PAUSE = "pause"  # the whole process was paused
    STARVED = "starved"  # its heartbeat thread got no CPU time, its application did
    BUSY = "busy"  # in a callback, the handler or the assignor
    POLL_LIMIT = "poll-limit"
    NETWORK = "network"
    STALL = "stall"  # the coordinator was paused
    COORDINATOR = "coordinator"  # it had lost its coordinator
    TIMEOUT = "timeout"  # its request timed out before the coordinator answered
    ABANDONED = "abandoned"  # it had joined again and used another member id
    REFUSED = "refused"  # the coordinator refused its heartbeats, for want of an ACL
    SENT_AWAY = "sent-away"  # by an administrator, a member with its group.instance.id, or a full group
    UNKNOWN = "unknown"


@frozen
class Eviction:
    """A member that the coordinator removed without LeaveGroup, or that left because its poll limit ran out.

    `reason` is the coordinator's (session-expired, join-timeout, sync-timeout, pending-expired, fenced, over-capacity,
    admin), or poll-limit. `alive`: the process was alive and used this member id, so it was evicted falsely.
    `silent_us`: the time since its process died, was paused or called poll(). If none of these happened, the time since
    the rebalance began that waited for it, or the session timeout.
    """

    name: MemberName
    reason: str
    cause: EvictionCause
    alive: bool
    removed_us: int
    silent_us: int | None


@frozen
class PhaseSpan:
    """A stretch of a member's lane."""

    phase: Phase
    began_us: int
    ended_us: int


PRODUCER = "java-producer"
"""The profile of a process that only produces and is a member of no group."""
SEEN_US = 100_000
"""Shorter phases of a producer, such as its start, do not make it eventful; `pipeline/page/lanes.js` has the same."""


@frozen
class Lane:
    """One process over the whole trace: a member of a group, or a producer."""

    host: str
    group: str | None
    profile: str | None
    phases: tuple[PhaseSpan, ...]
    heartbeats: int = 0  # heartbeats that the trace counts and does not list
    delivered: int = 0  # records that it received
    duplicates: int = 0  # of these, records that its group had received before
    commits_failed: tuple[tuple[str, int], ...] = ()
    failed: str | None = None  # the fatal error that ended it
    alive: bool = True  # at the end of the trace
    crashes: int = 0  # how often it crashed
    fetches: Fetches | None = None  # None: not counted, as on counted logs

    @property
    def producer(self) -> bool:
        """Whether it only produces."""
        return self.profile == PRODUCER

    @property
    def eventful(self) -> bool:
        """Whether its lane differs from that of a producer that worked all the time."""
        return not self.producer or any(
            part.phase is not Phase.WORKING and part.ended_us - part.began_us >= SEEN_US for part in self.phases
        )


@frozen
class Rollout:
    """A `rolling-restart` of a group. Without `ready_us` or `settled_us` it was not over when the trace ended.

    `first_stop_us` is the first SIGTERM, `ready_us` when the last pod was ready, `settled_us` when the group was stable
    with all `pods` and without a dead member. `missing` and `dead` explain a missing `settled_us`: pods that were not
    members at the end of the trace, and members whose process had died.
    """

    group: str
    kind: str
    pods: int
    began_us: int
    first_stop_us: int | None = None
    ready_us: int | None = None
    settled_us: int | None = None
    missing: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()

    @property
    def since_us(self) -> int:
        """The time of the first SIGTERM; of a rollout that stopped no pod, that of its step."""
        return self.began_us if self.first_stop_us is None else self.first_stop_us

    @property
    def took_us(self) -> int | None:
        """Time from the first SIGTERM to the last pod ready and the group stable; None if it was not over."""
        return None if self.settled_us is None else self.settled_us - self.since_us


@frozen
class GroupStory:
    """One group: its generations, and what happened to its partitions.

    formed_us          from its first join to its first stable generation; None for no stable generation
    spans              the owners of each partition over time
    standstills        times in which a partition was unserved, but those within the formation of a consumer group
    overlaps           times in which two processes worked on a partition
    stopped_us         time in which at least one partition was unserved; unserved_us: summed over partitions
    worst              the partition that was unserved longest, in all, and for how long
    delivered, duplicates    records that poll returned; those of them that the group had received before
    commits_failed     errors of commits, and how often each
    fenced             group.instance.id → how often a member with it was fenced
    evictions          members that the coordinator removed without LeaveGroup
    present            members at the end of the trace at the coordinator; undetected: those whose process had died
    rollouts           the result of each rolling restart
    static             processes with a group.instance.id
    unanswered         the standstills after the end of a process that no rebalance followed
    """

    group: str
    formed_us: int | None
    generations: tuple[Generation, ...]
    spans: tuple[Span, ...]
    standstills: tuple[Standstill, ...]
    overlaps: tuple[Overlap, ...]
    stopped_us: int
    unserved_us: int
    worst: tuple[TopicPartition, int] | None
    delivered: int
    duplicates: int
    commits_failed: tuple[tuple[str, int], ...]
    fenced: tuple[tuple[str, int], ...] = ()
    evictions: tuple[Eviction, ...] = ()
    present: tuple[MemberName, ...] = ()
    undetected: tuple[MemberName, ...] = ()
    rollouts: tuple[Rollout, ...] = ()
    static: tuple[str, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()

    @property
    def words(self) -> GroupWords:
        """The words of the group's protocol."""
        return self.generations[-1].words if self.generations else OF_GENERATIONS

    @property
    def rebalances(self) -> tuple[Generation, ...]:
        """The generations after the group had formed, which reports count.

        A classic group has formed with its first stable generation; rounds before that one are attempts to form it.
        A consumer group forms in its first round, which has all changes of the time for which a classic group would
        wait for its first members.
        """
        if not self.generations or self.generations[0].cause is not Cause.FIRST_START:
            return self.generations
        return self.generations[len(self.forming) :]

    @property
    def forming(self) -> tuple[Generation, ...]:
        """The generations up to the first stable one, all if none was stable; of a consumer group the first one."""
        if self._by_epochs:
            return self.generations[:1]
        stable = next((at for at, one in enumerate(self.generations) if one.stable_us is not None), None)
        return self.generations if stable is None else self.generations[: stable + 1]

    @property
    def counted(self) -> tuple[Generation, ...]:
        """The generations whose moves and standstills are counted.

        Members that form a consumer group share partitions out one after the other, where those of a classic group wait
        for the initial rebalance delay. Both are the time to form, and no cost of what came later.
        """
        return self.rebalances if self._by_epochs else self.generations

    @property
    def _by_epochs(self) -> bool:
        """Whether the group began as a consumer group."""
        return bool(self.generations) and self.generations[0].words is OF_EPOCHS

    @property
    def moved(self) -> int:
        """The number of counted moves of a partition from one process to another."""
        return sum(len(g.moves) for g in self.counted)


@frozen
class TimelineEntry:
    """A line of the timeline: an action or fault of the scenario, or a note."""

    t_us: int
    what: str
    host: str | None = None
    until_us: int | None = None


@frozen
class TakeOver:
    """A load of a group after an election. `without_us`: how long it had no coordinator; None if unknown."""

    t_us: int
    group: str
    host: str
    members: int
    generation: int
    without_us: int | None


@frozen
class Story:
    """What happened in a run.

    headline       the first line of a report
    groups         each group's generations, with cause and cost
    lanes          the phases of each process
    actions, faults, notes    the timeline; notes are warnings, expired offsets, failed plug-ins, fencings
    accounts, totals    the account of all records, by group and partition, and by group
    take_overs     changes of coordinator, where brokers have logs of their own
    given_up       records that producers gave up and no log has
    scenario, seed, end_us    of the run
    """

    scenario: str
    seed: int | None
    end_us: int
    groups: tuple[GroupStory, ...]
    lanes: tuple[Lane, ...]
    actions: tuple[TimelineEntry, ...]
    faults: tuple[TimelineEntry, ...]
    notes: tuple[TimelineEntry, ...]
    headline: str
    accounts: tuple[Account, ...] = ()
    totals: tuple[GroupAccount, ...] = ()
    take_overs: tuple[TakeOver, ...] = ()
    given_up: tuple[FailedProduce, ...] = ()
