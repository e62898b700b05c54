"""What members do with records. Nearly every event of a trace is read here, so each asks for as little as can be.

`event[3:9]` is whose hand it is: host, group, member, generation, topic, partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.scenarios.story.facts import Facts, Hand, Stretch, Work

_NOTHING: Mapping[str, Any] = {}


def delivered(facts: Facts, event: TraceEvent) -> None:
    """A member was given records; it has them in hand until as many are processed."""
    hand = facts.hands.get(event[3:9]) or _hand(facts, event)
    host, now, said = hand.host, event.t_us, event.payload or _NOTHING
    base, count = said.get("base", 0), said.get("count", 0)
    if host.in_hand <= 0:
        host.handling.append(Stretch(now))
    host.in_hand += count or 1
    host.delivered += count
    host.duplicates += hand.book.deliver(base, base + count)


def processed(facts: Facts, event: TraceEvent) -> None:
    """A member has finished records; poll returns those of several partitions at once."""
    hand = facts.hands.get(event[3:9]) or _hand(facts, event)
    host, now, said = hand.host, event.t_us, event.payload or _NOTHING
    base, count = said.get("base", 0), said.get("count", 0)
    left = host.in_hand - (count or 1)
    host.in_hand = left if left > 0 else 0
    if left <= 0 and host.handling and host.handling[-1].ended_us is None:
        host.handling[-1].ended_us = now
    hand.book.processed.add(base, base + count)
    facts.books.steps.append((now, hand.group, hand.partition, base + count))
    hand.work.moments.append(now)
    hand.work.after.append(len(facts.ownership))


def placed(facts: Facts, event: TraceEvent) -> None:
    """A member reads from some offset on."""
    hand = facts.hands.get(event[3:9]) or _hand(facts, event)
    offset = (event.payload or _NOTHING).get("offset", 0)
    hand.book.place(event.t_us, offset)
    facts.books.steps.append((event.t_us, hand.group, hand.partition, offset))


def _hand(facts: Facts, event: TraceEvent) -> Hand:
    """The hand of an event that is the first of its hand."""
    host = facts.host(event.host or "?")
    group, partition = event.group or host.group or "?", (event.topic or "?", event.partition or 0)
    hand = facts.hands[event[3:9]] = Hand(
        host,
        group,
        partition,
        facts.books.book(group, partition),
        facts.work.setdefault((host.name, (event.topic, event.partition)), Work()),
    )
    return hand
