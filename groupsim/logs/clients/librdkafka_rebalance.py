"""The lines of a librdkafka consumer for assigned, revoked and lost partitions, eager or cooperative."""

from __future__ import annotations

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.logs.clients.librdkafka_member import Member, Words
from groupsim.logs.clients.librdkafka_words import CLOSING_QUEUE, COOPERATIVE_REJOIN, QUEUE


def callback(member: Member, event: TraceEvent) -> Words:
    """Yield the lines before the application's callback for assigned, revoked or lost partitions."""
    partitions = [str(one) for one in (event.payload or {}).get("partitions") or ()]
    if event.reason == "assigned":
        yield from _assigned(member, partitions)
    elif event.reason == "lost":
        yield from _lost(member, partitions)
    else:
        yield from _revoked(member, partitions)


def _assigned(member: Member, partitions: list[str]) -> Words:
    yield from member.joins("wait-assign-call")
    why = "new assignment"
    if member.cooperative:
        why = "cooperative assign after revoke" if member.gone else "sync group assign"
    what = "incremental assign" if member.cooperative else "assign"
    yield "delegating", {"what": what, "count": len(partitions), "queue": QUEUE, "why": why}
    if member.cooperative:
        yield "adding", {"count": len(partitions)}
    else:
        member.held.clear()
    member.held.update(dict.fromkeys(partitions))
    member.assigned = True


def _revoked(member: Member, partitions: list[str]) -> Words:
    """A revocation for a rebalance, or at the end of the consumer."""
    in_part = member.cooperative and member.gone > 0
    why, queue = "unsubscribe", CLOSING_QUEUE
    if in_part:
        why, queue = "sync group revoke", QUEUE
    elif member.called:
        why, queue = "rebalance in progress", QUEUE
        yield "rebalancing", {"why": why}
    else:
        yield "rebalance", {"lost": "", "why": why}
        if member.cooperative:
            yield "revoking", {"how": "terminating"}
    yield from _delegated(member, partitions, why, queue)


def _lost(member: Member, partitions: list[str]) -> Words:
    why = member.why or "resetting member-id"
    yield "rebalance", {"lost": " (lost)", "why": why}
    how = "revoking incremental assignment and rejoining" if member.cooperative else "revoking assignment and rejoining"
    yield "lost", {"why": f"{why}: {how}"}
    if member.cooperative:
        yield "revoking", {"how": "assignment lost"}
    yield from _delegated(member, partitions, why, QUEUE)


def _delegated(member: Member, partitions: list[str], why: str, queue: str) -> Words:
    yield from member.joins("wait-unassign-call")
    what = "incremental revoke" if member.cooperative else "revoke"
    yield "delegating", {"what": what, "count": len(partitions), "queue": queue, "why": why}
    if member.cooperative:
        yield "removing", {"count": len(partitions)}
    for one in partitions:
        member.held.pop(one, None)


def called(member: Member, event: TraceEvent) -> Words:
    """Yield the lines after the application's callback."""
    if event.reason == "assigned":
        if not member.cooperative:
            yield "new", {}
        yield from member.joins("steady")
        if member.gone:
            yield from member.rejoins(COOPERATIVE_REJOIN)
        member.gone, member.called = 0, False
    elif member.cooperative and event.reason == "revoked" and member.gone:
        yield from member.joins("wait-incr-unassign-to-complete")
    elif member.cooperative and event.reason == "lost":
        yield from member.joins("wait-incr-unassign-to-complete")
        yield "no-longer-lost", {"what": "incremental unassign"}
        yield from member.rejoins("Incremental unassignment done")
    else:
        yield from member.joins("wait-unassign-to-complete")
        yield "unassigned", {}
        if event.reason == "lost":
            yield "no-longer-lost", {"what": "unassign"}
        if event.reason == "lost" or member.called:
            yield from member.rejoins("Unassignment done")
        else:
            member.left = True
    if event.reason == "lost":
        member.why = ""


def given_to(member: Member, given: list[str]) -> Words:
    """Yield the lines of a SyncGroup answer: the assignment, and for a cooperative assignor the changes."""
    yield "list", {"count": len(given)}
    for topic, _, number in (one.rpartition("-") for one in given):
        yield "listed", {"topic": topic, "number": number}
    if member.cooperative:
        added = sum(one not in member.held for one in given)
        member.gone = sum(one not in given for one in member.held)
        yield "compared", {"added": added, "gone": member.gone, "count": len(given)}
