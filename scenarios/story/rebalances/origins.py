"""Steps and faults of the scenario that caused a member's end, its new member id, or a request without an answer."""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.facts import Facts, GroupFacts, HostFacts, Round, Stretch
from groupsim.scenarios.story.rebalances.silence import (
    DEFAULT_SESSION_US,
    Verdict,
    aims_at,
    fault_on,
    of_fault,
    own_standstill,
)
from groupsim.scenarios.story.words import clock

ENDING = frozenset({"stop", "restart", "scale", "rolling-restart", "subscribe", "remove-member"})
"""Steps that make a member leave. A start makes one join, and never leave."""
REMOVING = "remove-member"
_AIMED = frozenset({"stop", "restart"})


def do_of(step: TraceEvent | None) -> str:
    """Return the action of a step, as in the scenario file; empty for no step."""
    return str((step.payload or {}).get("do", "")) if step is not None else ""


def ending_step(facts: Facts, host: HostFacts | None, event: TraceEvent) -> TraceEvent | None:
    """Return the step that made a member leave; None if it is not known.

    A member that is stopped while it joins leaves when the answer to its JoinGroup arrives. The chain of causes then
    leads back to its start, and the step is found by its target instead.
    """
    nearest = facts.nearest(event, Kind.ACTION)
    if host is None:
        return nearest if do_of(nearest) in ENDING else None
    if nearest is not None and do_of(nearest) in ENDING and (do_of(nearest) not in _AIMED or aims_at(nearest, host)):
        return nearest
    if nearest is not None and nearest.host == host.name and not do_of(nearest):  # a trace of another tool
        return nearest
    since = life_began(host, event.t_us)
    ends = (one for one in reversed(facts.actions) if since <= one.t_us <= event.t_us and do_of(one) in _AIMED)
    return next((one for one in ends if aims_at(one, host)), None)


def life_began(host: HostFacts, at_us: int) -> int:
    """Return when the life of a process began that it was in at a moment."""
    return max((t for t in host.started if t <= at_us), default=0)


def lost_with_coordinator(facts: Facts, group: GroupFacts, this: Round, host: HostFacts) -> Verdict | None:
    """Judge a member whose JoinGroup was lost when its coordinator stopped during the round before."""
    before = next((one for one in reversed(group.rounds) if one.prepare.seq < this.prepare.seq), None)
    if before is None or before.stable is not None:
        return None
    asked = {facts.process.get(member) for member in (*before.arrivals, *(one.member or "" for one in before.pending))}
    moved = any(before.prepare.t_us < loaded <= this.prepare.t_us for loaded in group.loaded)
    if not moved or host.name not in asked:
        return None
    return Verdict(Cause.COORDINATOR_MOVE, "joined again: its join was lost with the coordinator")


def under_another_id(facts: Facts, group: GroupFacts, this: Round, host: HostFacts, member: str) -> Verdict | None:
    """Judge a process that joined without the member id under which the coordinator still has it."""
    at = this.prepare.t_us
    born = life_began(host, at)
    former = [known for t, known in host.members if t >= born and known != member and known in this.known]
    if not former:
        return None
    reset = host.signal(Kind.GENERATION_RESET, born, at)
    since = reset.t_us if reset is not None else at
    begin = since - facts.session_us.get(former[-1], DEFAULT_SESSION_US) * 11 // 10
    own = own_standstill(host, begin, since)
    if own is not None:
        return Verdict(own.cause, f"joined under a new member id after it {own.why}")
    fault = fault_on(facts, host, begin, since)
    if fault is not None:
        hit = answered_wrongly(fault) or of_fault(fault)
        return Verdict(hit.cause, f"joined under a new member id after it {hit.why}")
    if any(begin <= loaded <= at for loaded in group.loaded):
        return Verdict(Cause.COORDINATOR_MOVE, "joined under a new member id after it had lost its coordinator")
    aside = f": {reset.reason}" if reset is not None and reset.reason else ""
    return Verdict(Cause.SESSION_SILENT, f"joined under a new member id{aside}")


def fault_at(facts: Facts, host: HostFacts, begin_us: int, end_us: int) -> Stretch | None:
    """Return the last fault on this process that was active in [begin, end]; None for none."""
    mine = (one for one in facts.faults.values() if one.where == host.name and one.overlaps(begin_us, end_us))
    return max(mine, key=lambda one: one.began_us, default=None)


def answered_wrongly(fault: Stretch) -> Verdict | None:
    """Return the verdict on a fault that answers a request with an error; None for another kind of fault."""
    if fault.kind != "AnswerError":
        return None
    ended = fault.ended_us if fault.ended_us is not None else fault.began_us
    return Verdict(Cause.WRONG_ANSWER, f"received a wrong answer at {clock(ended)} ({fault.what})")


def wrong_answer(facts: Facts, host: HostFacts, begin_us: int, end_us: int) -> Verdict | None:
    """Return the verdict on the last fault on this process in [begin, end] if it answered a request wrongly."""
    fault = fault_at(facts, host, begin_us, end_us)
    return answered_wrongly(fault) if fault is not None else None
