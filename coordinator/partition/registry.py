"""The groups of a partition, with and without the appends under way.

A group appears with the append of its first record and disappears with that of its tombstone. Until the append is
committed, readers of the committed view see the previous state. If it fails, the change is undone: a new group
disappears, a deleted one exists again.

Source: the timeline map of groups in `GroupMetadataManager`; classic-protocol reference, 1.10 and 2.11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groupsim.coordinator.base.group_kind import Group


class Registry:
    """Groups by id, in order of creation."""

    __slots__ = ("_created", "_deleted", "_groups", "get")

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        #: The group of an id, committed or not; None when there is none.
        self.get: Callable[[str], Group | None] = self._groups.get
        self._created: dict[str, int] = {}
        self._deleted: dict[str, tuple[int, Group]] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(list(self._groups.values()))

    def __len__(self) -> int:
        return len(self._groups)

    def get_committed(self, group_id: str) -> Group | None:
        """Return the group as of the last committed append."""
        if group_id in self._deleted:
            return self._deleted[group_id][1]
        return None if group_id in self._created else self._groups.get(group_id)

    def committed(self) -> list[Group]:
        """Return all groups as of the last committed append."""
        there = [group for group_id, group in self._groups.items() if group_id not in self._created]
        return there + [group for _, group in self._deleted.values()]

    def add(self, group: Group) -> None:
        """Add a group that was read from the log, or is about to be written."""
        self._groups[group.group_id] = group

    def created_by(self, group_id: str, append_id: int) -> None:
        """Store the append with the group's first record; a group without one counts as committed."""
        self._created[group_id] = append_id

    def deleted_by(self, group: Group, append_id: int) -> None:
        """Store the append with the group's tombstone."""
        del self._groups[group.group_id]
        if self._created.pop(group.group_id, None) is None:
            self._deleted[group.group_id] = (append_id, group)

    def remove(self, group_id: str) -> None:
        """Remove the group from both views for good."""
        self._groups.pop(group_id, None)
        self._created.pop(group_id, None)

    def settle(self, append_id: int, *, committed: bool) -> list[Group]:
        """Handle the end of an append; return the groups that disappear because it failed."""
        if not (self._created or self._deleted):
            return []
        created = [group_id for group_id, by in self._created.items() if by == append_id]
        for group_id in created:
            del self._created[group_id]
        deleted = [group for by, group in self._deleted.values() if by == append_id]
        for group in deleted:
            del self._deleted[group.group_id]
            if not committed:
                self._groups.setdefault(group.group_id, group)
        return [] if committed else [self._groups.pop(group_id) for group_id in created if group_id in self._groups]
