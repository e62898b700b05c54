"""The matcher of events in a trace: a kind, and any of the columns.

Used by the expectations `event`, `time-between`, `period` and `spread`. `member` takes the name of a process: events
with a member id of this process match too. `reason` matches a part of the text, or a pattern with `*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NewType

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.targets import GroupName, OneMember
from groupsim.scenarios.language.values import (
    ERROR_NAMES,
    VALUE_TYPES,
    ApiName,
    Count,
    Moment,
    Positive,
    ValueType,
    quote,
)

if TYPE_CHECKING:
    from groupsim.scenarios.expectations.evidence import Evidence

KindName = NewType("KindName", str)
"""A kind of event, as `group.state`."""

KIND_NAMES = tuple(sorted(kind.value for kind in Kind))


def _read_kind(found: object) -> KindName:
    if found not in KIND_NAMES:
        raise ValueError(f"{quote(found)} is no kind of event; {suggest(str(found), KIND_NAMES)}")
    return KindName(str(found))


AnyError = NewType("AnyError", str)
"""One of Kafka's error codes, the end of a request without an answer, or the name of a client's exception."""

_LOST = ("DISCONNECTED", "TIMED_OUT")


def _read_any_error(found: object) -> AnyError:
    known = (*ERROR_NAMES, *_LOST)
    if isinstance(found, str) and (found in known or found.endswith(("Exception", "Error"))):
        return AnyError(found)
    raise ValueError(f"{quote(found)} is not an error code; {suggest(str(found), known)}")


VALUE_TYPES[AnyError] = ValueType(
    _read_any_error, {"anyOf": [{"enum": [*ERROR_NAMES, *_LOST]}, {"type": "string", "pattern": "(Exception|Error)$"}]}
)
VALUE_TYPES[KindName] = ValueType(_read_kind, {"enum": list(KIND_NAMES)})


@frozen(kw_only=True)
class Matcher:
    """Events of a kind, narrowed by their columns."""

    kind: KindName | None = key("Kind of the event, such as group.state or member.removed.", None)
    group: GroupName | None = key("The group.", None)
    member: OneMember | None = key("The process, whichever member id it had.", None)
    host: str | None = key("The host: a process, or a broker such as broker-0.", None)
    generation: Count | None = key("The generation.", None)
    topic: str | None = key("The topic.", None)
    partition: Count | None = key("The partition's number.", None)
    api: ApiName | None = key("The API.", None)
    error: AnyError | None = key("The error: a code such as UNKNOWN_MEMBER_ID, or an exception of the client.", None)
    from_: str | None = key("The state before.", None)
    to: str | None = key("The state afterwards.", None)
    reason: str | None = key("A part of the reason, or a pattern with `*`.", None)
    payload: Mapping[str, Any] | None = key("Entries the payload must have.", None)
    after: Moment | None = key("Only events later than this.", None)
    before: Moment | None = key("Only events earlier than this.", None)
    nth: Positive | None = key("Only the n-th of them.", None)

    def matches(self, event: TraceEvent, evidence: Evidence) -> bool:
        """Return whether an event matches, apart from `nth`."""
        return self.fits(event) and (self.member is None or evidence.is_about(event, self.member))

    def fits(self, event: TraceEvent) -> bool:
        """Return whether an event matches, apart from `nth` and `member`."""
        return (
            all(getattr(event, column) == wanted for column, wanted in self._columns())
            and (self.reason is None or _reason_fits(event.reason, self.reason))
            and (self.after is None or event.t_us > self.after)
            and (self.before is None or event.t_us < self.before)
            and self._payload_fits(event)
        )

    def all_in(self, events: Iterable[TraceEvent], evidence: Evidence) -> Iterator[TraceEvent]:
        """Yield the matching events, in order."""
        number = 0
        for event in events:
            if self.matches(event, evidence):
                number += 1
                if self.nth is None or number == self.nth:
                    yield event

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of event that can match."""
        return frozenset(Kind) if self.kind is None else frozenset({Kind(self.kind)})

    def _columns(self) -> Iterator[tuple[str, object]]:
        for column in _COLUMNS:
            wanted = getattr(self, column)
            if wanted is not None:
                yield column, wanted

    def _payload_fits(self, event: TraceEvent) -> bool:
        if self.payload is None:
            return True
        found = event.payload or {}
        return all(found.get(name) == wanted for name, wanted in self.payload.items())

    def __str__(self) -> str:
        parts = [f"{column.rstrip('_')} {wanted}" for column, wanted in self._columns() if column != "kind"]
        parts += [f"{name} {value}" for name, value in (("member", self.member), ("reason", self.reason)) if value]
        parts += [f"{name} {_plain(value)}" for name, value in (self.payload or {}).items()]
        kind = self.kind or "any event"
        which = f", number {self.nth}" if self.nth else ""
        return f"{kind} ({', '.join(parts)}){which}" if parts else f"{kind}{which}"


class MatchedEvents:
    """The events of a run that may match; the process of some member ids is known only later."""

    def __init__(self, evidence: Evidence, *matchers: Matcher) -> None:
        self.kinds = frozenset[Kind]().union(*(one.kinds for one in matchers))
        self.events: list[TraceEvent] = []
        self._evidence = evidence
        self._matchers = matchers

    def __call__(self, event: TraceEvent) -> None:
        if any(one.fits(event) and self._may_be(event, one.member) for one in self._matchers):
            self.events.append(event)

    def _may_be(self, event: TraceEvent, process: str | None) -> bool:
        if process is None or event.host == process or not event.member:
            return process in (None, event.host)
        return self._evidence.host_of(event.member) in (None, process)


_COLUMNS = ("kind", "group", "host", "generation", "topic", "partition", "api", "error", "from_", "to")


def _plain(value: object) -> str:
    """Format a value of a payload, a list as in a scenario file."""
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def _reason_fits(reason: str | None, wanted: str) -> bool:
    if reason is None:
        return False
    return fnmatchcase(reason, wanted) if "*" in wanted else wanted in reason
