"""Network faults as values: kind, place, time and number.

A fault is a frozen value with a `Match`; `Network.inject` puts it in force and returns a handle. Two families exist:

* **of links** (`Latency`, `Limit`, `Stall`, `Isolate`, `Refuse`, `Break`): their hosts are resolved at the injection
  (the leader of that instant); they last `for_us`, or until the handle ends them;
* **of messages** (`LoseResponse`, `DelayResponse`, `HoldResponse`, `AnswerError`): they count matching messages and
  strike from the `nth` one on, `times` times.

Names and durations may be texts (`api="SyncGroup"`, `after="silence"`, an error's name, `for_us="60s"`); a number is a
duration in microseconds. An unknown name raises ValueError with the nearest name.

No single bytes are lost: with a lost response the connection breaks or carries no further response.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import Enum, StrEnum
from typing import Any, TypeAlias, TypeVar

from attrs import field, validators

from groupsim.eventloop.units import as_us, show_bandwidth, show_us
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.protocol.values import frozen

Word = TypeVar("Word", bound=Enum)


def _perhaps_us(duration: int | str | None) -> int | None:
    return None if duration is None else as_us(duration)


def _named(what: str, word: object, names: dict[str, Word]) -> Word:
    found = names.get(str(word))
    if found is None:
        near = get_close_matches(str(word), names, 1)
        raise ValueError(f"no {what} {word!r}; " + (f"did you mean {near[0]!r}?" if near else "see " + _HOME[what]))
    return found


#: Kind of name → the place that lists the names.
_HOME = {
    "request": "groupsim.requests.Api",
    "error code": "groupsim.ErrorCode",
    "direction": "groupsim.faults.Direction",
    "end of a connection": "groupsim.faults.After",
}


def _api(api: Api | str | None) -> Api | None:
    if api is None or isinstance(api, Api):
        return api
    return _named("request", api, {one.title: one for one in Api} | {one.name: one for one in Api})


def _error(error: ErrorCode | str) -> ErrorCode:
    return error if isinstance(error, ErrorCode) else _named("error code", error, {one.name: one for one in ErrorCode})


class Direction(StrEnum):
    """The direction of a stall, seen from the host that the fault names."""

    BOTH = "both"
    OUT = "out"
    IN = "in"


class After(StrEnum):
    """The fate of a connection whose response was lost."""

    BREAK = "break"
    SILENCE = "silence"


def _direction(word: Direction | str) -> Direction:
    return _named("direction", word, {one.value: one for one in Direction})


def _after(word: After | str) -> After:
    return _named("end of a connection", word, {one.value: one for one in After})


@frozen
class Match:
    """The hosts or messages that a fault affects; a field that is not given matches everything.

    `host` and `peer` are names of hosts (processes or brokers, `*` allowed): the two ends of a connection. `role`
    ("leader", "coordinator") or `member` (its index) stand for a host of `group`, which the network resolves. `purpose`
    distinguishes the connections of one client ("coordinator", "data"). `api`, `group`, `client_id` (of the request's
    header) and `member_id` (in the request), both patterns, select messages; `nth` counts the matching ones, from 1;
    `times` is the number of strikes (None: every time).
    """

    host: str | None = None
    peer: str | None = None
    role: str | None = None
    member: int | None = None
    group: str | None = None
    purpose: str | None = None
    client_id: str | None = None
    member_id: str | None = None
    api: Api | None = field(default=None, converter=_api)
    nth: int = field(default=1, validator=validators.ge(1))
    times: int | None = 1

    def __attrs_post_init__(self) -> None:
        if self.times is not None and self.times < 1:
            raise ValueError(f"a fault that strikes {self.times} times: give 1 or more, or None for every time")

    def __str__(self) -> str:
        who = (self.role and f"the {self.role}") or self.host or "every host"
        if self.member is not None:
            who = f"member {self.member}"
        elif self.member_id is not None or self.client_id is not None:
            who = f"member {self.member_id}" if self.member_id is not None else f"client {self.client_id}"
        return who + (f" and {self.peer}" if self.peer else "") + (f" of {self.group}" if self.group else "")

    def message(self) -> str:
        """Return the selected messages as a text."""
        what = self.api.title if self.api is not None else "any request"
        often = "every" if self.times is None else {1: "the next"}.get(self.times, f"the next {self.times} times")
        if self.nth > 1 and self.times == 1:
            return f"{what} number {self.nth} of {self}"
        return f"{often} {what}{f' from number {self.nth} on' if self.nth > 1 else ''} of {self}"


@frozen
class Latency:
    """Segments take `percent` of their latency plus `add_us`, for `for_us`."""

    match: Match
    add_us: int = field(default=0, converter=as_us)
    percent: int = 100
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"latency of {self.match}: {self.percent} % + {show_us(self.add_us)}{_while(self.for_us)}"


@frozen
class Limit:
    """Connections share a link of `per_second` bytes a second each way (`bandwidth`), for `for_us`.

    Connections of the hosts in `also` share the same link. A message sent before the end leaves at the limited rate.
    """

    match: Match
    per_second: int = field(validator=validators.ge(1))
    also: tuple[str, ...] = ()
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        who = ", ".join((str(self.match), *self.also))
        return f"bandwidth of {who}: {show_bandwidth(self.per_second)}{_while(self.for_us)}"


@frozen
class Stall:
    """Segments wait, one way or both; connections stay up, and the segments go out at the end of the fault."""

    match: Match
    direction: Direction = field(default=Direction.BOTH, converter=_direction)
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"stall {self.direction.value} at {self.match}{_while(self.for_us)}"


@frozen
class Isolate:
    """All segments from and to a host wait, those of new connections too."""

    match: Match
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"isolate {self.match}{_while(self.for_us)}"


@frozen
class Refuse:
    """New connections are refused."""

    match: Match
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"refuse connections of {self.match}{_while(self.for_us)}"


@frozen
class Break:
    """Open connections break now."""

    match: Match
    reason: str = "connection reset"

    def __str__(self) -> str:
        return f"break connections of {self.match}"


@frozen
class LoseResponse:
    """The response to a request never arrives; the broker has handled the request, but the client cannot know."""

    match: Match
    after: After = field(default=After.BREAK, converter=_after)
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"lose the response to {self.match.message()} ({self.after.value})"


@frozen
class DelayResponse:
    """The response to a request, and all later ones on the connection, arrive `by_us` later."""

    match: Match
    by_us: int = field(converter=as_us)
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"delay the response to {self.match.message()} by {show_us(self.by_us)}"


@frozen
class HoldResponse:
    """The response to a request, and all later messages on the link, wait at the broker until the fault ends."""

    match: Match
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"hold the response to {self.match.message()}{_while(self.for_us)}"


@frozen
class AnswerError:
    """The broker answers with an error and does not handle the request."""

    match: Match
    error: ErrorCode = field(converter=_error)
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"answer {self.error.name} to {self.match.message()}"


#: Any fault that `Network.inject` accepts.
Fault: TypeAlias = (
    Latency | Limit | Stall | Isolate | Refuse | Break | LoseResponse | DelayResponse | HoldResponse | AnswerError
)
MessageFault: TypeAlias = LoseResponse | DelayResponse | HoldResponse | AnswerError


def _while(for_us: int | None) -> str:
    return "" if for_us is None else f" for {show_us(for_us)}"


def fault_data(fault: Fault) -> dict[str, Any]:
    """Return the fault as data for the trace: its name and every field that is set, enumerations by name."""
    data: dict[str, Any] = {"fault": type(fault).__name__}
    for name, value in _fields(fault):
        data[name] = dict(_fields(value)) if isinstance(value, Match) else value
    return data


def _fields(value: Any) -> list[tuple[str, Any]]:
    pairs = [(a.name, getattr(value, a.name)) for a in value.__attrs_attrs__]
    return [(name, _plain(item)) for name, item in pairs if item is not None]


def _plain(item: Any) -> Any:
    if isinstance(item, Api):
        return item.title
    if isinstance(item, ErrorCode):
        return item.name
    return item.value if isinstance(item, StrEnum) else item
