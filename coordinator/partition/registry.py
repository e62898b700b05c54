"""Which groups a partition has, with and without what is not yet committed.

A group appears when its first record is appended and is gone when its tombstone is. Until that append is committed,
readers of the committed view still see the old truth; if it fails, the change is taken back: a new group vanishes, a
deleted one is there again.

Source: the timeline map of groups in `GroupMetadataManager`; classic-protocol reference, 1.10 and 2.11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groupsim.coordinator.partition.group_kind import Group


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
        """The group as of the last committed append."""
        if group_id in self._deleted:
            return self._deleted[group_id][1]
        return None if group_id in self._created else self._groups.get(group_id)

    def committed(self) -> list[Group]:
        """All groups as of the last committed append."""
        there = [group for group_id, group in self._groups.items() if group_id not in self._created]
        return there + [group for _, group in self._deleted.values()]

    def add(self, group: Group) -> None:
        """A group is there (read from the log, or about to be written)."""
        self._groups[group.group_id] = group

    def created_by(self, group_id: str, append_id: int) -> None:
        """The group's first record is in this append; without one it counts as committed."""
        self._created[group_id] = append_id

    def deleted_by(self, group: Group, append_id: int) -> None:
        """The group's tombstone is in this append."""
        del self._groups[group.group_id]
        if self._created.pop(group.group_id, None) is None:
            self._deleted[group.group_id] = (append_id, group)

    def remove(self, group_id: str) -> None:
        """The group is gone, from both views and for good."""
        self._groups.pop(group_id, None)
        self._created.pop(group_id, None)

    def settle(self, append_id: int, *, committed: bool) -> list[Group]:
        """The append has ended. Returns the groups that vanish because it failed."""
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
