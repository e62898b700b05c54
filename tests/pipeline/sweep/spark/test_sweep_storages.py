"""Sweeps onto storages that are processes on loopback: HDFS, S3 with rights, gs, a disk that is full.

`make spark` runs these. What counts is read back from the storage; what is refused is read from the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groupsim.pipeline.experiment import load_experiment
from groupsim.pipeline.sweep.directory import Directory
from groupsim.pipeline.sweep.driver import sweep
from groupsim.pipeline.sweep.engines import EngineOptions
from tests.helpers import small_sweep, spark_cluster, storages

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(spark_cluster.why_not()), reason=f"no Spark: {spark_cluster.why_not()}"),
]
SEEDS = 4
ENGINES = pytest.mark.parametrize("engine", ["pool", "spark"])


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment's file."""
    return small_sweep.write(tmp_path_factory.mktemp("experiment"), SEEDS)


@pytest.fixture(scope="module")
def expected(experiment: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], bytes]:
    """The tables and the answer from the pool in a folder."""
    out = tmp_path_factory.mktemp("pool") / "out"
    process = spark_cluster.groupsim("sweep", experiment, "--out", out, "--engine", "pool")
    _, said = process.communicate(timeout=spark_cluster.LONG_S)
    assert process.returncode == 0, said
    return small_sweep.tables(out), (out / "results/answer.json").read_bytes()


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, str]]]:
    """The users of an S3 server."""
    with storages.s3(tmp_path_factory.mktemp("s3")) as found:
        yield found


def swept(experiment: Path, out: Path | str, engine: str, code: int = 0) -> str:
    """What a sweep prints that ends with an exit code."""
    options = ("--engine", "spark", "--master", "local[2]") if engine == "spark" else ("--engine", engine)
    process = spark_cluster.groupsim("sweep", experiment, "--out", str(out), *options)
    printed, said = process.communicate(timeout=spark_cluster.LONG_S)
    assert process.returncode == code, said
    assert "Traceback" not in said
    return printed + said


def assert_equal(out: str, expected: tuple[dict[str, Any], bytes]) -> None:
    """Every row and every byte of the answer are as in a folder."""
    assert small_sweep.tables(out) == expected[0]
    assert Directory.open(out).place.read("results/answer.json") == expected[1]


def test_hdfs_holds_the_tables_and_the_answer_of_a_folder(
    experiment: Path, expected: tuple[dict[str, Any], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written and analysed by the pool and by Spark; a user without rights is refused before the first run."""
    with storages.hdfs(tmp_path) as url:
        for engine in ("pool", "spark"):
            swept(experiment, f"{url}/{engine}", engine)
            assert_equal(f"{url}/{engine}", expected)
        monkeypatch.setenv("HADOOP_USER_NAME", "guest")
        for engine in ("pool", "spark"):
            said = swept(experiment, f"{url}/guest", engine, code=2)
            assert "no right to have it written" in said
            assert "user=guest" in said
            assert "\\n\\tat" not in said


@ENGINES
def test_s3_holds_the_tables_and_the_answer_of_a_folder(
    experiment: Path,
    expected: tuple[dict[str, Any], bytes],
    users: dict[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
) -> None:
    """By a user who may write, with a key that the server checks."""
    for name, value in users["writer"].items():
        monkeypatch.setenv(name, value)
    swept(experiment, f"s3a://bucket/{engine}", engine)
    assert_equal(f"s3a://bucket/{engine}", expected)


@ENGINES
@pytest.mark.parametrize(
    ("user", "secret", "says"),
    [("reader", None, "no right to have it written"), ("writer", "wrong", "the credentials are refused")],
    ids=["reader", "wrong-secret"],
)
def test_s3_that_refuses_ends_the_sweep_before_the_first_run(
    experiment: Path,
    users: dict[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    user: str,
    secret: str | None,
    says: str,
) -> None:
    """A user who only reads, and a key with another secret: exit code 2, one sentence, and nothing is written."""
    for name, value in users[user].items():
        monkeypatch.setenv(name, value)
    if secret:
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    where = f"s3a://bucket/refused-{user}-{engine}"
    assert says in swept(experiment, where, engine, code=2)
    for name, value in users["writer"].items():
        monkeypatch.setenv(name, value)
    assert storages_names(where) == []


def storages_names(where: str) -> list[str]:
    """What lies at a place, by another client than the one that a sweep has opened."""
    from groupsim.pipeline.sweep import place

    place._opened.cache_clear()
    return place.Place.at(where).names()


@ENGINES
def test_gs_holds_the_tables_and_the_answer_of_a_folder(
    experiment: Path, expected: tuple[dict[str, Any], bytes], tmp_path: Path, engine: str
) -> None:
    """Written and analysed by the pool and by Spark's executors, without a jar of Google's."""
    with storages.gs(tmp_path) as query:
        where = f"gs://anonymous@bucket/{engine}{query}"
        swept(experiment, where, engine)
        assert_equal(where, expected)


@ENGINES
def test_a_full_disk_ends_a_sweep_and_what_is_finished_counts(
    expected: tuple[dict[str, Any], bytes], tmp_path: Path, engine: str
) -> None:
    """Exit code 3 and the remedy; what counts then is whole, and with room the same command ends it with every row."""
    many = small_sweep.write(tmp_path / "experiment", 60)
    with storages.small_disk(tmp_path / "disk", 300) as disk:
        said = swept(many, disk / "out", engine, code=3)
        assert "the disk is full" in said
        assert "the same command continues from there" in said
        if (disk / "out/experiment.json").exists():
            directory = Directory.open(disk / "out")
            counted = sum(chunk.count for chunk in directory.manifest.chunks)
            assert len(directory.tables("runs")) == counted < 180
        storages.enlarge(disk, 100_000)
        swept(many, disk / "out", engine)
        sweep(load_experiment(str(many)), tmp_path / "peer", EngineOptions("pool", workers=2))
        assert small_sweep.tables(disk / "out") == small_sweep.tables(tmp_path / "peer")
