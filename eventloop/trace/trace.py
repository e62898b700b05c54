"""The trace as rooms see it: a cheap question, one `emit`, and the ambient cause.

The cause of what happens now is the `seq` of the event that brought it about. The loop saves it with everything that
is scheduled and brings it back when that runs, and a story inherits it from what woke it; so a room need only say
`trace.begin(trace.emit(...))` where one event is the reason of all that follows. Whether the trace is on changes
nothing in the run: nothing here is drawn from the loop's tickets or its randomness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Protocol

from groupsim.eventloop.trace.events import Kind, TraceEvent

Subscriber = Callable[[TraceEvent], object]

# An event is made past its class's own `__new__`, whose defaults nobody needs here: half the cost.
_new = tuple.__new__


class Level(IntEnum):
    """How much a trace contains."""

    OFF = 0
    NORMAL = 1  # everything but the heartbeats of a quiet group
    FULL = 2  # those too


OFF, NORMAL, FULL = Level.OFF, Level.NORMAL, Level.FULL


class HasNow(Protocol):
    """Whatever tells the time: a loop."""

    @property
    def now_us(self) -> int: ...


class _Unattached:
    """The clock of a trace that belongs to no loop yet."""

    now_us = 0


class Trace:
    """Events of one run, in order, handed to whoever subscribed.

    `level` says how much is wanted, `kinds` narrows it to some kinds. Of those in `counted` nobody is told: they are
    not wanted, but who would have told of them says how many there were (`pass_over`), so that all others have the
    numbers they have otherwise. `cause` is the ambient cause, `heartbeats` whether quiet heartbeats are listed too.
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
        "level",
        "wants",
    )

    wants: Callable[[Kind], bool]
    """Whether an event of this kind would be kept; ask before you build one. The set's own method: it is asked at every
    step of every request, and mostly says no."""

    def __init__(
        self, level: Level = Level.NORMAL, *, kinds: Iterable[Kind] | None = None, counted: Iterable[Kind] = ()
    ) -> None:
        self.level = level
        self.heartbeats = level is Level.FULL
        self.cause = 0
        wanted = frozenset(Kind if kinds is None else kinds) if level is not Level.OFF else frozenset()
        self._counted = wanted.intersection(counted)
        self._chosen = wanted - self._counted
        self._want(self._chosen)
        self._seq = 0
        self._spans = 0
        self._clock: HasNow = _Unattached()
        self._subscribers: list[tuple[Subscriber, frozenset[Kind] | None]] = []

    def attach(self, clock: HasNow) -> None:
        """Take the time from `clock` from now on; the loop does this when it is made."""
        self._clock = clock

    @property
    def now_us(self) -> int:
        """The time of the loop this trace is attached to."""
        return self._clock.now_us

    def _want(self, kinds: frozenset[Kind]) -> None:
        self._wanted = kinds
        self.wants = kinds.__contains__

    def will_want(self, kind: Kind) -> bool:
        """As `wants`, for who asks once and for all: also while the trace is muted."""
        return kind in self._chosen

    @property
    def told(self) -> int:
        """How many events there were so far, those that are only counted included."""
        return self._seq

    def pass_over(self, kind: Kind, count: int) -> None:
        """So many events of a kind that is not wanted: they are counted, if that is. None may be a cause."""
        if kind in self._counted:
            self._seq += count

    def subscribe(self, subscriber: Subscriber, kinds: Iterable[Kind] | None = None) -> None:
        """Hand every event from now on (of `kinds` only, if given) to `subscriber`, in order of subscription."""
        self._subscribers.append((subscriber, None if kinds is None else frozenset(kinds)))

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Tell nothing of what happens in this block: it belongs to the time before the run."""
        before = self._wanted, self._counted
        self._want(frozenset())
        self._counted = frozenset()
        try:
            yield
        finally:
            wanted, self._counted = before
            self._want(wanted)

    def close(self) -> None:
        """The run is over: let go of the subscribers, so that what they kept does not live as long as the loop.

        Loop, hosts and members hold each other, so they stay until the garbage collector comes; the events need not.
        """
        self._subscribers.clear()

    def begin(self, seq: int) -> None:
        """Make event `seq` the cause of what follows in this callback or story; 0 (not wanted) changes nothing."""
        if seq:
            self.cause = seq

    def span(self) -> int:
        """A fresh number that ties a begin to its end; 0 when the trace is off."""
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

        `cause` is the ambient one unless given. What stands in `payload` must not be changed afterwards. Who tells much
        gives the columns by position, in the order of the trace: by name they take several times as long.
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
        """As `emit`, for what is told of every record: what all such events have, by position, at half the cost.

        `partition` is topic and number. It says again what `emit` does instead of calling it: the call with its
        eighteen arguments is what it saves.
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
