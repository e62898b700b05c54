"""The directory of a sweep: whole parts, resuming, refusing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groupsim.pipeline.sweep import chunks, files
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.sweep.errors import SweepError
from tests.helpers import small_sweep


@pytest.fixture
def wanted(tmp_path: Path) -> Contents:
    """What a sweep of the small experiment wants."""
    return Contents(small_sweep.load(tmp_path / "source"), code="c0de")


def test_rows_come_back_sorted_whatever_the_order_of_parts(tmp_path: Path, wanted: Contents) -> None:
    """Tables are sorted by cell and seed, and keep a run's own order."""
    with Directory.prepare(tmp_path / "a", wanted) as one:
        one.write(small_sweep.chunk([(2, 1), (0, 0)]))
        one.write(small_sweep.chunk([(1, 0)]))
    runs, faults = one.tables("runs").to_pylist(), one.tables("faults").to_pylist()
    assert [(row["cell"], row["seed"]) for row in runs] == [(0, 0), (1, 0), (2, 1)]
    assert [row["what"] for row in faults] == ["row 2", "row 3", "row 0", "row 1", "row 0", "row 1"]
    assert set(one.finished) == {(2, 1), (0, 0), (1, 0)}
    assert one.tables("spans").num_rows == 0


def test_what_no_manifest_names_is_never_read(tmp_path: Path, wanted: Contents) -> None:
    """Files of lost attempts and of others count for nothing, and are removed when the next sweep begins."""
    path = tmp_path / "a"
    with Directory.prepare(path, wanted) as one:
        one.write(small_sweep.chunk([(0, 0)]))
        lost = one.write(small_sweep.chunk([(1, 0)]))
    (path / f"chunks/{lost.chunk}.json").unlink()
    (path / "tables/runs/.part-00002.parquet.1.tmp").write_bytes(b"half")
    (path / "tables/runs/part-foreign.parquet").write_bytes(b"of another program")
    found = Directory.open(path)
    assert (found.tables("faults").num_rows, found.tables("runs").num_rows, set(found.finished)) == (2, 1, {(0, 0)})
    with Directory.prepare(path, wanted) as again:
        assert set(again.finished) == {(0, 0)}
    assert [len(list((path / "tables" / name).iterdir())) for name in ("runs", "faults")] == [1, 1]


def test_runs_that_were_written_twice_count_once(tmp_path: Path, wanted: Contents) -> None:
    """A chunk that repeats a run of an earlier one does not count, with all its runs; the next sweep removes it."""
    path = tmp_path / "a"
    with Directory.prepare(path, wanted) as one:
        first = one.write(small_sweep.chunk([(0, 0), (1, 0)]))
        twice = one.write(small_sweep.chunk([(1, 0), (2, 0)]))
        assert (set(one.finished), one.tables("runs").num_rows) == ({(0, 0), (1, 0)}, 2)
        chunks.fold(one.place, "9999", [first])
        one.place.write(f"chunks/{first.chunk}.json", (path / "chunks/9999.json").read_bytes())
    with Directory.prepare(path, wanted) as again:
        assert (set(again.finished), again.failed) == ({(0, 0), (1, 0)}, 0)
    assert not (path / f"chunks/{twice.chunk}.json").exists()


def test_only_the_chunks_that_have_a_run_are_read_for_it(tmp_path: Path, wanted: Contents) -> None:
    """Rows of single runs come without a look at other chunks, be they damaged."""
    with Directory.prepare(tmp_path / "a", wanted) as one:
        one.write(small_sweep.chunk([(0, 0), (1, 0)]))
        other = one.write(small_sweep.chunk([(2, 0)]))
    _half(one.path / "tables/faults" / other.files[0].file)
    found = one.tables("faults", ["what", "seed"], runs=[(1, 0)])
    assert (found.column_names, found["what"].to_pylist()) == (["what", "seed"], ["row 2", "row 3"])
    with pytest.raises(SweepError, match="damaged"):
        one.tables("faults", runs=[(2, 0)])


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [(0, 0)],
        [(cell, seed) for seed in range(5, 9) for cell in range(3)],
        [(2, 3), (0, 4), (1, 4), (2, 4), (0, 5), (1, 5), (2, 5), (0, 6), (4, 6)],
        [(0, 9), (0, 3), (0, 7), (1, 3)],
    ],
)
def test_spans_are_the_runs_they_were_made_of(runs: list[tuple[int, int]]) -> None:
    """Each run is in one span, and no other is."""
    found = chunks.spans(runs)
    assert sorted(run for span in found for run in span.runs()) == sorted(runs)
    assert sum(span.count for span in found) == len(runs)


def test_runs_in_the_order_of_a_sweep_are_few_spans() -> None:
    """However many runs a task has, its row stays small."""
    order = [(cell, seed) for seed in range(1000) for cell in range(7)]
    assert len(chunks.spans(order[3:6000])) <= 3


def test_a_full_disk_ends_with_a_sentence_and_keeps_what_was_finished(
    tmp_path: Path, wanted: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENOSPC in the middle of a chunk leaves the chunks before it, and nothing of its own."""
    with Directory.prepare(tmp_path / "a", wanted) as one:
        one.write(small_sweep.chunk([(0, 0)]))
        calls = []

        def full(descriptor: int) -> None:
            calls.append(descriptor)
            if len(calls) > 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(files.os, "fsync", full)
        with pytest.raises(SweepError, match="disk is full") as caught:
            one.write(small_sweep.chunk([(1, 0)]))
        monkeypatch.undo()
    assert not caught.value.bad_input
    assert "same command" in caught.value.remedy
    assert set(one.finished) == {(0, 0)}
    assert len(list(one.path.glob("tables/*/part-*"))) == 2


def test_what_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other failure to write names the file, though the system's error does not."""

    def too_large(descriptor: int) -> None:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    monkeypatch.setattr(files.os, "fsync", too_large)
    with pytest.raises(SweepError, match=r"a\.txt: cannot be written: File too large"):
        files.write_atomically(tmp_path / "a.txt", lambda file: file.write(b"x"))
    assert list(tmp_path.iterdir()) == []


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _without_a_column(path: Path) -> None:
    pq.write_table(pq.read_table(path).drop_columns(["what"]), path)


def _of_another(path: Path) -> None:
    rows = pq.read_table(path)
    pq.write_table(pa.concat_tables([rows, rows]), path)


@pytest.mark.parametrize(
    ("spoil", "says", "remedy"),
    [
        (_half, r"part-.*\.parquet: damaged: ", "the same sweep then runs these runs again"),
        (Path.unlink, r"part-.*\.parquet: damaged: it is not there", "the same sweep then runs these runs again"),
        (_without_a_column, "damaged: it has no column what", "the same sweep then runs these runs again"),
        (_of_another, "damaged: it has 4 rows, and the manifest says 2", "the same sweep then runs these runs again"),
    ],
)
def test_a_spoilt_part_is_named_with_the_remedy(
    tmp_path: Path, wanted: Contents, spoil: Callable[[Path], None], says: str, remedy: str
) -> None:
    """Half a file, none, one with other columns or rows is neither an error of Arrow's nor passed over."""
    with Directory.prepare(tmp_path / "a", wanted) as one:
        chunk = one.write(small_sweep.chunk([(0, 0)]))
    spoil(next(one.path.glob("tables/faults/*")))
    for read in (lambda: one.tables("faults"), lambda: one.read("faults", ["cell", "what"])):
        with pytest.raises(SweepError, match=says) as caught:
            read()
        assert caught.value.bad_input
        assert remedy in caught.value.remedy
    if "damaged" in says:
        manifest = one.path / f"chunks/{chunk.chunk}.json"
        assert str(manifest) in caught.value.remedy
        manifest.rename(tmp_path / "moved away")
        with Directory.prepare(tmp_path / "a", wanted) as again:
            assert set(again.finished) == set()


def test_a_place_that_cannot_be_read_is_not_called_damaged(tmp_path: Path, wanted: Contents) -> None:
    """What the system refuses is said as that, without advice to remove anything."""
    with Directory.prepare(tmp_path / "a", wanted) as one:
        one.write(small_sweep.chunk([(0, 0)]))
    file = next(one.path.glob("tables/faults/*"))
    file.unlink()
    file.mkdir()
    with pytest.raises(SweepError) as caught:
        one.tables("faults")
    assert "damaged" not in caught.value.message
    assert "remove" not in caught.value.remedy + caught.value.message


def test_a_directory_of_the_earlier_layout_is_refused(tmp_path: Path, wanted: Contents) -> None:
    """Without manifests nothing says what counts: it is named, for reading and for sweeping, and left as it is."""
    Directory.prepare(tmp_path / "a", wanted).close()
    file = tmp_path / "a/experiment.json"
    file.write_text(file.read_text().replace('"layout": 2, ', ""))
    for use in (Directory.open, lambda path: Directory.prepare(path, wanted)):
        with pytest.raises(SweepError, match="layout 1 of the directory, this is layout 2") as caught:
            use(tmp_path / "a")
        assert "new directory" in caught.value.remedy


@pytest.mark.parametrize(("url", "says"), [("ftp://host/x", "no file system is called 'ftp'"), ("s4a://b/x", "s4a")])
def test_a_url_of_no_file_system_is_refused(wanted: Contents, url: str, says: str) -> None:
    """Before anything runs, and no folder is made of its scheme."""
    with pytest.raises(SweepError, match=says) as caught:
        Directory.prepare(url, wanted)
    assert caught.value.bad_input
    assert "s3a" in caught.value.remedy


def test_a_file_url_is_the_folder_it_names(tmp_path: Path, wanted: Contents) -> None:
    """file:///x is /x."""
    with Directory.prepare((tmp_path / "a").as_uri(), wanted) as one:
        assert one.path == tmp_path / "a"


def test_more_seeds_join_what_is_there(tmp_path: Path, wanted: Contents) -> None:
    """The same experiment with other seeds resumes; seeds that have runs stay, those that have none do not."""
    first = attrs.evolve(wanted, experiment=attrs.evolve(wanted.experiment, seeds=(0, 1, 2)))
    with Directory.prepare(tmp_path / "a", first) as one:
        one.write(small_sweep.chunk([(0, 1)]))
    second = attrs.evolve(wanted, experiment=attrs.evolve(wanted.experiment, seeds=(5, 6)))
    with Directory.prepare(tmp_path / "a", second) as two:
        assert two.experiment.seeds == (1, 5, 6)
    assert Directory.open(tmp_path / "a").experiment == two.experiment


def test_goals_and_words_of_an_experiment_may_change(tmp_path: Path, wanted: Contents) -> None:
    """What no row depends on does not make a directory another's."""
    Directory.prepare(tmp_path / "a", wanted).close()
    other = attrs.evolve(wanted, experiment=attrs.evolve(wanted.experiment, title="Renamed", goals=()))
    Directory.prepare(tmp_path / "a", other).close()
    assert Directory.open(tmp_path / "a").experiment.title == "Renamed"


def test_another_experiment_is_refused(tmp_path: Path, wanted: Contents) -> None:
    """A directory of other cells is named as what it is, with a remedy, and stays as it was."""
    Directory.prepare(tmp_path / "a", wanted).close()
    before = (tmp_path / "a/experiment.json").read_bytes()
    other = attrs.evolve(wanted, experiment=small_sweep.load(tmp_path / "other", assignors="range, roundrobin"))
    with pytest.raises(SweepError, match=r"another experiment.*3 cells there, 2 here") as caught:
        Directory.prepare(tmp_path / "a", other)
    assert caught.value.bad_input
    assert "--out" in caught.value.remedy
    assert (tmp_path / "a/experiment.json").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"), [({"code": "beef"}, "other code"), ({"traces": True}, "without full traces")]
)
def test_other_code_and_other_traces_are_refused(
    tmp_path: Path, wanted: Contents, change: dict[str, object], message: str
) -> None:
    """Rows made by other code, or without the traces now wanted, are not mixed."""
    Directory.prepare(tmp_path / "a", wanted).close()
    with pytest.raises(SweepError, match=message):
        Directory.prepare(tmp_path / "a", attrs.evolve(wanted, **change))


def test_files_of_somebody_else_are_left_alone(tmp_path: Path, wanted: Contents) -> None:
    """A directory with other files in it is refused, and nothing is written there."""
    path = tmp_path / "thesis"
    path.mkdir()
    (path / "chapter.tex").write_text("x")
    with pytest.raises(SweepError, match=r"not empty.*chapter.tex"):
        Directory.prepare(path, wanted)
    with pytest.raises(SweepError, match="this is a file"):
        Directory.prepare(path / "chapter.tex", wanted)
    assert [entry.name for entry in path.iterdir()] == ["chapter.tex"]


def test_two_sweeps_do_not_share_a_directory(tmp_path: Path, wanted: Contents) -> None:
    """While a sweep writes, another is refused; afterwards it is let in."""
    with Directory.prepare(tmp_path / "a", wanted), pytest.raises(SweepError, match="another sweep"):
        Directory.prepare(tmp_path / "a", wanted)
    Directory.prepare(tmp_path / "a", wanted).close()


def test_what_is_no_sweep_says_so(tmp_path: Path, wanted: Contents) -> None:
    """Opening nothing, a foreign folder or a damaged one ends in a sentence."""
    with pytest.raises(SweepError, match="no such directory"):
        Directory.open(tmp_path / "none")
    with pytest.raises(SweepError, match="no directory of a sweep"):
        Directory.open(tmp_path)
    Directory.prepare(tmp_path / "a", wanted).close()
    file = tmp_path / "a/experiment.json"
    file.write_text(file.read_text().replace('"range"', '"rage"'))
    with pytest.raises(SweepError, match="cannot be read"):
        Directory.open(tmp_path / "a")


def test_parts_of_full_traces_are_kept_only_on_request(tmp_path: Path, wanted: Contents) -> None:
    """Without traces there is no such table on the disk; reading it gives none."""
    with Directory.prepare(tmp_path / "a", wanted) as one:
        one.write(small_sweep.chunk([(0, 0)]))
    assert one.parts("traces") == []
    assert one.tables("traces").num_rows == 0
    with Directory.prepare(tmp_path / "b", attrs.evolve(wanted, traces=True)) as two:
        two.write(small_sweep.chunk([(0, 0)]))
    assert len(two.parts("traces")) == 1
