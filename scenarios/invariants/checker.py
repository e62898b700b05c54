"""The base of the checkers: one class for each invariant, with the inputs that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.invariants.steps import GroupChange, GroupModel, Input, Key
from groupsim.scenarios.invariants.violation import Violation

Found = Iterable[Violation]
_NONE: tuple[Violation, ...] = ()


class Checker:
    """Reads a run in order, and yields violations. A checker overrides the methods that it needs.

    `KINDS` are the kinds of events that `event` gets.
    """

    KINDS: ClassVar[frozenset[Kind]] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name

    def event(self, event: TraceEvent) -> Found:
        """Read an event of the trace."""
        return _NONE

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Read an input to a coordinator's partition; `model` is the consumer group of its request *before* it."""
        return _NONE

    def change(self, change: GroupChange) -> Found:
        """Read what an input changed in a consumer group, after `step`."""
        return _NONE

    def gone(self, step: Input, model: GroupModel) -> Found:
        """Read that a consumer group is no more: deleted, or made a classic group."""
        return _NONE

    def loaded(self, step: Input, model: GroupModel) -> Found:
        """Read that a coordinator has loaded a consumer group."""
        return _NONE

    def end(self, t_us: int, seq: int) -> Found:
        """Read the end of the run."""
        return _NONE

    def at(
        self,
        step: Input,
        group_id: str | None,
        what: str,
        *,
        members: Iterable[str] = (),
        partitions: Iterable[Key] = (),
        epochs: Mapping[str, int] | None = None,
    ) -> Violation:
        """Return a violation by an input."""
        return Violation(
            invariant=self.name,
            t_us=step.t_us,
            seq=step.seq,
            what=what,
            group=group_id,
            members=tuple(members),
            partitions=tuple(step.partition_name(key) for key in sorted(partitions)),
            epochs=epochs or {},
        )

    def in_trace(self, event: TraceEvent, what: str, **more: Any) -> Violation:
        """Return a violation by an event."""
        more = {"group": event.group, "members": (event.member,) if event.member else (), **more}
        return Violation(invariant=self.name, t_us=event.t_us, seq=event.seq, what=what, **more)
