"""The duration of a rollout, which an SRE asks for first.

The pods of a rollout are ready with the event `rollout.ended`. Its group settles later: when it is Stable, every pod
that runs is a member, and no member's process is dead. A cooperative rebalance has a second round (KIP-429); the group
then settles at its end. The duration is the time from the first SIGTERM (for a rollout that only adds pods, from its
step) to that moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.scenarios.story.facts import Facts, FinishedRollout, GroupFacts
from groupsim.scenarios.story.model import Generation, Rollout, TimelineEntry
from groupsim.scenarios.story.rebalances.blame import member_name
from groupsim.scenarios.story.rebalances.silence import first_seen
from groupsim.scenarios.story.words import clock, count, listed, span

_STEP = "rolling-restart"


def rollout_ended(facts: Facts, event: TraceEvent) -> None:
    """Note that all pods are ready. The group may have settled already, as one of static members does."""
    facts.rollouts.append(FinishedRollout(event))
    group = facts.groups.get(event.group or "?")
    if group is not None:
        settle(facts, group, event)


def settle(facts: Facts, group: GroupFacts, event: TraceEvent) -> None:
    """After an event with which a group may settle: note the time for the rollouts that wait for it."""
    for one in facts.rollouts:
        waits = one.settled_us is None and one.event.group == group.name
        if waits and group.open is None and not (_missing(facts, group, one) or any(_dead(facts, group))):
            one.settled_us = event.t_us


def _missing(facts: Facts, group: GroupFacts, one: FinishedRollout) -> list[str]:
    """Return the pods of a rollout that are not members of the group with their present life."""
    present = {facts.process.get(member) for member in group.members if not _is_dead(facts, member)}
    return [str(pod) for pod in (one.event.payload or {})["pods"] if pod not in present]


def _is_dead(facts: Facts, member: str) -> bool:
    """Return whether the life has ended in which the process received this member id."""
    host = facts.host_of(member)
    return host is not None and bool(host.ended) and host.ended[-1].began_us >= first_seen(facts, member, host)


def rollouts(facts: Facts, group: GroupFacts, generations: Sequence[Generation]) -> Iterator[Rollout]:
    """Yield the rollouts of a group in order, including those that were not over."""
    ended = {one.event.cause: one for one in facts.rollouts if one.event.group == group.name}
    for step in facts.actions:
        payload = step.payload or {}
        group_name = step.group or next(iter(facts.groups))
        if payload.get("do") != _STEP or group_name != group.name:
            continue
        one = ended.get(step.seq)
        if one is None:
            yield Rollout(group.name, str(payload.get("kind", "deployment")), 0, step.t_us)
        elif (one.event.payload or {}).get("pods"):
            yield _over(facts, group, one, step.t_us, generations)


def _over(
    facts: Facts, group: GroupFacts, one: FinishedRollout, began_us: int, generations: Sequence[Generation]
) -> Rollout:
    payload = one.event.payload or {}
    settled = _with_second_rounds(one.settled_us, generations)
    return Rollout(
        group=group.name,
        kind=str(payload["kind"]),
        pods=len(payload["pods"]),
        began_us=began_us,
        first_stop_us=payload["first_stop_us"],
        ready_us=one.event.t_us,
        settled_us=settled,
        missing=tuple(_missing(facts, group, one)) if settled is None else (),
        dead=tuple(_dead(facts, group)) if settled is None else (),
    )


def _dead(facts: Facts, group: GroupFacts) -> Iterator[str]:
    for member in group.members:
        named = member_name(facts, member)
        if named is not None and _is_dead(facts, member):
            yield named.host


def _with_second_rounds(settled_us: int | None, generations: Sequence[Generation]) -> int | None:
    """Return the end of the second rounds that followed; None if the last of them was never stable."""
    if settled_us is None:
        return None
    later = takewhile(lambda one: one.follow_up, (one for one in generations if one.began_us >= settled_us))
    last = next(reversed(list(later)), None)
    return settled_us if last is None else last.stable_us


# --- in words ------------------------------------------------------------------------------------------------------


def timeline_entries(found: Sequence[Rollout]) -> Iterator[TimelineEntry]:
    """Yield a line of the timeline for the last pod of each rollout."""
    for one in found:
        if one.ready_us is not None:
            yield TimelineEntry(
                one.ready_us, f"rolling-restart of {one.group}: the last of {count(one.pods, 'pod')} is ready"
            )


def rollout_line(one: Rollout) -> str:
    """Return the line about a rollout below the name of its group."""
    begin = f"first stop {clock(one.since_us)}" if one.first_stop_us is not None else f"began {clock(one.since_us)}"
    if one.ready_us is None:
        return f"rollout ({one.kind}): not over when the run ended; {begin}"
    ready = f"last of {count(one.pods, 'pod')} ready {clock(one.ready_us)}"
    if one.took_us is None or one.settled_us is None:
        return f"rollout ({one.kind}): {begin}, {ready}; the group was never stable with all pods{_why_not(one)}"
    stable = clock(one.settled_us) if one.settled_us > one.ready_us else "by then"
    return f"rollout ({one.kind}) took {span(one.took_us)}: {begin}, {ready}, group stable {stable}"


def _why_not(one: Rollout) -> str:
    parts = [
        f"{words}: {listed(names)}"
        for names, words in ((one.missing, "not a member at the end"), (one.dead, "dead and still a member"))
        if names
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def headline_part(found: Sequence[Rollout]) -> str:
    """Return the headline's part: the duration of the longest rollout, or that one was not over."""
    if not found:
        return ""
    took = [one.took_us for one in found]
    what = "rollout" if len(found) == 1 else f"{len(found)} rollouts"
    longest = max((length for length in took if length is not None), default=None)
    if None in took or longest is None:
        which = what if len(found) == 1 else f"{took.count(None)} of {what}"
        return f"; {which} not over when the run ended"
    return f"; {what} took {span(longest)}" + (" at most" if len(found) > 1 else "")
