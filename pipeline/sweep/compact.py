"""Few large files instead of many small ones: the tables of a sweep written again, by cells.

A sweep writes a file per table and task, in the order in which it simulates: seed by seed over all cells. Compacted, a
file has some neighbouring cells with all their seeds (of a cell that is too large for one file, some of its seeds),
sorted by cell and seed, and its row groups are small: a query about a cell reads its groups and skips the rest.
There are no folders `cell=…`, which would be one small file each for thousands of cells.

The files to merge are cut into jobs of at most `JOB` bytes, which workers do in parallel (`merging`). Files that are
large enough stay as they are, so the work grows with the new ones. It may be interrupted at any time.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from groupsim.pipeline.sweep import chunks
from groupsim.pipeline.sweep.chunks import CHUNKS, SUFFIX, Chunk
from groupsim.pipeline.sweep.directory import Directory
from groupsim.pipeline.sweep.merging import Job, held, merge
from groupsim.pipeline.sweep.parts import table_file
from groupsim.pipeline.tables.schemas import TABLES
from groupsim.protocol.values import frozen

TARGET = 128 << 20
JOB = 4 * TARGET  # of the largest table in the chunks that one worker merges
SMALL = 4  # a chunk below this part of the target is merged with others
GATHERED = 2_000  # chunks, after which a sweep that goes on has them merged
WORTH = 16  # chunks: a sweep does not trouble itself for fewer
FIRST = "0000"  # the prefix of compacted chunks: they sort before all others
_LAST = 999_999


@frozen
class Compacted:
    """How many files of tables there were, and how many there are; equal when there was nothing to do."""

    before: int
    after: int


def compact(where: Path | str, conf: Mapping[str, str] | None = None, target: int = TARGET) -> Compacted:
    """Write the tables of a directory again in files of about `target` bytes of its largest table, in this process.

    A local directory is locked meanwhile. Raises SweepError when it is none of a sweep, another sweep writes there, a
    file is damaged or there is no room; then the old chunks count.
    """
    contents = Directory.open(where, conf).contents
    with Directory.prepare(where, contents, conf) as directory:
        before = _files(directory)
        todo = jobs(directory.manifest.chunks, target)
        merge_all(directory, todo)
        return Compacted(before, _files(directory))


def merge_all(
    directory: Directory, todo: Sequence[Job], perform: Callable[[Iterable[Job]], object] | None = None
) -> None:
    """Run jobs, here or by `perform`, and write the resulting chunks into one manifest."""

    def here(some: Iterable[Job]) -> None:
        for job in some:
            merge(directory.place, job)

    (perform or here)(todo)
    if todo or directory.manifest.repeated:
        tidy(directory)


def jobs(there: Iterable[Chunk], target: int = TARGET, worth: int = 2) -> list[Job]:
    """What to merge of the chunks that count: nothing when fewer than `worth` of them are small."""
    there = list(there)
    small = [chunk for chunk in there if size(chunk) < target // SMALL]
    if len(small) < worth:
        return []
    name = name_before(there)
    batches = (batch for batch in _batches(small, JOB * target // TARGET) if len(batch) > 1)
    return [Job(f"{name}-{number:04d}", tuple(batch), target) for number, batch in enumerate(batches)]


def size(chunk: Chunk) -> int:
    """What its largest table has."""
    return max(map(held, chunk.files), default=0)


def _batches(small: Iterable[Chunk], most: int) -> Iterator[list[Chunk]]:
    """Chunks, one after the other, until one table has so many bytes in them."""
    batch: list[Chunk] = []
    sums = dict.fromkeys(TABLES, 0)
    for chunk in small:
        batch.append(chunk)
        for file in chunk.files:
            sums[file.table] += held(file)
        if max(sums.values()) >= most:
            yield batch
            batch, sums = [], dict.fromkeys(TABLES, 0)
    yield batch


def name_before(there: Iterable[Chunk]) -> str:
    """A name before those of all chunks, also of those that were compacted earlier, and unlike that of any other
    compaction that is under way: object stores have no locks.
    """
    heads = [chunk.chunk.split("-") for chunk in there]
    earlier = [int(parts[1]) for parts in heads if parts[0] == FIRST and parts[1].isdigit()]
    token = zlib.crc32(f"{time.time_ns()} {id(heads)}".encode()) & 0xFFFFFF
    return f"{FIRST}-{min(earlier, default=_LAST + 1) - 1:06d}-{token:06x}"


def tidy(directory: Directory) -> None:
    """Put the rows that count into one manifest, and remove the others with their files."""
    place = directory.place
    old = chunks.names(place)  # first: chunks that another sweep adds from now on must stay
    directory.refresh()
    manifest = directory.manifest
    name = f"{name_before(manifest.chunks)}-all"
    chunks.write_all(place, name, manifest.chunks)
    place.remove(f"{CHUNKS}/{file}{SUFFIX}" for file in old)
    named = {file for chunk in manifest.chunks for file in chunk.files}
    place.remove(table_file(file) for chunk in manifest.repeated for file in chunk.files if file not in named)
    directory.refresh()


def _files(directory: Directory) -> int:
    return sum(len(chunk.files) for chunk in directory.manifest.chunks)
