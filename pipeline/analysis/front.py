"""The Pareto front of two conflicting goals, and how sure it is that the other cells are not on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Point = tuple[float, ...]


def dominates(one: Point, other: Point) -> bool:
    """At least as good everywhere and better somewhere; lower is better."""
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def front(points: Mapping[int, Point]) -> tuple[int, ...]:
    """The cells that no other dominates, from the best in the first goal to the best in the second.

    One pass over the points in order of their values: a cell is on the front when nothing before it was as good in
    the rest. Cells with equal values are on it together.
    """
    ordered = sorted(points, key=lambda cell: (points[cell], cell))
    found: list[int] = []
    for cell in ordered:
        if not any(dominates(points[other], points[cell]) for other in found):
            found.append(cell)
    return tuple(found)


def dominator(cell: int, points: Mapping[int, Point], among: Sequence[int]) -> int | None:
    """The first cell of the front that dominates this one."""
    return next((other for other in among if dominates(points[other], points[cell])), None)
