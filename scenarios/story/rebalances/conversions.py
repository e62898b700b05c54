"""Conversions of a group from one protocol to the other: what they end, and their words.

A group that is converted keeps its members and goes on to count: its epoch is the generation, and the reverse. A round
that was open is over with the conversion. The rounds after it are those of the other protocol.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.facts import Facts, GroupFacts, Round
from groupsim.scenarios.story.rebalances.epoch_rounds import CAUSE_CODES
from groupsim.scenarios.story.rebalances.silence import Verdict
from groupsim.scenarios.story.words import clock

CONSUMER = "consumer"
_WORDS = {CONSUMER: "upgraded", "classic": "downgraded"}


def converted(facts: Facts, event: TraceEvent) -> None:
    """Note a conversion, which ends the open round."""
    group = facts.groups.setdefault(event.group or "?", GroupFacts(event.group or "?"))
    group.by_epochs = event.to == CONSUMER
    group.changed_us = event.t_us
    if event.member is None:  # the append of the last one has failed
        del group.conversions[-1:]
    else:
        group.conversions.append(event)
    group.settled = tuple(group.members.items())
    if group.open is not None:
        group.open.ended = event
    facts.notes.append(event)


def code_of(this: Round) -> str:
    """Return the cause code of a round; that of a downgrade is the one of the member whose removal led to it."""
    code = str((this.prepare.payload or {}).get("cause_code", ""))
    removal = this.began_by
    if code != "DOWNGRADED" or removal is None or removal.kind is not Kind.MEMBER_REMOVED:
        return code
    return CAUSE_CODES.get(removal.reason or "", code)


def replaced_last(this: Round) -> Verdict:
    """Judge a downgrade without a removal: a classic member has taken the place of the last of the other protocol."""
    return Verdict(Cause.DEPLOY_JOIN, "joined with the classic protocol, as the same static member")


def note_text(event: TraceEvent) -> str:
    """Return the line of a conversion in the timeline."""
    protocol = f"{event.from_} to {event.to} protocol"
    return f"{event.group} is {_WORDS.get(event.to or '', 'converted')}, from the {protocol}: {event.reason}"


def headline_part(facts: Facts) -> Iterator[str]:
    """Yield the conversions of each group, with their times."""
    for group in facts.groups.values():
        if group.conversions:
            times = (f"{_WORDS.get(one.to or '', 'converted')} at {clock(one.t_us)}" for one in group.conversions)
            yield f"{group.name} {', '.join(times)}"
