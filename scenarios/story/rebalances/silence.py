"""Why a member sent no heartbeats or joined late: its process, the coordinator and the network at that time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from operator import attrgetter

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.units import parse_duration
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.targets import matches
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.facts import Facts, HostFacts, Round, Stretch
from groupsim.scenarios.story.words import clock, span

DEFAULT_SESSION_US = 45_000_000
TOGETHER_US = 50_000  # live members that expire within this point at the coordinator (log-formats reference, 8)
NOTICEABLE_US = 200_000
OFTEN = 3
LONGEST_ASSIGNMENT_US = 600_000_000
_began = attrgetter("began_us")
_REBALANCING = "REBALANCE_IN_PROGRESS"
_NOT_ALLOWED = "GROUP_AUTHORIZATION_FAILED"
NO_ID_YET = "before it had a member id to leave with"
DROPPED_ID = "had dropped this member id"
_SILENT = "sent no heartbeat for its whole session"
STALLING_WORDS = ("stall", "stands still")

UNRELEASED = "UNRELEASED_INSTANCE_ID"
"""A static member of the consumer protocol is refused while its predecessor, which did not leave, has a session."""


@frozen
class Verdict:
    """A cause, and a clause about it whose subject is the member."""

    cause: Cause | None
    why: str


def first_seen(facts: Facts, member: str, host: HostFacts) -> int:
    """Return when the process received this member id; 0 if not known."""
    return next((t for t, known in host.members if known == member), 0)


def why_expired(facts: Facts, removal: TraceEvent) -> Verdict:
    """Return why a member's heartbeats did not arrive."""
    member = removal.member or "?"
    session = facts.session_us.get(member, DEFAULT_SESSION_US)
    begin = removal.t_us - session - session // 10
    host = facts.host_of(member)
    leading = _leading(facts, removal)
    if host is None:
        return _around(facts, None, removal, begin) or Verdict(Cause.SESSION_SILENT, _SILENT)
    return (
        _dead(facts, host, member, removal.t_us)
        or _left_behind(facts, host, removal)
        or _paused(host, begin, removal.t_us)
        or _starved(host, begin, removal.t_us)
        or _around(facts, host, removal, begin)
        or refused(host, begin, removal.t_us)
        or (_assigning(facts, host, leading) if leading is not None else None)
        or _busy(host, begin, removal.t_us)
        or _lost_coordinator(host, begin, removal.t_us)
        or Verdict(Cause.SESSION_SILENT, _SILENT)
    )


def _leading(facts: Facts, removal: TraceEvent) -> Round | None:
    """Return the round whose assignment was missing when its leader, this member, was removed; None for none."""
    rounds = facts.groups[removal.group].rounds if removal.group in facts.groups else []
    for this in reversed(rounds):
        if this.completing is not None and this.completing.seq < removal.seq:
            owed = this.stable is None or this.stable.seq > removal.seq
            return this if owed and this.leader == removal.member else None
    return None


def _assigning(facts: Facts, host: HostFacts, this: Round) -> Verdict:
    began = this.completing.t_us if this.completing is not None else this.prepare.t_us
    if computed_by(host, this.leader, began) is not None:
        return Verdict(Cause.ASSIGNOR, "computed the assignment for longer than its session")
    return Verdict(Cause.SESSION_SILENT, "sent neither SyncGroup nor heartbeats after its JoinGroup")


def computed_by(host: HostFacts, member: str | None, since_us: int) -> TraceEvent | None:
    """Return the assignment that a process computed with this member id from `since_us` on; None for none."""
    known = host.signals.get(Kind.ASSIGNMENT_COMPUTED, [])
    until = since_us + LONGEST_ASSIGNMENT_US
    return next((one for one in known if since_us <= one.t_us <= until and one.member in (None, member)), None)


def _left_behind(facts: Facts, host: HostFacts, removal: TraceEvent) -> Verdict | None:
    """Judge a process that went on with another member id, and so sent no heartbeats for this one."""
    member, at_us = removal.member or "", removal.t_us
    known = [one for one in host.members if one[0] <= at_us]
    if not known or known[-1][1] == member or member not in {name for _, name in known}:
        return None
    reset = host.signal(Kind.GENERATION_RESET, next(t for t, name in known if name == member), at_us)
    since = reset.t_us if reset is not None else known[-1][0]
    fault = fault_on(facts, host, since - facts.session_us.get(member, DEFAULT_SESSION_US), since)
    cause = of_fault(fault).cause if fault is not None else Cause.SESSION_SILENT
    return Verdict(cause, f"{DROPPED_ID} at {clock(since)}" + (f": {fault.what}" if fault is not None else ""))


def _dead(facts: Facts, host: HostFacts, member: str, at_us: int) -> Verdict | None:
    seen = first_seen(facts, member, host)
    end = next((one for one in host.ended if seen <= one.began_us <= at_us), None)  # later ends are of other members
    if end is None:
        return None
    if end.what == "stopped" and member not in facts.client_ids:
        return Verdict(Cause.DEPLOY_LEAVE, f"closed at {clock(end.began_us)}, {NO_ID_YET}")
    word = {"crashed": "crashed", "stopped": "stopped without leaving", "failed": "failed"}[end.what]
    why = f", {end.why}" if end.why else ""
    return Verdict(Cause.SESSION_CRASH, f"{word} at {clock(end.began_us)}{why}{_unreleased(host, end.began_us, at_us)}")


def _unreleased(host: HostFacts, begin: int, end: int) -> str:
    """Return how often successors of a dead static member were refused until its session ended; "" for never."""
    times = sum(begin <= at <= end for at in host.unreleased)
    return f", its successor was refused {times} × with {UNRELEASED}" if times else ""


def _paused(host: HostFacts, begin: int, end: int) -> Verdict | None:
    for pause in reversed(host.pauses):
        if pause.overlaps(begin, end):
            length = f"for {span(pause.ended_us - pause.began_us)}" if pause.ended_us else "and never resumed"
            return Verdict(Cause.SESSION_PAUSE, f"was paused at {clock(pause.began_us)} {length}")
    return None


def own_standstill(host: HostFacts, begin: int, end: int) -> Verdict | None:
    """Judge a process that sent no heartbeats for a pause or a starved heartbeat thread; None for neither."""
    return _paused(host, begin, end) or _starved(host, begin, end)


def _starved(host: HostFacts, begin: int, end: int) -> Verdict | None:
    """Judge a heartbeat thread that got no CPU time for half of [begin, end], while the application ran."""
    starved = _longest(host.starved, begin, end)
    if starved is None or starved.within_us(begin, end) < (end - begin) // 2:
        return None
    length = span((starved.ended_us or end) - starved.began_us)
    why = f"sent no heartbeat for {length} from {clock(starved.began_us)} on: its heartbeat thread was starved"
    return Verdict(Cause.SESSION_STARVED, why)


def _around(facts: Facts, host: HostFacts | None, removal: TraceEvent, begin: int) -> Verdict | None:
    """Judge a pause of the coordinator, a fault, or members of several groups that expired together."""
    broker = facts.hosts.get(removal.host or "")
    if broker is not None and any(p.overlaps(begin, removal.t_us) for p in broker.pauses):
        return Verdict(Cause.SESSION_STALL, f"was alive, but {broker.name} was paused")
    fault = fault_on(facts, host, begin, removal.t_us)
    if fault is not None:
        return of_fault(fault)
    if host is not None and _fell_together(facts, removal):
        return Verdict(Cause.SESSION_STALL, "was removed at the same time as live members of other groups")
    return None


def of_fault(fault: Stretch) -> Verdict:
    """Return the verdict on a fault: a paused coordinator, or the network."""
    if _stalls_broker(fault):
        return Verdict(Cause.SESSION_STALL, f"had a stalled coordinator: {fault.what}, from {clock(fault.began_us)} on")
    cut = any(word in fault.what for word in ("isolate", "stall"))
    hit = "was cut off" if cut else "was hit by a fault"
    return Verdict(Cause.SESSION_NETWORK, f"{hit} at {clock(fault.began_us)} ({fault.what})")


def _stalls_broker(fault: Stretch) -> bool:
    at_broker = (fault.where or "").startswith("broker") or "the coordinator" in fault.what
    return at_broker and any(word in fault.what for word in STALLING_WORDS)


def fault_on(facts: Facts, host: HostFacts | None, begin: int, end: int) -> Stretch | None:
    """Return the fault in [begin, end] to attribute: one of the coordinator first, then one of the member, then others.

    Faults of other members do not count. A lasting fault goes before a momentary one, because a client makes a broken
    connection again unless a fault refuses it.
    """
    name = host.name if host is not None else ""
    others = {other for other, known in facts.hosts.items() if known.profile is not None and other != name}
    on = [one for one in facts.faults.values() if one.overlaps(begin, end) and one.where not in others]
    return max(on, key=lambda one: (_stalls_broker(one), one.where == name, _lasts(one), one.began_us), default=None)


def _lasts(fault: Stretch) -> bool:
    return fault.ended_us is None or fault.ended_us > fault.began_us


def _fell_together(facts: Facts, removal: TraceEvent) -> bool:
    return any(
        other is not removal
        and other.reason == "session-expired"
        and other.group != removal.group
        and abs(other.t_us - removal.t_us) <= TOGETHER_US
        for group in facts.groups.values()
        for other in group.removals
    )


def ignored_rebalances(facts: Facts, member: str, begin: int, until: int) -> str:
    """Return a clause about heartbeats with REBALANCE_IN_PROGRESS that a member ignored; empty for at most one."""
    host = facts.host_of(member)
    refusals = [one for one in host.refused if begin <= one.t_us <= until] if host is not None else []
    times = sum(str(one.error) == _REBALANCING for one in refusals)
    return f"got {_REBALANCING} for {times} heartbeats and did not join" if times > 1 else ""


def refused(host: HostFacts, begin: int, end: int) -> Verdict | None:
    """Judge a member whose heartbeats the coordinator refused for want of an ACL."""
    refused = next((one for one in host.refused if begin <= one.t_us <= end and str(one.error) == _NOT_ALLOWED), None)
    if refused is None:
        return None
    return Verdict(Cause.SESSION_SILENT, f"got {_NOT_ALLOWED} for its heartbeats from {clock(refused.t_us)} on")


def _busy(host: HostFacts, begin: int, end: int) -> Verdict | None:
    """Judge a client that sends heartbeats only from poll(): it sends none in a callback or the handler."""
    # Clients have a heartbeat thread since KIP-62 alone; before, a busy application was a silent member.
    middle = (begin + end) // 2
    for stretches, what in ((host.callbacks, "callback"), (host.handling, "handler")):
        busy = next((s for s in reversed(stretches) if s.began_us <= end and (s.ended_us or end) > middle), None)
        if busy is not None:
            return Verdict(Cause.SESSION_PAUSE, f"was busy in its {what} from {clock(busy.began_us)} on")
    return None


def _lost_coordinator(host: HostFacts, begin: int, end: int) -> Verdict | None:
    lost = host.signal(Kind.COORDINATOR_LOST, begin, end)
    if lost is None:
        return None
    return Verdict(Cause.COORDINATOR_MOVE, f"had lost its coordinator at {clock(lost.t_us)}")


def why_late(facts: Facts, member: str, begin: int, until: int) -> Verdict:
    """Return why a member did not join between `begin` and `until`."""
    host = facts.host_of(member)
    if host is None or until - begin < NOTICEABLE_US:
        return Verdict(None, "")
    died = host.end_between(first_seen(facts, member, host) - 1, until)
    if died is not None and not host.end_between(died.began_us, until):
        return _dead(facts, host, member, until) or Verdict(None, "")
    for pause in reversed(host.pauses):
        if pause.overlaps(begin, until):
            return Verdict(Cause.SESSION_PAUSE, f"was paused from {clock(pause.began_us)} on")
    return (
        _occupied(host, begin, until)
        or _blocked(facts, host, begin, until)
        or committing(facts, host, begin, until)
        or _unheard(facts, host, begin, until)
    )


def committing(facts: Facts, host: HostFacts, begin: int, until: int) -> Verdict | None:
    """Judge a client that commits before it joins, and retries a failing commit."""
    # ConsumerCoordinator.onJoinPrepare retries the commit until the rebalance timeout is over, and joins then.
    first = bisect_left(facts.commits_failed, begin, key=lambda one: one.t_us)
    last = bisect_right(facts.commits_failed, until, key=lambda one: one.t_us)
    its = [one for one in facts.commits_failed[first:last] if one.host == host.name]
    if len(its) < OFTEN or its[-1].t_us - its[0].t_us < (until - begin) // 2:
        return None
    error, times = Counter(one.error or "?" for one in its).most_common(1)[0]
    return Verdict(None, f"kept trying to commit: {times:,} × {error}")


def _occupied(host: HostFacts, begin: int, until: int) -> Verdict | None:
    callback = _longest(host.callbacks, begin, until)
    handler = _longest(host.handling, begin, until)
    if callback is not None and callback.within_us(begin, until) >= (until - begin) // 2:
        length = span(callback.within_us(callback.began_us, until))
        return Verdict(Cause.CALLBACK, f"was in its {callback.what or 'rebalance'} callback for {length}")
    if handler is not None and handler.within_us(begin, until) >= (until - begin) // 2:
        length = span(handler.within_us(handler.began_us, until))
        return Verdict(Cause.POLL_LIMIT, f"did not call poll(): its handler ran for {length}")
    return None


def _blocked(facts: Facts, host: HostFacts, begin: int, until: int) -> Verdict | None:
    """Judge a step `block-poll`, for which the process has no event of its own."""
    for action in reversed(facts.actions):
        payload = action.payload or {}
        if payload.get("do") != "block-poll" or not aims_at(action, host):
            continue
        blocked = Stretch(action.t_us, action.t_us + parse_duration(str(payload["for"])))
        if blocked.within_us(begin, until) >= (until - begin) // 2:
            length = span(blocked.within_us(blocked.began_us, until))
            return Verdict(Cause.POLL_LIMIT, f"did not call poll() for {length}: {action.reason}")
    return None


def aims_at(action: TraceEvent, host: HostFacts) -> bool:
    """Return whether an action was done to this process: its only target, or one of those it names."""
    named = (action.payload or {}).get("member", ())
    return action.host == host.name or any(matches(str(pattern), host.name) for pattern in named)


def _unheard(facts: Facts, host: HostFacts, begin: int, until: int) -> Verdict:
    failed = host.signal(Kind.REQUEST_FAILED, begin, until)
    if failed is not None:
        asked = failed.t_us - int((failed.payload or {}).get("took_us", 0))
        fault = lost_answer(facts, host, failed.api, asked, failed.t_us)
        if fault is not None:
            return Verdict(Cause.SESSION_NETWORK, f"lost its {failed.api or 'request'}: {fault.what}")
    if failed is not None and failed.error == "TIMED_OUT":
        return Verdict(Cause.TIMEOUT_INVERSION, f"gave up its {failed.api or 'request'} at {clock(failed.t_us)}")
    if failed is not None:
        return Verdict(Cause.SESSION_NETWORK, f"lost its connection at {clock(failed.t_us)}")
    return Verdict(None, "learned of the rebalance at its next heartbeat" if until - begin <= 5_000_000 else "")


def lost_answer(facts: Facts, host: HostFacts, api: str | None, begin_us: int, end_us: int) -> Stretch | None:
    """Return the fault that lost or delayed this process's request or its answer in [begin, end]; None for none."""
    return next(
        (
            one
            for one in facts.faults.values()
            if one.where == host.name
            and one.kind in ("LoseResponse", "DelayResponse", "HoldResponse", "Isolate", "Stall", "Break", "Refuse")
            and one.api in (None, api)
            and one.overlaps(begin_us, end_us)
        ),
        None,
    )


def _longest(stretches: list[Stretch], begin: int, until: int) -> Stretch | None:
    first = max(0, bisect_right(stretches, begin, key=_began) - 1)  # stretches are in order and do not overlap
    last = bisect_right(stretches, until, key=_began)
    overlapping = [s for s in stretches[first:last] if s.overlaps(begin, until)]
    return max(overlapping, key=lambda s: s.within_us(begin, until), default=None)
