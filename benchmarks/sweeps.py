"""What the engines of a sweep add to the simulations: a bare pool of processes, our pool, and Spark on two cores.

    python -m benchmarks.sweeps [--runs 240] [--repeat 3] [--json]

The same runs of the small rolling deploy (`benchmarks.deploy`, six records a second) three ways, in turn, so that a
slow moment of the machine strikes all alike:

- `bare`: a `multiprocessing` pool of two that simulates chunks of runs and answers with their tables as bytes of Arrow,
  which are not read;
- `pool` and `spark`: a whole sweep with that engine: planned, performed, put together, written as Parquet.

Each engine is started for every repetition. The column `up` has the time until it takes work: for Spark that is the
start of its session. The column `start` goes on until two processes, or the workers of a Spark session, have simulated
one run each and written it. Times are medians in seconds; CPU is that of all processes, the JVM included; `+ wall` and
`+ CPU` are medians of what an engine took more than the bare pool in the same repetition.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import attrs
from attrs import frozen

from benchmarks.common import table
from benchmarks.deploy import SCENARIO
from groupsim.pipeline import runs
from groupsim.pipeline.experiment import Experiment, load_experiment
from groupsim.pipeline.sweep import EngineOptions, work
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.sweep.driver import complete, started
from groupsim.pipeline.sweep.spark.bundle import Bundle, bundle

RUNS = 240
RATE = "6/s"
PROCESSES = 2
RUNS_PER_CHUNK = 6  # about a second
EXPERIMENT = """
title: a small rolling deploy
question: What does an engine add?
scenario:
SCENARIO
vary:
  assignor: {path: groups.orders.properties.partition.assignment.strategy, values: [range]}
seeds: 1
goals:
  - {minimise: moved}
"""
BARE, POOL, SPARK = "bare", "pool", "spark"
_TICKS = os.sysconf("SC_CLK_TCK")


@frozen
class Took:
    """Seconds: by the clock, and of CPU in all processes."""

    wall: float
    cpu: float


@frozen
class Measured:
    """One repetition: until the engine is up, its first runs, and the work."""

    up: Took
    first: Took
    work: Took


Row = dict[str, Any]
Work = Callable[[], object]


# --- the measure --------------------------------------------------------------------------------------------------


def timed(action: Work) -> Took:
    """What an action takes, in this process and all below it."""
    cpu, wall = _cpu(os.getpid()), time.monotonic()
    action()
    return Took(time.monotonic() - wall, _cpu(os.getpid()) - cpu)


def _cpu(pid: int) -> float:
    """CPU seconds of a process, of those below it, and of those below it that have ended (Linux)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = [task.read_text().split() for task in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # it has just ended
        return 0.0
    mine = sum(map(int, fields[11:15])) / _TICKS  # user, system, and both of children waited for
    return mine + sum(_cpu(int(child)) for found in children for child in found)


# --- the three ways -----------------------------------------------------------------------------------------------


def simulate(chunk: tuple[str, range]) -> list[work.Table]:
    """The bare work: simulate, make tables, make bytes."""
    document, seeds = chunk
    rows: runs.Rows = {}
    for seed in seeds:
        for name, more in runs.simulate(document, seed, cell=0, digest="", code="", repeat="").items():
            rows.setdefault(name, []).extend(more)
    return [(name, work.to_bytes(found)) for name, found in runs.to_arrow(rows).items()]


@contextmanager
def bare(experiment: Experiment) -> Iterator[tuple[Work, Work]]:
    """The peer: its first runs, and the work."""
    document, count = experiment.cells[0].document, len(experiment.seeds)
    chunks = [(document, range(begin, min(begin + RUNS_PER_CHUNK, count))) for begin in range(0, count, RUNS_PER_CHUNK)]
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        yield (
            lambda: pool.map(simulate, [(document, range(1))] * PROCESSES, chunksize=1),
            lambda: sum(1 for _ in pool.imap_unordered(simulate, chunks)),
        )


@contextmanager
def engine(name: str, shipped: Bundle, experiment: Experiment) -> Iterator[tuple[Work, Work]]:
    """A sweep with one of our engines: its first runs, with which both start their workers, and the work."""
    options = EngineOptions(name, workers=PROCESSES)
    with (
        tempfile.TemporaryDirectory(prefix="groupsim-bench-") as folder,
        Directory.prepare(Path(folder, "probed"), Contents(experiment, shipped.code)) as probed,
        started(name, options, shipped, PROCESSES, probed) as found,
    ):

        def sweep(part: Experiment, where: str) -> None:
            with Directory.prepare(Path(folder, where), Contents(part, shipped.code)) as directory:
                complete(directory, found, shipped.code)

        first = attrs.evolve(experiment, seeds=experiment.seeds[:PROCESSES])
        yield lambda: sweep(first, "first"), lambda: sweep(experiment, "all")


def the_experiment(seeds: int) -> Experiment:
    """One cell of the deploy with so many seeds."""
    scenario = textwrap.indent(SCENARIO.replace("RATE", RATE).strip(), "  ")
    with tempfile.TemporaryDirectory(prefix="groupsim-bench-") as folder:
        path = Path(folder, "deploy.yaml")
        path.write_text(EXPERIMENT.replace("SCENARIO", scenario), "utf-8")
        return load_experiment(path, seeds)


# --- measuring and telling ----------------------------------------------------------------------------------------


def measure(seeds: int, repeat: int) -> dict[str, list[Measured]]:
    """By way: what each repetition took."""
    experiment, shipped = the_experiment(seeds), bundle()
    ways = {
        BARE: lambda: bare(experiment),
        POOL: lambda: engine(POOL, shipped, experiment),
        SPARK: lambda: engine(SPARK, shipped, experiment),
    }
    found: dict[str, list[Measured]] = {name: [] for name in ways}
    for number in range(repeat):
        names = list(ways)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            found[name].append(_once(ways[name]))
    return found


def _once(way: Callable[[], AbstractContextManager[tuple[Work, Work]]]) -> Measured:
    """What the engine takes until it is up, until its workers have run once, and for the work."""
    begun: list[tuple[Work, Work]] = []
    with ExitStack() as stack:
        up = timed(lambda: begun.append(stack.enter_context(way())))
        first, work = begun[0]
        return Measured(up, timed(first), timed(work))


def run(seeds: int = RUNS, repeat: int = 3, as_json: bool = False) -> list[Row]:
    """Measure and print; returns the rows."""
    found = measure(seeds, repeat)
    rows = [_row(name, seeds, found[name], found[BARE]) for name in found]
    if not as_json:
        title = f"{seeds} runs of a small rolling deploy on two cores: seconds (1-minute load {os.getloadavg()[0]:.1f})"
        table(title, list(rows[0]), [list(row.values()) for row in rows])
    return rows


def _row(name: str, seeds: int, mine: list[Measured], peers: list[Measured]) -> Row:
    more = {
        kind: median(getattr(one.work, kind) / getattr(peer.work, kind) - 1 for one, peer in zip(mine, peers))
        for kind in ("wall", "cpu")
    }
    work_s = {kind: median(getattr(one.work, kind) for one in mine) for kind in ("wall", "cpu")}
    return {
        "engine": name,
        "up": f"{median(one.up.wall for one in mine):.1f}",
        "start": f"{median(one.up.wall + one.first.wall for one in mine):.1f}",
        "start CPU": f"{median(one.up.cpu + one.first.cpu for one in mine):.1f}",
        "wall": f"{work_s['wall']:.1f}",
        "CPU": f"{work_s['cpu']:.1f}",
        "ms CPU a run": f"{work_s['cpu'] / seeds * 1000:.0f}",
        "+ wall": f"{100 * more['wall']:+.1f} %",
        "+ CPU": f"{100 * more['cpu']:+.1f} %",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweeps", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = run(options.runs, options.repeat, options.json)
    if options.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
