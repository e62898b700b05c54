"""Few large files instead of many small ones."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from attrs import evolve

from groupsim.pipeline.analysis import analyse
from groupsim.pipeline.experiment import Experiment
from groupsim.pipeline.runs import simulate, to_arrow
from groupsim.pipeline.sweep import compact as compacting
from groupsim.pipeline.sweep import merging, plan
from groupsim.pipeline.sweep.chunks import CHUNKS, Chunk, Cost, File
from groupsim.pipeline.sweep.compact import Compacted, compact, jobs
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.sweep.driver import sweep
from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.merging import Job, held, merge
from groupsim.pipeline.tables.schemas import TABLES
from tests.helpers import small_sweep, spark_cluster


@pytest.fixture
def swept(tmp_path: Path) -> Directory:
    """Three cells, two seeds, each run a chunk of its own."""
    experiment = small_sweep.load(tmp_path)
    with Directory.prepare(tmp_path / "out", Contents(experiment, "code")) as directory:
        for seed in experiment.seeds:
            for cell in experiment.cells:
                rows = simulate(cell.document, seed, cell=cell.number, digest="", code="", repeat="")
                directory.write(to_arrow(rows), [Cost(cell.number, 1, 10)])
    return Directory.open(tmp_path / "out")


def test_compacted_tables_are_the_same_in_few_files_sorted_by_cell(swept: Directory) -> None:
    """Rows, finished runs, costs and the bytes of the answer stay; a second time there is nothing to do."""
    analyse(swept, EngineOptions("pool"))
    before, answer = small_sweep.tables(swept.path), (swept.results / "answer.json").read_bytes()
    done = compact(swept.path)
    now = Directory.open(swept.path)
    assert done.before > 3 * done.after > 0
    assert len(list(swept.path.glob("tables/*/part-*"))) == done.after
    assert [path.suffix for path in (swept.path / CHUNKS).iterdir()] == [".json"]
    assert small_sweep.tables(swept.path) == before
    assert (set(now.finished), sorted(now.costs, key=lambda cost: cost.cell)) == (
        {(cell, seed) for cell in range(3) for seed in (0, 1)},
        [Cost(cell, 2, 20) for cell in range(3)],
    )
    (file,) = now.parts("changes")
    keys = pq.read_table(file, columns=["cell", "seed"]).to_pylist()
    assert keys == sorted(keys, key=lambda row: (row["cell"], row["seed"]))
    analyse(now, EngineOptions("pool"))
    assert (swept.results / "answer.json").read_bytes() == answer
    assert compact(swept.path) == Compacted(done.after, done.after)


def test_files_are_of_about_the_size_asked_for_and_sweeps_go_on(
    swept: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small target makes several files, by cells; runs that come later are compacted with what is small."""
    monkeypatch.setattr(compacting, "SMALL", 1)
    largest = max(sum(map(held, swept.files(name))) for name in TABLES)
    compact(swept.path, target=largest // 3 + 1)
    new = Directory.open(swept.path).manifest.chunks
    assert [run for chunk in new for run in sorted(run for span in chunk.runs for run in span.runs())] == [
        (cell, seed) for cell in range(3) for seed in (0, 1)
    ]
    assert len(new) > 1
    cell = swept.experiment.cells[0]
    with Directory.prepare(swept.path, swept.contents) as directory:
        directory.write(to_arrow(simulate(cell.document, 3, cell=0, digest="", code="", repeat="")))
    before = small_sweep.tables(swept.path)
    compact(swept.path)
    assert small_sweep.tables(swept.path) == before
    assert len(Directory.open(swept.path).manifest.chunks) == 1


def test_what_is_too_large_for_memory_goes_through_files(swept: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of runs in temporary files make the same tables, a row group each, and leave no file behind."""
    before = small_sweep.tables(swept.path)
    monkeypatch.setattr(merging, "RANGE", 2_000)
    monkeypatch.setattr(tempfile, "tempdir", str(swept.path.parent))
    compact(swept.path)
    now = Directory.open(swept.path)
    assert small_sweep.tables(swept.path) == before
    assert len(now.manifest.chunks) == 1
    (file,) = now.parts("deliveries")
    groups = pq.ParquetFile(file).metadata
    cells = [groups.row_group(at).column(0).statistics for at in range(groups.num_row_groups)]
    assert [(found.min, found.max) for found in cells] == sorted((found.min, found.max) for found in cells)
    assert len(cells) > 2
    assert not list(swept.path.parent.glob("groupsim-compact-*"))


def test_what_is_large_enough_stays_and_the_rest_is_cut_into_jobs() -> None:
    """Chunks of a quarter of the target are left alone; a job has some MB of the others, each chunk in one job."""

    def chunk(number: int, size: int) -> Chunk:
        return Chunk(f"0001-a-{number:06d}", 1, 0, (), (), (File("traces", "x", 1, size),))

    small, large = [chunk(number, 100_000) for number in range(100)], chunk(200, 300_000)
    found = jobs([*small, large], target=1_000_000)
    assert [one for job in found for one in job.chunks] == small
    assert [len(job.chunks) for job in found] == [44, 44, 12]
    assert max(job.name for job in found) < "0001"
    assert jobs([small[0], large], target=1_000_000) == []
    assert jobs(small, target=1_000_000, worth=101) == []


def compacted_often(tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """An experiment of which any sweep is compacted after every few chunks; "as it was" is one made before that."""
    if engine == "spark" and spark_cluster.why_not():
        pytest.skip(spark_cluster.why_not())
    experiment = small_sweep.load(tmp_path, seeds=4)
    sweep(experiment, tmp_path / "as it was", EngineOptions("pool", workers=1))
    monkeypatch.setattr(compacting, "WORTH", 2)
    monkeypatch.setattr(compacting, "GATHERED", 3)
    monkeypatch.setattr(plan, "LONGEST_TASK_US", 1)
    monkeypatch.setattr(plan, "SHORTEST_TASK_US", 1)
    return experiment


@pytest.mark.parametrize("engine", ["pool", "spark"])
def test_a_sweep_compacts_its_tables_while_it_goes_and_at_its_end(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On its workers; the tables are those of a sweep that left its files as they were."""
    experiment = compacted_often(tmp_path, engine, monkeypatch)
    merged: list[Job] = []
    merge_all = compacting.merge_all

    def noting(directory: Directory, todo: Sequence[Job], *on: Any) -> None:
        merged.extend(todo)
        merge_all(directory, todo, *on)

    monkeypatch.setattr(compacting, "merge_all", noting)
    sweep(experiment, tmp_path / "out", EngineOptions(engine, workers=1))
    assert any(chunk.chunk.startswith(compacting.FIRST) for job in merged for chunk in job.chunks)
    assert small_sweep.tables(tmp_path / "out") == small_sweep.tables(tmp_path / "as it was")
    assert len(list((tmp_path / "out/tables/runs").iterdir())) == 1
    assert len(list((tmp_path / "out" / CHUNKS).iterdir())) == 1


@pytest.mark.parametrize("engine", ["pool", pytest.param("spark", marks=pytest.mark.slow)])
def test_a_merge_that_fails_while_a_sweep_goes_on_is_left_for_its_end(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its chunks count as they are, and no run is lost or repeated; the end merges them, and nothing is said."""
    experiment = compacted_often(tmp_path, engine, monkeypatch)
    failing: list[Job] = []

    def unreadable(there: Sequence[Chunk], worth: int = 0) -> list[Job]:
        if worth:  # at the end
            return jobs(there, worth=worth)
        for job in jobs(there):
            gone = [evolve(one, files=tuple(evolve(file, file="gone") for file in one.files)) for one in job.chunks]
            failing.append(evolve(job, chunks=tuple(gone)))
        return failing[-1:]

    monkeypatch.setattr(compacting, "jobs", unreadable)
    said: list[str] = []
    outcome = sweep(experiment, tmp_path / "out", EngineOptions(engine, workers=1), note=said.append)
    assert failing
    assert (outcome.performed, outcome.failed) == (12, 0)
    assert not [sentence for sentence in said if "small files" in sentence]
    with pytest.raises(SweepError):
        merge(Directory.open(tmp_path / "out").place, failing[0])
    assert small_sweep.tables(tmp_path / "out") == small_sweep.tables(tmp_path / "as it was")
    assert len(list((tmp_path / "out/tables/runs").iterdir())) == 1


def test_a_full_disk_while_a_sweep_compacts_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs are there: the sweep ends well, and says how its tables become few files later."""

    def full(*_: object) -> None:
        raise SweepError("/out: the disk is full")

    monkeypatch.setattr(compacting, "WORTH", 2)
    monkeypatch.setattr(compacting, "merge_all", full)
    said: list[str] = []
    experiment = small_sweep.load(tmp_path)
    outcome = sweep(experiment, tmp_path / "out", EngineOptions("pool", workers=1), note=said.append)
    assert (outcome.performed, outcome.failed) == (6, 0)
    assert any("the disk is full; groupsim compact DIR" in sentence for sentence in said)


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from groupsim.pipeline.sweep import compact as compacting, place

compacting.SMALL = 1
source, work = map(Path, sys.argv[1:3])
real = {name: getattr(place.Place, name) for name in ("write", "remove")}


def killed(nth):
    left = [nth]

    def step():
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, *arguments):
        step()
        return real["write"](self, *arguments)

    def remove(self, names):
        for name in names:
            step()
            real["remove"](self, [name])

    place.Place.write, place.Place.remove = write, remove
    compacting.compact(work / str(nth), target=int(sys.argv[3]))


for nth in range(1, 400, 17):
    shutil.copytree(source, work / str(nth))
    child = os.fork()
    if child == 0:
        killed(nth)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


def test_a_killed_compaction_loses_nothing_and_doubles_nothing(swept: Directory, tmp_path: Path) -> None:
    """SIGKILL before a file is written or removed, early or late: every row is there once, and the next one ends it."""
    before = small_sweep.tables(swept.path)
    script, work = tmp_path / "killed.py", tmp_path / "work"
    script.write_text(KILLED)
    work.mkdir()
    target = max(sum(map(held, swept.files(name))) for name in TABLES) // 2
    command = [sys.executable, str(script), str(swept.path), str(work), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ended = sorted(work.iterdir(), key=lambda path: int(path.name))
    assert len(ended) > 6
    for path in ended:
        assert len(Directory.open(path).finished) == 6, path
    for path in ended[1::3]:
        assert small_sweep.tables(path) == before, path
        compact(path)
        assert small_sweep.tables(path) == before, path
        now = Directory.open(path)
        named = {file.file for chunk in now.manifest.chunks for file in chunk.files}
        assert {file.name for file in path.glob("tables/*/part-*")} == named
        assert not now.manifest.repeated


def test_a_second_attempt_at_a_merge_takes_the_first_ones_word(swept: Directory) -> None:
    """Spark tries a task again whose first attempt has written its manifest and removed a part of the old files."""
    before = small_sweep.tables(swept.path)
    (job,) = jobs(swept.manifest.chunks)
    merge(swept.place, job)
    merge(swept.place, job)
    assert small_sweep.tables(swept.path) == before
