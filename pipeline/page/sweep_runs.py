"""The runs of a sweep for its page: a line for each, and all rows of a few that represent their cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from groupsim.pipeline.page.compact import SHOWN
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.pipeline.sweep.directory import Directory

Key = tuple[int, int]
Rows = dict[str, list[tuple[Any, ...]]]


@frozen
class Standing:
    """A run that stands for its cell: in the first goal it is the median, the worst or the best."""

    cell: int
    seed: int
    why: str


def standing(values: Mapping[int, Mapping[int, int]], first: Sequence[int], sign: int) -> list[Standing]:
    """Runs worth looking at, the most telling first; each run once.

    `values` has cell → seed → value of the first goal, of finished runs; cells in `first` come before the others.
    `sign` is 1 when lower is better. All medians come first, then the worst runs, then the best.
    """
    cells = [*dict.fromkeys(cell for cell in first if cell in values), *(c for c in values if c not in first)]
    ranked = {cell: sorted(values[cell], key=lambda seed: (sign * values[cell][seed], seed)) for cell in cells}
    found: dict[Key, Standing] = {}
    for why in ("median", "worst", "best"):
        for cell in cells:
            seeds = ranked[cell]
            if seeds:
                at = {"median": (len(seeds) - 1) // 2, "worst": -1, "best": 0}[why]
                found.setdefault((cell, seeds[at]), Standing(cell, seeds[at], why))
    return list(found.values())


class Reader:
    """Reads the rows of single runs: of each table the one file that has the run."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def rows(self, cell: int, seed: int) -> Rows:
        """The rows of one run in every table that a page shows."""
        found: Rows = {}
        for name in SHOWN:
            columns = [column.to_pylist() for column in self._directory.tables(name, runs=[(cell, seed)]).columns]
            found[name] = list(zip(*columns, strict=True))
        return found
