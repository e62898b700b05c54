"""What members do with records. Nearly every event of a trace is read here, so each asks for as little as can be.

`event[3:9]` is whose hand it is: host, group, member, generation, topic, partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.scenarios.story.facts import Facts, RecordContext, Stretch
from groupsim.scenarios.story.rebalances.holdings import STALL_US, look

_NOTHING: Mapping[str, Any] = {}
_MOST_CONTEXTS = 100_000  # hands that are remembered: those of former generations are not needed again


def delivered(facts: Facts, event: TraceEvent) -> None:
    """A member was given records; it has them in hand until as many are processed."""
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
    """A member has finished records; poll returns those of several partitions at once."""
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
    """A member reads from some offset on."""
    context = facts.record_contexts.get(event[3:9]) or _context(facts, event)
    offset = (event.payload or _NOTHING).get("offset", 0)
    context.ledger.place(event.t_us, offset)
    facts.ledgers.step(event.t_us, context.group, context.partition, offset)


def _asked_for(facts: Facts, group: str, stretch: Stretch) -> bool:
    """Whether it may be asked for what a member had in hand then: in a rebalance, and right before a change."""
    of = facts.groups.get(group)
    return of is not None and (of.open is not None or stretch.began_us <= of.changed_us)


def _context(facts: Facts, event: TraceEvent) -> RecordContext:
    """The hand of an event that is the first of its hand."""
    host = facts.host(event.host or "?")
    group, partition = event.group or host.group or "?", (event.topic or "?", event.partition or 0)
    ledger = facts.ledgers.ledger(group, partition)
    slot = facts.holdings.slot(host.name, (event.topic, event.partition), ledger)
    if len(facts.record_contexts) >= _MOST_CONTEXTS:
        facts.record_contexts.clear()
    context = facts.record_contexts[event[3:9]] = RecordContext(host, group, partition, ledger, slot)
    return context
