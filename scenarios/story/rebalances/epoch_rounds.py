"""The rounds of a consumer group (KIP-848), derived from its epochs.

Such a group has no barrier and no generation: a change raises the group epoch, the coordinator computes a target for
it, and each member moves to that target by itself. As a round of the story, this reads:

    begins       with the bump of the group epoch; its first trigger is the cause
    further      bumps before the target is computed belong to it: the target is that of the last one
    completing   the target is computed
    arrives      a member, once it has no partition left to revoke; the last one to do so held the others back
    ends         when the group is Stable or Empty, or (abandoned) with a bump after the target

A group forms in its first round: with all bumps of the time for which a classic group would wait for its first members
(`group.initial.rebalance.delay.ms`), although nothing waits here. The number of a round is the epoch of its target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.facts import Facts, GroupFacts, Round

FORMING_US = 3_000_000
"""The default of `group.initial.rebalance.delay.ms`: a group forms for this long, and again when a member came."""

_NOTHING: Mapping[str, Any] = {}

CAUSE_CODES: Mapping[str, str] = {
    "created": "ADD_MEMBER",
    "joined": "ADD_MEMBER",
    "left": "LEAVE_GROUP",
    "session-expired": "HEARTBEAT_EXPIRED",
    "join-timeout": "HEARTBEAT_EXPIRED",
    "sync-timeout": "SYNC_EXPIRED",
    "rebalance-timeout": "REVOCATION_EXPIRED",
    "subscription": "SUBSCRIPTION",
    "regex": "SUBSCRIPTION",
    "regex-resolved": "PATTERN",
    "metadata": "TOPICS",
    "assignor": "ASSIGNOR_VOTE",
}
"""Trigger of a bump → the cause code of the round (`blame.JUDGES`, `causes.SINGLE`)."""


def bumped(facts: Facts, event: TraceEvent) -> None:
    """Begin a round with a bump of the group epoch, or add the bump to the round before."""
    group = facts.groups.setdefault(event.group or "?", GroupFacts(event.group or "?"))
    group.by_epochs = True
    current = group.open
    if current is not None and current.completing is None:
        return
    if _forms(group, event):
        first = group.rounds[0]
        first.completing = first.stable = first.ended = None
        return
    if current is not None:
        current.ended = event
    group.rounds.append(_round(group, event))


def regex_resolved(facts: Facts, event: TraceEvent) -> None:
    """Note the topics that a regular expression matches now or no more: a bump in the same instant is because of it."""
    group = facts.groups.setdefault(event.group or "?", GroupFacts(event.group or "?"))
    text, topics = event.reason or "", list((event.payload or {}).get("topics", ()))
    before = group.regexes.get(text, [])
    group.regexes[text] = topics
    new, gone = [one for one in topics if one not in before], [one for one in before if one not in topics]
    group.resolved = event._replace(payload={"regex": text, "new": new, "gone": gone})


def _forms(group: GroupFacts, event: TraceEvent) -> bool:
    """Return whether the group still forms: in its first round, while a classic group would wait for members."""
    first = group.rounds[0] if group.rounds else None
    if first is None or len(group.rounds) > 1 or not first.by_epochs or first.prepare.from_ != "Empty":
        return False
    return event.t_us <= forms_until(first.prepare.t_us, group.members.values())


def forms_until(begin_us: int, joins: Iterable[int]) -> int:
    """Return when a classic group would stop to wait for its first members (InitialDelayedJoin, KIP-134).

    It waits for `FORMING_US`, and for as long again each time that a member has joined meanwhile.
    """
    later = sorted(at for at in joins if at > begin_us)
    since, until = begin_us, begin_us + FORMING_US
    while any(since < at <= until for at in later):
        since, until = until, until + FORMING_US
    return until


def _code(group: GroupFacts, event: TraceEvent) -> str:
    """Return the cause code of a bump.

    A member that joins with a regular expression alone raises the epoch by adopting it; the first members of a group
    do so with the result of the resolution that they wait for.
    """
    triggers = (event.payload or {}).get("triggers") or ["subscription"]
    code = CAUSE_CODES.get(str(triggers[0]), "SUBSCRIPTION")
    added = group.last_change
    same = added is not None and (added.member, added.t_us) == (event.member, event.t_us)
    joins = same and added is not None and added.kind is Kind.MEMBER_ADDED
    by_regex = code in ("SUBSCRIPTION", "PATTERN") and (joins or not group.rounds)
    return "ADD_MEMBER" if by_regex else code


def _round(group: GroupFacts, event: TraceEvent) -> Round:
    """Return a round that begins with this event, in the words of a classic group's one."""
    epoch = int((event.payload or {}).get("epoch", event.generation or 1))
    others = [member for member in group.members if member != event.member]
    code = _code(group, event)
    empty = code == "ADD_MEMBER" and not (others and group.rounds)
    found = group.resolved
    resolved = found.payload if code == "PATTERN" and found is not None and found.t_us == event.t_us else None
    prepare = event._replace(
        kind=Kind.GROUP_STATE,
        from_="Empty" if empty else "Stable",
        to="Assigning",
        generation=epoch - 1,
        payload={"cause_code": code} | dict(resolved or {}),
    )
    change = group.last_change
    begun_by = change if change is not None and change.t_us == event.t_us else None
    return Round(group.name, epoch - 1, prepare, dict(group.members), began_by=begun_by, by_epochs=True)


def target_computed(facts: Facts, event: TraceEvent) -> None:
    """Note the target of the open round."""
    group = facts.groups.get(event.group or "?")
    current = group.open if group is not None else None
    if group is None or current is None:
        return
    payload = event.payload or {}
    current.present = tuple(group.members)
    current.completing = event._replace(
        generation=payload.get("epoch", event.generation),
        payload={"members": current.present, "protocol": payload.get("assignor")},
    )


def member_moved(facts: Facts, event: TraceEvent) -> None:
    """Note what a member holds, and once nothing is left to revoke, that it has moved to the target."""
    group = facts.groups.get(event.group or "?")
    if group is None or not event.member:
        return
    before, now = group.held.get(event.member, _NOTHING), event.payload or _NOTHING
    group.held[event.member] = now
    current = group.open
    if current is None or now.get("pending"):
        return
    current.arrivals.setdefault(event.member, event.t_us)
    if before.get("pending") or _gave_up(before, now):
        current.revocations[event.member] = None


def _gave_up(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether a member has lost a partition: one of the classic protocol revokes before it joins again."""
    kept = now.get("assigned") or _NOTHING
    return any(set(owned) - set(kept.get(topic, ())) for topic, owned in (before.get("assigned") or _NOTHING).items())


def state_changed(group: GroupFacts, event: TraceEvent) -> None:
    """End the open round when the group is Stable or Empty."""
    current = group.open
    if current is None or event.to not in ("Stable", "Empty", "Dead"):
        return
    current.ended = event
    if event.to == "Stable":
        current.stable = event


def loaded(group: GroupFacts, event: TraceEvent) -> None:
    """End the open round if the new coordinator does not have its epoch: the bump was not committed."""
    current = group.open
    epoch = (event.payload or {}).get("generation")
    if current is not None and isinstance(epoch, int) and epoch <= current.old:
        current.ended = event
