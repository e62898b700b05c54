"""A sweep from the driver's side: missing runs are planned, run by an engine, and counted as they are written.

Workers write the tables and the rows of the manifest; the driver sends tasks and reads their costs. It writes
tables only for executors that do not share the sweep's storage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from groupsim.pipeline.experiment import Experiment
from groupsim.pipeline.sweep import assignors, chunks, work
from groupsim.pipeline.sweep import compact as compacting
from groupsim.pipeline.sweep.chunks import Chunk
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.sweep.engine_choice import EngineChoice, choose
from groupsim.pipeline.sweep.engines import AUTO, POOL, SPARK, Done, Engine, EngineOptions, Merging, cores
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.merging import Job
from groupsim.pipeline.sweep.plan import Plan, Task, Wave
from groupsim.pipeline.sweep.spark.bundle import Bundle, bundle, code
from groupsim.pipeline.sweep.ticking import ticking
from groupsim.protocol.values import frozen

FOLD = 500  # rows of the manifest that are put into one file


@frozen
class Progress:
    """How far a sweep is. `seconds_left` is an estimate, and nothing before there is one."""

    finished: int
    total: int
    failed: int
    seconds_left: float | None
    doing: str = "simulating"


@frozen
class Outcome:
    """What a sweep has done: runs in the directory, of these performed now, and those that failed.

    `result` is the result of its `then`.
    """

    directory: Directory
    total: int
    performed: int
    failed: int
    engine: str
    workers: int
    seconds: float
    result: Any = None

    def _repr_html_(self) -> str:
        """What a notebook shows: the sweep's directory."""
        return self.directory._repr_html_()


Watch = Callable[[Progress], object]
Then = Callable[[Directory, Any], Any]


def sweep(
    experiment: Experiment,
    where: Path | str,
    options: EngineOptions | None = None,
    *,
    traces: bool = False,
    watch: Watch = lambda progress: None,
    note: Callable[[str], object] = lambda sentence: None,
    then: Then = lambda directory, engine: None,
) -> Outcome:
    """Run the missing runs of an experiment in the directory at a path or URL. Returns when all are done.

    `watch` is called with every task that has ended, and every few seconds in which none has; `note` with sentences on
    the engine that was taken. `then` is called with the directory once all is there, and with the engine on Spark,
    still up, if that simulated. Raises SweepError; whatever ends it, finished chunks stay, and the same call goes on
    from there.
    """
    options = options or EngineOptions()
    name, begun = options.chosen(), time.monotonic()
    shipped = bundle_of(experiment)
    with Directory.prepare(where, Contents(experiment, shipped.code, traces), options.conf) as directory:
        at_work = _Sweep(directory, shipped, options, watch, note)
        lacking = at_work.lacking
        if lacking:
            name, result = at_work.perform(name, then)
        else:
            at_work.compact(None)
            result = then(directory, None)
            name = POOL if name == AUTO else name
        return Outcome(
            directory,
            directory.experiment.runs,
            lacking,
            directory.failed,
            name,
            at_work.workers,
            time.monotonic() - begun,
            result,
        )


def complete(directory: Directory, engine: Engine, hashed: str, watch: Watch = lambda progress: None) -> None:
    """Run the missing runs of a directory on an engine that is up. `hashed` is its code's hash, for the rows."""
    at_work = _Sweep(directory, Bundle(b"", "", hashed), EngineOptions(), watch, lambda sentence: None)
    at_work.complete(engine)


def bundle_of(experiment: Experiment) -> Bundle:
    """The zip for an experiment, with the modules of its own assignors. Raises SweepError."""
    names = assignors.named(experiment)
    try:
        return bundle(assignors.modules(names, folder_of(experiment)), assignors.distributions(names))
    except ValueError as error:
        raise SweepError(str(error), bad_input=True) from None


def code_of(experiment: Experiment) -> str:
    """Return the hash of everything that an experiment's runs depend on. Raises SweepError."""
    names = assignors.named(experiment)
    return code(assignors.modules(names, folder_of(experiment)), assignors.distributions(names))


def folder_of(experiment: Experiment) -> Path:
    """Where the experiment's `module:Class` are looked for."""
    return Path(experiment.folder) if experiment.folder else Path.cwd()


@contextmanager
def started(
    name: str, options: EngineOptions, shipped: Bundle, processes: int, directory: Directory
) -> Iterator[Engine]:
    """An engine for as long as the block lasts. `processes` matter to the pool; Spark asks its workers whether they can
    write to the directory.
    """
    engine: Engine
    if name == SPARK:
        from groupsim.pipeline.sweep.spark.engine import Spark

        engine = Spark(options, shipped, directory.place, directory.experiment.name)
    else:
        from groupsim.pipeline.sweep.pool import Pool

        engine = Pool(processes, folder_of(directory.experiment))
    try:
        yield engine
    finally:
        engine.close()


class _Sweep:
    """One sweep at work."""

    def __init__(
        self,
        directory: Directory,
        shipped: Bundle,
        options: EngineOptions,
        watch: Watch,
        note: Callable[[str], object],
    ) -> None:
        self._directory = directory
        self._shipped = shipped
        self._options = options
        self._watch = watch
        self._note = note
        self._total = directory.experiment.runs
        self._engine: Engine | None = None
        self._plan = Plan(directory.experiment, directory.finished, lambda: self.workers)
        self._plan.learn(directory.costs, finished=False)
        self.lacking = self._plan.open
        self._finished = self._total - self.lacking
        self._failed = 0
        self._name = directory.next_name()
        self._cells = {cell.number: cell for cell in directory.experiment.cells}
        self._packages: dict[int, work.CellPackage] = {}
        self._flying: dict[str, int] = {}  # chunk → its runs
        self._rows: list[Chunk] = []  # of the manifest, each in a file of its own
        self._gathered: list[Chunk] = []  # to be merged while the sweep goes on
        self._folds = 0
        self.workers = min(options.workers or cores(), max(1, self.lacking))

    def perform(self, name: str, then: Then) -> tuple[str, Any]:
        """Run what is lacking on the engine of that name, or on the one that suits; returns its name, and what `then`
        returned.
        """
        choice = EngineChoice(name, "") if name != AUTO else choose(self._options)
        if choice.engine == AUTO:
            with self._up(POOL) as pool:
                self._through(pool, [self._plan.pilot()])
                choice = choose(self._options, self._plan.left_us / self.workers / 1e6)
                self._note(choice.sentence)
                if choice.engine == POOL:
                    self.complete(pool)
        elif choice.sentence:
            self._note(choice.sentence)
        if choice.engine == SPARK or self._plan.open:
            with self._up(choice.engine) as engine:
                self.complete(engine)
                self._directory.refresh()
                return choice.engine, then(self._directory, engine if choice.engine == SPARK else None)
        self._directory.refresh()
        return choice.engine, then(self._directory, None)

    @contextmanager
    def _up(self, name: str) -> Iterator[Engine]:
        """An engine, with signs of life while it starts."""
        state = Progress(self._finished, self._total, self._failed, None, f"starting {name}")
        with ticking(lambda: self._watch(state)):
            up = started(
                name,
                self._options,
                self._shipped,
                min(self._options.workers or cores(), self._plan.open),
                self._directory,
            )
            engine = up.__enter__()
        try:
            self.workers = engine.workers
            if page := getattr(engine, "page", ""):
                self._note(f"Spark's own page: {page}")
            if not engine.shares:
                self._note(
                    f"the workers cannot write to {self._directory.place.url}: their tables come back through this "
                    "process, which is slower; a shared folder or a URL such as s3a://… spares that"
                )
            yield engine
        finally:
            up.__exit__(None, None, None)

    def complete(self, engine: Engine) -> None:
        """Run the pilot first, because the plan needs the cost of runs; then the rest."""
        self._engine = engine
        try:
            self._through(engine, [self._plan.pilot()])
            self._through(engine, self._plan.waves())
        finally:
            self._fold()
            self._directory.refresh()
        self.compact(engine)

    def compact(self, engine: Engine | None) -> None:
        """Make few large files of many small ones, on the engine if there is one. Where that fails, all rows are there
        yet, and a sentence names the remaining steps.
        """
        directory = self._directory
        todo = compacting.jobs(directory.manifest.chunks, worth=compacting.WORTH)
        if not todo:
            return
        state = Progress(self._finished, self._total, self._failed, None, "compacting")

        def on(some: Iterable[Job]) -> None:
            assert engine is not None
            with closing(engine.perform([Merging(tuple(some), directory.place)], self._pack)) as done:
                for _ in done:
                    pass

        try:
            with ticking(lambda: self._watch(state)):
                compacting.merge_all(directory, todo, on if engine is not None and engine.shares else None)
        except SweepError as error:
            self._note(f"the tables stay in many small files: {error.message}; groupsim compact DIR makes few of them")
            directory.refresh()

    def _through(self, engine: Engine, waves: Iterable[Wave | Merging]) -> None:
        """Run waves, and take the results."""
        self._engine = engine
        with closing(engine.perform(self._noted(waves), self._pack)) as tasks:
            for done in tasks:
                if done is None:
                    self._show(self._seen())
                else:
                    self._take(done)

    def _noted(self, waves: Iterable[Wave | Merging]) -> Iterator[Wave | Merging]:
        for wave in waves:
            if self._engine is not None:
                self.workers = self._engine.workers
            for task in wave.tasks if isinstance(wave, Wave) else ():
                self._flying[f"{self._name}-{task.number:06d}"] = task.count
            yield wave
            if len(self._gathered) >= compacting.GATHERED and self._engine is not None and self._engine.shares:
                yield self._merging()

    def _merging(self) -> Merging:
        """What has gathered while the sweep goes on, to be merged beside it; or at its end, where that fails now."""
        gathered, self._gathered = self._gathered, []
        return Merging(tuple(compacting.jobs(gathered)), self._directory.place, optional=True)

    def _pack(self, tasks: Iterable[Task]) -> work.Package:
        needed = set().union(*(task.cells for task in tasks))
        contents = self._directory.contents
        place = self._directory.place if self._engine is not None and self._engine.shares else None
        cells = {number: self._packed(number) for number in sorted(needed)}
        return work.package(cells, self._shipped.code, contents.traces, self._name, place)

    def _packed(self, number: int) -> work.CellPackage:
        """A cell as tasks need it, packed once."""
        if number not in self._packages:
            self._packages[number] = work.packed_cell(self._directory.experiment, self._cells[number])
        return self._packages[number]

    def _take(self, done: Done) -> None:
        """A task has come back. Its tables are written; or they are here, and are written now."""
        chunk = done.answer.chunk
        if self._engine is not None and not self._engine.shares:
            tables = work.whole(done.answer.tables)
            chunk = self._directory.write(tables, chunk.costs, chunk.chunk)
        self._plan.learn(chunk.costs)
        self._flying.pop(chunk.chunk, None)
        self._finished += chunk.count
        self._failed += chunk.failed
        self._rows.append(chunk)
        self._gathered.append(chunk)
        if len(self._rows) >= FOLD:
            self._fold()
        self._show()

    def _fold(self) -> None:
        """Put rows of the manifest together: one file is read sooner than hundreds."""
        if len(self._rows) > 1:
            self._folds += 1
            chunks.fold(self._directory.place, f"{self._name}-f{self._folds:05d}", self._rows)
        self._rows = []

    def _seen(self) -> int:
        """Runs of tasks under way that are written already, though their wave has not come back."""
        there = set(chunks.names(self._directory.place))
        return sum(count for name, count in self._flying.items() if name in there)

    def _show(self, more: int = 0) -> None:
        left = self._plan.left_us / max(1, self.workers) / 1e6 if self._plan.known else None
        self._watch(Progress(self._finished + more, self._total, self._failed, left))
