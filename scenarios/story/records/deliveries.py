"""What members do with records. Nearly every event of a trace is read here, so each asks for as little as can be.

`event[3:9]` is whose hand it is: host, group, member, generation, topic, partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.scenarios.story.facts import Facts, Hand, Stretch
from groupsim.scenarios.story.rebalances.holdings import STALL_US, look

_NOTHING: Mapping[str, Any] = {}
_HANDS = 100_000  # hands that are remembered: those of former generations are not needed again


def delivered(facts: Facts, event: TraceEvent) -> None:
    """A member was given records; it has them in hand until as many are processed."""
    hand = facts.hands.get(event[3:9]) or _hand(facts, event)
    host, now, said = hand.host, event.t_us, event.payload or _NOTHING
    base, count = said.get("base", 0), said.get("count", 0)
    if host.in_hand <= 0:
        if host.handling and not _asked_for(facts, hand.group, host.handling[-1]):
            host.handling.pop()
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
    holding = hand.shift.holding
    if holding is not None:
        if now - holding.active_us >= STALL_US:
            look(hand.shift, holding, now, facts.growth)
        holding.work(now)
    book, end = hand.book, base + count
    book.processed.add(base, end)
    book.come_to(end)
    facts.books.step(now, hand.group, hand.partition, end)


def placed(facts: Facts, event: TraceEvent) -> None:
    """A member reads from some offset on."""
    hand = facts.hands.get(event[3:9]) or _hand(facts, event)
    offset = (event.payload or _NOTHING).get("offset", 0)
    hand.book.place(event.t_us, offset)
    facts.books.step(event.t_us, hand.group, hand.partition, offset)


def _asked_for(facts: Facts, group: str, stretch: Stretch) -> bool:
    """Whether it may be asked for what a member had in hand then: in a rebalance, and right before a change."""
    of = facts.groups.get(group)
    return of is not None and (of.open is not None or stretch.began_us <= of.looked_us)


def _hand(facts: Facts, event: TraceEvent) -> Hand:
    """The hand of an event that is the first of its hand."""
    host = facts.host(event.host or "?")
    group, partition = event.group or host.group or "?", (event.topic or "?", event.partition or 0)
    book = facts.books.book(group, partition)
    shift = facts.holdings.shift(host.name, (event.topic, event.partition), book)
    if len(facts.hands) >= _HANDS:
        facts.hands.clear()
    hand = facts.hands[event[3:9]] = Hand(host, group, partition, book, shift)
    return hand
