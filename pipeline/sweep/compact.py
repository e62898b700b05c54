"""Few large files instead of many small ones: the tables of a sweep written again, by cells.

A sweep writes a file per table and task, in the order in which it simulates: seed by seed over all cells. Compacted, a
file has some neighbouring cells with all their seeds (of a cell that is too large for one file, some of its seeds),
sorted by cell and seed, so a query about a cell reads one file of each table.

It may be cut short at any time. New files count from the moment their rows are in the manifests, all at once; they have
names before those of the old rows, which from then on repeat what is there and do not count. Old files go last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
from attrs import frozen

from groupsim.pipeline.schemas import RUNS, TABLES
from groupsim.pipeline.sweep import chunks
from groupsim.pipeline.sweep.chunks import Chunk, Cost, File, Run, spans
from groupsim.pipeline.sweep.directory import Directory
from groupsim.pipeline.sweep.parts import table_file

TARGET = 128 << 20
FIRST = "0000"  # what the names of compacted chunks begin with: before all others
_LAST = 999_999


@frozen
class Compacted:
    """How many files of tables there were, and how many there are; equal when there was nothing to do."""

    before: int
    after: int


def compact(where: Path | str, conf: Mapping[str, str] | None = None, target: int = TARGET) -> Compacted:
    """Write the tables of a directory again in files of about `target` bytes of its largest table.

    A local directory is locked meanwhile. Raises SweepError when it is none of a sweep, another sweep writes there, a
    file is damaged or there is no room; what counted before counts then.
    """
    contents = Directory.open(where, conf).contents
    with Directory.prepare(where, contents, conf) as directory:
        old = list(directory.manifest.chunks)
        groups = _groups(old, target)
        before = sum(len(chunk.files) for chunk in old)
        if len(groups) >= len(old):
            return Compacted(before, before)
        name = _name(old)
        new: list[Chunk] = []
        try:
            costs = _costs(old)
            for number, runs in enumerate(groups):
                new.append(_written(directory, f"{name}-{number:06d}", runs, costs))
            chunks.write_all(directory.place, name, new)
        except BaseException:
            if not directory.place.is_file(f"{chunks.CHUNKS}/{name}{chunks.SUFFIX}"):  # an end after that is too late
                directory.place.remove(table_file(file) for chunk in new for file in chunk.files)
            raise
        stale = {file for file in chunks.names(directory.place) if file != name}
        directory.place.remove(f"{chunks.CHUNKS}/{file}{chunks.SUFFIX}" for file in sorted(stale))
        directory.place.remove(table_file(file) for chunk in old for file in chunk.files)
        return Compacted(before, sum(len(chunk.files) for chunk in new))


def _groups(old: Sequence[Chunk], target: int) -> list[list[Run]]:
    """The runs of each new file: as many neighbours as have about `target` bytes of the largest table."""
    every = sorted(run for chunk in old for span in chunk.runs for run in span.runs())
    sizes = {name: sum(file.bytes for chunk in old if (file := chunk.file(name))) for name in TABLES}
    each = max(1, round(target * len(every) / max(1, *sizes.values())))  # runs of one file
    by_cell: dict[int, list[Run]] = {}
    for run in every:
        by_cell.setdefault(run[0], []).append(run)
    groups: list[list[Run]] = []
    for mine in by_cell.values():
        if groups and len(groups[-1]) + len(mine) <= each:
            groups[-1] += mine
        else:
            groups += [mine[begin : begin + each] for begin in range(0, len(mine), each)]
    return groups


def _name(old: Sequence[Chunk]) -> str:
    """A name before those of all chunks, also of those that were compacted earlier."""
    heads = [chunk.chunk.split("-") for chunk in old]
    earlier = [int(parts[1]) for parts in heads if parts[0] == FIRST and parts[1].isdigit()]
    return f"{FIRST}-{min(earlier, default=_LAST + 1) - 1:06d}"


def _costs(old: Sequence[Chunk]) -> dict[int, Cost]:
    """What the runs of each cell have cost, from all chunks."""
    found: dict[int, Cost] = {}
    for cost in (cost for chunk in old for cost in chunk.costs):
        so_far = found.get(cost.cell, Cost(cost.cell, 0, 0))
        found[cost.cell] = Cost(cost.cell, so_far.runs + cost.runs, so_far.us + cost.us)
    return found


def _written(directory: Directory, name: str, runs: Sequence[Run], costs: dict[int, Cost]) -> Chunk:
    """Write the tables of some runs, one after the other; `costs` of their cells go with the first chunk of each."""
    place, failed = directory.place, 0
    written: list[File] = []
    try:
        for table in TABLES:
            rows = directory.tables(table, runs=runs)
            if table == RUNS.name:
                failed = rows["status"].to_pylist().count("failed")
            if len(rows):
                written.append(File(table, f"part-{name}.compact.parquet", len(rows), 0))
                written[-1] = attrs.evolve(written[-1], bytes=place.write_table(table_file(written[-1]), rows))
    except BaseException:
        place.remove(map(table_file, written))
        raise
    mine = tuple(costs.pop(cell) for cell in dict.fromkeys(cell for cell, _ in runs) if cell in costs)
    return Chunk(name, len(runs), failed, tuple(spans(runs)), mine, tuple(written))
