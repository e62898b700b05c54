"""Manifests: the finished runs, and the files with their rows.

A chunk is the runs of one task. Its tables are written first, each as one file, and its row of a manifest after them:
runs, failures, costs, files with their rows. A chunk counts when its row is there, so a file of an attempt that was
lost, or of anybody else, is never read. `chunks/<name>.json` has one row a line; the row of one task is written by the
process that performed it, and the driver puts many together (`fold`).

Attempts of one task use the same name for the row and names of their own for the files: whichever row is there last
names files that are all there. A row that repeats runs of an earlier one, by the order of names, does not count: its
other runs are simply not finished, and nothing is counted twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from attrs import field

from groupsim.pipeline.sweep.errors import SweepError
from groupsim.protocol.values import define, frozen

if TYPE_CHECKING:
    from groupsim.pipeline.sweep.place import Place

Run = tuple[int, int]  # cell, seed

CHUNKS = "chunks"
SUFFIX = ".json"
READERS = 16  # of manifests at a time: object stores answer slowly
ROW = (
    "chunk string, count bigint, failed bigint, "
    "runs array<struct<first_cell:int,last_cell:int,first_seed:bigint,last_seed:bigint>>, "
    "costs array<struct<cell:int,runs:bigint,us:bigint>>, "
    "files array<struct<table:string,file:string,rows:bigint,bytes:bigint>>"
)
"""A row of a manifest in Spark's words."""


@frozen
class Span:
    """Runs of neighbouring cells and seeds, ends included."""

    first_cell: int
    last_cell: int
    first_seed: int
    last_seed: int

    @property
    def count(self) -> int:
        """How many runs."""
        return (self.last_cell - self.first_cell + 1) * (self.last_seed - self.first_seed + 1)

    def runs(self) -> Iterator[Run]:
        """Each of them, seed by seed."""
        for seed in range(self.first_seed, self.last_seed + 1):
            for cell in range(self.first_cell, self.last_cell + 1):
                yield cell, seed


def spans(runs: Iterable[Run]) -> list[Span]:
    """Runs as spans: few for runs in the order in which a sweep goes (seed by seed over all cells)."""
    found: list[Span] = []
    rows: list[Span] = []  # of one seed each
    for cell, seed in sorted(runs, key=lambda run: (run[1], run[0])):
        if rows and rows[-1].first_seed == seed and rows[-1].last_cell == cell - 1:
            rows[-1] = Span(rows[-1].first_cell, cell, seed, seed)
        else:
            rows.append(Span(cell, cell, seed, seed))
    open_: dict[tuple[int, int], int] = {}  # cells → its span in `found`
    for row in rows:
        cells = row.first_cell, row.last_cell
        last = open_.get(cells)
        if last is not None and found[last].last_seed == row.first_seed - 1:
            found[last] = Span(*cells, found[last].first_seed, row.last_seed)
        else:
            open_[cells] = len(found)
            found.append(row)
    return found


@frozen
class File:
    """One file of a chunk: the table, its name in that table's folder, and how much is in it."""

    table: str
    file: str
    rows: int
    bytes: int


@frozen
class Cost:
    """What runs of a cell have cost together, µs of one core."""

    cell: int
    runs: int
    us: int


@frozen
class Chunk:
    """One row of a manifest."""

    chunk: str
    count: int
    failed: int
    runs: tuple[Span, ...]
    costs: tuple[Cost, ...]
    files: tuple[File, ...]

    def row(self) -> dict[str, Any]:
        """As plain data, in the order of `ROW`."""
        return {
            "chunk": self.chunk,
            "count": self.count,
            "failed": self.failed,
            "runs": [_plain(one) for one in self.runs],
            "costs": [_plain(one) for one in self.costs],
            "files": [_plain(one) for one in self.files],
        }

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Chunk:
        """From plain data. Raises LookupError or TypeError for data that is none."""
        return cls(
            row["chunk"],
            row["count"],
            row["failed"],
            tuple(Span(**one) for one in row["runs"]),
            tuple(Cost(**one) for one in row["costs"]),
            tuple(File(**one) for one in row["files"]),
        )

    def file(self, table: str) -> File | None:
        """The file of one table; nothing when the chunk has no row of it."""
        return next((one for one in self.files if one.table == table), None)


def _plain(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__ if not name.startswith("_")}


@define
class Finished:
    """The runs that are finished: for each seed the cells, as the bits of one number."""

    cells: dict[int, int] = field(factory=dict)
    count: int = 0

    def __contains__(self, run: Run) -> bool:
        return bool(self.cells.get(run[1], 0) >> run[0] & 1)

    def __iter__(self) -> Iterator[Run]:
        for seed, bits in self.cells.items():
            yield from ((cell, seed) for cell in range(bits.bit_length()) if bits >> cell & 1)

    def __len__(self) -> int:
        return self.count

    def add(self, more: Sequence[Span]) -> bool:
        """Add runs, unless one of them is there already; returns whether they were added."""
        if any(self.cells.get(seed, 0) & bits for seed, bits in _bits(more)):
            return False
        for seed, bits in _bits(more):
            self.cells[seed] = self.cells.get(seed, 0) | bits
        self.count += sum(span.count for span in more)
        return True


def _bits(runs: Sequence[Span]) -> Iterator[tuple[int, int]]:
    for span in runs:
        bits = (1 << span.last_cell + 1) - (1 << span.first_cell)
        for seed in range(span.first_seed, span.last_seed + 1):
            yield seed, bits


@define
class Manifest:
    """All rows that count, in the order of their names; the runs they finish; and rows that do not count."""

    chunks: list[Chunk] = field(factory=list)
    finished: Finished = field(factory=Finished)
    repeated: list[Chunk] = field(factory=list)


def write(place: Place, chunk: Chunk) -> None:
    """Write the row of one chunk: from now on it counts."""
    write_all(place, chunk.chunk, [chunk])


def write_all(place: Place, name: str, chunks: Sequence[Chunk]) -> None:
    """Write the rows of several chunks at once: all of them count from now on, or none."""
    text = "".join(json.dumps(chunk.row(), separators=(",", ":")) + "\n" for chunk in chunks)
    place.write(f"{CHUNKS}/{name}{SUFFIX}", text.encode())


def fold(place: Place, name: str, chunks: Sequence[Chunk]) -> None:
    """Put the rows of several chunks, each in a file of its own until now, into one; if it is cut short both are there,
    and count once."""
    write_all(place, name, chunks)
    place.remove(f"{CHUNKS}/{chunk.chunk}{SUFFIX}" for chunk in chunks if chunk.chunk != name)


def names(place: Place) -> list[str]:
    """The files of rows, by name."""
    return [name.removesuffix(SUFFIX) for name in place.names(CHUNKS) if name.endswith(SUFFIX)]


def read(place: Place) -> Manifest:
    """Every row. Raises SweepError for a file that is none of rows."""
    found = Manifest()
    seen: set[str] = set()
    with ThreadPoolExecutor(READERS, "groupsim-manifest") as readers:
        rows = [row for file in readers.map(lambda name: _rows(place, name), names(place)) for row in file]
    for chunk in sorted(rows, key=lambda row: row.chunk):
        if chunk.chunk in seen:  # it is being folded
            continue
        seen.add(chunk.chunk)
        if found.finished.add(chunk.runs):
            found.chunks.append(chunk)
        else:
            found.repeated.append(chunk)
    return found


def _rows(place: Place, name: str) -> list[Chunk]:
    file = f"{CHUNKS}/{name}{SUFFIX}"
    try:
        return [Chunk.of(json.loads(line)) for line in place.read(file).decode().splitlines()]
    except FileNotFoundError:  # folded since it was listed: its rows stand elsewhere
        return []
    except (ValueError, LookupError, TypeError) as error:
        raise SweepError(
            f"{place / file}: no manifest of a sweep: {error}",
            "nothing else belongs into this folder; move the file away, and the same sweep runs again what is missing",
            bad_input=True,
        ) from error
