"""The groups of a partition by id: which of them exist, now and as of the last committed append."""

from __future__ import annotations

from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.partition.registry import Registry


def with_group(name: str = "g") -> tuple[Registry, ClassicGroup]:
    """A registry with one committed group."""
    groups, group = Registry(), ClassicGroup(name)
    groups.add(group)
    return groups, group


def replaced(groups: Registry, former: ClassicGroup, append_id: int) -> ClassicGroup:
    """Another group of the same id, by one append."""
    groups.deleted_by(former, append_id)
    new = ClassicGroup(former.group_id)
    groups.add(new)
    groups.created_by(new.group_id, append_id)
    return new


def test_failed_creation_makes_the_group_vanish() -> None:
    """A created group is not in the committed view; when its append fails it is returned as vanished."""
    groups, group = with_group()
    groups.created_by("g", 1)
    assert groups.get_committed("g") is None
    assert groups.committed() == []
    assert groups.settle(7, committed=False) == []
    assert groups.settle(1, committed=False) == [group]
    assert groups.get("g") is None


def test_failed_deletion_restores_the_group() -> None:
    """A deleted group stays in the committed view until its append is committed."""
    groups, group = with_group()
    groups.deleted_by(group, 1)
    assert groups.get("g") is None
    assert groups.committed() == [group]
    assert groups.settle(1, committed=False) == []
    assert groups.get("g") is groups.get_committed("g") is group
    groups.deleted_by(group, 2)
    groups.settle(2, committed=True)
    assert groups.get_committed("g") is None


def test_replacement_is_one_change() -> None:
    """One append that deletes a group and creates another: the failure restores the former, the new one vanishes."""
    groups, former = with_group()
    new = replaced(groups, former, 1)
    assert (groups.get("g"), groups.get_committed("g"), groups.committed()) == (new, former, [former])
    assert groups.settle(1, committed=False) == [new]
    assert groups.get("g") is groups.get_committed("g") is former
    new = replaced(groups, former, 2)
    assert groups.settle(2, committed=True) == []
    assert groups.get("g") is groups.get_committed("g") is new


def test_changes_under_way_are_undone_one_by_one() -> None:
    """Created by one append and deleted by the next: what is restored is what each append found."""
    groups, group = with_group()
    groups.created_by("g", 1)
    groups.deleted_by(group, 2)
    assert groups.get_committed("g") is None
    groups.settle(1, committed=True)
    assert groups.get_committed("g") is group
    groups.settle(2, committed=False)
    assert groups.get("g") is group


def test_failure_before_a_later_change_leaves_that_change() -> None:
    """Deleted by an append that fails, while a later one has created another group: the later one decides."""
    groups, former = with_group()
    groups.deleted_by(former, 1)
    new = ClassicGroup("g")
    groups.add(new)
    groups.created_by("g", 2)
    assert groups.settle(1, committed=False) == []
    assert (groups.get("g"), groups.get_committed("g")) == (new, former)
    assert groups.settle(2, committed=False) == [new]
    assert groups.get("g") is former
