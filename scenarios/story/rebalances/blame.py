"""The cause of a rebalance, and the member that caused it.

The coordinator states what it noticed: `cause_code` and `member` of the transition to PreparingRebalance. The trace has
what lies behind that: the client's own signals, the lives and pauses of its process, faults, actions. One small judge
per code turns these into a cause from the closed list and a clause whose subject is the member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.values import frozen
from groupsim.scenarios.story.causes import FAILED_REASON, FOLLOW_UP_REASON, SINGLE, Cause, from_client_reason
from groupsim.scenarios.story.facts import Facts, GroupFacts, HostFacts, Round
from groupsim.scenarios.story.model import MemberName
from groupsim.scenarios.story.rebalances.conversions import code_of, replaced_last
from groupsim.scenarios.story.rebalances.metadata_changes import metadata_change
from groupsim.scenarios.story.rebalances.origins import (
    REMOVING,
    do_of,
    ending_step,
    life_began,
    lost_with_coordinator,
    under_another_id,
    wrong_answer,
)
from groupsim.scenarios.story.rebalances.silence import (
    Verdict,
    computed_by,
    first_seen,
    lost_answer,
    why_expired,
    why_late,
)
from groupsim.scenarios.story.words import clock, listed, span

SLOW_US = 1_000_000  # an assignment that took less did not make another member's SyncGroup time out
RECENT_US = 600_000_000  # how far back a signal may lie that explains a join: the longest default poll limit, twice


@frozen
class Blame:
    """The cause of a round, the member that caused it, and a clause about that member."""

    cause: Cause
    culprit: MemberName | None
    why: str
    follow_up: bool = False


def member_name(facts: Facts, member: str | None) -> MemberName | None:
    """Return the name of a member; an id without a known process stands for its process. None for no id."""
    if not member:
        return None
    host = facts.host_of(member)
    return MemberName(host.name if host else member, member)


def blame(facts: Facts, group: GroupFacts, index: int, before: Blame | None) -> Blame:
    """Return the cause of round `index` of a group; `before` is that of the round before it."""
    this = group.rounds[index]
    culprit = member_name(facts, _member(this))
    reason = _client_reason(facts, this, culprit)
    if index == 0 and (this.old == 0 or this.by_epochs) and this.prepare.from_ in (None, "Empty"):
        return Blame(Cause.FIRST_START, culprit, "was the first to join")
    # A cooperative member that revokes partitions rejoins at once: ConsumerCoordinator.onJoinComplete, KIP-429.
    if before is not None and reason and FOLLOW_UP_REASON in reason:
        return Blame(before.cause, before.culprit, before.why, follow_up=True)
    verdict = _judge(facts, group, this, reason)
    if before is not None and reason and FAILED_REASON in reason and verdict.why == _again(reason):
        verdict = Verdict(before.cause, verdict.why)
    verdict = _loop(group, index, verdict, before)
    cause = verdict.cause or Cause.DEPLOY_JOIN
    if cause is Cause.COORDINATOR_MOVE and not _moved(facts, this):
        cause = Cause.COORDINATOR_BACK
    return Blame(cause, culprit, verdict.why)


def _moved(facts: Facts, this: Round) -> bool:
    """Return whether more than one broker has coordinated the group, or no load of it is in the trace."""
    loads = {event.host for event in facts.brokers if event.kind is Kind.GROUP_LOADED and event.group == this.group}
    hosts = {known.prepare.host for known in facts.groups[this.group].rounds} | loads
    return len(hosts - {None}) > 1 or not loads


def _member(this: Round) -> str | None:
    return this.prepare.member or (this.began_by.member if this.began_by else None)


def _client_reason(facts: Facts, this: Round, culprit: MemberName | None) -> str | None:
    """Return the client's reason from its request (KIP-800), else that of its last `rejoin.requested`."""
    reason = (this.prepare.payload or {}).get("client_reason")
    if reason and reason != "not provided":
        return str(reason)
    host = facts.hosts.get(culprit.host) if culprit else None
    asked = host.signal(Kind.REJOIN_REQUESTED, this.prepare.t_us - 10_000_000, this.prepare.t_us) if host else None
    return asked.reason if asked else None


def _judge(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    code = code_of(this)
    if code == "DOWNGRADED":
        return replaced_last(this)
    if code == "STORE_ERROR":
        return Verdict(SINGLE[code], "sent an assignment that the coordinator could not write")
    if code in SINGLE:
        return Verdict(SINGLE[code], (this.prepare.reason or "").rstrip("."))
    judge = JUDGES.get(code)
    if judge is not None:
        return judge(facts, group, this, reason)
    return Verdict(from_client_reason(reason) or Cause.DEPLOY_JOIN, reason or this.prepare.reason or "")


# --- a member was added -----------------------------------------------------------------------------------------


def _judge_join(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    member = _member(this) or ""
    host = facts.host_of(member)
    at = this.prepare.t_us
    if host is None:
        return Verdict(Cause.DEPLOY_JOIN, "joined")
    return (
        _forgotten(facts, group, this, host)
        or _after_eviction(facts, group, host, member, at)
        or _after_poll_limit(host, at)
        or lost_with_coordinator(facts, group, this, host)
        or _after_fault(facts, group, this, host)
        or under_another_id(facts, group, this, host, member)
        or _mixes(facts, this, host, member)
        or Verdict(Cause.DEPLOY_JOIN, _joined_words(facts, this, host, at))
    )


def _mixes(facts: Facts, this: Round, host: HostFacts, member: str) -> Verdict | None:
    """Judge a new member that shares no topic with any other member: another application with the same group id."""
    others = [facts.host_of(known) for known in this.known if known != member]
    theirs = {topic for other in others if other is not None for topic in other.topics or ()}
    if not host.topics or not theirs or theirs & set(host.topics):
        return None
    return Verdict(
        Cause.SUBSCRIPTION_MIX,
        f"subscribes to {', '.join(host.topics)}, the other members to {', '.join(sorted(theirs))}",
    )


def _forgotten(facts: Facts, group: GroupFacts, this: Round, host: HostFacts) -> Verdict | None:
    """Judge a member that was not removed and joins a group which starts from generation 0 again."""
    if this.old:
        return None
    before = next((r for r in reversed(group.rounds) if r.prepare.seq < this.prepare.seq), None)
    born = life_began(host, this.prepare.t_us)
    gone = {removal.member for removal in group.removals}
    theirs = {known for known in before.present if facts.process.get(known) == host.name} if before else set()
    if before is None or before.prepare.t_us < born or not theirs - gone:
        return None
    return Verdict(Cause.COORDINATOR_MOVE, "joined again: the coordinator had no record of the group")


def _after_poll_limit(host: HostFacts, at: int) -> Verdict | None:
    expired = host.signal(Kind.POLL_EXPIRED, max(life_began(host, at), at - RECENT_US), at)
    if expired is None or any(expired.t_us < t < at for t, s in host.states if s == "STABLE"):
        return None
    return Verdict(Cause.POLL_LIMIT, f"joined again after its poll limit ran out at {clock(expired.t_us)}")


def _after_eviction(facts: Facts, group: GroupFacts, host: HostFacts, member: str, at: int) -> Verdict | None:
    """Judge a member that the coordinator removed in the same life of its process."""
    born = life_began(host, at)
    chosen = group.by_epochs or bool(group.conversions)
    for removal in reversed(group.removals):
        if removal.t_us < born:
            break
        if removal.t_us > at or (removal.reason == "left" and not _by_admin(facts, removal)):
            continue
        # A member of the consumer protocol comes back under its id, which it has chosen itself (KIP-848).
        if facts.process.get(removal.member or "") == host.name and (removal.member != member or chosen):
            return _returned(facts, group, removal)
    return None


def _returned(facts: Facts, group: GroupFacts, removal: TraceEvent) -> Verdict:
    ended = clock(removal.t_us)
    round_ = group.removed_in.get(removal.seq)
    if round_ is not None and removal.member in round_.removed_waiting:
        waited = span(removal.t_us - round_.removed_waiting[removal.member or ""])
        cause = next(_holders(facts, round_), Cause.DEPLOY_JOIN)
        return Verdict(cause, f"joined again: it was removed after its JoinGroup had waited {waited}")
    if removal.reason == "session-expired":
        verdict = why_expired(facts, removal)
        return Verdict(verdict.cause, f"joined again after it {verdict.why}")
    if removal.reason == "join-timeout":
        cause = _join_timeout_cause(facts, group, removal)
        return Verdict(cause, f"joined again after it was removed at {ended}: it had not joined in time")
    if removal.reason == "rebalance-timeout":
        text = "it had not confirmed the revocation of its partitions in time"
        return Verdict(Cause.REVOCATION, f"joined again after it was removed at {ended}: {text}")
    if removal.reason == "sync-timeout":
        return Verdict(Cause.ASSIGNOR, f"joined again after it was removed at {ended}: it had not synced in time")
    if _by_admin(facts, removal):
        return Verdict(Cause.DEPLOY_LEAVE, f"joined again after an administrator removed it at {ended}")
    return Verdict(Cause.SESSION_SILENT, f"joined again after it was removed at {ended} ({removal.reason})")


def _by_admin(facts: Facts, removal: TraceEvent) -> bool:
    """Return whether an administrator removed the member; the reason of a dynamic member is then `left`."""
    return removal.reason == "admin" or do_of(facts.nearest(removal, Kind.ACTION)) == REMOVING


def _holders(facts: Facts, this: Round) -> Iterator[Cause]:
    """Yield the causes for the members that did not join a round."""
    for removal in this.removed:
        if removal.member not in this.removed_waiting:
            cause = why_late(facts, removal.member or "", this.prepare.t_us, removal.t_us).cause
            if cause is not None:
                yield cause


def _join_timeout_cause(facts: Facts, group: GroupFacts, removal: TraceEvent) -> Cause:
    """Return why a member did not join in time; TIMEOUT_INVERSION if neither callback nor handler kept it."""
    removed_in = group.removed_in.get(removal.seq)
    begin = removed_in.prepare.t_us if removed_in else removal.t_us
    return why_late(facts, removal.member or "", begin, removal.t_us).cause or Cause.TIMEOUT_INVERSION


def _after_fault(facts: Facts, group: GroupFacts, this: Round, host: HostFacts) -> Verdict | None:
    """Judge a join after a lost answer: the retry added a second member, or began the rebalance again."""
    at = this.prepare.t_us
    failed = host.signals.get(Kind.REQUEST_FAILED, [])
    since = max(life_began(host, at), at - 10_000_000)
    lost = next((e for e in reversed(failed) if since <= e.t_us <= at and e.api in ("JoinGroup", "SyncGroup")), None)
    if lost is None:
        return None
    inverted = lost.error == "TIMED_OUT"
    if not inverted and any(since <= loaded <= at for loaded in group.loaded):
        return Verdict(Cause.COORDINATOR_MOVE, f"joined again: its {lost.api} was lost with the coordinator's broker")
    why = f"joined again after its {lost.api} {'timed out' if inverted else 'lost its connection'}"
    asked = lost.t_us - int((lost.payload or {}).get("took_us", 0))
    fault = lost_answer(facts, host, lost.api, asked, lost.t_us)
    if fault is not None:
        return Verdict(Cause.SESSION_NETWORK, f"{why} ({fault.what})")
    if lost.api == "SyncGroup" and (waited := _waited_for_leader(facts, group, this)) is not None:
        return Verdict(waited.cause, f"{why}: {waited.why}")
    return Verdict(Cause.TIMEOUT_INVERSION if inverted else Cause.SESSION_NETWORK, why)


def _waited_for_leader(facts: Facts, group: GroupFacts, this: Round) -> Verdict | None:
    """Judge why the leader of the round before did not send SyncGroup: it was dead, paused, or in the assignor."""
    before = next((r for r in reversed(group.rounds) if r.prepare.seq < this.prepare.seq), None)
    if before is None or before.leader is None or before.completing is None or before.stable is not None:
        return None
    host, since = facts.host_of(before.leader), before.completing.t_us
    if host is None:
        return None
    if host.end_between(first_seen(facts, before.leader, host) - 1, since) is not None:
        return Verdict(Cause.SESSION_CRASH, f"the leader, {host.name}, was dead")
    if any(pause.overlaps(since, this.prepare.t_us) for pause in host.pauses):
        return Verdict(Cause.SESSION_PAUSE, f"the leader, {host.name}, was paused")
    computed = computed_by(host, before.leader, since)
    if computed is None or computed.t_us - since < SLOW_US:
        return None
    return Verdict(
        Cause.ASSIGNOR, f"the leader, {host.name}, computed the assignment for {span(computed.t_us - since)}"
    )


def _joined_words(facts: Facts, this: Round, host: HostFacts, at: int) -> str:
    born = life_began(host, at)
    died = host.end_between(-1, born)
    nearest = facts.nearest(this.prepare, Kind.ACTION)
    began = "joined again after its restart" if died is not None else "joined"
    return began + _by(nearest)


def _by(step: TraceEvent | None) -> str:
    """Format the step behind an event. Of a rollout, only its name: the timeline has its settings once."""
    if step is None or not step.reason:
        return ""
    is_rollout = (step.payload or {}).get("do") == "rolling-restart"
    return f" ({step.reason.partition(':')[0] if is_rollout else step.reason})"


# --- a member went -----------------------------------------------------------------------------------------------


def _judge_leave(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    member = _member(this) or ""
    host = facts.host_of(member)
    at = this.prepare.t_us
    # The heartbeat thread sends LeaveGroup when max.poll.interval.ms is over, while the application runs on (KIP-62).
    if from_client_reason(reason) is Cause.POLL_LIMIT or (host and host.signal(Kind.POLL_EXPIRED, at - 5_000_000, at)):
        return Verdict(Cause.POLL_LIMIT, "left: it had not called poll() for max.poll.interval.ms")
    failed = facts.nearest(this.prepare, Kind.PROCESS_FAILED)
    if failed is not None:
        why = ": ".join(part for part in (failed.error, failed.reason) if part)
        return Verdict(Cause.DEPLOY_LEAVE, f"failed and left ({why})")
    nearest = ending_step(facts, host, this.prepare)
    by_admin = do_of(nearest) == REMOVING or (this.began_by is not None and this.began_by.reason == "admin")
    return Verdict(Cause.DEPLOY_LEAVE, ("was removed" if by_admin else "left") + _by(nearest))


def _judge_expiry(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    removal = this.began_by or this.prepare
    return why_expired(facts, removal)


def _judge_sync(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    removal = this.began_by or this.prepare
    host = facts.host_of(removal.member)
    if host is not None and host.end_between(first_seen(facts, removal.member or "", host) - 1, this.prepare.t_us):
        return why_expired(facts, removal)
    return Verdict(Cause.ASSIGNOR, "did not sync within the rebalance timeout")


# --- a member joined again ---------------------------------------------------------------------------------------


def _judge_rejoin(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    cause = from_client_reason(reason)
    at = this.prepare.t_us
    host = facts.host_of(_member(this))
    if cause is Cause.METADATA or (cause is None and _metadata_before(facts, at)):
        return Verdict(Cause.METADATA, f"joined again: {metadata_change(facts, group, host, at, reason)}")
    if cause is Cause.LEADER_REJOIN:
        return Verdict(cause, _again(reason))
    if host is not None and (again := _after_fault(facts, group, this, host)) is not None:
        return again
    if host is not None and cause is None and (wrong := wrong_answer(facts, host, at - 10_000_000, at)) is not None:
        return Verdict(wrong.cause, f"joined again after it {wrong.why}")
    if host is not None and host.signal(Kind.COORDINATOR_LOST, at - 10_000_000, at):
        return Verdict(Cause.COORDINATOR_MOVE, "joined again after it had lost its coordinator")
    leads = str((this.prepare.payload or {}).get("cause_code")) == "LEADER_REJOIN"
    fallback = Cause.LEADER_REJOIN if leads else Cause.METADATA
    return Verdict(cause or fallback, _again(reason))


def _again(reason: str | None) -> str:
    return f"joined again: {reason}" if reason else "joined again"


def _metadata_before(facts: Facts, at: int) -> bool:
    return any(at - 5_000_000 <= change.t_us <= at for change in facts.metadata)


def _judge_static(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    return Verdict(
        from_client_reason(reason) or Cause.DEPLOY_JOIN, "joined again as the same static member, with other metadata"
    )


def _loop(group: GroupFacts, index: int, verdict: Verdict, before: Blame | None) -> Verdict:
    """Turn a third METADATA rejoin of the leader in a row, for the same reason, into a leader-rejoin loop."""
    codes = [str((r.prepare.payload or {}).get("cause_code")) for r in group.rounds[max(0, index - 2) : index + 1]]
    if codes == ["LEADER_REJOIN"] * 3 and verdict.cause is Cause.METADATA and before and before.why == verdict.why:
        return Verdict(Cause.LEADER_REJOIN, verdict.why)
    return verdict


# --- the new protocol (KIP-848) -----------------------------------------------------------------------------------


def _judge_revocation(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    removal = this.began_by or this.prepare
    late = why_late(facts, removal.member or "", removal.t_us - RECENT_US, removal.t_us)
    aside = f" ({late.why})" if late.why else ""
    return Verdict(Cause.REVOCATION, f"did not confirm the revocation of its partitions in time{aside}")


def _judge_subscription(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    return Verdict(Cause.METADATA, "subscribed to other topics")


def _judge_topics(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    host = facts.host_of(_member(this))
    changed = metadata_change(facts, group, host, this.prepare.t_us, "another number of partitions")
    return Verdict(Cause.METADATA, f"sent the first heartbeat after a change of its topics: {changed}")


def _judge_pattern(facts: Facts, group: GroupFacts, this: Round, reason: str | None) -> Verdict:
    payload = this.prepare.payload or {}
    regex, new, gone = payload.get("regex"), payload.get("new"), payload.get("gone")
    if new:
        found = f" {regex}, which matches {listed(new)} now"
    else:
        found = f" {regex}, which does not match {listed(gone)} any more" if gone else ""
    return Verdict(Cause.PATTERN, f"had the coordinator resolve the regular expression{found}")


JUDGES: dict[str, Callable[[Facts, GroupFacts, Round, str | None], Verdict]] = {
    "ADD_MEMBER": _judge_join,
    "LEAVE_GROUP": _judge_leave,
    "HEARTBEAT_EXPIRED": _judge_expiry,
    "SYNC_EXPIRED": _judge_sync,
    "LEADER_REJOIN": _judge_rejoin,
    "UPDATE_META": _judge_rejoin,
    "REJOIN_MID": _judge_rejoin,
    "STATIC_META": _judge_static,
    "REVOCATION_EXPIRED": _judge_revocation,
    "SUBSCRIPTION": _judge_subscription,
    "TOPICS": _judge_topics,
    "PATTERN": _judge_pattern,
}
