"""Assignments as columns of the picture (`owners.py`): those of a story, and those of `groupsim assign`.

Consecutive generations with equal assignments are one column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from attrs import evolve

from groupsim.cli.render.owners import Cell, Column
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen
from groupsim.scenarios.story import Assignment, Generation, GroupStory, MemberShare, partition_set


def columns_of(generations: Sequence[Generation]) -> list[Column]:
    """Return a column for each assignment, and one for consecutive equal assignments."""
    numbered = [(one, one.assignment) for one in generations if one.assignment is not None]
    found = []
    for _, run in groupby(numbered, key=lambda pair: _essence(pair[1])):
        same = list(run)
        first, last, word = same[0][0].number, same[-1][0].number, same[0][0].words.head
        found.append(column(same[0][1], f"{word} {first}" if first == last else f"{word} {first}-{last}"))
    return found


def column(assignment: Assignment, title: str) -> Column:
    """Make a column of one assignment, its members sorted by name."""
    shares = sorted(assignment.shares, key=lambda share: natural(share.host))
    hosts = Counter(share.host for share in shares)
    cells = {
        (share.host if hosts[share.host] == 1 else _with_id(share)): Cell(share.partitions, share.moved)
        for share in shares
    }
    return Column(title, cells, _unowned(assignment))


def columns_of_round(one: Mapping[str, Any]) -> list[Column]:
    """Return the columns "before" (claims) and "after" of a result of `groupsim assign`; without claims the latter."""
    given = {member: [TopicPartition(*at) for at in held] for member, held in one["assignment"].items()}
    claimed = {member: {TopicPartition(*at) for at in held} for member, held in one.get("before", {}).items()}
    had = {partition for held in claimed.values() for partition in held}
    got = {partition for held in given.values() for partition in held}
    cells = {
        member: Cell(partition_set(held), partition_set((set(held) & had) - claimed.get(member, set())))
        for member, held in given.items()
    }
    withheld = {TopicPartition(topic, number) for topic, number, _ in one.get("transferring", ())} - got
    after = Column("after", cells, Cell(partition_set(withheld), note="(revoked)") if withheld else None)
    if not had:
        return [after]
    return [Column("before", {member: Cell(partition_set(held)) for member, held in claimed.items()}), after]


@frozen
class Ended:
    """The last assignment of a group, with the number of its generation, and what a table calls that number."""

    number: int
    assignment: Assignment
    word: str


def ended(group: GroupStory | None) -> Ended | None:
    """Return the last assignment of a group, if any."""
    for one in reversed(group.generations if group else ()):
        if one.assignment:
            return Ended(one.number, one.assignment, one.words.head)
    return None


def columns_compared(left: Ended | None, right: Ended | None) -> list[Column]:
    """Return the last assignments of runs A and B; marked are partitions that another process owns in A."""
    sides = [(letter, one) for letter, one in (("A", left), ("B", right)) if one is not None]
    plain = [_unmarked(column(one.assignment, f"{letter}: {one.word} {one.number}")) for letter, one in sides]
    if left is None or right is None:
        return plain
    owner = {partition: name for name, cell in plain[0].cells.items() for partition in cell.partitions}
    cells = {
        name: evolve(cell, moved=partition_set(at for at in cell.partitions if owner.get(at, name) != name))
        for name, cell in plain[1].cells.items()
    }
    return [plain[0], evolve(plain[1], cells=cells)]


def _unmarked(one: Column) -> Column:
    return evolve(one, cells={name: Cell(cell.partitions) for name, cell in one.cells.items()})


def _unowned(assignment: Assignment) -> Cell | None:
    number, revoked = len(assignment.unowned), len(assignment.revoked)
    if not number:
        return None
    how_many = "" if revoked == number else f"{revoked} "
    return Cell(assignment.unowned, note=f"({how_many}revoked)" if revoked else "")


def _with_id(share: MemberShare) -> str:
    """Return the name of a process with several member ids, with the end of the id."""
    return f"{share.host} …{share.member[-6:]}" if share.member else share.host


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key by which `c2` comes before `c10`."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def same(left: Ended | None, right: Ended | None) -> bool:
    """Whether processes of equal names own equal partitions."""
    if left is None or right is None:
        return left is right
    return _essence(left.assignment) == _essence(right.assignment)


def _essence(assignment: Assignment) -> object:
    shares = sorted((share.host, share.partitions.topics) for share in assignment.shares)
    return shares, assignment.unowned.topics
