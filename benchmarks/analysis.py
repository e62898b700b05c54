"""What the analysis of a sweep costs in this process, and what it costs on Spark: `python -m benchmarks.analysis`.

Ninety runs of the small rolling deploy are simulated once; their rows under other seeds make sweeps of any size, kept
under `.build/analysis-<values>`. Each case is analysed in a process of its own, by both engines. CPU is that of all its
processes, memory the largest sum of their PSS, read ten times a second. A Spark session in local[2] is up before; its
start stands beside.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen

from benchmarks.common import in_a_process, table
from groupsim.pipeline.analysis import analyse
from groupsim.pipeline.analysis.analyse import _about as about
from groupsim.pipeline.experiment import load_experiment
from groupsim.pipeline.sweep import Directory, EngineOptions, sweep
from groupsim.pipeline.sweep.directory import Contents
from groupsim.pipeline.sweep.spark.session import session

SIZES = (100_000, 1_000_000, 3_000_000, 10_000_000)  # values
EXPERIMENT = "rolling-deploy-small"
SEEDS = 5
READ = ("runs", "stops", "deliveries", "changes")
_TICKS = os.sysconf("SC_CLK_TCK")
Row = dict[str, Any]


@frozen
class Up:
    """A session that is up, as the analysis takes it from a sweep."""

    session: Any
    zip_name: None = None
    shares: bool = True


def made(values: int) -> Path:
    """A sweep of about so many values, made unless it is there."""
    folder = Path(f".build/analysis-{values}")
    if (folder / "experiment.json").is_file():
        return folder
    few = Path(".build/analysis-few")
    if not (few / "experiment.json").is_file():
        sweep(load_experiment(EXPERIMENT, seeds=SEEDS), few, EngineOptions("pool", workers=2))
    source = Directory.open(few)
    tables = {name: source.tables(name) for name in READ}
    copies = max(1, round(values / about(source)))
    experiment = evolve(source.experiment, seeds=tuple(range(SEEDS * copies)))
    with Directory.prepare(folder, Contents(experiment, "code")) as directory:
        for begin in range(0, copies, 20):
            part = range(begin, min(copies, begin + 20))
            directory.write(
                {name: pa.concat_tables(_moved(rows, SEEDS * n) for n in part) for name, rows in tables.items()}
            )
    return folder


def _moved(rows: pa.Table, by: int) -> pa.Table:
    """The rows under seeds that are `by` higher."""
    import pyarrow.compute as pc

    place = rows.schema.get_field_index("seed")
    seeds = pc.add(rows["seed"], pa.scalar(by, rows["seed"].type)).cast(rows["seed"].type)
    return rows.set_column(place, rows.schema.field(place), seeds)


def case(folder: str, engine: str) -> Row:
    """One analysis in this process and what is below it."""
    directory, begun = Directory.open(folder), time.monotonic()
    if engine == "pool":
        return {"values": about(directory), "engine": engine, "session_s": 0.0, **_measured(directory, engine, None)}
    with session(EngineOptions(workers=2), lean=True) as spark:
        ready = time.monotonic() - begun
        spark.range(10).mapInArrow(lambda batches: batches, "id bigint").toArrow()  # a Python worker is up, too
        found = _measured(directory, engine, Up(spark))
    return {"values": about(directory), "engine": engine, "session_s": round(ready, 1), **found}


def _measured(directory: Directory, engine: str, up: Up | None) -> Row:
    most, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            most[0] = max(most[0], sum(_pss_mb(pid) for pid in _tree()))

    watching = threading.Thread(target=watch)
    watching.start()
    before, begun = sum(map(_cpu_s, _tree())), time.monotonic()
    analyse(directory, EngineOptions(engine, workers=2), up)
    wall, cpu = time.monotonic() - begun, sum(map(_cpu_s, _tree())) - before
    over.set()
    watching.join()
    return {
        "wall_s": round(wall, 1),
        "cpu_s": round(cpu, 1),
        "pss_mb": round(most[0]),
        "load": round(os.getloadavg()[0], 1),
    }


def _tree() -> list[int]:
    """This process and all below it."""
    found = [os.getpid()]
    for pid in found:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def _pss_mb(pid: int) -> float:
    try:
        match = re.search(r"Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())
    except OSError:  # it has ended
        return 0.0
    return int(match[1]) / 1024 if match else 0.0


def _cpu_s(pid: int) -> float:
    """CPU seconds of a process and of its ended children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analysis", description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of a table")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(case(*options.case)))
        return
    rows = [
        in_a_process("analysis", str(made(size)), engine) for size in options.values for engine in ("pool", "spark")
    ]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    lines = [[f"{row['values']:,}", *(str(row[key]) for key in list(row)[1:])] for row in rows]
    table("The analysis, in this process and on local[2]", list(rows[0]), lines)


if __name__ == "__main__":
    main()
