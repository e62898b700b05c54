"""The first and the last event that complete the trace of a run that has not ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.trace.events import Kind, TraceEvent

if TYPE_CHECKING:
    from groupsim.cluster.cluster import Cluster
    from groupsim.members.consumer.consumer import Consumer


def run_started(members: Iterable[Consumer]) -> TraceEvent:
    """Return the first event of a run: the topics that each group names in its subscriptions."""
    groups: dict[str, dict[str, None]] = {}
    for member in members:
        named = member.subscription if isinstance(member.subscription, tuple) else ()
        groups.setdefault(member.settings.group_id, {}).update(dict.fromkeys(named))
    facts = {"topics": {}, "groups": {name: list(topics) for name, topics in groups.items()}}
    return TraceEvent(seq=0, t_us=0, cause=0, kind=Kind.RUN_STARTED, payload=facts)


def log_ends(cluster: Cluster, events: Sequence[TraceEvent], now_us: int) -> TraceEvent:
    """Return the last event of a run that ends now: the log ends."""
    facts: dict[str, Any] = {"ends": cluster.log_ends()}
    if cluster.data is not None:
        facts["growth"] = cluster.data.growth
    seq = events[-1].seq + 1 if events else 1
    return TraceEvent(seq=seq, t_us=now_us, cause=0, kind=Kind.LOG_ENDS, payload=facts)
