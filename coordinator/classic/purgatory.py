"""Where requests wait: each kind of waiting, and the condition that ends it.

    parked JoinGroup   on its member, until the round closes (`JOIN_CONDITION`)
    parked SyncGroup   on its member, until the leader's assignment is on the log (`SYNC_CONDITION`)
    held answer        here, ready made, until what was appended before it is replicated

The first two have no deadline of their own: the timers of group and members end them. A held answer has one:
`offsets.commit.timeout.ms` after it was made its sender is told COORDINATOR_NOT_AVAILABLE, although the records may
still be committed, and nothing is undone. Up to 3.9 (`appends_to_all`) it is the log that gives an append up after that
time: the append has failed then, and is taken back.

Answers of one partition leave in the order they were made, because a record is committed only after those before it.
So one queue holds them all: an answer waits for the append that was the last when it was made, its own or another's.
That is why a slow replica delays even answers to heartbeats, though their sessions were prolonged at once.

Sources: `CoordinatorRuntime`, `DeferredEventQueue`; classic-protocol reference, 3.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from attrs import define

from groupsim.coordinator.base.effects import Append, CallToken, SetTimer
from groupsim.coordinator.base.failures import operation_error
from groupsim.coordinator.base.records import Record
from groupsim.coordinator.base.timers import TimerKind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Request, Response
from groupsim.protocol.messages.refusals import refusal

if TYPE_CHECKING:
    from groupsim.coordinator.classic.operation import Turn

JOIN_CONDITION = "every member has joined and no pending member id is left, or the join timer fires"
SYNC_CONDITION = "the leader's assignment is committed"
STATIC_CONDITION = "the record with the static member's new id is committed"


class _Answered(Enum):
    ANSWERED = "answered"


ANSWERED = _Answered.ANSWERED
"""Stands on a member for a request that still counts as parked, though its sender was answered by other means."""


class Then(Protocol):
    """What is to be done when an append has ended: `error` is None when it is committed."""

    def __call__(self, turn: Turn, error: ErrorCode | None) -> None: ...


@define
class Waiting:
    """An answer, or a thing to do, that waits for an append."""

    append_id: int
    due_us: int
    call: CallToken | None = None
    request: Request | None = None
    response: Response | None = None
    then: Then | None = None

    def end(self, turn: Turn, error: ErrorCode | None) -> None:
        """The append is committed, or failed, or it took too long (REQUEST_TIMED_OUT)."""
        if self.then is not None:
            self.then(turn, error)
        elif self.request is not None and self.response is not None:
            response = self.response if error is None else refusal(self.request, operation_error(self.request, error))
            turn.reply(self.call, response)


class Purgatory:
    """Appends under way in one partition, and what waits for them."""

    __slots__ = ("_in_flight", "_last_id", "_waiting", "idle", "timer_name")

    def __init__(self, partition: int) -> None:
        self.timer_name = f"write-timeout-{partition}"
        self._last_id = 0
        self._in_flight: deque[Append] = deque()
        #: Whether everything appended so far is committed (or failed): a field, for every heartbeat is judged by it.
        self.idle = True
        self._waiting: deque[Waiting] = deque()

    @property
    def last_id(self) -> int:
        """The id of the newest append, 0 before the first."""
        return self._last_id

    @property
    def in_flight(self) -> Iterable[Append]:
        """Appends whose end is not known yet, oldest first."""
        return tuple(self._in_flight)

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._waiting)

    def append(
        self, turn: Turn, records: tuple[Record, ...], then: Then | None, within_ms: int | None = None
    ) -> Append:
        """A new append, with what is to be done at its end; `within_ms` where it is one with acks=-1."""
        self._last_id += 1
        effect = Append(self._last_id, records, within_ms)
        self._in_flight.append(effect)
        self.idle = False
        if then is not None:
            self._wait(turn, Waiting(self._last_id, self._deadline(turn), then=then))
        return effect

    def hold(self, turn: Turn, call: CallToken, request: Request, response: Response) -> None:
        """Hold an answer back until the newest append is committed."""
        self._wait(turn, Waiting(self._last_id, self._deadline(turn), call, request, response))

    def after(self, turn: Turn, then: Then) -> None:
        """Do this once the newest append is committed, or has failed."""
        self._wait(turn, Waiting(self._last_id, self._deadline(turn), then=then))

    def finish(self, turn: Turn, append_id: int, error: ErrorCode | None) -> None:
        """The append has ended: so has what waited for it.

        One that the log refused ends before those that were taken earlier and are not committed yet.
        """
        refused = self._in_flight[0].append_id != append_id
        if not refused:
            self._in_flight.popleft()
            self.idle = not self._in_flight
            while self._waiting and self._waiting[0].append_id <= append_id:
                self._waiting.popleft().end(turn, error)
            return
        self._in_flight = deque(append for append in self._in_flight if append.append_id != append_id)
        ended = [waiting for waiting in self._waiting if waiting.append_id == append_id]
        self._waiting = deque(waiting for waiting in self._waiting if waiting.append_id != append_id)
        for waiting in ended:
            waiting.end(turn, error)

    def expire(self, turn: Turn) -> None:
        """The write timer fired: what has waited too long ends without its append."""
        while self._waiting and self._waiting[0].due_us <= turn.now_us:
            self._waiting.popleft().end(turn, ErrorCode.REQUEST_TIMED_OUT)
        if self._waiting:
            self._set_timer(turn, self._waiting[0].due_us)

    def fail_all(self, turn: Turn, error: ErrorCode) -> None:
        """The partition is given up: everything that waits ends with `error`."""
        self._in_flight.clear()
        self.idle = True
        while self._waiting:
            self._waiting.popleft().end(turn, error)

    def _deadline(self, turn: Turn) -> int:
        return turn.now_us + 1_000 * turn.config.offsets_commit_timeout_ms

    def _wait(self, turn: Turn, waiting: Waiting) -> None:
        # The timer is set when the first waits and not stopped when it is served: at most one idle look per timeout.
        self._waiting.append(waiting)
        if turn.timers.get(self.timer_name) is None and not turn.differences.appends_to_all:
            self._set_timer(turn, waiting.due_us)

    def _set_timer(self, turn: Turn, due_us: int) -> None:
        timer = turn.timers.set(self.timer_name, TimerKind.WRITE_TIMEOUT, due_us)
        turn.effects.append(SetTimer(timer.name, due_us, timer))
