"""The directory of a sweep: whole parts, resuming, refusing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import attrs
import pyarrow.parquet as pq
import pytest
import small_sweep

from groupsim.pipeline.analysis.results import read_columns
from groupsim.pipeline.sweep import files
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.sweep.errors import SweepError


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
    assert one.finished == {(2, 1), (0, 0), (1, 0)}
    assert one.tables("spans").num_rows == 0


def test_a_chunk_without_its_runs_is_cleaned_away(tmp_path: Path, wanted: Contents) -> None:
    """Parts whose part of `runs` is missing, and temporary files, go when the next sweep begins; readers skip them."""
    path = tmp_path / "a"
    with Directory.prepare(path, wanted) as one:
        one.write(small_sweep.chunk([(0, 0)]))
        one.write(small_sweep.chunk([(1, 0)]))
    (path / "tables/runs/part-00002.parquet").unlink()
    (path / "tables/runs/.part-00002.parquet.1.tmp").write_bytes(b"half")
    assert Directory.open(path).tables("faults").num_rows == 2
    with Directory.prepare(path, wanted) as again:
        assert again.finished == {(0, 0)}
    assert sorted(entry.name for entry in path.glob("tables/*/*part-00002*")) == []


def test_a_full_disk_ends_with_a_sentence_and_keeps_what_was_finished(
    tmp_path: Path, wanted: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENOSPC in the middle of a chunk leaves the chunks before it, and nothing of its own."""
    with Directory.prepare(tmp_path / "a", wanted) as one:
        one.write(small_sweep.chunk([(0, 0)]))
        calls = []

        def full(descriptor: int) -> None:
            calls.append(descriptor)
            if len(calls) > 5:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(files.os, "fsync", full)
        with pytest.raises(SweepError, match="disk is full") as caught:
            one.write(small_sweep.chunk([(1, 0)]))
        monkeypatch.undo()
    assert not caught.value.bad_input
    assert "same command" in caught.value.remedy
    assert one.finished == {(0, 0)}
    assert list(one.path.glob("tables/*/*part-00002*")) == []


def test_what_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other failure to write names the file, though the system's error does not."""

    def too_large(descriptor: int) -> None:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    monkeypatch.setattr(files.os, "fsync", too_large)
    with pytest.raises(SweepError, match=r"a\.txt: cannot be written: File too large"):
        files.write_whole(tmp_path / "a.txt", lambda file: file.write(b"x"))
    assert list(tmp_path.iterdir()) == []


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _without_a_column(path: Path) -> None:
    pq.write_table(pq.read_table(path).drop_columns(["what"]), path)


@pytest.mark.parametrize(
    ("spoil", "says", "remedy"),
    [
        (_half, "part-00001.parquet: damaged: ", "the same sweep then runs it again"),
        (Path.unlink, "part-00001.parquet: damaged: it is not there", "the same sweep then runs it again"),
        (_without_a_column, "has no column what: an earlier version of groupsim wrote it", "into a new directory"),
    ],
)
def test_a_spoilt_part_is_named_with_the_remedy(
    tmp_path: Path, wanted: Contents, spoil: Callable[[Path], None], says: str, remedy: str
) -> None:
    """Half a file, none, or one with other columns is neither an error of Arrow's nor passed over."""
    with Directory.prepare(tmp_path / "a", wanted) as one:
        one.write(small_sweep.chunk([(0, 0)]))
    spoil(one.path / "tables/faults/part-00001.parquet")
    for read in (lambda: one.tables("faults"), lambda: read_columns(one, "faults", ["cell", "what"])):
        with pytest.raises(SweepError, match=says) as caught:
            read()
        assert caught.value.bad_input
        assert remedy in caught.value.remedy
    for path in one.path.glob("tables/*/part-00001.parquet"):  # the remedy for damaged parts
        path.unlink()
    with Directory.prepare(tmp_path / "a", wanted) as again:
        assert again.finished == set()


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
