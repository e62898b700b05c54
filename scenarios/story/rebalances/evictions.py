"""Members removed without LeaveGroup: the cause at their processes, and how long they had been silent.

A process that was alive when it was removed was evicted falsely, unless it used another member id by then. For one that
had died, the silence is the time until the coordinator detected it. A member that leaves because its poll limit ran out
is listed as well, because its application did not close it.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.facts import Facts, GroupFacts, HostFacts, Stretch
from groupsim.scenarios.story.model import Eviction, EvictionCause, MemberName
from groupsim.scenarios.story.rebalances.blame import member_name
from groupsim.scenarios.story.rebalances.silence import (
    DEFAULT_SESSION_US,
    Verdict,
    first_seen,
    refused,
    why_expired,
    why_late,
)

POLL_LIMIT = "poll-limit"

SENT_AWAY = frozenset({"admin", "fenced", "over-capacity"})

OF_CAUSE = {
    Cause.SESSION_CRASH: EvictionCause.CRASH,
    Cause.SESSION_PAUSE: EvictionCause.BUSY,  # `_judge` finds a pause of the whole process before
    Cause.SESSION_STARVED: EvictionCause.STARVED,
    Cause.SESSION_STALL: EvictionCause.STALL,
    Cause.SESSION_NETWORK: EvictionCause.NETWORK,
    Cause.COORDINATOR_MOVE: EvictionCause.COORDINATOR,
    Cause.TIMEOUT_INVERSION: EvictionCause.TIMEOUT,
    Cause.ASSIGNOR: EvictionCause.BUSY,
    Cause.CALLBACK: EvictionCause.BUSY,
    Cause.POLL_LIMIT: EvictionCause.BUSY,  # in its handler; `_judge` finds a limit that ran out before
}


def evictions(facts: Facts, group: GroupFacts) -> Iterator[Eviction]:
    """Yield the evictions of a group, in order."""
    for removal in group.removals:
        host = facts.host_of(removal.member)
        expired = _poll_limit(host, removal)
        if removal.reason == "left" and expired is None:
            continue
        yield _judge(facts, group, removal, host, expired)


def undetected_deaths(facts: Facts, group: GroupFacts) -> Iterator[MemberName]:
    """Yield the members at the end of the trace whose process had died without leaving."""
    for member in group.members:
        death = _death(facts, facts.host_of(member), member, facts.end_us)
        if death is not None and death.what != "stopped":
            yield member_name(facts, member) or MemberName(member)


def _judge(
    facts: Facts, group: GroupFacts, removal: TraceEvent, host: HostFacts | None, expired: TraceEvent | None
) -> Eviction:
    member, at = removal.member or "?", removal.t_us
    since = _waited_since(facts, group, removal)
    death = _death(facts, host, member, at)
    pause = _pause(host, since or at, at)
    left_behind = _left_behind(host, member, at)
    if death is not None:
        # A static member closes without LeaveGroup, so the coordinator waits for the end of its session (KIP-345).
        cause = EvictionCause.STOP if death.what == "stopped" else EvictionCause.CRASH
        since = death.began_us
    elif expired is not None:
        cause = EvictionCause.POLL_LIMIT
        since = expired.t_us - int((expired.payload or {}).get("limit_us", 0))
    elif left_behind:
        cause = EvictionCause.ABANDONED
    elif pause is not None:
        cause, since = EvictionCause.PAUSE, pause.began_us
    else:
        cause = _cause(facts, group, removal)
    return Eviction(
        member_name(facts, member) or MemberName(member, member),
        POLL_LIMIT if removal.reason == "left" else removal.reason or "?",
        cause,
        host is not None and death is None and not left_behind,
        at,
        None if since is None else at - since,
    )


def _death(facts: Facts, host: HostFacts | None, member: str, at_us: int) -> Stretch | None:
    """Return the end of the life in which the process received this member id, if it ended by `at_us`."""
    if host is None:
        return None
    seen = first_seen(facts, member, host)
    return next((end for end in host.ended if seen <= end.began_us <= at_us), None)


def _left_behind(host: HostFacts | None, member: str, at_us: int) -> bool:
    """Return whether the process had another member id by then, because it had joined again without this one."""
    known = [one for t, one in host.members if t <= at_us] if host is not None else []
    return member in known and known[-1] != member


def _poll_limit(host: HostFacts | None, removal: TraceEvent) -> TraceEvent | None:
    """Return the poll limit that ran out under this member id, unless the member was stable again since."""
    for expired in reversed(host.signals.get(Kind.POLL_EXPIRED, []) if host is not None else []):
        if expired.t_us <= removal.t_us and expired.member == removal.member:
            back = host is not None and any(
                expired.t_us < t <= removal.t_us for t, state in host.states if state == "STABLE"
            )
            return None if back else expired
    return None


def _pause(host: HostFacts | None, begin_us: int, end_us: int) -> Stretch | None:
    """Return the last pause of the whole process that overlaps [begin, end]."""
    pauses = host.pauses if host is not None else []
    return next((pause for pause in reversed(pauses) if pause.overlaps(begin_us, end_us)), None)


def _waited_since(facts: Facts, group: GroupFacts, removal: TraceEvent) -> int | None:
    """Return since when the coordinator had waited for the member; None if it did not wait."""
    removed_in = group.removed_in.get(removal.seq)
    if removal.reason == "session-expired":
        return removal.t_us - facts.session_us.get(removal.member or "", DEFAULT_SESSION_US)
    if removal.reason == "join-timeout" and removed_in is not None:
        return removed_in.prepare.t_us
    if removal.reason == "sync-timeout" and removed_in is not None and removed_in.completing is not None:
        return removed_in.completing.t_us
    return None


def _cause(facts: Facts, group: GroupFacts, removal: TraceEvent) -> EvictionCause:
    if removal.reason in SENT_AWAY:
        return EvictionCause.SENT_AWAY
    since = _waited_since(facts, group, removal)
    if removal.reason == "session-expired":
        verdict = why_expired(facts, removal)
    else:
        verdict = Verdict(None, "") if since is None else why_late(facts, removal.member or "", since, removal.t_us)
    if verdict.cause is Cause.SESSION_SILENT:
        host = facts.host_of(removal.member)
        spoke = host is not None and since is not None and refused(host, since, removal.t_us) is not None
        return EvictionCause.REFUSED if spoke else EvictionCause.UNKNOWN
    return OF_CAUSE.get(verdict.cause, EvictionCause.UNKNOWN) if verdict.cause is not None else EvictionCause.UNKNOWN
