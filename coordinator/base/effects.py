"""The outputs of the core: values that its driver executes.

Each input to the core (a request, a timer, a finished append …) returns a list of effects, to be executed in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from attrs import field

from groupsim.coordinator.base.records import Record
from groupsim.coordinator.base.timers import Timer
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import Api, Response
from groupsim.protocol.values import value

CallToken: TypeAlias = object
"""Stands for one request under way; the core only stores it and returns it with the answer."""


Reply: TypeAlias = tuple[CallToken, Response]
"""Answer a request: the token and the response. A bare pair, because replies outnumber all other effects together, and
an object with names costs five times as much.
"""


@value
class Park:
    """Leave a request unanswered until the condition holds."""

    call: CallToken
    api: Api
    group_id: str
    member_id: str
    condition: str


@value
class Drop:
    """Report that a parked request will never be answered, and why."""

    call: CallToken
    api: Api
    group_id: str
    member_id: str
    why: str


@value
class SetTimer:
    """Report that a timer was started, or moved to another deadline."""

    name: str
    due_us: int
    timer: Timer = field(eq=False, repr=False)


@value
class CancelTimer:
    """Report that a timer was stopped before it fired."""

    name: str
    timer: Timer = field(eq=False, repr=False)


@value
class Append:
    """Append records to the partition, and report the end to the core with this `append_id`, in the order of the ids.

    With the id 0 no caller waits for the end. `within_ms`: append with acks=-1, and fail after that time.
    """

    append_id: int
    records: tuple[Record, ...]
    within_ms: int | None = None


@value
class Resolve:
    """Find the topics that match regular expressions, and give them to the core (`Shard.resolved`).

    That takes a while beside the core. Topics that the sender of `call` may not describe do not count.
    """

    call: CallToken
    group_id: str
    member_id: str
    regexes: tuple[str, ...]


@value
class Emit:
    """Emit a trace event; the fields are the trace's columns (`eventloop/trace/events.py`)."""

    kind: Kind
    group_id: str | None
    member_id: str | None = None
    generation: int | None = None
    from_: str | None = None
    to: str | None = None
    reason: str | None = None
    topic: str | None = None
    partition: int | None = None
    payload: Mapping[str, Any] | None = None


Effect: TypeAlias = Reply | Park | Drop | SetTimer | CancelTimer | Append | Resolve | Emit
