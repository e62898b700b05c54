"""The named timers of one partition: deadlines as data.

A parked request has no deadline of its own. Deadlines belong to timers, and each timer has a name:

    join-<group>                closes the round of JoinGroups, or prolongs the initial rebalance delay
    sync-<group>                removes members that never sent SyncGroup
    heartbeat-<group>-<member>  a member's session, or the time limit of a pending member id
    session-timeout-<group>-<member>   the session of a member of a consumer group
    rebalance-timeout-<group>-<member>  the time that it has to revoke partitions
    join-<group>-<member>  the time that a classic member of a consumer group has to join again
    sync-<group>-<member>  the time that it has to send SyncGroup
    write-timeout-<partition>   the oldest answer that waits for an append
    expire-group-metadata-<partition>  deletes offsets and groups past their retention

Setting a name again moves the timer, whatever it was for: `join-a-b` is a timer of the group `a-b`, or of member `b` of
the group `a`, and Kafka has one map of names, too. `due_us` is the deadline, `ticket` the rank among timers of the same
instant, drawn when the timer was set. A timer that is not running has `due_us` NEVER.

The table is authoritative. The driver of the core fires due timers in the order of (due_us, ticket). A session moves
at every heartbeat, so the timer object is moved in place, without an effect: the driver's alarm, when it rings, checks
whether the deadline has moved.

Source: `CoordinatorTimerImpl`, `GroupMetadataManager`; classic-protocol reference, 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto

NEVER = -1


class TimerKind(Enum):
    """The action of a timer when it fires."""

    SESSION = auto()
    INITIAL_JOIN = auto()
    JOIN = auto()
    SYNC = auto()
    CONSUMER_SESSION = auto()
    REBALANCE = auto()
    MEMBER_JOIN = auto()
    MEMBER_SYNC = auto()
    WRITE_TIMEOUT = auto()
    EXPIRY = auto()

    __hash__ = object.__hash__


class Timer:
    """One named timer. `args` are the values that Kafka's closure would hold. `running`: whether it has a deadline.

    `alarm` and `cause` belong to the driver. `rings_us` and `rings_ticket` are the deadline that its alarm is set for,
    NEVER when there is no alarm; a move to a later deadline needs no effect (`Operation.every_move`).
    """

    __slots__ = (
        "alarm",
        "args",
        "cause",
        "due_us",
        "group_id",
        "kind",
        "member_id",
        "name",
        "rings_ticket",
        "rings_us",
        "running",
        "ticket",
    )

    def __init__(self, name: str, kind: TimerKind, group_id: str, member_id: str) -> None:
        self.name = name
        self.kind = kind
        self.group_id = group_id
        self.member_id = member_id
        self.args: tuple[int, ...] = ()
        self.alarm: object = None
        self.rings_us = NEVER
        self.rings_ticket = 0
        self.cause = 0
        self.running = False
        self.due_us = NEVER
        self.ticket = 0  #: the rank among timers of the same instant

    def move(self, due_us: int, ticket: int) -> None:
        """Set another deadline, or NEVER."""
        self.due_us = due_us
        self.ticket = ticket
        self.running = due_us != NEVER

    def __repr__(self) -> str:
        return f"Timer({self.name!r}, due_us={self.due_us})"


class Timers:
    """The running timers of one partition, by name. `draw_ticket` gives the next rank."""

    __slots__ = ("_running", "draw_ticket")

    def __init__(self, draw_ticket: Callable[[], int]) -> None:
        self.draw_ticket = draw_ticket
        self._running: dict[str, Timer] = {}

    def __iter__(self) -> Iterator[Timer]:
        return iter(self._running.values())

    def __len__(self) -> int:
        return len(self._running)

    def get(self, name: str) -> Timer | None:
        """Return the running timer of that name."""
        return self._running.get(name)

    def set(
        self,
        name: str,
        kind: TimerKind,
        due_us: int,
        group_id: str = "",
        member_id: str = "",
        args: tuple[int, ...] = (),
    ) -> Timer:
        """Start the timer, or move it, whatever its kind was before."""
        timer = self._running.get(name)
        if timer is None:
            timer = self._running[name] = Timer(name, kind, group_id, member_id)
        timer.kind, timer.group_id, timer.member_id, timer.args = kind, group_id, member_id, args
        timer.move(due_us, self.draw_ticket())
        return timer

    def stop(self, name: str) -> Timer | None:
        """Stop the timer and return it; None when none runs under that name."""
        timer = self._running.pop(name, None)
        if timer is not None:
            timer.move(NEVER, 0)
        return timer

    def next(self) -> Timer | None:
        """Return the timer that is due first."""
        return min(self._running.values(), key=lambda timer: (timer.due_us, timer.ticket), default=None)

    def of_group(self, group_id: str) -> list[Timer]:
        """Return every running timer of one group, soonest first."""
        own = [t for t in self._running.values() if t.group_id == group_id and t.kind in _GROUP_KINDS]
        return sorted(own, key=lambda timer: (timer.due_us, timer.ticket))


CLASSIC_KINDS = frozenset({TimerKind.SESSION, TimerKind.INITIAL_JOIN, TimerKind.JOIN, TimerKind.SYNC})
CONSUMER_KINDS = frozenset(
    {TimerKind.CONSUMER_SESSION, TimerKind.REBALANCE, TimerKind.MEMBER_JOIN, TimerKind.MEMBER_SYNC}
)
"""The timers of each kind of group. A group that is converted leaves its timers behind; a timer of another kind does
nothing when it fires (`GroupMetadataManager`: the group of that id is not one of the timer's kind)."""
_GROUP_KINDS = CLASSIC_KINDS | CONSUMER_KINDS


def join_timer(group_id: str) -> str:
    """Return the name of the timer that closes a round."""
    return f"join-{group_id}"


def sync_timer(group_id: str) -> str:
    """Return the name of the timer that ends the wait for SyncGroups."""
    return f"sync-{group_id}"


def session_timer(group_id: str, member_id: str) -> str:
    """Return the name of a member's session timer."""
    return f"heartbeat-{group_id}-{member_id}"


def consumer_session_timer(group_id: str, member_id: str) -> str:
    """Return the name of the session timer of a member of a consumer group."""
    return f"session-timeout-{group_id}-{member_id}"


def rebalance_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer of a member of a consumer group that has to revoke partitions."""
    return f"rebalance-timeout-{group_id}-{member_id}"


def member_join_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer of a classic member of a consumer group that has to join again."""
    return f"join-{group_id}-{member_id}"


def member_sync_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer of a classic member of a consumer group that has to send SyncGroup."""
    return f"sync-{group_id}-{member_id}"
