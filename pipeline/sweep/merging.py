"""The worker's half of compaction: the files of many chunks are read once and written again as few, sorted by cell.

A distribution sort: rows go, as they are read, to the range of runs they belong to, in memory or (of a table that is
too large for it) in temporary files; then each range is sorted and written. So every row is read once and written once,
however many chunks there are, and no more than a range of rows is in memory.

The manifest of the new chunks makes them count. Their names sort before those of the old ones, which from then on are
duplicates and do not count; their files are removed last. A second attempt at an interrupted job only removes the rest
of the first one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from groupsim.pipeline.sweep import chunks
from groupsim.pipeline.sweep.chunks import CHUNKS, SUFFIX, Chunk, Cost, File, Run, spans
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.parts import read_part, table_file
from groupsim.pipeline.sweep.work import attempt
from groupsim.pipeline.tables.schemas import RUNS, TABLES, arrow_schema
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.pipeline.sweep.place import Place
    from groupsim.pipeline.tables.column_types import Table

RANGE = 8 << 20  # bytes of Parquet whose rows are sorted at a time; in memory they are many times as large
BYTES_OF_A_COLUMN = 450  # in the footer and the headers of a file
ROWS = 64 << 10  # of a row group, whose least and greatest cell a reader sees without reading it
_KEYS = [("cell", "ascending"), ("seed", "ascending")]


@frozen
class Job:
    """Chunks that become others: a name before theirs, and the bytes of a new file of the largest table."""

    name: str
    chunks: tuple[Chunk, ...]
    target: int

    @property
    def manifest(self) -> str:
        """The file that makes the new chunks count."""
        return f"{CHUNKS}/{self.name}{SUFFIX}"

    def size(self, table: str) -> int:
        """What one table has in all the chunks."""
        return sum(held(file) for chunk in self.chunks if (file := chunk.file(table)))


def held(file: File) -> int:
    """About how many bytes of a file are rows: Parquet's own words are most of a file that has few."""
    return max(file.bytes // 8, file.bytes - BYTES_OF_A_COLUMN * len(TABLES[file.table].columns))


def merge(place: Place, job: Job) -> None:
    """Write the chunks of a job again. Raises SweepError when a file is damaged or there is no room: the old ones count
    then.
    """
    try:
        if not place.is_file(job.manifest):
            chunks.write_all(place, job.name, _written(place, job))
    except SweepError:
        if not place.is_file(job.manifest):  # another attempt was first, and has removed the input of this one
            raise
    place.remove(table_file(file) for chunk in job.chunks for file in chunk.files)


def merge_or_leave(place: Place, job: Job) -> None:
    """Merge while a sweep goes on. Where that fails the old chunks count, and the sweep's end merges them or reports
    the obstacle. A disk that is full or a right that is gone ends the sweep at the next write of a task.
    """
    with suppress(SweepError, OSError, pa.ArrowException):
        merge(place, job)


def _written(place: Place, job: Job) -> list[Chunk]:
    """Write the new files; returns their chunks, which do not count yet. Leaves no file when it fails.

    The largest table says after which ranges a file ends, by the bytes that were written; the others follow it.
    """
    ranges = _ranges(job)
    ends: list[int] = []
    files: list[list[File]] = []
    failed: list[int] = []
    put: list[str] = []
    try:
        for table in sorted(TABLES.values(), key=lambda table: job.size(table.name), reverse=True):
            for number, (end, content) in enumerate(_contents(place, job, table, ranges, ends)):
                if number == len(files):
                    ends.append(end)
                    files.append([])
                    failed.append(0)
                if content.rows:
                    name = f"part-{_name(job, number)}.{attempt()}.parquet"
                    put.append(f"tables/{table.name}/{name}")
                    place.write(put[-1], content.parquet)
                    files[number].append(File(table.name, name, content.rows, content.parquet.size))
                    failed[number] += content.failed
    except BaseException:
        place.remove(put)
        raise
    costs, made, begin = _costs(job), [], 0
    for number, end in enumerate(ends):
        runs = [run for some in ranges[begin:end] for run in some]
        named, mine = tuple(files[number]), _of(costs, runs)
        made.append(Chunk(_name(job, number), len(runs), failed[number], tuple(spans(runs)), mine, named))
        begin = end
    return made


def _name(job: Job, number: int) -> str:
    return f"{job.name}-{number:04d}"


def _ranges(job: Job) -> list[list[Run]]:
    """The runs of each range: as many neighbours as have about `RANGE` bytes of the largest table. A cell is parted
    only when it has more.
    """
    every = sorted(run for chunk in job.chunks for span in chunk.runs for run in span.runs())
    each = max(1, round(min(RANGE, job.target) * len(every) / max(1, *map(job.size, TABLES))))
    by_cell: dict[int, list[Run]] = {}
    for run in every:
        by_cell.setdefault(run[0], []).append(run)
    ranges: list[list[Run]] = []
    for mine in by_cell.values():
        if ranges and len(ranges[-1]) + len(mine) <= each:
            ranges[-1] += mine
        else:
            ranges += [mine[begin : begin + each] for begin in range(0, len(mine), each)]
    return ranges


def _costs(job: Job) -> dict[int, Cost]:
    """What the runs of each cell have cost, from all chunks."""
    found: dict[int, Cost] = {}
    for cost in (cost for chunk in job.chunks for cost in chunk.costs):
        so_far = found.get(cost.cell, Cost(cost.cell, 0, 0))
        found[cost.cell] = Cost(cost.cell, so_far.runs + cost.runs, so_far.us + cost.us)
    return found


def _of(costs: dict[int, Cost], runs: Sequence[Run]) -> tuple[Cost, ...]:
    """The costs of the cells of some runs; they are taken out, so that each is in one chunk."""
    return tuple(costs.pop(cell) for cell in dict.fromkeys(cell for cell, _ in runs) if cell in costs)


@frozen
class _Content:
    """A new file: how many rows, of how many failed runs, and its bytes."""

    rows: int
    failed: int
    parquet: Any


def _contents(
    place: Place, job: Job, table: Table, ranges: Sequence[Sequence[Run]], ends: Sequence[int]
) -> Iterator[tuple[int, _Content]]:
    """One table as files, each with the range before which it ends: as `ends` say, or by their bytes where these are
    not known yet.
    """
    schema = arrow_schema(table)
    known = tuple(ends)
    with ExitStack() as stack:
        where = None
        if job.size(table.name) > RANGE:
            where = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="groupsim-compact-")))
        held = [_Range(schema, where and where / f"{at}.arrow") for at in range(len(ranges))]
        for one in held:
            stack.callback(one.close)
        firsts = [runs[0] for runs in ranges]
        for file in (file for chunk in job.chunks if (file := chunk.file(table.name))):
            rows = read_part(place, table_file(file), schema, rows=file.rows).sort_by(_KEYS)
            for one, some in zip(held, _divided(rows, firsts), strict=True):
                one.add(some)
        out = _Out(schema, table)
        for at, one in enumerate(held, 1):
            out.add(one.rows().sort_by(_KEYS))  # a stable sort: a run's rows stay in its order
            if at == len(held) or (at in known if known else out.size >= job.target):
                yield at, out.content()
                out = _Out(schema, table)


class _Out:
    """A file of Parquet that is being made."""

    def __init__(self, schema: pa.Schema, table: Table) -> None:
        self._sink = pa.BufferOutputStream()
        by = pq.SortingColumn.from_ordering(schema, _KEYS)
        self._writer = pq.ParquetWriter(self._sink, schema, compression="zstd", sorting_columns=by)
        self._table = table
        self._rows = self._failed = 0

    @property
    def size(self) -> int:
        """Its bytes so far."""
        bytes_: int = self._sink.tell()
        return bytes_

    def add(self, rows: pa.Table) -> None:
        """Rows that come after those before."""
        self._rows += len(rows)
        if self._table is RUNS:
            self._failed += pc.sum(pc.equal(rows["status"], "failed")).as_py() or 0
        self._writer.write_table(rows, row_group_size=ROWS)

    def content(self) -> _Content:
        """All of it."""
        self._writer.close()
        return _Content(self._rows, self._failed, self._sink.getvalue())


def _divided(rows: pa.Table, firsts: Sequence[Run]) -> Iterator[pa.Table]:
    """Sorted rows, parted where ranges begin."""
    begin = 0
    for end in (*(_below(rows, *first) for first in firsts[1:]), len(rows)):
        yield rows.slice(begin, end - begin)
        begin = end


def _below(rows: pa.Table, cell: int, seed: int) -> int:
    """How many rows come before a run."""
    same = pc.and_(pc.equal(rows["cell"], cell), pc.less(rows["seed"], seed))
    return pc.sum(pc.or_(pc.less(rows["cell"], cell), same)).as_py() or 0


class _Range:
    """The rows of neighbouring runs, in no order; in memory, or in a file of Arrow."""

    def __init__(self, schema: pa.Schema, path: Path | None) -> None:
        self._schema, self._path = schema, path
        self._held: list[pa.Table] = []
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._file = None if path is None else pa.ipc.new_stream(str(path), schema, options=options)

    def add(self, rows: pa.Table) -> None:
        """More of them."""
        if self._file is None:
            self._held.append(rows)
        elif len(rows):
            self._file.write_table(rows)

    def rows(self) -> pa.Table:
        """All of them; they are let go of."""
        self.close()
        if self._path is not None:
            with pa.OSFile(str(self._path)) as file, pa.ipc.open_stream(file) as stream:
                found = stream.read_all()
            self._path.unlink()
            return found
        held, self._held = self._held, []
        return pa.concat_tables([self._schema.empty_table(), *held])

    def close(self) -> None:
        """Write no more."""
        if self._file is not None:
            self._file.close()
            self._file = None
