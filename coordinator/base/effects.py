"""What the core says should happen: values, carried out by whoever drives it.

Each input to the core (a request, a timer, a finished append …) yields a list of effects, to be carried out in order.
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
"""Stands for one request on its way; the core keeps it and gives it back with the answer, nothing else."""


Reply: TypeAlias = tuple[CallToken, Response]
"""Answer a request: which one, and what. A bare pair, for there are more of these than of all the others together, and
an object with names costs five times as much.
"""


@value
class Park:
    """Keep a request without an answer until the condition holds."""

    call: CallToken
    api: Api
    group_id: str
    member_id: str
    condition: str


@value
class Drop:
    """A parked request that will never be answered, and why."""

    call: CallToken
    api: Api
    group_id: str
    member_id: str
    why: str


@value
class SetTimer:
    """A timer was started, or moved to another deadline."""

    name: str
    due_us: int
    timer: Timer = field(eq=False, repr=False)


@value
class CancelTimer:
    """A timer was stopped before it fired."""

    name: str
    timer: Timer = field(eq=False, repr=False)


@value
class Append:
    """Append records to the partition; tell the core how it ended with this `append_id`, in the order of the ids.

    The id 0: nothing waits for the end. `within_ms`: append with acks=-1, and give up after so long.
    """

    append_id: int
    records: tuple[Record, ...]
    within_ms: int | None = None


@value
class Note:
    """Something for the trace; the fields are the trace's columns (`eventloop.events`)."""

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


Effect: TypeAlias = Reply | Park | Drop | SetTimer | CancelTimer | Append | Note
