"""The current copy of a group, while more than one broker has a copy.

A coordinator that is cut off keeps its copy of the group until it learns that another broker leads the partition.
Until then it ends sessions and begins rebalances in it. None of that can be committed, so the group does not change.
The current copy is the one that was loaded last; of a group without a record in the log, the one that acted last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from attrs import Factory

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.values import define

Member = TypeVar("Member")


@define
class Copies:
    """The broker of each group's current copy, and the copies that another one has replaced."""

    _held: dict[str, str | None] = Factory(dict)
    _stale: set[tuple[str, str | None]] = Factory(set)

    def counts(self, event: TraceEvent) -> bool:
        """Return whether a coordinator's event is about the current copy. Call it once for each event, in order."""
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
        """Return whether the copy of an event's group at its broker has been replaced."""
        return (event.group or "?", event.host) in self._stale


def as_loaded(members: Iterable[Member], settled: Iterable[tuple[Member, ...]], count: object) -> tuple[Member, ...]:
    """Return the members that a new coordinator read from its log; the trace has only their number, `count`.

    Members added or removed in a rebalance that was not over are not in the log: the new coordinator does not know the
    former, and has the latter. `settled` are the members at earlier writes of a record, oldest first.
    """
    now = tuple(members)
    return next((then for then in reversed([*settled, now]) if len(then) == count), now)
