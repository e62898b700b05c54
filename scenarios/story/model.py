"""The story as values. Times are microseconds of virtual time (`_us`); a process is named by its host."""

from __future__ import annotations

from enum import StrEnum
from operator import add

from attrs import astuple, frozen

from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.rebalances.partition_set import Assignment
from groupsim.scenarios.story.records.failed_produces import FailedProduce
from groupsim.scenarios.story.records.fetches import Fetches


class Outcome(StrEnum):
    """How a generation's rebalance ended."""

    STABLE = "stable"
    EMPTY = "empty"  # nobody was left
    ABANDONED = "abandoned"  # another rebalance began before it was stable
    LOST = "lost"  # the coordinator went away with it
    OPEN = "open"  # still going when the trace ends


class Phase(StrEnum):
    """What a member's process was doing, as one sees it from outside."""

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
    """A member as people name it: its process, with the member id it had at the time."""

    host: str
    member: str | None = None


@frozen
class LateMember:
    """Somebody a rebalance waited for: the last to join, or one who never came."""

    name: MemberName
    after_us: int  # from the begin of the rebalance to the join, or to the removal
    came: bool
    removal: str | None = None  # why it was removed: session-expired, join-timeout, pending-expired …
    cause: Cause | None = None  # what kept it, from the closed list, when the trace tells
    why: str = ""  # a clause: "crashed at 0:31.000"


@frozen
class Move:
    """A partition that another process owns now; `back`: it returned to the process it had come from."""

    partition: TopicPartition
    origin: str
    target: str
    back: bool = False


@frozen
class Hindrance:
    """What hindered a group without having begun a rebalance: a clause, from when to when, its name in the list.

    `minor`: it cost nobody anything but hope, as members that own nothing do.
    """

    began_us: int
    ended_us: int
    words: str
    cause: Cause | None = None
    minor: bool = False


@frozen
class Generation:
    """One rebalance of one group, from PreparingRebalance to its end.

    number         the generation it led to, or would have
    cause, culprit, why    from the closed list; whose doing; a clause about him: "left (rolling restart)"
    kafka_cause, follow_up    Kafka's code for what began it; whether it is the second half of a cooperative rebalance
    began_us, completing_us, stable_us    when it got there, None for never
    ended_us       the end of the rebalance, or of the trace
    late, absent   the last to join; those who never came
    members, size  who is in the generation; how many, also when they are not listed
    moves          partitions that another process owns now
    stopped_us, hindrances    when partitions were unserved because of it; what hindered it without having begun it
    assignment     who owns what since it is stable; None for others, and where the trace does not tell
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

    @property
    def duration_us(self) -> int:
        """From the begin of the rebalance to a stable group, or to whatever ended it."""
        return self.ended_us - self.began_us

    @property
    def held_by(self) -> LateMember | None:
        """Whoever held it open: the one who never came, else the last to join."""
        return max(self.absent, key=lambda one: one.after_us, default=self.late)

    @property
    def delayed_by(self) -> LateMember | None:
        """The same, unless all it did was to hear of the rebalance at its next heartbeat, as it should."""
        held = self.held_by
        return held if held is not None and (held.removal or held.cause) else None


@frozen
class Span:
    """One process owning one partition. `fetchable_us`: from then on it could fetch."""

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
    """A partition between two owners: no process could work on it from `began_us` to `ended_us` (unserved time).

    It begins when the old owner begins to release it (the callback included), crashes or is paused: `basis` is
    released, crashed or paused. It ends when the new owner can fetch; `open` when there was none.
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
        """How long no process could work on the partition."""
        return self.ended_us - self.began_us


@frozen
class Unanswered:
    """A partition whose process ended, and no rebalance followed: it stands still to the end of the trace."""

    stop: Standstill
    how: str  # crashed, stopped without leaving, failed
    ended_us: int  # when the process did


@frozen
class Overlap:
    """Two processes worked on one partition: the old one after the new one could fetch (a zombie window)."""

    partition: TopicPartition
    zombie: str
    owner: str
    began_us: int
    ended_us: int


@frozen
class Records:
    """What became of the records of a log, in one group; `records/accounts.py` says what each figure means."""

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
    unprocessed: int = 0  # delivered, and no handler has finished them

    @property
    def never(self) -> int:
        """Records that were there for the group, and that nobody will ever be given."""
        return self.skipped + self.expired + self.truncated - self.phantoms

    def __add__(self, other: Records) -> Records:
        return Records(*map(add, astuple(self), astuple(other)))


@frozen
class Lag:
    """The lag of one partition, or of a whole group, over a run, in records."""

    end: int
    most: int
    most_us: int  # when it was that large; of a partition, the first time
    area: int  # record-milliseconds


@frozen
class Gap:
    """A time in which there was no process that could work on a partition. `open`: until the end of the run."""

    began_us: int
    ended_us: int
    open: bool = False

    @property
    def length_us(self) -> int:
        """How long."""
        return self.ended_us - self.began_us


@frozen
class Account:
    """What became of one partition's records in one group. Nothing stands for what the trace does not tell."""

    group: str
    partition: TopicPartition
    delivered: int
    duplicates: int  # delivered again
    lost: int  # passed over: a later one was delivered, these never
    first_lost: tuple[int, int] | None = None  # their first offsets
    records: Records | None = None
    lag: Lag | None = None
    gap: Gap | None = None  # the longest; the time before the group first had it does not count


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
    """What had happened to a process that the coordinator removed, or that left because it had not polled."""

    CRASH = "crash"
    STOP = "stop"  # ended in an orderly way, without LeaveGroup
    PAUSE = "pause"  # the whole process stood still
    STARVED = "starved"  # its heartbeat thread got no time, its application ran on
    BUSY = "busy"  # a callback, the handler or the assignor kept it
    POLL_LIMIT = "poll-limit"
    NETWORK = "network"
    STALL = "stall"  # the coordinator's, not its own
    COORDINATOR = "coordinator"  # it had lost its coordinator
    TIMEOUT = "timeout"  # it gave up a request that would have been answered
    ABANDONED = "abandoned"  # it had joined again and used another member id
    REFUSED = "refused"  # it spoke, and was not allowed to: the coordinator refused its heartbeats
    SENT_AWAY = "sent-away"  # nothing: an administrator, another member with its instance id, or a full group
    UNKNOWN = "unknown"


@frozen
class Eviction:
    """A member removed without having asked for it, or gone because its poll limit ran out.

    `reason` is the coordinator's (session-expired, join-timeout, sync-timeout, pending-expired, fenced, over-capacity,
    admin), or poll-limit. `alive`: the process was alive and used this member id, so that it was evicted falsely.
    `silent_us`: since its process died, stood still or called poll(); without any of these since
    the rebalance that waited for it began, or for the session timeout.
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
"""The profile that a process names which is a member of no group and only produces."""
SEEN_US = 100_000
"""What a producer does for less, such as its start, is not worth a lane; `pipeline/page/lanes.js` says the same."""


@frozen
class Lane:
    """One process from begin to end: a member of a group, or a producer."""

    host: str
    group: str | None
    profile: str | None
    phases: tuple[PhaseSpan, ...]
    heartbeats: int = 0  # quiet ones, counted rather than listed
    delivered: int = 0  # records it was given
    duplicates: int = 0  # records it was given that somebody had been given before
    commits_failed: tuple[tuple[str, int], ...] = ()
    failed: str | None = None  # the fatal error that ended it
    alive: bool = True  # at the end of the trace
    crashes: int = 0  # how often it died without a word
    fetches: Fetches | None = None  # None: not counted, as on counted logs

    @property
    def producer(self) -> bool:
        """Whether it is no member, but a process that produces."""
        return self.profile == PRODUCER

    @property
    def eventful(self) -> bool:
        """Whether there is something to see: a producer that worked all the time looks like any other."""
        return not self.producer or any(
            part.phase is not Phase.WORKING and part.ended_us - part.began_us >= SEEN_US for part in self.phases
        )


@frozen
class Rollout:
    """A `rolling-restart` of a group. Without `ready_us` or `settled_us` it was not over when the trace ended.

    `first_stop_us` is the first SIGTERM, `ready_us` when the last pod was ready, `settled_us` when the group was stable
    with all `pods` and without a dead member. `missing` and `dead` say what kept it from that: pods that were no
    members at the end of the trace, and processes that were and had died.
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
        """The first SIGTERM; of a rollout that stopped nobody (yet), its step."""
        return self.began_us if self.first_stop_us is None else self.first_stop_us

    @property
    def took_us(self) -> int | None:
        """From the first SIGTERM to the last pod ready and the group stable; None when it was not over."""
        return None if self.settled_us is None else self.settled_us - self.since_us


@frozen
class GroupStory:
    """One group: its generations, and what happened to its partitions.

    formed_us          from its first join to its first stable generation; None: it never was
    spans              who owned which partition, from when to when
    standstills        partitions without an owner at work; overlaps: with two
    stopped_us         time in which at least one partition was unserved; unserved_us: summed over partitions
    worst              the partition that was unserved longest, in all, and for how long
    delivered, duplicates    records that poll returned; those of them that came again
    commits_failed     errors of commits, and how often each
    fenced             group.instance.id → how often one of its users was fenced
    evictions          members the coordinator removed against their will
    present            members at the end of the trace, as the coordinator counts them; undetected: the dead of them
    rollouts           what became of each rolling restart
    static             processes with a group.instance.id
    unanswered         of the standstills: those no rebalance followed, after the end of a process
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
    def rebalances(self) -> tuple[Generation, ...]:
        """The generations after the group had formed: what people count.

        The group has formed with its first stable generation. Rounds before that one are attempts to form it.
        """
        if not self.generations or self.generations[0].cause is not Cause.FIRST_START:
            return self.generations
        return self.generations[len(self.forming) :]

    @property
    def forming(self) -> tuple[Generation, ...]:
        """The generations up to the first stable one: how the group formed, or failed to."""
        stable = next((at for at, one in enumerate(self.generations) if one.stable_us is not None), None)
        return self.generations if stable is None else self.generations[: stable + 1]

    @property
    def moved(self) -> int:
        """How often a partition changed its process."""
        return sum(len(g.moves) for g in self.generations)


@frozen
class TimelineEntry:
    """An action or fault of the scenario, in words."""

    t_us: int
    what: str
    host: str | None = None
    until_us: int | None = None


@frozen
class TakeOver:
    """A group whose coordinator became another broker. `without_us`: how long it had none, None when unknown."""

    t_us: int
    group: str
    host: str
    members: int
    generation: int
    without_us: int | None


@frozen
class Story:
    """What happened in a run.

    headline       the one line to quote
    groups         each group's generations, with cause and cost
    lanes          each process's states, from when to when
    actions, faults, notes    what was done and noted: warnings, expired offsets, failed plug-ins, fencings
    accounts, totals    where every record is, by group and partition, and by group
    take_overs     changes of coordinator, where brokers have logs of their own
    given_up       records that no log ever took
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
