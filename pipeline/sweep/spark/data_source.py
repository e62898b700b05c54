"""The data source `groupsim`: an experiment's runs as a DataFrame, and a DataFrame of runs as a sweep's directory.

    from groupsim.pipeline.sweep import register
    register(spark)
    runs = spark.read.format("groupsim").option("experiment", "rolling-deploy-small").option("seeds", 100).load()
    runs.where("cell != 3").write.format("groupsim").mode("append").save("s3a://bucket/results")

Reading makes rows (cell, seed) and simulates nothing. Writing simulates each row of a DataFrame with these two columns,
from any SQL; runs that the directory has already are skipped. All that a write has made counts when
it ends, and nothing of it when it fails. The experiment travels with the DataFrame, in the metadata of the column
`cell`; where a DataFrame has lost it (`option("experiment", …)` on the write) it is to be named again.

Options. Reading: `experiment` (a file or a name of the library), `seeds`. Writing: `experiment`, `traces`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from groupsim.pipeline.sweep import chunks, work
from groupsim.pipeline.sweep.chunks import Chunk, Run
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groupsim.pipeline.experiment import Experiment

NAME = "groupsim"
METADATA = "groupsim.experiment"  # of the column `cell`
RUNS_AT_A_TIME = 100  # whose rows are one chunk
RUNS_PER_PARTITION = 64


def register(spark: Any) -> None:
    """Let a session know the data source; a cluster's workers, and a Connect server's, are sent our code."""
    from tempfile import TemporaryDirectory

    from groupsim.pipeline.sweep.spark.bundle import bundle

    context = getattr(spark, "_sc", None)
    if context is None or not context.master.startswith("local"):
        with TemporaryDirectory(prefix="groupsim-zip-") as folder:
            spark.addArtifacts(str(bundle().write(Path(folder))), pyfile=True)
    spark.dataSource.register(GroupsimSource)


class GroupsimSource(DataSource):  # type: ignore[misc]
    """See the module."""

    @classmethod
    def name(cls) -> str:
        """What `format` calls it."""
        return NAME

    def schema(self) -> StructType:
        """The runs; the experiment is the metadata of `cell`."""
        from groupsim.pipeline import experiment as experiments

        about = {METADATA: experiments.to_json(self._experiment())}
        return StructType([StructField("cell", IntegerType(), False, about), StructField("seed", LongType(), False)])

    def reader(self, schema: StructType) -> DataSourceReader:
        """Of the runs in the order in which a sweep goes."""
        found = self._experiment()
        return _Reader([cell.number for cell in found.cells], found.seeds)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Of the directory that `save` names."""
        if overwrite:
            raise SweepError("a sweep's directory is never overwritten", 'mode("append")', bad_input=True)
        names = schema.fieldNames()
        missing = [name for name in ("cell", "seed") if name not in names]
        if missing:
            raise SweepError(f"the DataFrame has no column {' and '.join(missing)}", bad_input=True)
        return _prepared(self._written(schema), self.options, names)

    def _experiment(self) -> Experiment:
        from groupsim.pipeline.experiment import load_experiment

        named = self.options.get("experiment") or self.options.get("path")
        if not named:
            raise SweepError("no experiment is named", 'option("experiment", "rolling-deploy-small")', bad_input=True)
        seeds = self.options.get("seeds")
        return load_experiment(named, None if seeds is None else int(seeds))

    def _written(self, schema: StructType) -> Experiment:
        from groupsim.pipeline import experiment as experiments

        text = next((one.metadata[METADATA] for one in schema.fields if METADATA in (one.metadata or {})), None)
        if self.options.get("experiment") is None and text is not None:
            found: Experiment = experiments.from_json(text)
            return found
        if self.options.get("experiment") is None:
            raise SweepError(
                "the DataFrame no longer says which experiment its runs are of",
                'name it on the write, too: .option("experiment", …)',
                bad_input=True,
            )
        return self._experiment()


@frozen
class _Runs(InputPartition):  # type: ignore[misc]
    """Some runs by their places in the order of the sweep."""

    begin: int
    end: int


class _Reader(DataSourceReader):  # type: ignore[misc]
    """Makes the rows of partitions; it knows cells and seeds, and no documents."""

    def __init__(self, cells: Sequence[int], seeds: Sequence[int]) -> None:
        self._cells, self._seeds = cells, seeds

    def partitions(self) -> Sequence[InputPartition]:
        """So many runs each."""
        count = len(self._cells) * len(self._seeds)
        return [_Runs(at, min(count, at + RUNS_PER_PARTITION)) for at in range(0, count, RUNS_PER_PARTITION)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """One batch."""
        import pyarrow as pa

        places = [divmod(at, len(self._cells)) for at in range(partition.begin, partition.end)]
        cells = pa.array([self._cells[cell] for _, cell in places], pa.int32())
        seeds = pa.array([self._seeds[seed] for seed, _ in places], pa.int64())
        schema = pa.schema([pa.field("cell", pa.int32(), False), pa.field("seed", pa.int64(), False)])
        yield pa.RecordBatch.from_arrays([cells, seeds], schema=schema)


def _prepared(experiment: Experiment, options: Any, names: Sequence[str]) -> _Writer:
    """The writer, with the directory made."""
    from groupsim.pipeline.sweep.directory import Contents, Directory
    from groupsim.pipeline.sweep.driver import code_of

    hashed = code_of(experiment)
    traces = str(options.get("traces", "false")).lower() == "true"
    where = options.get("path") or ""
    with Directory.prepare(where, Contents(experiment, hashed, traces), alone=False) as directory:
        cells = {cell.number: work.packed_cell(experiment, cell) for cell in experiment.cells}
        packed = work.package(cells, hashed, traces, directory.next_name(), directory.place)
        return _Writer(packed, names, directory.finished)


@frozen
class _Written(WriterCommitMessage):  # type: ignore[misc]
    """What one task of a write has made: rows of the manifest."""

    chunks: tuple[Chunk, ...]


@frozen
class _Writer(DataSourceArrowWriter):  # type: ignore[misc]
    """Simulates rows and writes their tables; the driver writes one manifest for all of them at the end."""

    packed: work.Package
    names: Sequence[str]
    finished: chunks.Finished = field(repr=False)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """On an executor: the rows of one task."""
        from pyspark import TaskContext

        context = TaskContext.get()
        first = 1000 * (context.partitionId() if context else 0)
        runs = self._lacking(iterator)
        made: list[Chunk] = []
        while some := list(islice(runs, RUNS_AT_A_TIME)):
            made.append(work.perform(self.packed, first + len(made), some, commit=False).chunk)
        return _Written(tuple(made))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """On the driver: from now on all of it counts."""
        place = self.packed["place"]
        made = [chunk for message in messages if message is not None for chunk in message.chunks]
        if made and place is not None:
            chunks.write_all(place, self.packed["name"], made)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Nothing counts; files without a manifest go when the next sweep begins."""

    def _lacking(self, batches: Iterator[Any]) -> Iterator[Run]:
        cell_at, seed_at = self.names.index("cell"), self.names.index("seed")
        seen: set[Run] = set()
        for batch in batches:
            cells, seeds = batch.column(cell_at).to_pylist(), batch.column(seed_at).to_pylist()
            for run in zip(cells, seeds, strict=True):
                if run[0] not in self.packed["cells"]:
                    raise SweepError(f"the experiment has no cell {run[0]}", bad_input=True)
                if run not in seen and run not in self.finished:
                    seen.add(run)
                    yield run


__all__ = ["GroupsimSource", "register"]
