"""The rounds of groups without a coordinator (Kafka 0.8), derived from the states of their members.

No broker begins or ends a rebalance there (ZookeeperConsumerConnector). A round begins when the first member starts to
rebalance and is over when no member rebalances any more. The last change among the members' nodes in ZooKeeper is its
cause. A member that starts again within 100 ms, without such a change, continues the same round. There are no
generations, so the number of a round takes their place.
"""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.facts import Facts, GroupFacts, Round

REBALANCING = "REBALANCING"
AGAIN_US = 100_000
_CODES = {"session-expired": "HEARTBEAT_EXPIRED", "left": "LEAVE_GROUP"}


def member_state(facts: Facts, event: TraceEvent) -> None:
    """Note that a member of such a group has changed its state."""
    if event.to != REBALANCING and event.from_ != REBALANCING:
        return
    group = facts.groups.setdefault(event.group or "?", GroupFacts(event.group or "?"))
    if event.to == REBALANCING:
        if not group.rebalancing:
            _begin(group, event)
        group.rebalancing[event.host or "?"] = None
    else:
        stopped(group, event)


def process_ended(facts: Facts, event: TraceEvent) -> None:
    """Note the end of a process, which does not rebalance any more."""
    for group in facts.groups.values():
        if event.host in group.rebalancing:
            stopped(group, event)


def stopped(group: GroupFacts, event: TraceEvent) -> None:
    """Note that a member does not rebalance any more; the last one ends the round."""
    group.rebalancing.pop(event.host or "?", None)
    current = group.open
    if current is not None and not group.rebalancing:
        current.stable = current.ended = event
        current.present = tuple(group.members)


def _begin(group: GroupFacts, event: TraceEvent) -> None:
    last = group.rounds[-1] if group.rounds else None
    change = group.last_change
    if change is not None and last is not None and change.seq < last.prepare.seq:
        change = None
    if last is not None and last.ended is not None and _goes_on(last.ended, event, change):
        last.stable = last.ended = None
        return
    group.rounds.append(_round(group, event, change, len(group.rounds)))


def _goes_on(ended: TraceEvent, event: TraceEvent, change: TraceEvent | None) -> bool:
    """Return whether a member that starts again continues the round before."""
    return event.t_us - ended.t_us <= AGAIN_US and (change is None or change.seq < ended.seq)


def _round(group: GroupFacts, event: TraceEvent, change: TraceEvent | None, old: int) -> Round:
    code = "UPDATE_META"
    if change is not None:
        code = "ADD_MEMBER" if change.kind is Kind.MEMBER_ADDED else _CODES.get(change.reason or "", "ADD_MEMBER")
    prepare = event._replace(
        kind=Kind.GROUP_STATE,
        from_="Stable" if old else "Empty",
        to="PreparingRebalance",
        generation=old,
        member=event.member if change is None else change.member,
        payload={"cause_code": code},
    )
    return Round(group.name, old, prepare, dict(group.members), began_by=change)
