"""Few large files instead of many small ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from groupsim.pipeline.analysis import analyse
from groupsim.pipeline.runs import simulate, to_arrow
from groupsim.pipeline.schemas import TABLES
from groupsim.pipeline.sweep import compact as compacting
from groupsim.pipeline.sweep.chunks import CHUNKS, Cost
from groupsim.pipeline.sweep.compact import Compacted, compact
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.errors import SweepError
from tests.pipeline import small_sweep


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


def test_files_are_of_about_the_size_asked_for_and_sweeps_go_on(swept: Directory) -> None:
    """A small target makes a file per cell; runs that come later are compacted with the others."""
    largest = max(sum(file.bytes for file in swept.files(name)) for name in TABLES)
    compact(swept.path, target=largest // 3 + 1)
    assert [chunk.runs[0].first_cell for chunk in Directory.open(swept.path).manifest.chunks] == [0, 1, 2]
    assert [chunk.count for chunk in Directory.open(swept.path).manifest.chunks] == [2, 2, 2]
    cell = swept.experiment.cells[0]
    with Directory.prepare(swept.path, swept.contents) as directory:
        directory.write(to_arrow(simulate(cell.document, 3, cell=0, digest="", code="", repeat="")))
    before = small_sweep.tables(swept.path)
    compact(swept.path)
    assert small_sweep.tables(swept.path) == before
    assert len(Directory.open(swept.path).manifest.chunks) == 1


def test_an_end_at_any_point_loses_nothing_and_counts_nothing_twice(
    swept: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the manifest is there the old files count; after it the new ones do, and what is left over is cleaned."""
    before = small_sweep.tables(swept.path)
    place = type(swept.place)
    remove = place.remove

    def stops(*_: object) -> None:
        raise SweepError("stopped")

    def stops_later(*arguments: Any) -> None:
        """At the first removal after the manifest is written."""
        if list(swept.path.glob(f"{CHUNKS}/0000-*")):
            stops()
        remove(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(compacting.chunks, "write_all", stops)
        with pytest.raises(SweepError, match="stopped"):
            compact(swept.path)
    assert small_sweep.tables(swept.path) == before
    assert not list(swept.path.glob("tables/*/*.compact.parquet"))
    with monkeypatch.context() as patched:
        patched.setattr(place, "remove", stops_later)
        with pytest.raises(SweepError, match="stopped"):
            compact(swept.path)
    assert small_sweep.tables(swept.path) == before
    assert len(Directory.open(swept.path).manifest.repeated) == 6
    Directory.prepare(swept.path, swept.contents).close()
    assert small_sweep.tables(swept.path) == before
    assert len(list(swept.path.glob("tables/runs/*"))) == 1
