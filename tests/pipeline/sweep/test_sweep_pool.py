"""Sweeps in a pool of processes: results, failures, deaths, interruptions."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import attrs
import pytest

from groupsim.pipeline.sweep.directory import Directory
from groupsim.pipeline.sweep.driver import Progress, sweep
from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.pool import DEATHS, Pool, _deaf_to_ctrl_c
from tests.helpers import small_sweep

TWO = EngineOptions("pool", workers=2)

FAULTY = """
from groupsim.assignors.range import RangeAssignor


class Own(RangeAssignor):
    name = "own"

    def assign(self, *args, **kwargs):
        raise RuntimeError("out of cheese")
"""


def test_one_worker_and_two_make_the_same_tables(tmp_path: Path) -> None:
    """How the runs are spread over processes shows in no table; every run is there once."""
    experiment = small_sweep.load(tmp_path)
    one = sweep(experiment, tmp_path / "one", EngineOptions("pool", workers=1))
    two = sweep(experiment, tmp_path / "two", TWO)
    assert small_sweep.tables(tmp_path / "one") == small_sweep.tables(tmp_path / "two")
    assert (one.performed, one.failed, two.total) == (6, 0, 6)
    runs = two.directory.tables("runs")
    assert list(zip(runs["cell"].to_pylist(), runs["seed"].to_pylist())) == [(c, s) for c in range(3) for s in range(2)]
    assert set(runs["code"].to_pylist()) == {two.directory.contents.code}


def test_a_failing_assignor_makes_rows(tmp_path: Path) -> None:
    """Its runs are rows with the error and the command that repeats it; the other cells are untouched."""
    (tmp_path / "mine.py").write_text(FAULTY)
    outcome = sweep(small_sweep.load(tmp_path, assignors="range, 'mine:Own'"), tmp_path / "out", TWO)
    assert (outcome.total, outcome.failed) == (4, 2)
    rows = outcome.directory.tables("runs").to_pylist()
    assert [row["status"] for row in rows] == ["done", "done", "failed", "failed"]
    assert "out of cheese" in rows[2]["error"]
    assert "repeat it with" not in rows[2]["error"]  # without the cell's settings it would be another run
    assert rows[3]["repeat"].endswith("--set 'groups.g.assignor=\"mine:Own\"' --seed 1")


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    """A worker killed in the middle costs nothing but time: the tables are those of a sweep without it."""
    experiment = small_sweep.load(tmp_path, seeds=8)
    killed = []

    def watch(progress: Progress) -> None:
        if progress.finished >= 6 and not killed:
            killed.append(_a_worker())
            os.kill(killed[0], signal.SIGKILL)

    sweep(experiment, tmp_path / "killed", TWO, watch=watch)
    sweep(experiment, tmp_path / "whole", TWO)
    assert killed
    assert small_sweep.tables(tmp_path / "killed") == small_sweep.tables(tmp_path / "whole")


def _a_worker() -> int:
    import multiprocessing

    pid = multiprocessing.active_children()[0].pid
    assert pid is not None
    return pid


def test_a_task_that_kills_its_workers_ends_the_sweep(tmp_path: Path) -> None:
    """After some deaths over one task the message names how they died, the runs, and what to try."""
    deadly = FAULTY.replace('raise RuntimeError("out of cheese")', "__import__('os')._exit(9)")
    (tmp_path / "mine.py").write_text(deadly)
    experiment = small_sweep.load(tmp_path, assignors="range, 'mine:Own'")
    with pytest.raises(
        SweepError, match=rf"{DEATHS} worker processes died \(exit code 9\).*cell 1 with seed 0"
    ) as caught:
        sweep(experiment, tmp_path / "out", TWO)
    assert "memory" in caught.value.remedy
    assert (1, 0) not in Directory.open(tmp_path / "out").finished


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    """Ctrl-C keeps the tasks that have ended; the same call performs the rest and no run twice."""
    experiment = small_sweep.load(tmp_path, seeds=30)

    def interrupt(progress: Progress) -> None:
        if progress.finished >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(experiment, tmp_path / "out", TWO, watch=interrupt)
    kept = len(Directory.open(tmp_path / "out").finished)
    outcome = sweep(experiment, tmp_path / "out", TWO)
    assert 5 <= kept < 90
    assert (outcome.performed, outcome.total) == (90 - kept, 90)
    sweep(experiment, tmp_path / "whole", TWO)
    assert small_sweep.tables(tmp_path / "out") == small_sweep.tables(tmp_path / "whole")


def test_a_finished_sweep_runs_nothing_again(tmp_path: Path) -> None:
    """The same call finds everything there; with more seeds only those are run."""
    experiment = small_sweep.load(tmp_path, seeds=1)
    sweep(experiment, tmp_path / "out", TWO)
    assert sweep(experiment, tmp_path / "out", TWO).performed == 0
    more = sweep(attrs.evolve(experiment, seeds=(0, 1)), tmp_path / "out", TWO)
    assert (more.performed, more.total) == (3, 6)


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    """Finished runs only grow, and the time left ends at nothing."""
    seen: list[Progress] = []
    sweep(small_sweep.load(tmp_path), tmp_path / "out", TWO, watch=seen.append)
    counts = [state.finished for state in seen]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1], seen[-1].seconds_left) == (0, 6, 0)


def test_the_pool_leaves_no_process_behind() -> None:
    """Closing ends workers that are idle and workers that are not."""
    pool = Pool(1)
    worker: Any = pool._start()
    pool.close()
    assert worker.process.exitcode is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (EngineOptions("poll"), "no such engine"),
        (EngineOptions(workers=0), "at least one"),
        (EngineOptions(master="local", remote="sc://x"), "two clusters"),
        (EngineOptions("pool", master="local"), "this machine only"),
        (EngineOptions(master="foo"), "no Spark master"),
        (EngineOptions(master="local[x]"), "no Spark master"),
        (EngineOptions(master="local[0]"), "no Spark master"),
        (EngineOptions(master="local[2, 0]"), "no Spark master"),
        (EngineOptions(master="sc://x"), "no Spark master"),
        (EngineOptions(remote="spark://x:7077"), "--master"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: EngineOptions, message: str) -> None:
    """Before anything starts, with the option named."""
    with pytest.raises(SweepError) as caught:
        options.chosen()
    assert message in f"{caught.value.message} {caught.value.remedy}"
    assert caught.value.bad_input


def test_a_cluster_means_spark() -> None:
    """`auto` takes Spark where a cluster is named, and is else to be decided."""
    chosen = [EngineOptions(), EngineOptions(master="local[2]"), EngineOptions(remote="sc://x"), EngineOptions("spark")]
    assert [one.chosen() for one in chosen] == ["auto", "spark", "spark", "spark"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_a_worker_is_started_comes_a_moment_later(number: signal.Signals) -> None:
    """Another thread may take it, too: a worker that was begun and told nothing would end with a traceback."""
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    over, seen = threading.Event(), list[str]()

    def start() -> None:
        with _deaf_to_ctrl_c():
            os.kill(os.getpid(), number)
            over.wait(0.2)
            seen.append("started")

    for one in before:  # Spark's session, if another test has one open, has a handler of its own
        signal.signal(one, signal.default_int_handler)
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        over.set()
        other.join()
        after = {signal.signal(one, handler) for one, handler in before.items()}
    assert seen == ["started"]
    assert after == {signal.default_int_handler}
