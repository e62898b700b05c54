"""A librdkafka client's log with `debug=cgrp`. The facility identifies a line; the join state shows the rebalance.

The log has the lines about the group, without those about queues and fetched offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs.clients.known import Known
from groupsim.logs.clients.librdkafka_member import Member, Words
from groupsim.logs.clients.librdkafka_rebalance import callback, called, given_to
from groupsim.logs.clients.librdkafka_words import ERRORS, LINES, TIMED_OUT
from groupsim.logs.layout import epoch_ms
from groupsim.logs.wording import Blanks
from groupsim.protocol.values import define


@define
class LibrdkafkaLog:
    """One librdkafka consumer's log."""

    client_id: str
    member: Member

    @classmethod
    def of(cls, group: str, client_id: str, known: Known) -> LibrdkafkaLog:
        """Make the log of a consumer before its start."""
        return cls(client_id, Member(group, known))

    def lines(self, event: TraceEvent) -> Iterator[str]:
        """Yield the lines of one event of this process."""
        worder = WORDERS.get(event.kind)
        for code, more in worder(self.member, event) if worder else ():
            level, facility, text = LINES[code]
            message = text.format_map(Blanks(self.member.values(event), more))
            seconds = epoch_ms(event.t_us) / 1000
            yield f"%{level}|{seconds:.3f}|{facility}|{self.client_id}#consumer-1| [thrd:main]: {message}"


def _started(member: Member, event: TraceEvent) -> Words:
    payload = event.payload or {}
    member.topics = len(payload.get("topics") or ()) or 1
    yield "state", {"old": "init", "new": member.state}
    yield "subscribe", {}


def _found(member: Member, event: TraceEvent) -> Words:
    old, new, member.asking = member.node, int((event.payload or {}).get("node", -1)), False
    yield "found", {"new": new}
    if new == old:
        if member.state != "up":
            yield from member.turns("wait-broker-transport")
        return
    member.node = new
    yield "changing", {"old": old, "new": new}
    if old != -1:
        yield "clear", {"old": old}
    yield "set", {"new": new}
    yield from member.turns("wait-broker-transport")
    yield from member.turns("up")


def _coordinator_lost(member: Member, event: TraceEvent) -> Words:
    _, _, error = (event.reason or "").partition("error response ")
    if error:
        member.asks = ERRORS.get(error, error)
    elif member.state == "up" and not member.asking:
        yield from member.turns("query-coord")


def _sent(member: Member, event: TraceEvent) -> Words:
    payload = event.payload or {}
    if event.api == "FindCoordinator":
        why, member.asks, member.asking = member.asks or f"intervaled in state {member.state}", "", True
        yield "query", {"asked": "broker-{0}:9092/{0}".format(payload.get("to", "?")), "why": why}
        if member.state == "query-coord":
            yield from member.turns("wait-coord")
    elif event.api == "JoinGroup":
        yield from member.turns("up")
        yield from member.joins("init")
        yield "join", {}
        yield "joining", {"member": payload.get("member_id", "")}
        yield from member.joins("wait-join")
    elif event.api == "LeaveGroup":
        yield from member.named("")
        yield "leave", {}
        if member.left:
            yield from _ended(member)


def _ended(member: Member) -> Words:
    member.left = False
    yield "no-rejoin", {}
    yield from member.joins("init")


def _answered(member: Member, event: TraceEvent) -> Words:
    if event.api == "JoinGroup" and event.error == "MEMBER_ID_REQUIRED":
        member.given_id = True  # the id itself is in the next event
    elif event.api == "JoinGroup" and event.error:
        yield "joined", _join_answer(member, event, ERRORS.get(event.error, event.error))
        yield from member.rejoins(f"JoinGroup error: {ERRORS.get(event.error, event.error)}")
    elif event.api == "SyncGroup":
        yield "synced", {} if event.error else {"error": "Success"}
        given = None if event.error else member.known.given.get(member.group, {}).get(event.member or "")
        if given is not None:
            yield from given_to(member, given)
    elif event.api == "Heartbeat" and event.error:
        yield "heartbeat", {}
        if event.error in RESET:
            member.why = RESET[event.error]
        elif event.error == "NOT_COORDINATOR":
            member.asks = ERRORS[event.error]
        elif event.error == "REBALANCE_IN_PROGRESS" and member.cooperative and member.join == "steady":
            yield from member.rejoins("Group is rebalancing")
    elif event.api == "LeaveGroup":
        yield "left", {}
    if event.error == FENCED and event.api in ("JoinGroup", "SyncGroup", "Heartbeat"):
        yield "fatal", {}


FENCED = "FENCED_INSTANCE_ID"
RESET = {"UNKNOWN_MEMBER_ID": "resetting member-id", "ILLEGAL_GENERATION": "illegal generation"}


def _join_answer(member: Member, event: TraceEvent, error: str) -> Mapping[str, object]:
    """Return the values of a JoinGroup answer with an error."""
    nothing = {"generation": -1, "protocol": "", "leader": "", "count": 0}
    return {**nothing, "member": event.member or "", "error": error}


def _state(member: Member, event: TraceEvent) -> Words:
    if event.to != "COMPLETING_REBALANCE":
        return
    leader, count = member.known.chosen.get(member.group, ("", 0))
    leads, protocol = event.member == leader, member.known.rounds.get(member.group, (-1, ""))[1]
    member.id, member.called = event.member or "", False
    yield (
        "joined",
        {
            "generation": event.generation,
            "protocol": protocol,
            "leader": leader + " (me)" * leads,
            "member": member.id,
            "count": count if leads else 0,
            "error": "(no error)",
        },
    )
    if leads:
        yield "elected", {"count": count}
    yield from member.joins("wait-metadata" if leads else "wait-sync")


def _computed(member: Member, event: TraceEvent) -> Words:
    payload = event.payload or {}
    yield "assignor", {"assignor": payload.get("assignor", "?"), "count": len(payload.get("counts") or ())}
    yield from member.joins("wait-sync")


def _asked(member: Member, event: TraceEvent) -> Words:
    member.called = True
    if not member.given_id:
        return
    member.given_id = False
    error = ERRORS["MEMBER_ID_REQUIRED"]
    yield "joined", _join_answer(member, event, error)
    yield from member.named(event.member or "")
    if member.cooperative and member.assigned:
        yield "rebalance", {"lost": " (lost)", "why": "JoinGroup error"}
        yield from member.rejoins("Current assignment is empty")
    else:
        yield from member.rejoins(f"JoinGroup error: {error}")


def _stopped(member: Member, event: TraceEvent) -> Words:
    if member.left:
        yield from _ended(member)
    yield "terminated", {}


def _max_poll(member: Member, event: TraceEvent) -> Words:
    member.why = "max.poll.interval.ms exceeded"
    yield "max-poll", {"limit_ms": int((event.payload or {}).get("limit_us", 0)) // 1000}


def _session(member: Member, event: TraceEvent) -> Words:
    payload = event.payload or {}
    last = payload.get("last_error") or ""
    silent = {
        "silent_ms": payload["silent_us"] // 1000,
        "coordinator": payload["coordinator"],
        "last": ERRORS.get(last, last) or "Success",
    }
    member.why = TIMED_OUT.format(join=member.join, **silent)
    yield "session", silent
    yield from member.named("")


def _commit_failed(member: Member, event: TraceEvent) -> Words:
    """A failed commit. librdkafka logs only failures of commits that it sent."""
    payload, error = event.payload or {}, ERRORS.get(event.error or "")
    if error is not None:
        split = ((*one.rpartition("-"), offset) for one, offset in (payload.get("offsets") or {}).items())
        shown = [f"{topic}[{number}]@{offset}({error})" for topic, _, number, offset in split]
        why = "cgrp auto commit timer" if payload.get("auto") else "manual"
        yield "commit-failed", {"why": why, "count": len(shown), "shown": ", ".join(shown)}


WORDERS: dict[Kind, Callable[[Member, TraceEvent], Words]] = {
    Kind.PROCESS_STARTED: _started,
    Kind.CLIENT_STATE: _state,
    Kind.COORDINATOR_FOUND: _found,
    Kind.COORDINATOR_LOST: _coordinator_lost,
    Kind.REQUEST_SENT: _sent,
    Kind.RESPONSE_RECEIVED: _answered,
    Kind.ASSIGNMENT_COMPUTED: _computed,
    Kind.CALLBACK_BEGUN: callback,
    Kind.CALLBACK_ENDED: called,
    Kind.REJOIN_REQUESTED: _asked,
    Kind.POLL_EXPIRED: _max_poll,
    Kind.SESSION_EXPIRED: _session,
    Kind.COMMIT_FAILED: _commit_failed,
    Kind.PROCESS_STOPPED: _stopped,
}
