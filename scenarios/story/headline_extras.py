"""The part of the headline after the rebalances: conversions, times without a coordinator, the account of the records.

An incident needs no rebalance. A group without a coordinator keeps its members and cannot commit; a group whose offsets
are lost reads everything again. Any rebalance delivers a few records again, so the headline counts them only from a
tenth of all records on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.facts import Facts, GroupFacts
from groupsim.scenarios.story.model import GroupAccount, Records, TakeOver
from groupsim.scenarios.story.rebalances.conversions import headline_part as conversions
from groupsim.scenarios.story.rebalances.takeovers import broker_stop
from groupsim.scenarios.story.words import clock, count, span

MANY = 10
"""The headline counts records from one in so many on."""
_NO_LEADER = "-1"


def headline_extras(facts: Facts, changes: Sequence[TakeOver], totals: Sequence[GroupAccount]) -> str:
    """Return this part: conversions, changes of coordinator, groups without one, records lost, again, or waiting."""
    parts = [*conversions(facts), *_moves(facts, changes)]
    parts += [words for group in facts.groups.values() for words in _outages(facts, group)]
    parts += of_records([total.records for total in totals if total.records is not None])
    return "".join(f"; {part}" for part in parts)


def _moves(facts: Facts, changes: Sequence[TakeOver]) -> Iterator[str]:
    """Yield the number of changes of coordinator; if there are none, that the same broker loaded its groups again."""
    if not changes:
        return
    longest = max((change.without_us for change in changes if change.without_us is not None), default=None)
    last = {name: group.rounds[0].prepare.host for name, group in facts.groups.items() if group.rounds}
    moves = 0
    for change in changes:
        moves += change.host != last.get(change.group, change.host)
        last[change.group] = change.host
    if moves:
        yield f"{count(moves, 'change')} of coordinator" + (f", {span(longest)} without one" if longest else "")
    else:
        yield "the same broker coordinates again" + (f" after {span(longest)} without a coordinator" if longest else "")


def _outages(facts: Facts, group: GroupFacts) -> Iterator[str]:
    """Yield times without a coordinator that no `group.loaded` ends: no broker leads the log, or it lacks the group."""
    number = 1 + max((e.partition or 0 for e in facts.brokers if e.topic == OFFSETS_TOPIC), default=-1)
    mine = partition_for(group.name, number) if number else None
    led = [e for e in facts.brokers if (e.kind, e.topic, e.partition) == (Kind.PARTITION_LEADER, OFFSETS_TOPIC, mine)]
    for at, gone in enumerate(led):
        if gone.to != _NO_LEADER or not group.rounds or group.rounds[0].prepare.seq > gone.seq:
            continue
        back = next((event for event in led[at + 1 :] if event.to != _NO_LEADER), None)
        step = broker_stop(facts, gone)
        began = gone.t_us if step is None else step.t_us
        if back is None:
            yield f"{group.name} has no coordinator from {clock(began)} on"
        elif _starts_from_nothing(group, back) and not any(loaded >= back.t_us for loaded in group.loaded):
            yield f"{span(back.t_us - began)} without a coordinator, and the next one has no record of the group"


def _starts_from_nothing(group: GroupFacts, back: TraceEvent) -> bool:
    following = next((one for one in group.rounds if one.prepare.seq > back.seq), None)
    return following is not None and following.old == 0


def of_records(records: Sequence[Records]) -> Iterator[str]:
    """Yield the account of the records, each figure of the group where it is largest: lost, never delivered, again."""
    lost = max((one.lost for one in records), default=0)
    if lost:
        yield f"{count(lost, 'acknowledged record')} lost"
    skipped = max((one.skipped + one.expired for one in records), default=0)
    if skipped:
        yield f"{skipped:,} {'record' if skipped == 1 else 'records'} never delivered"
    if not records:
        return
    again, waiting = max(records, key=lambda one: one.again), max(records, key=lambda one: one.waiting)
    if again.again * MANY >= max(again.written, 1):
        yield f"{again.again:,} of {again.written:,} records delivered again"
    if waiting.waiting * MANY >= max(waiting.written, 1):
        yield f"{waiting.waiting:,} of {waiting.written:,} records still waiting at the end"
