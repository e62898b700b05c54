"""The trace as rooms use it: a cheap check, one `emit`, and the ambient cause.

The cause of the present events is the `seq` of the event that caused them. The loop stores it with every entry and
restores it when the entry runs, and a task inherits it from its wake-up; so a room need only call
`trace.begin(trace.emit(...))` where one event causes all that follows. Whether the trace is on changes
nothing in the run: nothing here uses the loop's tickets or its randomness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Protocol

from groupsim.eventloop.trace.events import Kind, TraceEvent

Subscriber = Callable[[TraceEvent], object]

# An event is made past its class's own `__new__`, whose defaults are not needed here: half the cost.
_new = tuple.__new__


class Level(IntEnum):
    """How much a trace contains."""

    OFF = 0
    NORMAL = 1  # everything but the heartbeats of a quiet group
    FULL = 2  # those too


OFF, NORMAL, FULL = Level.OFF, Level.NORMAL, Level.FULL


class HasNow(Protocol):
    """A clock: a loop."""

    @property
    def now_us(self) -> int: ...


class _Unattached:
    """The clock of a trace without a loop."""

    now_us = 0


class Trace:
    """Events of one run, in order, passed to the subscribers.

    `level` is the extent of the trace, `kinds` restricts it to some kinds. Events of the kinds in `counted` are not
    emitted: their emitters report their number only (`pass_over`), so that all other events have the same `seq` as
    otherwise. `cause` is the ambient cause, `heartbeats` whether quiet heartbeats are listed too.
    """

    __slots__ = (
        "_chosen",
        "_clock",
        "_counted",
        "_seq",
        "_spans",
        "_subscribers",
        "_wanted",
        "cause",
        "heartbeats",
        "inspector",
        "level",
        "wants",
    )

    inspector: Callable[[str, Any, tuple[Any, ...], Any], object] | None
    """Reads what events do not show: each input to a coordinator's partition, with its effects, before these are
    executed. It must not change the run. None in a run without one."""

    wants: Callable[[Kind], bool]
    """Whether events of this kind are stored; check before you build one. The set's own method: every step of every
    request calls it, and mostly gets False."""

    def __init__(
        self, level: Level = Level.NORMAL, *, kinds: Iterable[Kind] | None = None, counted: Iterable[Kind] = ()
    ) -> None:
        self.level = level
        self.heartbeats = level is Level.FULL
        self.cause = 0
        self.inspector = None
        wanted = frozenset(Kind if kinds is None else kinds) if level is not Level.OFF else frozenset()
        self._counted = wanted.intersection(counted)
        self._chosen = wanted - self._counted
        self._want(self._chosen)
        self._seq = 0
        self._spans = 0
        self._clock: HasNow = _Unattached()
        self._subscribers: list[tuple[Subscriber, frozenset[Kind] | None]] = []

    def attach(self, clock: HasNow) -> None:
        """Use the time of `clock` from now on; the loop does this when it is created."""
        self._clock = clock

    @property
    def now_us(self) -> int:
        """The time of the loop this trace is attached to."""
        return self._clock.now_us

    def _want(self, kinds: frozenset[Kind]) -> None:
        self._wanted = kinds
        self.wants = kinds.__contains__

    def will_want(self, kind: Kind) -> bool:
        """Like `wants`, but ignores muting; for callers that cache the result."""
        return kind in self._chosen

    @property
    def total(self) -> int:
        """The number of events so far, those that are only counted included."""
        return self._seq

    def pass_over(self, kind: Kind, count: int) -> None:
        """Count so many events of a kind that is not emitted, if it is counted. None of them may be a cause."""
        if kind in self._counted:
            self._seq += count

    def subscribe(self, subscriber: Subscriber, kinds: Iterable[Kind] | None = None) -> None:
        """Pass every event from now on (of `kinds` only, if given) to `subscriber`, in order of subscription."""
        self._subscribers.append((subscriber, None if kinds is None else frozenset(kinds)))

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Emit nothing in this block: it belongs to the time before the run."""
        before = self._wanted, self._counted
        self._want(frozenset())
        self._counted = frozenset()
        try:
            yield
        finally:
            wanted, self._counted = before
            self._want(wanted)

    def close(self) -> None:
        """End the run: drop the subscribers, so that the events they store do not live as long as the loop.

        Loop, hosts and members hold each other until the garbage collector runs; the events need not.
        """
        self._subscribers.clear()

    def begin(self, seq: int) -> None:
        """Make event `seq` the cause of what follows in this callback or task; 0 (not emitted) changes nothing."""
        if seq:
            self.cause = seq

    def span(self) -> int:
        """Return a fresh number that connects a begin to its end; 0 when the trace is off."""
        if self._wanted:
            self._spans += 1
        return self._spans

    def emit(
        self,
        kind: Kind,
        host: str | None = None,
        group: str | None = None,
        member: str | None = None,
        generation: int | None = None,
        topic: str | None = None,
        partition: int | None = None,
        api: str | None = None,
        correlation: int | None = None,
        error: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        reason: str | None = None,
        span: int | None = None,
        cause: int | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> int:
        """Add an event and return its `seq`; 0, and nothing happens, when its kind is not wanted.

        `cause` is the ambient one unless given. `payload` must not be changed afterwards. Frequent emitters
        give the columns by position, in the order of the trace: by name they take several times as long.
        """
        if kind not in self._wanted:
            return 0
        self._seq = seq = self._seq + 1
        now, why = self._clock.now_us, self.cause if cause is None else cause
        # fmt: off
        event = _new(TraceEvent, (
            seq, now, kind, host, group, member, generation, topic, partition,
            api, correlation, error, from_, to, reason, span, why, payload,
        ))
        # fmt: on
        for subscriber, kinds in self._subscribers:
            if kinds is None or kind in kinds:
                subscriber(event)
        return seq

    def emit_of_partition(
        self,
        kind: Kind,
        host: str,
        group: str | None,
        member: str | None,
        generation: int | None,
        partition: tuple[str, int],
        payload: Mapping[str, Any],
    ) -> None:
        """Emit like `emit`, for the events of every record: their columns by position, at half the cost.

        `partition` is topic and number. It repeats the body of `emit` instead of calling it: the call with its
        eighteen arguments is the saving.
        """
        if kind not in self._wanted:
            return
        self._seq = seq = self._seq + 1
        topic, number = partition
        now, why = self._clock.now_us, self.cause
        # fmt: off
        event = _new(TraceEvent, (
            seq, now, kind, host, group, member, generation, topic, number,
            None, None, None, None, None, None, None, why, payload,
        ))
        # fmt: on
        for subscriber, kinds in self._subscribers:
            if kinds is None or kind in kinds:
                subscriber(event)
