"""Sweeps on Spark in local mode: the tables of the pool; and Spark's errors in a sentence."""

from __future__ import annotations

import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from groupsim.pipeline.sweep.driver import sweep
from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.spark.probe import explained
from groupsim.pipeline.sweep.spark.remote import unpacking, writing
from groupsim.pipeline.sweep.spark.session import _kill, _noted_processes, session
from tests.helpers import small_sweep, spark_cluster

needs_spark = pytest.mark.skipif(bool(spark_cluster.why_not()), reason=f"no Spark: {spark_cluster.why_not()}")

OWN = """
from groupsim.assignors.range import RangeAssignor
import helping


class Own(RangeAssignor):
    name = helping.NAME
"""


@needs_spark
def test_local_spark_makes_the_tables_of_the_pool(tmp_path: Path) -> None:
    """One core and the pool agree in every row, the traces and the user's own assignor included."""
    (tmp_path / "own_assignor.py").write_text(OWN)
    (tmp_path / "helping.py").write_text("NAME = 'own'")
    experiment = small_sweep.load(tmp_path, assignors="range, 'own_assignor:Own'")
    engines = {
        "pool": EngineOptions("pool", workers=2),
        "one": EngineOptions(master="local[1]"),
    }
    outcomes = {name: sweep(experiment, tmp_path / name, options, traces=True) for name, options in engines.items()}
    pool = small_sweep.tables(tmp_path / "pool")
    assert pool["traces"].num_rows > 100
    assert pool == small_sweep.tables(tmp_path / "one")
    assert [(one.engine, one.workers, one.failed) for one in outcomes.values()] == [("pool", 2, 0), ("spark", 1, 0)]


def test_a_master_that_does_not_answer_is_named_at_once() -> None:
    """Nobody listening is said before Spark tries for minutes, for masters and Connect servers."""
    port = spark_cluster.free_port()
    with (
        pytest.raises(SweepError, match=rf"spark://127.0.0.1:{port} cannot be reached"),
        session(EngineOptions(master=f"spark://127.0.0.1:{port}")),
    ):
        pass
    with (
        pytest.raises(SweepError, match=rf"sc://127.0.0.1:{port} cannot be reached"),
        session(EngineOptions(remote=f"sc://127.0.0.1:{port}")),
    ):
        pass


LOST = "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: "


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            LOST
            + "Lost task 0.3 (TID 3) (10.0.0.7 executor 1): PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in"
            " worker has different version: 3.9 than that in driver: 3.11",
            ["the worker on 10.0.0.7 (executor 1) runs Python 3.9", "PYSPARK_PYTHON"],
        ),
        (
            LOST + "Lost task 0.3 (TID 3) (10.0.0.7 executor 1): ModuleNotFoundError: No module named 'pyarrow'",
            ["10.0.0.7", "has no pyarrow", "pip install pyarrow"],
        ),
        (
            LOST
            + 'Lost task 0.3 (TID 3) (h executor 2): java.io.IOException: Cannot run program "python3.11": error=2',
            ["has no program python3.11"],
        ),
        (
            LOST + "Lost task 0.3 in stage 1.0 (TID 3) (h executor 2): ExecutorLostFailure (executor 2 exited)",
            ["the worker on h (executor 2) died, 4 times", "memory"],
        ),
        ("Job 3 cancelled because SparkContext was shut down", ["Spark has gone", "same command goes on"]),
        ("[SOMETHING] else\nand more", ["Spark failed: [SOMETHING] else", "--traceback"]),
    ],
)
def test_sparks_errors_become_a_sentence(text: str, words: list[str]) -> None:
    """Host, version or module, and what to do: out of Spark's pages."""
    error = explained(RuntimeError(text))
    assert all(word in f"{error.message} | {error.remedy}" for word in words), error.message


def test_what_spark_runs_travels_by_value() -> None:
    """A Python that cannot import us receives the function, which then asks for the zip."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    receive = (
        "import sys\n"
        "sys.modules['groupsim'] = None\n"
        "from pyspark import cloudpickle\n"
        "next(cloudpickle.loads(sys.stdin.buffer.read())([]))\n"
    )
    sent = cloudpickle.dumps(writing({}, "some.zip"))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", receive], input=sent, capture_output=True, check=False)
    assert done.stderr.decode().strip().endswith("ImportError: some.zip has not reached this worker")


def test_a_worker_without_the_zip_says_so() -> None:
    """The zip that has not arrived is named."""
    with pytest.raises(ImportError, match=r"other\.zip has not reached"):
        unpacking("other.zip")()


UNPACK = """
import gc, sys
from pathlib import Path
sys.path[1:1] = [sys.argv[1], sys.argv[2]]
import mine
from groupsim.pipeline.sweep.spark.remote import unpacking
unpack = unpacking("groupsim-test.zip", "mine")
unpack()
print(sys.modules["mine"].__file__, gc.get_freeze_count() > 100)
Path(sys.argv[2]).unlink()
unpack()
"""


@pytest.mark.parametrize("blocked", [False, True])
def test_a_worker_imports_from_the_zip_unpacked(tmp_path: Path, blocked: bool) -> None:
    """Not what it has imported from elsewhere; where the zip cannot be unpacked, from the zip; and only once."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.py").write_text("")
    shipped = tmp_path / "groupsim-test.zip"
    with zipfile.ZipFile(shipped, "w") as archive:
        archive.writestr("groupsim/__init__.py", "")
        archive.writestr("mine.py", "import groupsim")
    folder = tmp_path / "groupsim-test.zip.files"
    if blocked:
        folder.touch()
    command = [sys.executable, "-c", UNPACK, str(tmp_path / "other"), str(shipped)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == [str((shipped if blocked else folder) / "mine.py"), "True"]
    assert {path.name for path in tmp_path.iterdir()} == {"other", folder.name}


def test_a_jvm_that_is_still_starting_can_be_ended() -> None:
    """PySpark keeps to itself what it starts until it has answered; the session notes it, with all below it."""
    from pyspark import java_gateway

    real = java_gateway.Popen
    begun: list[subprocess.Popen[bytes]] = []
    with _noted_processes(begun):
        java_gateway.Popen(["sh", "-c", "sleep 60; true"], start_new_session=True)
    assert java_gateway.Popen is real
    _kill(begun)
    assert [process.returncode for process in begun] == [-signal.SIGKILL]
