"""Which broker's copy of a group counts, while more than one broker has a copy.

A coordinator that is cut off keeps its copy of the group until it learns that another broker leads the partition.
Until then it ends sessions and begins rebalances in it, and none of that can commit, so it is no change of the group.
The copy that counts is the one that was loaded last, or of a group without a record in the log the one that acts last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from attrs import Factory, define

from groupsim.eventloop.trace.events import Kind, TraceEvent

Member = TypeVar("Member")


@define
class Copies:
    """The broker of each group's copy, as the coordinator's events go by, and copies that another one has replaced."""

    _held: dict[str, str | None] = Factory(dict)
    _stale: set[tuple[str, str | None]] = Factory(set)

    def counts(self, event: TraceEvent) -> bool:
        """Whether a coordinator's event is about the copy that counts; to be asked once for each, in order."""
        group, host = event.group or "?", event.host
        if event.kind is Kind.GROUP_LOADED:
            self._stale.discard((group, host))
        elif (group, host) in self._stale:
            if event.kind is Kind.GROUP_UNLOADED:
                self._stale.discard((group, host))
            return False
        before = self._held.get(group, host)
        if before != host:
            self._stale.add((group, before))
        if event.kind is Kind.GROUP_UNLOADED:
            self._held.pop(group, None)
        else:
            self._held[group] = host
        return True

    def replaced(self, event: TraceEvent) -> bool:
        """Whether what happens at this broker concerns a copy that does not count any more."""
        return (event.group or "?", event.host) in self._stale


def as_loaded(members: Iterable[Member], settled: Iterable[tuple[Member, ...]], count: object) -> tuple[Member, ...]:
    """The members that a new coordinator read from its log, of whom the trace has the number alone.

    Who came in a rebalance that was not over is forgotten; who was removed in one is a member again. `settled` are the
    members of earlier moments at which a record was written, oldest first.
    """
    now = tuple(members)
    return next((then for then in reversed([*settled, now]) if len(then) == count), now)
