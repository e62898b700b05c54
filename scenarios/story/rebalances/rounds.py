"""From the coordinator's rounds to generations: times, late and absent members, outcome."""

from __future__ import annotations

from attrs import evolve

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.facts import Facts, GroupFacts, Round
from groupsim.scenarios.story.model import OF_EPOCHS, Generation, LateMember, MemberName, Outcome
from groupsim.scenarios.story.rebalances.blame import Blame, blame, member_name
from groupsim.scenarios.story.rebalances.silence import (
    Verdict,
    first_seen,
    ignored_rebalances,
    lost_answer,
    why_expired,
    why_late,
)
from groupsim.scenarios.story.words import clock

TRIVIAL_US = 1_000  # a join within a millisecond is not late


def generations(facts: Facts, group: GroupFacts) -> list[Generation]:
    """Return all generations of a group, in order."""
    found: list[Generation] = []
    before: Blame | None = None
    for index, this in enumerate(group.rounds):
        before = blame(facts, group, index, before)
        made = _generation(facts, this, before)
        found.append(evolve(made, words=OF_EPOCHS) if this.by_epochs else made)
    return found


def _generation(facts: Facts, this: Round, found: Blame) -> Generation:
    completing = this.completing
    payload = (completing.payload if completing else None) or {}
    present = _present(this, payload)
    return Generation(
        group=this.group,
        number=_number(this),
        cause=found.cause,
        culprit=found.culprit,
        why=found.why,
        follow_up=found.follow_up,
        began_us=this.prepare.t_us,
        completing_us=completing.t_us if completing else None,
        stable_us=this.stable.t_us if this.stable else None,
        ended_us=this.ended.t_us if this.ended else facts.end_us,
        outcome=_outcome(this),
        late=_late(facts, this, found),
        absent=tuple(_absent(facts, this)),
        members=tuple(_member_name(facts, member) for member in present),
        size=payload["members"] if isinstance(payload.get("members"), int) else len(present),
        leader=member_name(facts, this.leader),
        protocol=payload.get("protocol"),
        kafka_cause=(this.prepare.payload or {}).get("cause_code"),
    )


def _member_name(facts: Facts, member: str) -> MemberName:
    return member_name(facts, member) or MemberName(member)


def _present(this: Round, payload: dict[str, object] | object) -> tuple[str, ...]:
    listed = payload.get("members") if isinstance(payload, dict) else None
    if isinstance(listed, list | tuple):
        return tuple(str(member) for member in listed)
    return this.present


def _number(this: Round) -> int:
    for event in (this.completing, this.stable):
        if event is not None and event.generation is not None:
            return event.generation
    return this.old + 1


def _outcome(this: Round) -> Outcome:
    ended = this.ended
    if ended is None:
        return Outcome.OPEN
    if ended is this.stable:
        return Outcome.STABLE
    if ended.kind in (Kind.GROUP_LOADED, Kind.GROUP_UNLOADED) or ended.to == "Dead":
        return Outcome.LOST
    return Outcome.EMPTY if ended.to == "Empty" else Outcome.ABANDONED


def _until(facts: Facts, this: Round) -> int:
    last = this.completing or this.ended
    return last.t_us if last else facts.end_us


def _late(facts: Facts, this: Round, found: Blame) -> LateMember | None:
    """Return the last member to join; None in the first generation, or if it joined within a millisecond.

    In a consumer group it is the last that moved to the target, whether it had to revoke before or not.
    """
    begin = this.prepare.t_us
    awaited = {m: t for m, t in this.arrivals.items() if m in this.known or found.cause is not Cause.FIRST_START}
    if not awaited or found.cause is Cause.FIRST_START:
        return None
    member, at = max(awaited.items(), key=lambda item: (item[1], item[0] in this.known))
    if at - begin < TRIVIAL_US:
        return None
    verdict = why_late(facts, member, begin, at)
    revoked = member in this.revocations
    return LateMember(_member_name(facts, member), at - begin, True, None, verdict.cause, verdict.why, revoked)


def _absent(facts: Facts, this: Round) -> list[LateMember]:
    """Return the members that were removed during the round without LeaveGroup, and why they did not join."""
    begin, until = this.prepare.t_us, _until(facts, this)
    ended = this.ended.t_us if this.ended else facts.end_us
    missing = []
    for removal in this.removed:
        waited_for = removal.reason == "rebalance-timeout" or removal.member == this.leader
        last = ended if waited_for and this.stable is None else until
        if _orderly(facts, removal) or removal.member in this.removed_waiting or not begin < removal.t_us <= last:
            continue
        verdict = _why_absent(facts, this, removal)
        missing.append(
            LateMember(
                _member_name(facts, removal.member or "?"),
                removal.t_us - begin,
                False,
                removal.reason,
                verdict.cause,
                verdict.why,
            )
        )
    return missing


def _orderly(facts: Facts, removal: TraceEvent) -> bool:
    """Return whether a member left, or was removed by an administrator or fenced: the group did not wait for it."""
    return removal.reason in ("admin", "fenced") or (removal.reason == "left" and not _gave_up(facts, removal))


def _gave_up(facts: Facts, removal: TraceEvent) -> bool:
    """Return whether a member left because its poll limit ran out: until then the group waited for it."""
    host = facts.host_of(removal.member)
    return host is not None and host.signal(Kind.POLL_EXPIRED, removal.t_us - 5_000_000, removal.t_us) is not None


def _why_pending(facts: Facts, removal: TraceEvent) -> Verdict:
    """Judge a client that received a member id and did not join with it (KIP-394)."""
    host, member = facts.host_of(removal.member), removal.member or ""
    given = first_seen(facts, member, host) if host is not None else 0
    end = host.end_between(given - 1, removal.t_us) if host is not None else None
    if end is not None:
        word = "closed" if end.what == "stopped" else end.what
        cause = Cause.DEPLOY_LEAVE if end.what == "stopped" else Cause.SESSION_CRASH
        return Verdict(cause, f"{word} at {clock(end.began_us)}, before its second JoinGroup")
    fault = lost_answer(facts, host, "JoinGroup", given, given + 1_000_000) if host is not None else None
    if fault is not None:
        return Verdict(Cause.SESSION_NETWORK, f"never received its member id: {fault.what}")
    return Verdict(Cause.PENDING, "received a member id and never joined with it")


def _why_absent(facts: Facts, this: Round, removal: TraceEvent) -> Verdict:
    if removal.reason == "session-expired":
        return why_expired(facts, removal)
    if removal.reason == "left":
        return Verdict(Cause.POLL_LIMIT, "did not call poll() for max.poll.interval.ms")
    if removal.reason == "pending-expired":
        return _why_pending(facts, removal)
    verdict = why_late(facts, removal.member or "", this.prepare.t_us, removal.t_us)
    found = ignored_rebalances(facts, removal.member or "", this.prepare.t_us, removal.t_us)
    return verdict if verdict.why else Verdict(verdict.cause, found or "did not join within the rebalance timeout")
