"""Log files are opened on use, up to a limit."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from groupsim.cluster.log.files import open_files
from groupsim.cluster.log.files.open_files import OpenFiles
from groupsim.cluster.log.files.segment import FileSegment
from groupsim.cluster.log.files.store import FileStore


def files(folder: Path, count: int) -> list[Path]:
    """So many files with a byte each."""
    made = [folder / f"{number}.log" for number in range(count)]
    for number, path in enumerate(made):
        path.write_bytes(bytes([number]))
    return made


def test_the_file_used_least_recently_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more than allowed are open; one that was used a moment ago is not opened again."""
    opened, paths, calls = OpenFiles(3), files(tmp_path, 6), []
    really = os.open
    monkeypatch.setattr(open_files.os, "open", lambda path, *how: calls.append(path.stem) or really(path, *how))
    for number in (0, 1, 2, 0, 3, 0, 1, 4, 5, 0):
        assert os.pread(opened.get(number, paths[number]), 1, 0) == bytes([number])
        assert len(opened) <= 3
    assert calls == ["0", "1", "2", "3", "1", "4", "5", "0"]
    for number in range(6):
        opened.close(number)
    assert len(opened) == 0


def test_a_file_gives_way_when_the_system_has_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EMFILE closes another log file and tries again; with none left to close it is raised."""
    opened, paths = OpenFiles(100), files(tmp_path, 3)
    opened.get(0, paths[0])
    opened.get(1, paths[1])
    really = os.open

    def full(path: Path, flags: int, mode: int) -> int:
        if len(opened) > 0:
            raise OSError(errno.EMFILE, "Too many open files", str(path))
        return really(path, flags, mode)

    monkeypatch.setattr(open_files.os, "open", full)
    assert os.pread(opened.get(2, paths[2]), 1, 0) == b"\2"
    assert len(opened) == 1
    opened.close(2)

    def none(path: Path, flags: int, mode: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    monkeypatch.setattr(open_files.os, "open", none)
    with pytest.raises(OSError, match="Too many open files"):
        opened.get(0, paths[0])


def test_a_segment_that_was_closed_is_not_opened_again(tmp_path: Path) -> None:
    """A reader that outlives its segment meets an error, no other file."""
    opened = OpenFiles(2)
    segment = FileSegment(tmp_path, 0, 0, new=True, files=opened)
    segment.close()
    assert len(opened) == 0
    with pytest.raises(OSError, match="the segment is closed"):
        segment.recover()


def test_a_store_lets_go_of_its_files(tmp_path: Path) -> None:
    """A store that is closed or deleted leaves no file open, however many segments it had."""
    before = len(open_files.SHARED)
    store = FileStore(tmp_path / "t-0", sync=False)
    store.create(0, 0)
    assert len(open_files.SHARED) == before + 1
    store.close()
    assert len(open_files.SHARED) == before
