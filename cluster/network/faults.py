"""The vocabulary of network faults, as values: what may go wrong, where, when, how often.

A fault is a frozen value with a `Match`; `Network.inject` makes it happen and gives back a handle. Two families:

* **of links** (`Latency`, `Limit`, `Stall`, `Isolate`, `Refuse`, `Break`): whom they concern is settled when they are
  injected (the leader of that instant); they last `for_us`, or until the handle ends them;
* **of messages** (`LoseResponse`, `DelayResponse`, `HoldResponse`, `AnswerError`): they wait for messages that match,
  count them, and strike from the `nth` one on, `times` times.

Names may be text (`api="SyncGroup"`, `after="silence"`, an error's name), and durations too (`for_us="60s"`); a number
of them is microseconds. What is none of the names raises ValueError with the nearest.

Bytes are never lost one by one: a lost response is a connection that breaks under it, or falls silent (design, 5).
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import Enum, StrEnum
from typing import Any, TypeAlias, TypeVar

from attrs import field, frozen, validators

from groupsim.eventloop.units import as_us, show_bandwidth, show_us
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api

Word = TypeVar("Word", bound=Enum)


def _perhaps_us(duration: int | str | None) -> int | None:
    return None if duration is None else as_us(duration)


def _named(what: str, word: object, names: dict[str, Word]) -> Word:
    found = names.get(str(word))
    if found is None:
        near = get_close_matches(str(word), names, 1)
        raise ValueError(f"no {what} {word!r}; " + (f"did you mean {near[0]!r}?" if near else "see " + _HOME[what]))
    return found


#: Where names are listed.
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
    """Which way a stall works, seen from the host it is named after."""

    BOTH = "both"
    OUT = "out"
    IN = "in"


class After(StrEnum):
    """What becomes of the connection whose response was lost."""

    BREAK = "break"
    SILENCE = "silence"


def _direction(word: Direction | str) -> Direction:
    return _named("direction", word, {one.value: one for one in Direction})


def _after(word: After | str) -> After:
    return _named("end of a connection", word, {one.value: one for one in After})


@frozen
class Match:
    """Whom or what a fault concerns; what is not given matches everything.

    `host` and `peer` are names of hosts (processes or brokers, `*` allowed): one end and the other of a connection.
    `role` ("leader", "coordinator") or `member` (its index) stand for a host, found out by the network's resolver with
    the help of `group`. `purpose` tells the connections of one client apart ("coordinator", "data"). `api`,
    `group`, `client_id` (of the request's header) and `member_id` (in the request), patterns both, choose messages;
    `nth` counts those that match, from 1; `times` is how often to strike (None: every time).
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
        """The messages it chooses, in words."""
        what = self.api.title if self.api is not None else "any request"
        often = "every" if self.times is None else {1: "the next"}.get(self.times, f"the next {self.times} times")
        if self.nth > 1 and self.times == 1:
            return f"{what} number {self.nth} of {self}"
        return f"{often} {what}{f' from number {self.nth} on' if self.nth > 1 else ''} of {self}"


@frozen
class Latency:
    """Segments take `percent` of their latency plus `add_us`, for a while."""

    match: Match
    add_us: int = field(default=0, converter=as_us)
    percent: int = 100
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"latency of {self.match}: {self.percent} % + {show_us(self.add_us)}{_while(self.for_us)}"


@frozen
class Limit:
    """Connections have to share a link of `per_second` bytes a second each way (`bandwidth`), for a while.

    Those of the hosts in `also` share the same link. What was sent before it is over takes its time.
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
    """Segments wait, one way or both; connections stay up, and what waited goes out when it ends."""

    match: Match
    direction: Direction = field(default=Direction.BOTH, converter=_direction)
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"stall {self.direction.value} at {self.match}{_while(self.for_us)}"


@frozen
class Isolate:
    """A host is cut off: all it sends and all sent to it waits; new connections wait too."""

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
    """Connections that are up break now."""

    match: Match
    reason: str = "connection reset"

    def __str__(self) -> str:
        return f"break connections of {self.match}"


@frozen
class LoseResponse:
    """The response to a request never arrives: carried out, but the client cannot know."""

    match: Match
    after: After = field(default=After.BREAK, converter=_after)
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"lose the response to {self.match.message()} ({self.after.value})"


@frozen
class DelayResponse:
    """The response to a request, and all behind it on that connection, comes `by_us` later."""

    match: Match
    by_us: int = field(converter=as_us)
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"delay the response to {self.match.message()} by {show_us(self.by_us)}"


@frozen
class HoldResponse:
    """The response to a request waits at the broker until the fault ends, and with it what follows on the link."""

    match: Match
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"hold the response to {self.match.message()}{_while(self.for_us)}"


@frozen
class AnswerError:
    """The broker answers with an error and does nothing."""

    match: Match
    error: ErrorCode = field(converter=_error)
    for_us: int | None = field(default=None, converter=_perhaps_us)

    def __str__(self) -> str:
        return f"answer {self.error.name} to {self.match.message()}"


#: Any fault that `Network.inject` takes.
Fault: TypeAlias = (
    Latency | Limit | Stall | Isolate | Refuse | Break | LoseResponse | DelayResponse | HoldResponse | AnswerError
)
MessageFault: TypeAlias = LoseResponse | DelayResponse | HoldResponse | AnswerError


def _while(for_us: int | None) -> str:
    return "" if for_us is None else f" for {show_us(for_us)}"


def fault_data(fault: Fault) -> dict[str, Any]:
    """The fault as data for the trace: its name and every field that is set, enums by name."""
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
