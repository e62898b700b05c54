"""Readers of deliveries, processed records and positions: nearly all events of a trace, so they do little for each.

`event[3:9]` is the key of a `RecordContext`: host, group, member, generation, topic, partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.scenarios.story.facts import Facts, RecordContext, Stretch
from groupsim.scenarios.story.rebalances.holdings import STALL_US, look

_NOTHING: Mapping[str, Any] = {}
_MOST_CONTEXTS = 100_000  # contexts of former generations are not needed again, so all are dropped then


def delivered(facts: Facts, event: TraceEvent) -> None:
    """Note a delivery: the member handles the records until as many are processed."""
    context = facts.record_contexts.get(event[3:9]) or _context(facts, event)
    host, now, payload = context.host, event.t_us, event.payload or _NOTHING
    base, count = payload.get("base", 0), payload.get("count", 0)
    if host.in_hand <= 0:
        if host.handling and not _asked_for(facts, context.group, host.handling[-1]):
            host.handling.pop()
        host.handling.append(Stretch(now))
    host.in_hand += count or 1
    host.delivered += count
    host.duplicates += context.ledger.deliver(base, base + count)


def processed(facts: Facts, event: TraceEvent) -> None:
    """Note that a member has finished records; one poll returns records of several partitions."""
    context = facts.record_contexts.get(event[3:9]) or _context(facts, event)
    host, now, payload = context.host, event.t_us, event.payload or _NOTHING
    base, count = payload.get("base", 0), payload.get("count", 0)
    left = host.in_hand - (count or 1)
    host.in_hand = left if left > 0 else 0
    if left <= 0 and host.handling and host.handling[-1].ended_us is None:
        host.handling[-1].ended_us = now
    holding = context.slot.holding
    if holding is not None:
        if now - holding.active_us >= STALL_US:
            look(context.slot, holding, now, facts.growth)
        holding.work(now)
    ledger, end = context.ledger, base + count
    ledger.processed.add(base, end)
    ledger.come_to(end)
    facts.ledgers.step(now, context.group, context.partition, end)


def placed(facts: Facts, event: TraceEvent) -> None:
    """Note that a member reads from an offset on."""
    context = facts.record_contexts.get(event[3:9]) or _context(facts, event)
    offset = (event.payload or _NOTHING).get("offset", 0)
    context.ledger.place(event.t_us, offset)
    facts.ledgers.step(event.t_us, context.group, context.partition, offset)


def _asked_for(facts: Facts, group: str, stretch: Stretch) -> bool:
    """Return whether the story may need this stretch of handling: it lies in a rebalance, or before a change."""
    of = facts.groups.get(group)
    return of is not None and (of.open is not None or stretch.began_us <= of.changed_us)


def _context(facts: Facts, event: TraceEvent) -> RecordContext:
    """Create the context of an event whose key is new."""
    host = facts.host(event.host or "?")
    group, partition = event.group or host.group or "?", (event.topic or "?", event.partition or 0)
    ledger = facts.ledgers.ledger(group, partition)
    slot = facts.holdings.slot(host.name, (event.topic, event.partition), ledger)
    if len(facts.record_contexts) >= _MOST_CONTEXTS:
        facts.record_contexts.clear()
    context = facts.record_contexts[event[3:9]] = RecordContext(host, group, partition, ledger, slot)
    return context
