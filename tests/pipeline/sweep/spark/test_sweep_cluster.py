"""Sweeps on real clusters, on loopback: a standalone master with two workers, and a Spark Connect server.

`make spark` runs these; they start a dozen JVMs. The workers' Python holds pyspark and pyarrow and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from groupsim.pipeline.sweep.driver import sweep
from groupsim.pipeline.sweep.engines import EngineOptions
from tests.helpers import small_sweep, spark_cluster
from tests.helpers.spark_cluster import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(spark_cluster.why_not()), reason=f"no Spark: {spark_cluster.why_not()}"),
]
SEEDS = 30


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workers' Python."""
    return spark_cluster.python_with(tmp_path_factory.mktemp("python") / "venv", *spark_cluster.WORKERS_HAVE)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment's file, with an assignor beside it."""
    return small_sweep.held(tmp_path_factory.mktemp("experiment"), SEEDS, run_for="60s")[0]


@pytest.fixture
def holds(experiment: Path) -> Iterator[Path]:
    """What keeps a sweep from its end, until it is unlinked: the first runs are done, and others wait."""
    path = experiment.parent / small_sweep.HOLDS
    path.touch()
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def swept(experiment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a sweep in the pool."""
    from groupsim.pipeline.experiment import load_experiment

    path = tmp_path_factory.mktemp("pool") / "out"
    sweep(load_experiment(str(experiment)), path, EngineOptions("pool", workers=2))
    return path


@pytest.fixture(scope="module")
def expected(swept: Path) -> dict[str, Any]:
    """The tables from the pool."""
    return small_sweep.tables(swept)


@pytest.fixture(scope="module")
def cluster(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[int]]]:
    """A standalone cluster of two workers."""
    with spark_cluster.standalone(tmp_path_factory.mktemp("cluster"), python) as found:
        yield found


def ended(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any], str]:
    """The exit code, the JSON and what was said."""
    out, said = process.communicate(timeout=spark_cluster.LONG_S)
    return process.returncode, json.loads(out) if out.startswith("{") else {}, said


def killed_in_the_middle(process: subprocess.Popen[str], out: Path, pids: Callable[[], list[int]], holds: Path) -> int:
    """Kill a process of the cluster once the first runs are written, let the others go on; returns its id."""
    spark_cluster.until(lambda: list(out.glob("chunks/*.json")) or process.poll() is not None, "no runs")
    assert process.poll() is None, process.communicate()
    spark_cluster.until(pids, "nobody to kill")
    victim = pids()[0]
    os.kill(victim, signal.SIGKILL)
    holds.unlink()
    return victim


def assert_ended_well(process: Any, out: Path, expected: dict[str, Any]) -> None:
    """The sweep has ended with every run done, and its tables are the expected ones."""
    code, found, said = ended(process)
    assert (code, found.get("failed")) == (0, 0), said
    assert small_sweep.tables(out) == expected


def test_a_standalone_cluster_makes_the_tables_of_the_pool(
    cluster: tuple[str, list[int]], python: Path, experiment: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    """Two workers with a bare Python: every row as from the pool, and nothing of Spark on the terminal."""
    command = ("sweep", experiment, "--out", tmp_path / "out", "--master", cluster[0], "--json")
    code, found, said = ended(spark_cluster.groupsim(*command, python=python))
    assert (code, found.get("performed"), found.get("failed")) == (0, 3 * SEEDS, 0), said
    assert "WARN" not in said
    assert "groupsim" not in said
    assert small_sweep.tables(tmp_path / "out") == expected


def test_an_executor_killed_in_the_middle_changes_nothing(
    cluster: tuple[str, list[int]],
    python: Path,
    experiment: Path,
    expected: dict[str, Any],
    tmp_path: Path,
    holds: Path,
) -> None:
    """Spark starts another executor and repeats its tasks."""
    master, workers = cluster
    process = spark_cluster.groupsim(
        "sweep", experiment, "--out", tmp_path / "out", "--master", master, "--json", python=python
    )

    def executors() -> list[int]:
        below = [child for worker in workers for child in spark_cluster.below(worker)]
        return [pid for pid, command in below if "CoarseGrainedExecutorBackend" in command]

    killed_in_the_middle(process, tmp_path / "out", executors, holds)
    assert_ended_well(process, tmp_path / "out", expected)


def test_a_python_worker_killed_in_local_mode_changes_nothing(
    experiment: Path, expected: dict[str, Any], tmp_path: Path, holds: Path
) -> None:
    """Local mode, too, tries a task again."""
    process = spark_cluster.groupsim("sweep", experiment, "--out", tmp_path / "out", "--master", "local[2]", "--json")

    def workers() -> list[int]:
        daemons = [pid for pid, command in spark_cluster.below(process.pid) if "pyspark.daemon" in command]
        return [pid for daemon in daemons for pid, _ in spark_cluster.below(daemon)]

    killed_in_the_middle(process, tmp_path / "out", workers, holds)
    assert_ended_well(process, tmp_path / "out", expected)


def test_a_jvm_that_dies_is_said_and_the_same_command_goes_on(
    experiment: Path, expected: dict[str, Any], tmp_path: Path, holds: Path
) -> None:
    """Exit code 3 and a sentence; what was finished is not repeated."""
    command = ("sweep", experiment, "--out", tmp_path / "out", "--master", "local[2]", "--json")
    process = spark_cluster.groupsim(*command)

    def jvm() -> list[int]:
        return [pid for pid, line in spark_cluster.below(process.pid) if "org.apache.spark.deploy.SparkSubmit" in line]

    killed_in_the_middle(process, tmp_path / "out", jvm, holds)
    code, _, said = ended(process)
    assert code == 3, said
    assert "Spark has gone" in said
    assert "Traceback" not in said
    code, found, said = ended(spark_cluster.groupsim(*command))
    assert (code, found.get("failed")) == (0, 0), said
    assert found["performed"] < 3 * SEEDS
    assert small_sweep.tables(tmp_path / "out") == expected


def test_sparks_page_says_what_jobs_are_for(experiment: Path, tmp_path: Path, holds: Path) -> None:
    """Its address is printed; the description of a job of runs names how many, the experiment and the directory."""
    options = ("--master", "local[2]", "--conf", "spark.ui.enabled=true", "--conf", f"spark.ui.port={free_port()}")
    process = spark_cluster.groupsim("sweep", experiment, "--out", tmp_path / "out", *options)
    assert process.stderr is not None
    line = next(line for line in process.stderr if "Spark's own page: " in line)
    page = line.split("Spark's own page: ")[1].strip()
    spark_cluster.until(lambda: list(tmp_path.glob("out/chunks/*.json")) or process.poll() is not None, "no runs")
    application = read_json(f"{page}/api/v1/applications")[0]["id"]
    said = [job.get("description", "") for job in read_json(f"{page}/api/v1/applications/{application}/jobs")]
    holds.unlink()
    process.communicate(timeout=spark_cluster.LONG_S)
    pattern = rf"simulate \d+ runs of small in \d+ tasks into {re.escape(str(tmp_path / 'out'))}"
    assert [text for text in said if re.fullmatch(pattern, text)], said


def read_json(url: str) -> Any:
    """What Spark's page tells programs."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def test_ctrl_c_stops_spark_and_keeps_what_was_finished(experiment: Path, tmp_path: Path, holds: Path) -> None:
    """Exit code 130, how far it came, and no JVM left."""
    assert holds.exists()
    command = ("sweep", experiment, "--out", tmp_path / "out", "--master", "local[2]")
    process = spark_cluster.groupsim(*command)
    children: list[tuple[int, str]] = []

    def us() -> list[int]:
        children.extend(spark_cluster.below(process.pid))
        return []

    spark_cluster.until(lambda: list(tmp_path.glob("out/chunks/*.json")) or process.poll() is not None, "no runs")
    us()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=spark_cluster.PATIENCE_S)
    assert process.returncode == 130, said
    assert "the same command continues" in said
    assert "Traceback" not in said
    jvms = [pid for pid, line in children if "SparkSubmit" in line]
    assert jvms
    spark_cluster.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in jvms), "the JVM did not end")


def test_ctrl_c_while_spark_starts_leaves_no_jvm(experiment: Path, tmp_path: Path) -> None:
    """A JVM that has not met its driver yet ends with it: exit code 130, nothing left behind."""
    process = spark_cluster.groupsim("sweep", experiment, "--out", tmp_path / "out", "--master", "local[2]")

    def starting() -> list[int]:
        return [pid for pid, line in spark_cluster.below(process.pid) if "spark-class" in line or "SparkSubmit" in line]

    spark_cluster.until(starting, "no JVM")
    pids = starting()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=spark_cluster.PATIENCE_S)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    spark_cluster.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the JVM did not end")


def test_spark_connect_makes_the_tables_of_the_pool(
    python: Path, experiment: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    """A Connect server whose workers have a bare Python: every row as from the pool."""
    pytest.importorskip("grpc")
    with spark_cluster.connect(tmp_path, python) as remote:
        command = ("sweep", experiment, "--out", tmp_path / "out", "--remote", remote, "--json")
        code, found, said = ended(spark_cluster.groupsim(*command))
        assert (code, found.get("performed"), found.get("failed")) == (0, 3 * SEEDS, 0), said
        assert small_sweep.tables(tmp_path / "out") == expected


def test_a_connect_server_that_shares_no_storage_sends_rows_through_the_driver(
    python: Path, experiment: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    """Its processes see another file system where the directory lies: a line says so, and every row is as from the
    pool, the answer to the byte.
    """
    pytest.importorskip("grpc")
    hidden, server = tmp_path / "laptop", tmp_path / "server"
    hidden.mkdir()
    server.mkdir()
    if why := spark_cluster.why_not_blind(hidden):
        pytest.skip(why)
    with spark_cluster.connect(server, python, hidden) as remote:
        command = ("sweep", experiment, "--out", hidden / "out", "--remote", remote)
        process = spark_cluster.groupsim(*command)
        _, said = process.communicate(timeout=spark_cluster.LONG_S)
        assert process.returncode == 0, said
        assert f"the workers cannot write to {hidden / 'out'}: their tables come back through this process" in said
        assert "Traceback" not in said
        assert small_sweep.tables(hidden / "out") == expected
        answer = (hidden / "out/results/answer.json").read_bytes()
        assert results(hidden / "out", python, "pool")["answer.json"] == answer
        assert results(hidden / "out", python, "spark", remote=remote)["answer.json"] == answer


def test_workers_without_arrow_are_refused_before_the_first_run(
    cluster: tuple[str, list[int]], experiment: Path, tmp_path: Path
) -> None:
    """One clear error: the host, what it lacks, the remedy; exit code 3 and no run."""
    bare = spark_cluster.python_with(tmp_path / "bare", "pyspark", "py4j")
    command = ("sweep", experiment, "--out", tmp_path / "out", "--master", cluster[0])
    code, _, said = ended(spark_cluster.groupsim(*command, python=bare))
    assert code == 3, said
    assert "the worker on 127.0.0.1" in said
    assert "has no pyarrow" in said
    assert "pip install pyarrow" in said
    assert "Traceback" not in said
    assert not list((tmp_path / "out").glob("chunks/*"))


def test_workers_with_another_python_are_refused(
    cluster: tuple[str, list[int]], experiment: Path, tmp_path: Path
) -> None:
    """The versions of both sides are named."""
    other = another_python()
    if other is None:
        pytest.skip("there is no Python of another minor version on this machine")
    command = ("sweep", experiment, "--out", tmp_path / "out", "--master", cluster[0])
    code, _, said = ended(spark_cluster.groupsim(*command, python=other))
    assert code == 3, said
    assert "must have the same minor version" in said
    assert "PYSPARK_PYTHON" in said


def another_python() -> Path | None:
    """A Python of another minor version that works: on PATH, or beside the others of pyenv."""
    others = [minor for minor in (10, 11, 12, 13, 14) if minor != sys.version_info.minor]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = [shutil.which(f"python3.{minor}") for minor in others]
    candidates = [Path(name) for name in named if name]
    candidates += [path for minor in others for path in sorted(pyenv.glob(f"3.{minor}.*/bin/python"))]
    for found in candidates:
        if subprocess.run([found, "-c", "pass"], capture_output=True, check=False).returncode == 0:
            return found
    return None


ANALYSE = """
import sys
from groupsim.pipeline.analysis import analyse
from groupsim.pipeline.sweep import Directory, EngineOptions
path, engine, master, remote = sys.argv[1:]
analyse(Directory.open(path), EngineOptions(engine, master or None, remote or None))
"""


def results(path: Path, python: Path, engine: str, master: str = "", remote: str = "") -> dict[str, bytes]:
    """The files of an analysis, made anew in a process of its own."""
    shutil.rmtree(path / "results", ignore_errors=True)
    command = [sys.executable, "-c", ANALYSE, str(path), engine, master, remote]
    environment = {**os.environ, "PYSPARK_PYTHON": str(python)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return {file.name: file.read_bytes() for file in sorted((path / "results").iterdir())}


def test_the_statistics_are_the_same_wherever_they_are_computed(
    cluster: tuple[str, list[int]], python: Path, swept: Path, tmp_path: Path
) -> None:
    """In this process, on one core and on two, on a cluster and through Connect: every byte of the results."""
    pytest.importorskip("grpc")
    shutil.copytree(swept, tmp_path / "out")
    path = tmp_path / "out"
    plain = results(path, python, "pool")
    assert {"answer.json", "cells.parquet", "comparisons.parquet"} <= plain.keys()
    for master in ("local[1]", "local[2]", cluster[0]):
        assert results(path, python, "spark", master=master) == plain, master
    with spark_cluster.connect(tmp_path, python) as remote:
        assert results(path, python, "spark", remote=remote) == plain
