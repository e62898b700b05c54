"""The short ways of a heartbeat, for a group in which nothing happens.

There are three ways through the coordinator. What they do is the same: the session is prolonged, the answer is ALIVE.

    `heartbeat.heartbeat`  any Heartbeat, in any state; what follows from it comes as effects
    `quick_heartbeat`      a valid one in Stable, while no append is under way: one look-up, and the deadline is moved
    `Steady`               one that comes again and again: looked up once, and then judged by `ready` alone

Whatever the second and the third are not for takes the first. Tests run them beside each other and compare the traces.
"""

from __future__ import annotations

from typing import Any

from groupsim.coordinator.group import GroupData
from groupsim.coordinator.member import Member
from groupsim.coordinator.states import STABLE
from groupsim.coordinator.timers import Timer
from groupsim.coordinator.turn import Turn
from groupsim.protocol.messages import HeartbeatRequest


def quick_heartbeat(group: GroupData, turn: Turn, request: HeartbeatRequest) -> bool:
    """Do a valid heartbeat in Stable without effects; the caller answers ALIVE. False, and nothing done, for any other.

    No objects: only the deadline and its rank move. The group comes first because this is a method of `ClassicGroup`.
    """
    member = steady_member(group, request)
    if member is None or member.session is None:
        return False
    return _prolong(turn, member.session, turn.now_us + 1_000 * member.session_timeout_ms)


def steady_member(group: GroupData, request: HeartbeatRequest) -> Member | None:
    """The member that a valid heartbeat in Stable is of; None for any other heartbeat."""
    if group.state is not STABLE or request.generation_id != group.generation:
        return None
    member = group.lookup.get(request.member_id)
    if member is None or (request.group_instance_id is not None and request.group_instance_id != member.instance_id):
        return None
    return member


def _prolong(turn: Turn, timer: Timer, due_us: int) -> bool:
    """Move a session's deadline, if it runs and does not come nearer."""
    if not 0 <= timer.due_us <= due_us:
        return False
    timer.move(due_us, turn.timers.draw_ticket())
    return True


class Steady:
    """What the heartbeats of a Stable group are judged by, looked at once: the shortest way of all.

    Whoever brings the same request again and again may keep this, borrow the member's session timer (`Timer.lend`), and
    judge by `ready` alone: a heartbeat that comes when that is true is answered ALIVE, and prolongs the session by
    `session_us` from then on. It holds while the group's era lasts: what a heartbeat is judged by (the state, the
    generation, who has the member id, its timeouts) changes with the era only; a member that goes, or a partition that
    is given up, stops the session's timer. The members of a group with the same timeout share one of these. `kept` is
    for whoever brings their heartbeats.
    """

    __slots__ = ("_era", "_group", "_turn", "kept", "session_us")

    def __init__(self, turn: Turn, group: GroupData, session_us: int) -> None:
        self._turn = turn
        self._group = group
        self._era = group.era
        self.session_us = session_us
        self.kept: dict[Any, Any] = {}

    @property
    def holds(self) -> bool:
        """Whether the era it was made in lasts."""
        return self._group.era == self._era

    @property
    def ready(self) -> bool:
        """Whether a heartbeat is answered ALIVE, and at once; that changes only by what the coordinator is given."""
        return self._group.era == self._era and self._turn.purgatory.idle
