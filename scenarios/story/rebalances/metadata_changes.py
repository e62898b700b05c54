"""The change of metadata for which a member joined again.

A client states only that its metadata has changed. The change is the newest one in the trace since the group's first
rebalance: a topic created, deleted or expanded. For members with `client.rack` it may also be a broker that was fenced
or unfenced, or replicas that moved, because such a leader compares the racks of the replicas (KIP-881, KAFKA-20778).
Without such a change in the trace the clause is the client's own reason.
"""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.facts import Facts, GroupFacts, HostFacts
from groupsim.scenarios.story.words import clock

_RACKS = (Kind.BROKER_FENCED, Kind.BROKER_UNFENCED, Kind.PARTITION_LEADER)
_STEPS = {"crash-broker": "crashed", "stop-broker": "stopped", "restart-broker": "restarted"}


def metadata_change(facts: Facts, group: GroupFacts, host: HostFacts | None, at_us: int, reason: str | None) -> str:
    """Return a clause about the change that a member of `group` had learned by `at_us`, or the client's reason."""
    since = group.rounds[0].prepare.t_us
    news = [change for change in facts.metadata if since < change.t_us <= at_us]
    if reason and "subscription" in reason:
        by_pattern = host is not None and host.topics is None and bool(host.started) and news
        return f"{reason}: {_of_topic(news[-1])}" if by_pattern and not _subscribed(facts, at_us) else reason
    # ConsumerCoordinator.PartitionRackInfo; up to 4.3 a broker that restarts changes the racks, too (KAFKA-20778).
    if host is not None and host.rack:
        news += [event for event in (*facts.brokers, *facts.actions) if since < event.t_us <= at_us and _moves(event)]
    newest = max(news, key=lambda event: (event.t_us, event.seq), default=None)
    if newest is None:
        return reason or "its metadata changed"
    return _of_topic(newest) if newest.kind is Kind.METADATA_CHANGED else _of_racks(newest)


def _subscribed(facts: Facts, at_us: int) -> bool:
    """Return whether the scenario had a step `subscribe` by then, which explains the change."""
    return any((one.payload or {}).get("do") == "subscribe" and one.t_us <= at_us for one in facts.actions)


def _moves(event: TraceEvent) -> bool:
    """Return whether an event can change the racks in a Metadata response."""
    if event.kind is Kind.ACTION:
        return (event.payload or {}).get("do") in _STEPS
    return event.kind in _RACKS and (event.kind is not Kind.PARTITION_LEADER or event.reason == "moved")


def _of_topic(change: TraceEvent) -> str:
    payload = change.payload or {}
    if not payload.get("before"):
        return f"topic {change.topic} was created at {clock(change.t_us)}"
    if not payload.get("partitions"):
        return f"topic {change.topic} was deleted at {clock(change.t_us)}"
    grown = f"{change.topic} went from {payload['before']} to {payload['partitions']} partitions"
    return f"{grown} at {clock(change.t_us)}"


def _of_racks(event: TraceEvent) -> str:
    payload = event.payload or {}
    if event.kind is Kind.PARTITION_LEADER:
        what = f"{event.topic}-{event.partition} moved"
    elif event.kind is Kind.ACTION:
        what = f"broker {payload.get('broker')} {_STEPS[str(payload.get('do'))]}"
    else:
        what = f"broker-{payload.get('node')} {'was fenced' if event.kind is Kind.BROKER_FENCED else 'was unfenced'}"
    return f"the racks of replicas changed, and client.rack is set: {what} at {clock(event.t_us)}"
