"""The directory of a sweep: the experiment, its tables in parts, and what was made of them.

    DIR/experiment.json                 the experiment, the hash of the code, the version of the tables
    DIR/tables/<table>/part-*.parquet   the rows of some runs
    DIR/results/, DIR/report.html       the analysis and the page

A chunk of runs has one part of each table, all with the same number. The part of `runs` is written last: the chunk is
finished when it is there. Parts without it are what an interrupted sweep left, and go before the next one begins. Which
runs share a part, and in which order parts were written, depends on the machine; so tables are sorted when they are
read, and what is read depends on the experiment and the code alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import attrs

from groupsim.pipeline import experiment as experiments
from groupsim.pipeline.schemas import RUNS, TABLES, TABLES_VERSION, TRACES, arrow_schema
from groupsim.pipeline.sweep import files
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.parts import damaged, read_part
from groupsim.scenarios import canonical
from groupsim.scenarios.problems import ScenarioError

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.experiment import Experiment

EXPERIMENT = "experiment.json"
_PART = re.compile(r"part-(\d+)\.parquet")


@attrs.frozen
class Contents:
    """What a directory holds: the experiment, and what its rows depend on besides."""

    experiment: Experiment
    code: str
    traces: bool = False

    def text(self) -> str:
        """As the file `experiment.json`."""
        head = json.dumps({"tables": TABLES_VERSION, "code": self.code, "traces": self.traces})
        return f'{head[:-1]}, "experiment":\n{experiments.to_json(self.experiment).rstrip()}}}\n'

    @classmethod
    def of(cls, text: str) -> Contents:
        """From the file. Raises ScenarioError, ValueError or LookupError for a file that is none."""
        document = canonical.parse(text)
        if document["tables"] != TABLES_VERSION:
            raise ValueError(f"version {document['tables']} of the tables, this is version {TABLES_VERSION}")
        experiment = experiments.from_json(canonical.dump(document["experiment"]))
        return cls(experiment, document["code"], document["traces"])


class Directory:
    """A sweep's directory: `Directory.open` is for reading, `Directory.prepare` for a sweep, and locks it."""

    def __init__(self, path: Path, contents: Contents, unlock: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self.contents = contents
        self._unlock = unlock

    @classmethod
    def open(cls, path: Path | str) -> Directory:
        """An existing directory, to read. Raises SweepError when it is none of a sweep."""
        path = Path(path)
        file = path / EXPERIMENT
        if not file.is_file():
            what = "there is no such directory" if not path.exists() else "this is no directory of a sweep"
            raise SweepError(
                f"{path}: {what}", "name the directory that `groupsim sweep … --out DIR` wrote", bad_input=True
            )
        return cls(path, _read(file))

    @classmethod
    def prepare(cls, path: Path | str, wanted: Contents) -> Directory:
        """A directory to sweep into: a new one, or one of the same experiment, with what an interruption left cleaned.

        Seeds that an earlier sweep began stay part of the experiment. Raises SweepError when the directory belongs to
        something else, and when another sweep is writing there.
        """
        path = Path(path)
        _refuse_foreign(path)
        path.mkdir(parents=True, exist_ok=True)
        unlock = files.lock(path)
        try:
            directory = cls(path, wanted, unlock)
            directory._go_on()
            files.write_whole(path / EXPERIMENT, lambda file: file.write(directory.contents.text().encode()))
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
        """The experiment, with all seeds that were ever asked for here."""
        return self.contents.experiment

    @property
    def results(self) -> Path:
        """Where the analysis writes."""
        return self.path / "results"

    @property
    def report(self) -> Path:
        """Where the page lies."""
        return self.path / "report.html"

    @property
    def finished(self) -> set[tuple[int, int]]:
        """The runs that need not run again, as (cell, seed)."""
        runs = self._read(RUNS.name, columns=["cell", "seed"])
        return set(zip(runs["cell"].to_pylist(), runs["seed"].to_pylist(), strict=True))

    @property
    def failed(self) -> int:
        """How many runs failed."""
        statuses: list[str] = self._read(RUNS.name, columns=["status"])["status"].to_pylist()
        return statuses.count("failed")

    def tables(self, name: str) -> pa.Table:
        """One table, whole: sorted by cell and seed, within a run in the order in which the run made the rows.

        Raises SweepError for parts that are damaged, lack columns, or are gone.
        """
        return self._read(name).sort_by([("cell", "ascending"), ("seed", "ascending")])  # a stable sort

    def parts(self, name: str) -> list[Path]:
        """The files of one table, for those who read them their own way (Spark); rows are not in order there.

        Raises SweepError when a finished chunk lacks its part: without its rows all would look well, and be wrong.
        """
        if name == TRACES.name and not self.contents.traces:
            return []
        found = [self._part(name, number) for number in self._numbers()]
        for path in found:
            if not path.is_file():
                raise damaged(path, "it is not there")
        return found

    def write(self, tables: Mapping[str, pa.Table]) -> None:
        """Write one chunk: `runs` last. Raises SweepError when the disk is full; the chunk is then as if never run."""
        import pyarrow.parquet as pq

        number = max(self._numbers(), default=0) + 1
        names = [name for name in tables if name != RUNS.name and (name != TRACES.name or self.contents.traces)]
        written: list[Path] = []
        try:
            for name in [*names, RUNS.name]:
                path = self._part(name, number)
                path.parent.mkdir(parents=True, exist_ok=True)
                written.append(path)
                files.write_whole(path, partial(pq.write_table, tables[name], compression="zstd"))
        except BaseException:
            for path in reversed(written):
                path.unlink(missing_ok=True)
            raise

    def _read(self, name: str, columns: list[str] | None = None) -> pa.Table:
        import pyarrow as pa

        schema = arrow_schema(TABLES[name])
        if columns is not None:
            schema = pa.schema([schema.field(column) for column in columns])
        return pa.concat_tables([schema.empty_table(), *(read_part(path, schema) for path in self.parts(name))])

    def _part(self, name: str, number: int) -> Path:
        return self.path / "tables" / name / f"part-{number:05d}.parquet"

    def _numbers(self) -> list[int]:
        """The finished chunks."""
        found = (_PART.fullmatch(path.name) for path in (self.path / "tables" / RUNS.name).glob("part-*"))
        return sorted(int(match[1]) for match in found if match)

    def _go_on(self) -> None:
        """Take up what another sweep left here, if any did."""
        file = self.path / EXPERIMENT
        if not file.is_file():
            return
        _check_same(self.path, _read(file), self.contents)
        self._clean()
        begun = {seed for _, seed in self.finished}
        seeds = tuple(sorted(begun.union(self.experiment.seeds)))
        self.contents = attrs.evolve(self.contents, experiment=attrs.evolve(self.experiment, seeds=seeds))

    def _clean(self) -> None:
        """Remove what an interrupted sweep left: temporary files, and parts of chunks that are not finished."""
        finished = set(self._numbers())
        for path in (self.path / "tables").glob("*/part-*.parquet"):
            match = _PART.fullmatch(path.name)
            if match and int(match[1]) not in finished:
                path.unlink()
        for path in [*self.path.glob(f".*{files.TEMPORARY}"), *self.path.glob(f"tables/*/.*{files.TEMPORARY}")]:
            path.unlink()


def _read(file: Path) -> Contents:
    try:
        return Contents.of(file.read_text("utf-8"))
    except (ScenarioError, ValueError, LookupError, TypeError) as error:
        raise SweepError(
            f"{file}: cannot be read: {error}",
            "it was written by another version of groupsim, or damaged; sweep into a new directory",
            bad_input=True,
        ) from error


def _refuse_foreign(path: Path) -> None:
    """Nothing is written among files of somebody else."""
    if path.exists() and not path.is_dir():
        raise SweepError(f"{path}: this is a file", "name a directory with --out", bad_input=True)
    if not path.exists() or (path / EXPERIMENT).is_file():
        return
    foreign = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
    if foreign:
        raise SweepError(
            f"{path}: not empty, and no directory of a sweep (there is {foreign[0]!r})",
            "name a new or an empty directory with --out",
            bad_input=True,
        )


def _check_same(path: Path, present: Contents, wanted: Contents) -> None:
    """Rows of both must fit into one table: the same cells, the same code. Title, goals and seeds may change."""
    if present.experiment.digest != wanted.experiment.digest:
        raise SweepError(
            f"{path}: holds another experiment ({present.experiment.title!r}): {_difference(present, wanted)}",
            "name another directory with --out, or remove this one",
            bad_input=True,
        )
    if present.code != wanted.code:
        raise SweepError(
            f"{path}: was begun with other code (hash {present.code[:12]}, now {wanted.code[:12]})",
            "go on with the version of groupsim and of the assignors that began it, or sweep into another directory",
            bad_input=True,
        )
    if present.traces != wanted.traces:
        began, remedy = ("with", "add --traces") if present.traces else ("without", "leave --traces out")
        raise SweepError(
            f"{path}: was begun {began} full traces", f"{remedy}, or sweep into another directory", bad_input=True
        )


def _difference(present: Contents, wanted: Contents) -> str:
    there, here = present.experiment.cells, wanted.experiment.cells
    if len(there) != len(here):
        return f"{len(there)} cells there, {len(here)} here"
    for theirs, ours in zip(there, here, strict=True):
        if (theirs.title, theirs.digest) != (ours.title, ours.digest):
            return f"cell {ours.number} ({ours.title}) is not the same"
    return "its axes have other names"
