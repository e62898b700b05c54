"""The groups of a partition, with and without the appends under way.

A group appears with the append of its first record and disappears with that of its tombstone. One append may do both:
it deletes a group and creates one of another kind with the same id. Until the append is committed, readers of the
committed view see the previous state. If it fails, the change is undone: a new group disappears, a deleted or replaced
one exists again.

Source: the timeline map of groups in `GroupMetadataManager`; classic-protocol reference, 1.10 and 2.11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import evolve

from groupsim.coordinator.base.group_kind import Group
from groupsim.protocol.values import frozen


@frozen(eq=False)
class _Change:
    """A group of this id was created or deleted by an append under way; `before` is the group that it found."""

    append_id: int
    created: bool
    before: Group | None


class Registry:
    """Groups by id, in order of creation."""

    __slots__ = ("_changes", "_groups", "get")

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        #: The group of an id, committed or not; None when there is none.
        self.get: Callable[[str], Group | None] = self._groups.get
        #: The changes under way by id, oldest first; no entry without any.
        self._changes: dict[str, list[_Change]] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(list(self._groups.values()))

    def __len__(self) -> int:
        return len(self._groups)

    def get_committed(self, group_id: str) -> Group | None:
        """Return the group as of the last committed append."""
        changes = self._changes.get(group_id)
        return changes[0].before if changes else self._groups.get(group_id)

    def committed(self) -> list[Group]:
        """Return all groups as of the last committed append."""
        there = [group for group_id, group in self._groups.items() if group_id not in self._changes]
        former = [changes[0].before for changes in self._changes.values()]
        return there + [group for group in former if group is not None]

    def add(self, group: Group) -> None:
        """Add a group that was read from the log, or is about to be written."""
        self._groups[group.group_id] = group

    def created_by(self, group_id: str, append_id: int) -> None:
        """Store the append with the group's first record; a group without one counts as committed."""
        self._changes.setdefault(group_id, []).append(_Change(append_id, True, None))

    def deleted_by(self, group: Group, append_id: int) -> None:
        """Store the append with the group's tombstone."""
        del self._groups[group.group_id]
        self._changes.setdefault(group.group_id, []).append(_Change(append_id, False, group))

    def remove(self, group_id: str) -> None:
        """Remove the group from both views for good."""
        self._groups.pop(group_id, None)
        self._changes.pop(group_id, None)

    def settle(self, append_id: int, *, committed: bool) -> list[Group]:
        """Handle the end of an append; return the groups that disappear because it failed."""
        vanished: list[Group] = []
        for group_id, changes in list(self._changes.items()):
            its = [change for change in changes if change.append_id == append_id]
            if not its:
                continue
            if not committed and changes[-1] is its[-1]:
                self._undo(group_id, its, vanished)
            left = _without(changes, its, committed)
            if left:
                self._changes[group_id] = left
            else:
                del self._changes[group_id]
        return vanished

    def _undo(self, group_id: str, its: list[_Change], vanished: list[Group]) -> None:
        created = self._groups.pop(group_id, None) if its[-1].created else None
        before = its[0].before
        if before is not None:
            self._groups.setdefault(group_id, before)
        if created is not None:
            vanished.append(created)


def _without(changes: list[_Change], its: list[_Change], committed: bool) -> list[_Change]:
    """Return the changes of the other appends. After a failed one the next finds the group that was there before it."""
    if committed or changes[-1] is its[-1]:
        return [change for change in changes if change not in its]
    place = changes.index(its[0])
    after = changes[place + len(its) :]
    return [*changes[:place], evolve(after[0], before=its[0].before), *after[1:]]
