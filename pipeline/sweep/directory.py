"""The directory of a sweep: the experiment, its tables in parts, manifests of the parts that count, and the results.

    DIR/experiment.json                 the experiment, the hash of the code, the version of the tables
    DIR/chunks/<chunk>.json             manifests: which runs are finished, and which files hold their rows (`chunks`)
    DIR/tables/<table>/part-*.parquet   the rows of some runs
    DIR/tables/cells/cells.parquet      the settings behind the numbers of the cells
    DIR/results/, DIR/report.html       the analysis and the page

The directory is a `Place`: a local folder, or a URL. Which runs share a part, and in which order parts were written,
depends on the machine; so tables are sorted when they are read, and what is read depends on the experiment and the code
alone.
"""

from __future__ import annotations

import json
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs

from groupsim.pipeline.experiment import cell_rows
from groupsim.pipeline.sweep import chunks, files
from groupsim.pipeline.sweep.chunks import Chunk, Cost, File, Finished, Manifest, Run
from groupsim.pipeline.sweep.contents import EXPERIMENT, Contents, check_same
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.parts import damaged, read_part, table_file, write_tables
from groupsim.pipeline.sweep.place import Place
from groupsim.pipeline.tables.schemas import TABLES, arrow_schema
from groupsim.protocol.html_table import html_table, paragraph

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.experiment import Experiment

__all__ = ["EXPERIMENT", "Contents", "Directory"]
RESULTS, REPORT = "results", "report.html"
ANSWER = f"{RESULTS}/answer.json"


class Directory:
    """A sweep's directory: `Directory.open` is for reading, `Directory.prepare` for a sweep, and locks a local one."""

    def __init__(self, place: Place, contents: Contents, unlock: Callable[[], None] = lambda: None) -> None:
        self.place = place
        self.contents = contents
        self._unlock = unlock
        self._manifest: Manifest | None = None
        self._written = 0

    @classmethod
    def open(cls, where: Path | str, conf: Mapping[str, str] | None = None) -> Directory:
        """An existing directory, to read; `conf` are Spark's settings of file systems.

        Raises SweepError when it is none of a sweep.
        """
        place = Place.at(where, conf)
        try:
            text = place.read(EXPERIMENT)
        except (FileNotFoundError, NotADirectoryError):
            there = place.local is not None and place.local.exists()
            what = "this is no directory of a sweep" if there or place.local is None else "there is no such directory"
            raise SweepError(
                f"{place.url}: {what}", "name the directory that `groupsim sweep … --out DIR` wrote", bad_input=True
            ) from None
        return cls(place, Contents.read(place, text))

    @classmethod
    def prepare(
        cls, where: Path | str, wanted: Contents, conf: Mapping[str, str] | None = None, *, alone: bool = True
    ) -> Directory:
        """A directory to sweep into: a new one, or one of the same experiment.

        Seeds that an earlier sweep began stay part of the experiment. `alone` keeps other sweeps out of a local one and
        removes what interrupted ones left. Raises SweepError when the directory belongs to something else, and when
        another sweep is writing there.
        """
        place = Place.at(where, conf)
        _refuse_foreign(place)
        unlock = _locked(place) if alone else lambda: None
        try:
            directory = cls(place, wanted, unlock)
            directory._go_on(alone)
            text = directory.contents.text().encode()
            changed = not place.is_file(EXPERIMENT) or place.read(EXPERIMENT) != text
            if changed:
                place.write(EXPERIMENT, text)
            if changed or not place.is_file(cell_rows.FILE):
                place.write_table(cell_rows.FILE, cell_rows.cells_of(directory.experiment))
            elif place.local is None:  # its rights may be others than when it was begun
                place.try_writing("driver")
        except BaseException:
            unlock()
            raise
        return directory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let other sweeps in again."""
        self._unlock()

    @property
    def experiment(self) -> Experiment:
        """Return the experiment, with all seeds that were ever requested here."""
        return self.contents.experiment

    @property
    def path(self) -> Path:
        """A local directory's folder; a `SweepError` for one behind a URL."""
        if self.place.local is None:
            raise SweepError(f"{self.place.url}: not on this machine", "copy it here first", bad_input=True)
        return self.place.local

    @property
    def results(self) -> Path:
        """Where the analysis writes, in a local directory."""
        return self.path / RESULTS

    @property
    def report(self) -> Path:
        """Where the page lies, in a local directory."""
        return self.path / REPORT

    def _repr_html_(self) -> str:
        """What a notebook shows: the question, how far the sweep is, the last answer, a row for each cell."""
        experiment = self.experiment
        done = Counter(cell for cell, _ in self.finished)
        runs = f"{len(self.finished):,} of {experiment.runs:,} runs are there, {self.failed:,} failed"
        size = f"{len(experiment.cells):,} cells, {len(experiment.seeds):,} seeds each"
        sentence = self._answered() or "groupsim.analyse(directory) compares the cells"
        axes = [axis.name for axis in experiment.axes]
        rows = ([*(cell.labels[axis] for axis in axes), done[cell.number]] for cell in experiment.cells)
        texts = (experiment.question, f"{size}; {runs}", sentence)
        lines = "".join(paragraph(text) for text in texts if text)
        table = html_table([*axes, "runs"], rows, len(experiment.cells), "cells")
        return paragraph(experiment.title, bold=True) + lines + table

    def _answered(self) -> str:
        """The sentence of the last analysis; empty where there was none."""
        try:
            return str(json.loads(self.place.read(ANSWER))["sentence"])
        except (OSError, ValueError, KeyError):
            return ""

    # --- finished runs ---------------------------------------------------------------------------------------------

    @property
    def manifest(self) -> Manifest:
        """The chunks that count, as of the first use, or of the last `refresh`."""
        if self._manifest is None:
            self._manifest = chunks.read(self.place)
        return self._manifest

    def refresh(self) -> None:
        """Read the finished runs again at the next use."""
        self._manifest = None

    @property
    def finished(self) -> Finished:
        """The runs that need not run again: a collection of (cell, seed)."""
        return self.manifest.finished

    @property
    def failed(self) -> int:
        """How many runs failed."""
        return sum(chunk.failed for chunk in self.manifest.chunks)

    @property
    def costs(self) -> list[Cost]:
        """What finished runs have cost."""
        return [cost for chunk in self.manifest.chunks for cost in chunk.costs]

    @property
    def changed_ns(self) -> int:
        """When the experiment or the runs that are finished last changed."""
        there = [EXPERIMENT, *(f"{chunks.CHUNKS}/{name}{chunks.SUFFIX}" for name in chunks.names(self.place))]
        return max((self.place.modified_ns(name) or 0 for name in there), default=0)

    def count(self, name: str) -> int:
        """How many rows a table has."""
        return sum(file.rows for file in self.files(name))

    # --- reading ------------------------------------------------------------------------------------------------------

    def tables(self, name: str, columns: Sequence[str] | None = None, runs: Collection[Run] | None = None) -> pa.Table:
        """One table, or some of its columns: sorted by cell and seed, within a run in the order it made the rows.

        With `runs` only the rows of these, of which only the chunks that have them are read. Raises SweepError for
        parts that are damaged, lack columns, or are gone.
        """
        keyed = columns and list(dict.fromkeys([*columns, "cell", "seed"]))
        found = self.read(name, keyed, runs).sort_by([("cell", "ascending"), ("seed", "ascending")])  # a stable sort
        return found.select(list(columns)) if columns else found

    def read(self, name: str, columns: Sequence[str] | None = None, runs: Collection[Run] | None = None) -> pa.Table:
        """As `tables`, in no order."""
        import pyarrow as pa

        schema = arrow_schema(TABLES[name])
        if columns is not None:
            schema = pa.schema([schema.field(column) for column in columns])
        wanted = None if runs is None else _expression(runs)
        having = None if runs is None else _having(self.manifest.chunks, runs)
        parts = [
            read_part(self.place, table_file(file), schema, wanted, file.rows)
            for file in self.files(name)
            if having is None or file.file in having
        ]
        return pa.concat_tables([schema.empty_table(), *parts])

    def parts(self, name: str) -> list[Path | str]:
        """The files of one table: paths here, or URLs as Spark names them; rows are not in order there.

        Raises SweepError when one is gone: without its rows all would look well, and be wrong.
        """
        names = [table_file(file) for file in self.files(name)]
        if self.place.local is None:
            return [self.place.spark(one) for one in names]
        for one in names:
            if not (self.place.local / one).is_file():
                raise damaged(self.place, one, "it is not there")
        return [self.place.local / one for one in names]

    def files(self, name: str) -> list[File]:
        """The files of one table as the manifests have them."""
        return [file for chunk in self.manifest.chunks if (file := chunk.file(name)) is not None]

    # --- writing ------------------------------------------------------------------------------------------------------

    def next_name(self) -> str:
        """A name for the chunks of a sweep that begins now, unlike that of any other: a number and a few letters."""
        numbers = [int(head) for name in chunks.names(self.place) if (head := name.split("-")[0]).isdigit()]
        token = zlib.crc32(f"{time.time_ns()} {id(self)}".encode()) & 0xFFFFFF
        return f"{max(numbers, default=0) + 1:04d}-{token:06x}"

    def write(self, tables: Mapping[str, pa.Table], costs: Iterable[Cost] = (), name: str = "") -> Chunk:
        """Write one chunk from here: its tables, then its row. Raises SweepError; the chunk is then as if never run."""
        if not name:
            self._written += 1
            name = f"{self.next_name()}-{self._written:06d}"
        chunk = write_tables(self.place, name, tables, costs, self.contents.traces, "driver")
        chunks.write(self.place, chunk)
        self.refresh()
        return chunk

    def _go_on(self, alone: bool) -> None:
        """Add the runs that another sweep left here, if any."""
        try:
            present = Contents.read(self.place, self.place.read(EXPERIMENT))
        except FileNotFoundError:
            return
        check_same(self.place, present, self.contents)
        if alone and self.place.local is not None:
            self._clean(self.place.local)
        begun = set(self.finished.cells)
        if not alone:
            begun |= set(present.experiment.seeds)
        seeds = tuple(sorted(begun.union(self.experiment.seeds)))
        self.contents = attrs.evolve(self.contents, experiment=attrs.evolve(self.experiment, seeds=seeds))

    def _clean(self, home: Path) -> None:
        """Remove the remains of interrupted sweeps: temporary files, parts in no manifest, rows that do not count."""
        self.place.remove(f"{chunks.CHUNKS}/{one.chunk}{chunks.SUFFIX}" for one in self.manifest.repeated)
        named = {file.file for chunk in self.manifest.chunks for file in chunk.files}
        for path in home.glob("tables/*/part-*.parquet"):
            if path.name not in named:
                path.unlink()
        for pattern in (f".*{files.TEMPORARY}", f"*/.*{files.TEMPORARY}", f"tables/*/.*{files.TEMPORARY}"):
            for path in home.glob(pattern):
                path.unlink()


def _expression(runs: Collection[Run]) -> Any:
    """The runs as a filter of Arrow's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.scalar(False)
    by_cell: dict[int, list[int]] = {}
    for cell, seed in runs:
        by_cell.setdefault(cell, []).append(seed)
    for cell, seeds in by_cell.items():
        found = found | ((pc.field("cell") == cell) & pc.field("seed").isin(pa.array(seeds, pa.int64())))
    return found


def _having(rows: Iterable[Chunk], runs: Collection[Run]) -> set[str]:
    """The files of the chunks that have one of these runs."""

    def has(chunk: Chunk) -> bool:
        return any(
            span.first_cell <= cell <= span.last_cell and span.first_seed <= seed <= span.last_seed
            for span in chunk.runs
            for cell, seed in runs
        )

    return {file.file for chunk in rows if has(chunk) for file in chunk.files}


def _locked(place: Place) -> Callable[[], None]:
    """Keep other sweeps out. Object stores have no locks: two sweeps there do some runs twice, and count them once."""
    if place.local is None:
        return lambda: None
    try:
        place.local.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SweepError(f"{place.url}: {error.strerror or error}", "name another directory", bad_input=True) from error
    return files.lock(place.local)


def _refuse_foreign(place: Place) -> None:
    """Refuse a folder that holds files of another program."""
    if place.local is not None and place.local.exists() and not place.local.is_dir():
        raise SweepError(f"{place.url}: this is a file", "name a directory with --out", bad_input=True)
    present = place.names()
    if present and EXPERIMENT not in present:
        raise SweepError(
            f"{place.url}: not empty, and no directory of a sweep (there is {present[0]!r})",
            "name a new or an empty directory with --out",
            bad_input=True,
        )
