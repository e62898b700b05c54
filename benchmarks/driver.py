"""What the driver of a sweep on Spark costs per run, and what it holds, while others simulate.

    python -m benchmarks.driver [--runs 1000 10000] [--repeat 3] [--threads] [--json]
    python -m benchmarks.driver --memory 100000 [--json]

The runs are as short as runs can be (one member, one virtual second: some 4 ms), so that ten thousand are affordable.
The first form starts a standalone master with one worker of two cores on
loopback. Their executor is a process below the worker, and so are its Python workers: what the driver's process and its
JVM take is then the driver's share and nothing else. It is read from /proc when the last run is written, before the
analysis. The slope between two numbers of runs leaves out the start of the session. The same runs in tasks of a
twentieth of a second, which are many, tell what a task costs. `--threads` tells the threads of the JVM apart. The
bytes are those of the JVM's TCP connections to other processes than its Python, both ways, as the kernel counts them
(`ss`, of iproute2): tasks out, results and heartbeats in.

The second form is one sweep in local mode on two cores. After each tenth of the runs it reads the PSS of the driver's
Python, the RSS of the JVM (which simulates nothing, but forwards rows to Python workers), and the JVM's heap after a
collection.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common import in_a_process, table
from groupsim.pipeline.experiment import load_experiment
from groupsim.pipeline.sweep import Directory, EngineOptions, plan, sweep
from groupsim.pipeline.sweep.driver import Progress
from groupsim.pipeline.sweep.spark.java import find_java, launcher

RUNS = (1_000, 10_000)
CELLS = 2
LOOPBACK = "127.0.0.1"
PATIENCE_S = 300
SAMPLES = 10  # of memory, in a sweep
SHORT_TASK_US = 50_000
KEYS = (
    "tasks",
    "python_s",
    "jvm_s",
    "sent_bytes",
    "received_bytes",
    "manifest_bytes",
    "python_pss_mb_at_end",
    "jvm_heap_mb_at_end",
    "wall_s",
)
EXPERIMENT = """
title: Runs as short as runs can be
question: What does the driver cost?
scenario:
  run-for: 1s
  cluster: {logs: counted}
  topics:
    t: {partitions: 1}
  groups:
    g: {assignor: range, members: {c: {count: 1}}}
vary:
  assignor: {path: groups.g.assignor, values: [range, sticky]}
seeds: SEEDS
goals:
  - minimise: moved
"""
_TICKS = os.sysconf("SC_CLK_TCK")
Row = dict[str, Any]


# --- a cluster ----------------------------------------------------------------------------------------------------


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """A master and a worker of two cores on loopback, as Spark's own programs: the master's address."""
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        port = found.getsockname()[1]
    master = f"spark://{LOOPBACK}:{port}"
    host, page = ("--host", LOOPBACK), ("--webui-port", "0")
    with (
        _program(folder, "master.Master", *host, *page, "--port", str(port)) as log,
        _said(log, "New state: ALIVE"),
        _program(folder, "worker.Worker", *host, *page, "--cores", "2", "--memory", "1g", master) as log,
        _said(log, "Successfully registered"),
    ):
        yield master


@contextmanager
def _program(folder: Path, name: str, *arguments: str) -> Iterator[Path]:
    spec = find_spec("pyspark")
    home = Path(spec.origin).parent if spec and spec.origin else Path()
    log, java = folder / f"{name}.log", launcher(find_java(), folder / "java", ("-XX:+UseSerialGC",))
    places = {"JAVA_HOME": str(java), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": LOOPBACK}
    places |= {"SPARK_WORKER_DIR": str(folder / "work")}
    with log.open("wb") as said:
        command = [home / "bin/spark-class", f"org.apache.spark.deploy.{name}", *arguments]
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env={**os.environ, **places})
        try:
            yield log
        finally:
            process.terminate()
            process.wait()


@contextmanager
def _said(log: Path, words: str) -> Iterator[None]:
    """Once the words are in the log."""
    deadline = time.monotonic() + PATIENCE_S
    while words not in log.read_text("utf-8", "replace"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{log.read_text('utf-8', 'replace')[-2000:]}\nno {words!r} within {PATIENCE_S} s")
        time.sleep(0.1)
    yield


# --- one sweep, in a process of its own ---------------------------------------------------------------------------


def case(runs: int, master: str, samples: int, task_us: int, out: str) -> Row:
    """Sweep so many runs on a master; what the driver has taken when the last run is written.

    `task_us` is how long tasks are (nothing: as the plan has it), `out` where the directory stays (nothing: nowhere).
    """
    if task_us:
        plan.LONGEST_TASK_US = plan.SHORTEST_TASK_US = task_us
    found: Row = {"runs": runs, "load": f"{os.getloadavg()[0]:.1f}", "memory": []}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    tasks = 0

    def watch(state: Progress) -> None:
        nonlocal tasks
        tasks += 1
        if samples and state.finished >= runs * (len(found["memory"]) + 1) // samples:
            spent = {"python_s": _cpu_s("self"), "jvm_s": _cpu_s(str(_jvm_pid()))}
            found["memory"].append({"runs": state.finished, "tasks": tasks, **spent, **memory()})

    def then(directory: Directory, engine: Any) -> None:
        jvm = _jvm_pid()
        python_s, jvm_s = _cpu_s("self"), _cpu_s(str(jvm))
        files = list((directory.path / "chunks").iterdir())
        threads = _threads(jvm)
        found.update(
            tasks=tasks,
            **_wire(jvm),
            python_s=python_s,
            jvm_s=jvm_s,
            threads=threads,
            manifest_bytes=sum(file.stat().st_size for file in files),
            manifest_files=len(files),
            **{f"{name}_at_end": value for name, value in memory().items()},
        )

    with tempfile.TemporaryDirectory(prefix="groupsim-bench-") as folder:
        path = Path(folder, "short.yaml")
        path.write_text(EXPERIMENT.replace("SEEDS", str(runs // CELLS)), "utf-8")
        begun = time.monotonic()
        sweep(load_experiment(path), out or Path(folder, "out"), EngineOptions(master=master), watch=watch, then=then)
        found["wall_s"] = round(time.monotonic() - begun, 1)
    return found


def memory() -> dict[str, float]:
    """MB: the PSS of this process, the RSS of the JVM, and the JVM's heap after a collection."""
    from pyspark import SparkContext

    jvm = SparkContext._jvm
    jvm.System.gc()
    runtime = jvm.Runtime.getRuntime()
    heap = runtime.totalMemory() - runtime.freeMemory()
    rss = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{_jvm_pid()}/status").read_text())
    pss = re.search(r"Pss:\s+(\d+)", Path("/proc/self/smaps_rollup").read_text())
    assert rss is not None
    assert pss is not None
    return {
        "python_pss_mb": int(pss[1]) / 1024,
        "jvm_rss_mb": int(rss[1]) / 1024,
        "jvm_heap_mb": heap / 2**20,
    }


def _jvm_pid() -> int:
    from pyspark import SparkContext

    return int(SparkContext._jvm.ProcessHandle.current().pid())


def _wire(jvm: int) -> dict[str, int]:
    """Bytes over the JVM's open connections to executors, sent and received; those to our own Python are left out."""
    found = subprocess.run(["ss", "-tinpOH"], capture_output=True, text=True, check=True).stdout.splitlines()
    ours = {line.split()[3] for line in found if f"pid={os.getpid()}," in line}
    lines = [line for line in found if f"pid={jvm}," in line and line.split()[4] not in ours]
    return {
        f"{way}_bytes": sum(int(match[1]) for line in lines if (match := re.search(rf"bytes_{way}:(\d+)", line)))
        for way in ("sent", "received")
    }


def _cpu_s(pid: str) -> float:
    """CPU seconds of a process alone, what is below it left out."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _threads(pid: int) -> dict[str, float]:
    """CPU seconds of a JVM's threads by their names, numbers left out; those that have ended are not among them."""
    found: dict[str, float] = defaultdict(float)
    for thread in Path(f"/proc/{pid}/task").iterdir():
        name = re.sub(r"[-# ]*\d+$", "", (thread / "comm").read_text().strip())
        found[name] += _cpu_s(f"{pid}/task/{thread.name}")
    return {name: value for name, value in sorted(found.items(), key=lambda pair: -pair[1]) if value >= 0.1}


# --- measuring and telling ----------------------------------------------------------------------------------------


def slope(sizes: Sequence[int], repeat: int) -> list[Row]:
    """By number of runs, and for the most of them in short tasks: the median over the repetitions."""
    cases = [*((runs, 0) for runs in sizes), (max(sizes), SHORT_TASK_US)]
    taken: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for number in range(-1, repeat):
        for runs, task_us in cases if number >= 0 else [(CELLS, 0)]:  # the first of all may have to write classes
            with tempfile.TemporaryDirectory(prefix="groupsim-bench-") as folder, standalone(Path(folder)) as master:
                taken[runs, task_us].append(in_a_process("driver", str(runs), master, "0", str(task_us), ""))
    return [
        {"runs": one[0], "task_us": one[1], **{key: median(row[key] for row in taken[one]) for key in KEYS}}
        | {"threads": taken[one][-1]["threads"]}
        for one in cases
    ]


def show(rows: Sequence[Row], threads: bool) -> None:
    """The costs as tables, and what runs and tasks add."""

    def line(name: str, row: Row) -> tuple[str, ...]:
        cpu = (f"{row['python_s']:.2f} s", f"{row['jvm_s']:.2f} s", f"{row['python_s'] + row['jvm_s']:.2f} s")
        sizes = (f"{row['python_pss_mb_at_end']:.0f} MB", f"{row['jvm_heap_mb_at_end']:.0f} MB")
        written = (f"{row[key] / 1024:.0f} KB" for key in ("sent_bytes", "received_bytes", "manifest_bytes"))
        return name, f"{row['tasks']:.0f}", *cpu, *written, *sizes

    def added(name: str, less: Row, more: Row, by: str) -> tuple[str, ...]:
        count = more[by] - less[by]
        each = {key: (more[key] - less[key]) / count for key in KEYS}
        cpu = (each["python_s"], each["jvm_s"], each["python_s"] + each["jvm_s"])
        wire = (each["sent_bytes"], each["received_bytes"])
        sizes = (
            *wire,
            each["manifest_bytes"],
            2**20 * each["python_pss_mb_at_end"],
            2**20 * each["jvm_heap_mb_at_end"],
        )
        return name, "", *(f"{1000 * value:.3f} ms" for value in cpu), *(f"{value:.0f} bytes" for value in sizes)

    *plain, short = rows
    lines = [
        *(line(f"{row['runs']:,} runs", row) for row in plain),
        line(f"{short['runs']:,} in short tasks", short),
        added("each run more", plain[0], plain[-1], "runs"),
        added("each task more", plain[-1], short, "tasks"),
    ]
    heads = ["", "tasks", "CPU: Python", "JVM", "both", "sent", "received", "manifest", "PSS of Python", "JVM's heap"]
    table(f"The driver alone, on a cluster of two cores (load {os.getloadavg()[0]:.1f})", heads, lines)
    if threads:
        names = list(dict.fromkeys(name for row in rows for name in row["threads"]))
        heads = ["thread", *(f"{row['runs']:,} runs, {row['tasks']:.0f} tasks" for row in rows)]
        spent = [(name, *(f"{row['threads'].get(name, 0):.2f}" for row in rows)) for name in names]
        table("CPU seconds of the JVM's threads", heads, spent)


def show_memory(found: Row) -> None:
    """The memory of one long sweep as a table."""
    keys = ("tasks", "python_pss_mb", "jvm_rss_mb", "jvm_heap_mb", "python_s", "jvm_s")
    lines = [(f"{one['runs']:,}", *(f"{one[key]:.0f}" for key in keys)) for one in found["memory"]]
    title = f"MB of the driver in local[2], {found['tasks']} tasks in {found['wall_s']:.0f} s (load {found['load']})"
    table(title, ["runs", "tasks", "PSS of Python", "RSS of the JVM", "its heap", "CPU: Python, s", "JVM, s"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.driver", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=RUNS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", type=int, metavar="RUNS", help="one sweep in local[2], and its memory over time")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", default="", help="where the directory of the sweep with --memory stays")
    parser.add_argument("--case", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        runs, master, samples, task_us, out = options.case
        print(json.dumps(case(int(runs), master, int(samples), int(task_us), out)))
    elif options.memory:
        found = in_a_process("driver", str(options.memory), "local[2]", str(SAMPLES), "0", options.out)
        print(json.dumps(found, indent=1)) if options.json else show_memory(found)
    else:
        rows = slope(options.runs, options.repeat)
        print(json.dumps(rows, indent=1)) if options.json else show(rows, options.threads)


if __name__ == "__main__":
    main()
