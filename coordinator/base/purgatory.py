"""Requests and answers that wait, with the condition that ends each wait.

    parked JoinGroup   on its member, until the round closes (`JOIN_CONDITION`)
    parked SyncGroup   on its member, until the leader's assignment is on the log (`SYNC_CONDITION`)
held answer        here, complete, until the earlier appends are replicated

The first two have no deadline of their own: the timers of group and members end them. A held answer has one. After
`offsets.commit.timeout.ms` its sender is answered COORDINATOR_NOT_AVAILABLE, although the records may still be
committed; no change is undone. Up to 3.9 (`appends_to_all`) the log itself fails an append after that time, and the
change is undone.

Answers of one partition leave in the order of their creation, because a record is committed only after those before it.
So one queue holds them all: an answer waits for the append that was the newest at its creation, its own or another's.
That is why a slow replica delays even answers to heartbeats, although their sessions were prolonged at once.

Sources: `CoordinatorRuntime`, `DeferredEventQueue`; classic-protocol reference, 3.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, Protocol

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.effects import Append, CallToken, Effect, SetTimer
from groupsim.coordinator.base.failures import operation_error
from groupsim.coordinator.base.records import Record
from groupsim.coordinator.base.timers import TimerKind, Timers
from groupsim.coordinator.base.versions import Differences
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Request, Response
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.values import define

JOIN_CONDITION = "every member has joined and no pending member id is left, or the join timer fires"
SYNC_CONDITION = "the leader's assignment is committed"
STATIC_CONDITION = "the record with the static member's new id is committed"


class _Answered(Enum):
    ANSWERED = "answered"


ANSWERED = _Answered.ANSWERED
"""Replaces the call of a request that still counts as parked, although its sender has been answered."""


class OperationEffects(Protocol):
    """What is needed of an operation (`operation.Operation`)."""

    now_us: int
    config: CoordinatorConfig
    differences: Differences
    timers: Timers
    effects: list[Effect]

    def reply(self, call: CallToken, response: Response) -> None:
        """Answer now."""


class Then(Protocol):
    """The callback at the end of an append: `error` is None when the append is committed."""

    def __call__(self, op: Any, error: ErrorCode | None) -> None: ...


@define
class Waiting:
    """An answer, or a callback, that waits for an append."""

    append_id: int
    due_us: int
    call: CallToken | None = None
    request: Request | None = None
    response: Response | None = None
    then: Then | None = None

    def end(self, op: OperationEffects, error: ErrorCode | None) -> None:
        """Handle the end of the append: committed, failed, or timed out (REQUEST_TIMED_OUT)."""
        if self.then is not None:
            self.then(op, error)
        elif self.request is not None and self.response is not None:
            response = self.response if error is None else refusal(self.request, operation_error(self.request, error))
            op.reply(self.call, response)


class Purgatory:
    """The appends under way in one partition, and the answers and callbacks that wait for them."""

    __slots__ = ("_in_flight", "_waiting", "idle", "last_id", "timer_name")

    def __init__(self, partition: int) -> None:
        self.timer_name = f"write-timeout-{partition}"
        self.last_id = 0  #: the id of the newest append; 0 before the first
        self._in_flight: deque[Append] = deque()
        #: Whether no append is under way. A field, because every heartbeat reads it.
        self.idle = True
        self._waiting: deque[Waiting] = deque()

    @property
    def in_flight(self) -> Iterable[Append]:
        """Appends without a result yet, oldest first."""
        return tuple(self._in_flight)

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._waiting)

    def append(
        self, op: OperationEffects, records: tuple[Record, ...], then: Then | None, within_ms: int | None = None
    ) -> Append:
        """Start an append; `then` is called at its end. `within_ms` is set for an append with acks=-1."""
        self.last_id += 1
        effect = Append(self.last_id, records, within_ms)
        self._in_flight.append(effect)
        self.idle = False
        if then is not None:
            self.after(op, then)
        return effect

    def hold(self, op: OperationEffects, call: CallToken, request: Request, response: Response) -> None:
        """Hold an answer until the newest append is committed."""
        self._wait(op, Waiting(self.last_id, self._deadline(op), call, request, response))

    def after(self, op: OperationEffects, then: Then) -> None:
        """Call `then` once the newest append is committed, or has failed."""
        self._wait(op, Waiting(self.last_id, self._deadline(op), then=then))

    def finish(self, op: OperationEffects, append_id: int, error: ErrorCode | None) -> None:
        """Handle the end of an append, and of all that waits for it.

        An append that the log refused ends before earlier ones that are not committed yet.
        """
        refused = self._in_flight[0].append_id != append_id
        if not refused:
            self._in_flight.popleft()
            self.idle = not self._in_flight
            while self._waiting and self._waiting[0].append_id <= append_id:
                self._waiting.popleft().end(op, error)
            return
        self._in_flight = deque(append for append in self._in_flight if append.append_id != append_id)
        ended = [waiting for waiting in self._waiting if waiting.append_id == append_id]
        self._waiting = deque(waiting for waiting in self._waiting if waiting.append_id != append_id)
        for waiting in ended:
            waiting.end(op, error)

    def expire(self, op: OperationEffects) -> None:
        """Handle the write timer: end every wait that is past its deadline, without its append."""
        while self._waiting and self._waiting[0].due_us <= op.now_us:
            self._waiting.popleft().end(op, ErrorCode.REQUEST_TIMED_OUT)
        if self._waiting:
            self._set_timer(op, self._waiting[0].due_us)

    def fail_all(self, op: OperationEffects, error: ErrorCode) -> None:
        """End every wait with `error`, because the partition is unloaded."""
        self._in_flight.clear()
        self.idle = True
        while self._waiting:
            self._waiting.popleft().end(op, error)

    def _deadline(self, op: OperationEffects) -> int:
        return op.now_us + 1_000 * op.config.offsets_commit_timeout_ms

    def _wait(self, op: OperationEffects, waiting: Waiting) -> None:
        # The timer starts with the first wait and is not stopped with it: at most one idle run per timeout.
        self._waiting.append(waiting)
        if op.timers.get(self.timer_name) is None and not op.differences.appends_to_all:
            self._set_timer(op, waiting.due_us)

    def _set_timer(self, op: OperationEffects, due_us: int) -> None:
        timer = op.timers.set(self.timer_name, TimerKind.WRITE_TIMEOUT, due_us)
        op.effects.append(SetTimer(timer.name, due_us, timer))
