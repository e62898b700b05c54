"""Client libraries other than Java's and librdkafka: a library is a layout, a format of values, and line templates.

The events of a process become moments: `joining`, `leads`, `synced`, `heartbeat UNKNOWN_MEMBER_ID`. A library has
templates for some of them, as data, and no line for the others. For a moment of several words the look-up tries the
whole, then its first word with `failed`, then its first word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from attrs import field

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs.clients.known import COOPERATIVE, Known
from groupsim.logs.layout import moment
from groupsim.logs.messages import MESSAGES
from groupsim.logs.wording import Blanks
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.values import define, frozen

Values = Mapping[str, Any]


@frozen
class LogLine:
    """The template of a line. `extra` names values beside the text; `each` makes a line for every partition."""

    text: str
    level: str = "INFO"
    logger: str = ""
    extra: tuple[str, ...] = ()
    each: bool = False


Words = Mapping[str, tuple[LogLine, ...]]
Layout = Callable[[datetime, LogLine, str, Values], str]  # time, template, formatted text, values


@frozen
class Library:
    """The log format of one library, for some of its releases."""

    layout: Layout
    words: Words
    printed: Callable[[Values], Mapping[str, object]]  # values as this library prints them, under its own names


@define
class LibraryLog:
    """The log of one process with this library."""

    library: Library
    group: str
    client_id: str
    instance_id: str | None
    known: Known
    node: object = 0
    member: str = ""
    generation: int = -1
    prepared: bool = False  # its partitions are revoked for the next rebalance
    called: bool = False  # it has to rejoin
    trying: bool = False  # it has sent a JoinGroup that was not answered with a generation
    refused: str = ""  # the error of its last JoinGroup
    began_us: int = 0  # time of the first JoinGroup of this rebalance
    expired_us: int = -1  # time at which its own session timer expired
    owned: dict[str, None] = field(factory=dict)
    gone: list[str] = field(factory=list)  # partitions that its last assignment revokes
    topics: tuple[str, ...] = ()
    errors: int = 0  # consecutive sessions that ended with an error other than a rebalance

    def lines(self, event: TraceEvent) -> Iterator[str]:
        """Yield the physical lines of one event of this process."""
        self._note(event)
        moments_of = MOMENTS.get(event.kind)
        for name, more in moments_of(self, event) if moments_of else ():
            values = {**self._values(event), **more}
            for template in self._templates(name):
                for one in _each(values) if template.each else (values,):
                    yield from self._line(event.t_us, template, one)
        self._forget(event)

    def _templates(self, name: str) -> tuple[LogLine, ...]:
        first = name.split(" ")[0]
        for key in (name, f"{first} failed", first):
            if key in self.library.words:
                return self.library.words[key]
        return ()

    def _line(self, t_us: int, template: LogLine, values: Values) -> Iterable[str]:
        blanks = Blanks(values, self.library.printed(values))
        text = template.text.format_map(blanks)
        return self.library.layout(moment(t_us), template, text, blanks).split("\n")

    def _note(self, event: TraceEvent) -> None:
        payload = event.payload or {}
        if event.kind is Kind.PROCESS_STARTED:
            self.topics = tuple(payload.get("topics") or ())
        elif event.kind is Kind.COORDINATOR_FOUND:
            self.node = payload.get("node", 0)
        elif event.kind is Kind.REJOIN_REQUESTED:
            self.called = True
        elif event.kind is Kind.PARTITION_OWNED:
            self.owned[f"{event.topic}-{event.partition}"] = None
        self.member = event.member or self.member
        if event.generation is not None:
            self.generation = event.generation

    def _forget(self, event: TraceEvent) -> None:
        """Remove released partitions after the line of their release."""
        if event.kind is Kind.PARTITION_RELEASED:
            self.owned.pop(f"{event.topic}-{event.partition}", None)

    def _values(self, event: TraceEvent) -> dict[str, Any]:
        error = event.error or ""
        return {
            "group": self.group,
            "client": self.client_id,
            "instance": self.instance_id,
            "member": self.member,
            "generation": self.generation,
            "protocol": self.known.rounds.get(self.group, (0, "range"))[1],
            "leader": self.known.chosen.get(self.group, ("", 0))[0],
            "node": self.node,
            "leaders": self.known.leaders,
            "topics": self.topics,
            "error": error,
            "message": MESSAGES.get(error, event.reason or error),
            "reason": event.reason or "",
            "api": event.api or "",
            "to": (event.payload or {}).get("to", "?"),
            "partitions": _partitions(event.payload),
            "errors": self.errors,
            "took_ms": (event.t_us - self.began_us) // 1000,
        }


def in_order(partitions: Iterable[str]) -> list[str]:
    """Sort partitions by topic and number."""
    return sorted(partitions, key=lambda one: (one.rpartition("-")[0], int(one.rpartition("-")[2])))


def by_topic(partitions: Iterable[str]) -> dict[str, list[int]]:
    """Return sorted numbers by topic, sorted by topic."""
    found: dict[str, list[int]] = {}
    for topic, _, number in (one.rpartition("-") for one in in_order(partitions)):
        found.setdefault(topic, []).append(int(number))
    return found


def _each(values: Values) -> Iterator[Values]:
    for one in values["partitions"]:
        topic, _, number = one.rpartition("-")
        yield {**values, "topic": topic, "number": number, "leads": values["leaders"].get(one, ("?", 0))[0]}


def _partitions(payload: Mapping[str, Any] | None) -> list[str]:
    listed = (payload or {}).get("partitions") or ()
    return in_order(one if isinstance(one, str) else f"{one[0]}-{one[1]}" for one in listed)


Moments = Iterator[tuple[str, Mapping[str, object]]]


def _sent(log: LibraryLog, event: TraceEvent) -> Moments:
    if event.api == "JoinGroup":
        if not log.trying:
            log.trying, log.began_us = True, event.t_us
            if not log.prepared:
                log.prepared = True
                yield "prepares", {"partitions": []}
            yield "joining", {}
        else:
            yield f"joining after-{log.refused}", {}
    elif event.api == "LeaveGroup":
        yield "leaving", {}
    elif event.api in SENT:
        yield SENT[event.api], {}


SENT = {"FindCoordinator": "looks-up", "SyncGroup": "syncing"}


def _answered(log: LibraryLog, event: TraceEvent) -> Moments:
    if event.error and event.api in NAMED:
        if event.api == "Heartbeat" and event.error == "REBALANCE_IN_PROGRESS":
            log.errors = 0
        elif event.error not in (*AGAIN, "REBALANCE_IN_PROGRESS") or event.api == "Heartbeat":
            log.errors += 1
        yield f"answer {event.error}", {}
        yield f"{NAMED[event.api]} {event.error}", {}
        if event.api == "JoinGroup":
            log.refused, log.trying = event.error, event.error in AGAIN
        if event.api == "Heartbeat" and event.error == "REBALANCE_IN_PROGRESS" and _cooperative(log):
            yield "keeps", {}
    elif event.api == "SyncGroup":
        given = in_order(log.known.given.get(log.group, {}).get(event.member or "", ()))
        had = list(log.owned)
        values = {"given": given, "added": [one for one in given if one not in had]}
        log.gone = in_order(one for one in had if one not in given)
        yield "synced", {**values, "gone": log.gone}
    elif event.api == "LeaveGroup":
        yield "left", {}


NAMED = {"JoinGroup": "join", "SyncGroup": "sync", "Heartbeat": "heartbeat"}
AGAIN = ("MEMBER_ID_REQUIRED", "UNKNOWN_MEMBER_ID")


def _cooperative(log: LibraryLog) -> bool:
    return log.known.rounds.get(log.group, (0, ""))[1] == COOPERATIVE


def _state(log: LibraryLog, event: TraceEvent) -> Moments:
    if event.to == "COMPLETING_REBALANCE":
        log.trying = log.prepared = log.called = False
        leads = event.member == log.known.chosen.get(log.group, ("", 0))[0]
        yield ("leads" if leads else "follows"), {"leads": leads}


def _computed(log: LibraryLog, event: TraceEvent) -> Moments:
    yield "computed", {"plan": (event.payload or {}).get("assignment") or {}}


def _callback(log: LibraryLog, event: TraceEvent) -> Moments:
    name = event.reason or ""
    if name in ("revoked", "lost"):
        log.prepared = True
        if name == "revoked" and log.gone and _cooperative(log):
            name, log.gone = "revoked in-part", []
        elif name == "revoked" and not log.called:
            name = "revoked at-end"
        yield name, {}
        if name != "revoked in-part":
            yield "session-over", {}
    elif name == "assigned":
        yield name, {}


def _lost(log: LibraryLog, event: TraceEvent) -> Moments:
    """A lost coordinator, because of an answer, an expired session, or a broken connection."""
    _, _, error = (event.reason or "").partition("error response ")
    why = error or ("session" if log.expired_us == event.t_us else "connection")
    yield f"coordinator-lost {why}", {"error": error}


def _broken(log: LibraryLog, event: TraceEvent) -> Moments:
    if event.api in ("JoinGroup", "SyncGroup", "Heartbeat"):
        log.trying = False
        yield f"broken {event.api}", {}


def _reset(log: LibraryLog, event: TraceEvent) -> Moments:
    if event.reason == "reset":
        offset = (event.payload or {}).get("offset", 0)
        yield "reset", {"partitions": [f"{event.topic}-{event.partition}"], "offset": offset}


def _session(log: LibraryLog, event: TraceEvent) -> Moments:
    log.expired_us = event.t_us
    yield "session", {}


def _started(log: LibraryLog, event: TraceEvent) -> Moments:
    """The start of a process, with auto-commit unless it is turned off."""
    log.errors = 0
    auto = ((event.payload or {}).get("config") or {}).get("enable.auto.commit", True)
    yield ("started auto" if auto else "started"), {}


def _plain(name: str) -> Callable[[LibraryLog, TraceEvent], Moments]:
    def moments(log: LibraryLog, event: TraceEvent) -> Moments:
        yield name, {}

    return moments


def _commit(log: LibraryLog, event: TraceEvent) -> Moments:
    """A commit refused by the coordinator, or by a client without membership; other failures have no line."""
    if event.error in ErrorCode.__members__ or event.error == "CommitFailedException":
        yield f"commit-{'auto' if (event.payload or {}).get('auto') else 'manual'} {event.error}", {}


MOMENTS: Mapping[Kind, Callable[[LibraryLog, TraceEvent], Moments]] = {
    Kind.PROCESS_STARTED: _started,
    Kind.COORDINATOR_FOUND: _plain("found"),
    Kind.COORDINATOR_LOST: _lost,
    Kind.REQUEST_SENT: _sent,
    Kind.REQUEST_FAILED: _broken,
    Kind.RESPONSE_RECEIVED: _answered,
    Kind.CLIENT_STATE: _state,
    Kind.ASSIGNMENT_COMPUTED: _computed,
    Kind.CALLBACK_BEGUN: _callback,
    Kind.POSITION_SET: _reset,
    Kind.COMMIT_FAILED: _commit,
    Kind.SESSION_EXPIRED: _session,
    Kind.POLL_EXPIRED: _plain("poll-limit"),
    Kind.PROCESS_FAILED: _plain("failed"),
    Kind.PROCESS_STOPPED: _plain("stopped"),
}
