"""Ten million trace events, made by simulation, and how long their analysis takes: `python -m benchmarks.traces`.

Runs of the small rolling deploy (all its cells, as many seeds as it takes) are simulated with full traces in a pool
and kept under `.build/traces-<events>` for the next time. The analysis runs in a process of its own; its time counts
with and without the start of the Spark session, its memory is the peak of the driver and of the JVM.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen

from benchmarks.common import in_a_process, table
from groupsim.pipeline import runs
from groupsim.pipeline.analysis.traffic import traffic_of
from groupsim.pipeline.experiment import load_experiment
from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.spark.session import session

EVENTS = 10_000_000
EXPERIMENT = "rolling-deploy-small"
RUNS_PER_PART = 40


@frozen
class Chunk:
    """Some runs that make one file."""

    number: int
    runs: tuple[tuple[int, int, str, str], ...]  # cell, seed, document, digest
    path: Path


def simulate(chunk: Chunk) -> int:
    """Simulate a chunk and write its traces; returns the number of events."""
    tables = []
    for cell, seed, document, digest in chunk.runs:
        rows = runs.simulate(document, seed, cell=cell, digest=digest, code="", repeat="", traces=True)
        tables.append(runs.to_arrow(rows)["traces"])
    found = pa.concat_tables(tables)
    pq.write_table(found, chunk.path, compression="zstd")
    return len(found)


def chunks(folder: Path) -> Iterator[Chunk]:
    """Chunk after chunk of all cells, seed after seed, without end."""
    cells = load_experiment(EXPERIMENT, seeds=1).cells
    coming = ((cell.number, seed, cell.document, cell.digest) for seed in count() for cell in cells)
    for number in count():
        mine = tuple(next(coming) for _ in range(RUNS_PER_PART))
        yield Chunk(number, mine, folder / f"part-{number:05d}.parquet")


def generate(folder: Path, events: int, workers: int) -> int:
    """Make at least so many events, unless they are there; returns how many there are."""
    whole = folder / "whole.json"
    if whole.is_file():
        return int(json.loads(whole.read_text())["events"])
    folder.mkdir(parents=True, exist_ok=True)
    made, coming = 0, chunks(folder)
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        while made < events:
            made += sum(pool.imap_unordered(simulate, [next(coming) for _ in range(4 * workers)]))
            print(f"{made:,} events", file=sys.stderr)
    whole.write_text(json.dumps({"events": made}))
    return made


def measure(folder: Path) -> dict[str, float]:
    """Analyse the traces in this process; seconds and megabytes."""
    parts, begun = sorted(folder.glob("part-*.parquet")), time.monotonic()
    with session(EngineOptions(workers=2), settings={"spark.sql.shuffle.partitions": "8"}) as spark:
        ready = time.monotonic()
        found = traffic_of(spark, spark.read.parquet(*map(str, parts)), {}, {})
        done = time.monotonic()
    events = sum(row["value"] for row in found.to_pylist() if row["measure"] == "events")
    return {
        "events": events,
        "session_s": round(ready - begun, 1),
        "analysis_s": round(done - ready, 1),
        "cpu_s": round(_cpu_s(resource.RUSAGE_SELF) + _cpu_s(resource.RUSAGE_CHILDREN), 1),  # of both together
        "driver_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "jvm_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
    }


def _cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.traces", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="the row as JSON instead of a table")
    parser.add_argument("--case", help="(internal) a folder of traces to analyse in this process")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(Path(options.case))))
        return
    folder = Path(f".build/traces-{options.events}")
    generate(folder, options.events, options.workers)
    found = in_a_process("traces", str(folder))
    if options.json:
        print(json.dumps(found))
        return
    table("Traces: two cores", list(found), [list(found.values())])


if __name__ == "__main__":
    main()
