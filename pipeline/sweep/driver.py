"""A sweep from the driver's side: what is lacking is planned, performed by an engine, and written chunk by chunk."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
from attrs import frozen

from groupsim.pipeline.experiment import Experiment
from groupsim.pipeline.schemas import RUNS
from groupsim.pipeline.sweep import assignors, work
from groupsim.pipeline.sweep.bundle import Bundle, bundle
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.sweep.engines import SPARK, Done, Engine, EngineOptions, cores
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.plan import Plan, Run, Wave


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
    """What a sweep has done: runs in the directory, of these performed now, and those that failed."""

    directory: Directory
    total: int
    performed: int
    failed: int
    engine: str
    workers: int
    seconds: float


def sweep(
    experiment: Experiment,
    path: Path | str,
    options: EngineOptions | None = None,
    *,
    traces: bool = False,
    watch: Callable[[Progress], object] = lambda progress: None,
) -> Outcome:
    """Run what the directory still lacks of the experiment. Returns when all of it is there.

    `watch` is told of every task that has ended. Raises SweepError; whatever ends it, finished chunks stay, and the
    same call goes on from there.
    """
    options = options or EngineOptions()
    name, begun = options.chosen(), time.monotonic()
    shipped = _bundle(experiment)
    with Directory.prepare(path, Contents(experiment, shipped.code, traces)) as directory:
        finished = directory.finished
        lacking = directory.experiment.runs - len(finished)
        workers = 0
        if lacking:
            watch(Progress(len(finished), directory.experiment.runs, 0, None, f"starting {name}"))
            processes = min(options.workers or cores(), lacking)
            with started(name, options, shipped, processes, _folder(experiment)) as engine:
                workers = engine.workers
                complete(directory, engine, shipped.code, watch)
        failed = directory.failed
    return Outcome(directory, directory.experiment.runs, lacking, failed, name, workers, time.monotonic() - begun)


def complete(
    directory: Directory, engine: Engine, code: str, watch: Callable[[Progress], object] = lambda progress: None
) -> None:
    """Run what a directory still lacks on an engine that is up. `code` is the hash that the rows will carry."""
    _Sweep(directory, engine, code, directory.finished, watch).perform()


def _bundle(experiment: Experiment) -> Bundle:
    names = assignors.named(experiment)
    try:
        return bundle(assignors.modules(names, _folder(experiment)), assignors.distributions(names))
    except ValueError as error:
        raise SweepError(str(error), bad_input=True) from None


def _folder(experiment: Experiment) -> Path:
    """Where the experiment's `module:Class` are looked for."""
    return Path(experiment.folder) if experiment.folder else Path.cwd()


@contextmanager
def started(name: str, options: EngineOptions, shipped: Bundle, processes: int, folder: Path) -> Iterator[Engine]:
    """An engine for as long as the block lasts. `processes` and the `folder` of own assignors matter to the pool."""
    engine: Engine
    if name == SPARK:
        from groupsim.pipeline.sweep.spark import Spark

        engine = Spark(options, shipped)
    else:
        from groupsim.pipeline.sweep.pool import Pool

        engine = Pool(processes, folder)
    try:
        yield engine
    finally:
        engine.close()


class _Sweep:
    """One sweep at work."""

    def __init__(
        self,
        directory: Directory,
        engine: Engine,
        code: str,
        finished: set[Run],
        watch: Callable[[Progress], object],
    ) -> None:
        self._directory = directory
        self._engine = engine
        self._code = code
        self._watch = watch
        self._plan = Plan(directory.experiment, finished, lambda: engine.workers)
        self._finished = len(finished)
        self._failed = 0
        self._waves: dict[int, Wave] = {}
        self._arrived: dict[int, dict[int, Done]] = {}  # wave → its tasks that have come back

    def perform(self) -> None:
        """The pilot first, for the plan has to know what runs cost; then the rest."""
        try:
            for waves in ([self._plan.pilot()], self._plan.waves()):
                with closing(self._engine.perform(self._noted(waves), self._pack)) as tasks:
                    for done in tasks:
                        self._take(done)
        finally:
            self._write_rest()

    def _noted(self, waves: Iterable[Wave]) -> Iterator[Wave]:
        for wave in waves:
            self._waves[wave.number] = wave
            self._arrived[wave.number] = {}
            yield wave

    def _pack(self, tasks: Iterable[tuple[Run, ...]]) -> work.Package:
        return work.package(self._directory.experiment, list(tasks), self._code, self._directory.contents.traces)

    def _take(self, done: Done) -> None:
        """A task has come back; when its wave is complete, write it."""
        runs = self._waves[done.wave].tasks[done.task]
        tables = dict(done.tables)
        self._plan.learn(runs, json.loads(tables[work.COSTS]))
        self._finished += len(runs)
        self._failed += work.from_bytes(tables[RUNS.name])["status"].to_pylist().count("failed")
        self._arrived[done.wave][done.task] = done
        if len(self._arrived[done.wave]) == len(self._waves[done.wave].tasks):
            self._write(done.wave)
        self._watch(Progress(self._finished, self._directory.experiment.runs, self._failed, self._seconds_left()))

    def _write(self, wave: int) -> None:
        tasks = self._arrived.pop(wave)
        tables: dict[str, list[pa.Table]] = {}
        for number in sorted(tasks):
            for name, data in tasks[number].tables:
                if name != work.COSTS:
                    tables.setdefault(name, []).append(work.from_bytes(data))
        self._directory.write({name: pa.concat_tables(parts) for name, parts in tables.items()})

    def _write_rest(self) -> None:
        """Write the tasks of waves that were not finished, when the sweep ends early."""
        for wave in [wave for wave, tasks in self._arrived.items() if tasks]:
            self._write(wave)

    def _seconds_left(self) -> float:
        """What is still to do is likely to cost, shared among the workers."""
        flying = [
            run
            for number, tasks in self._arrived.items()
            for index, task in enumerate(self._waves[number].tasks)
            if index not in tasks
            for run in task
        ]
        return (self._plan.estimate_us(flying) + self._plan.left_us) / self._engine.workers / 1e6
