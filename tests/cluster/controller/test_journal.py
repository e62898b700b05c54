"""Facts kept as an image and the changes after it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.cluster.controller import journal as module
from groupsim.cluster.controller.journal import Journal, Sections, changes_of
from groupsim.cluster.log.files.data_dir import DataDirRefused


def _older(plain: dict[str, Any]) -> Sections:
    return {"old": plain}


def _open(folder: Path) -> Journal:
    return Journal(folder / "facts", _older)


def _facts(folder: Path) -> dict[str, Any]:
    journal = _open(folder)
    journal.close()
    return {name: journal.section(name) for name in ("a", "b", "old")}


def _begun(folder: Path) -> Journal:
    folder.mkdir(parents=True, exist_ok=True)
    journal = _open(folder)
    journal.begin({"a": {"x": 1, "y": [2]}})
    return journal


def test_what_was_set_is_there_and_what_was_taken_away_is_not(tmp_path: Path) -> None:
    """Several sections change at once; keys stand in the order in which they were first set."""
    journal = _begun(tmp_path)
    journal.append({"a": {"x": None, "z": "ü\n"}, "b": {"k": {"deep": [None]}}})
    journal.append({"a": {"y": 3, "x": 4}})
    journal.close()
    found = _facts(tmp_path)
    assert found == {"a": {"y": 3, "z": "ü\n", "x": 4}, "b": {"k": {"deep": [None]}}, "old": {}}
    assert list(found["a"]) == ["y", "z", "x"]


def test_a_later_life_keeps_the_sections_that_it_does_not_replace(tmp_path: Path) -> None:
    """`begin` replaces the named sections and keeps the others."""
    journal = _begun(tmp_path)
    journal.append({"b": {"k": 1}})
    journal.close()
    later = _open(tmp_path)
    later.begin({"a": {"q": 0}})
    later.close()
    assert _facts(tmp_path) == {"a": {"q": 0}, "b": {"k": 1}, "old": {}}


def test_an_image_of_format_1_is_read(tmp_path: Path) -> None:
    """The first releases wrote one whole file; its content is read and written in the present format."""
    body = b'{"v":7}'
    (tmp_path / "facts").write_bytes(b"groupsim-cluster 1 %b\n%b" % (hashlib.sha256(body).hexdigest().encode(), body))
    journal = _open(tmp_path)
    assert (journal.new, journal.section("old")) == (False, {"v": 7})
    journal.begin({"a": {}})
    journal.append({"a": {"x": 1}})
    journal.close()
    assert _facts(tmp_path) == {"a": {"x": 1}, "b": {}, "old": {"v": 7}}


def test_a_line_that_was_being_written_is_cut_off_wherever_it_ends(tmp_path: Path) -> None:
    """Cut at every byte of the last change: the one before it holds, and the journal goes on from there."""
    journal = _begun(tmp_path)
    journal.append({"a": {"x": "before"}})
    file = changes_of(tmp_path / "facts")
    before = file.stat().st_size
    journal.append({"a": {"x": "after", "y": "ü"}})
    journal.close()
    whole = file.read_bytes()
    for length in range(before, len(whole)):
        file.write_bytes(whole[:length])
        torn = _open(tmp_path)
        assert torn.section("a") == {"x": "before", "y": [2]}
        torn.append({"a": {"z": length}})
        torn.close()
        assert file.read_bytes().count(b"\n") == whole.count(b"\n")
        assert _facts(tmp_path)["a"] == {"x": "before", "y": [2], "z": length}
        file.write_bytes(whole)
    assert _facts(tmp_path)["a"] == {"x": "after", "y": "ü"}


def test_a_damaged_line_a_missing_one_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    """A wrong checksum is reported with its line, and no file is changed."""
    journal = _begun(tmp_path)
    for number in range(3):
        journal.append({"a": {"x": number}})
    journal.close()
    file = changes_of(tmp_path / "facts")
    head, *lines = whole = file.read_bytes().splitlines(keepends=True)
    cases = {
        "line 3: its checksum is not that of the line": [head, lines[0], lines[1].replace(b"1}", b"7}"), lines[2]],
        "line 4: its checksum is not that of the line": [head, *lines[:2], lines[2].replace(b"2}", b"7}")],
        "line 3: change 4, and 3 is expected": [head, lines[0], lines[2]],
        "line 1: expected 'groupsim-cluster-changes 2 <number>'": [b"\n", *lines],
        "change 2 is missing; restore": [head.replace(b" 1\n", b" 2\n")],
        "change 2 is missing": [head.replace(b" 1\n", b" 2\n"), *lines[1:]],
    }
    for words, damaged in cases.items():
        file.write_bytes(b"".join(damaged))
        with pytest.raises(DataDirRefused, match=words):
            _open(tmp_path)
        assert file.read_bytes() == b"".join(damaged)
    file.unlink()
    with pytest.raises(DataDirRefused, match="is missing"):
        _open(tmp_path)
    file.write_bytes(b"".join(whole))
    assert _facts(tmp_path)["a"]["x"] == 2


def test_changes_that_have_grown_become_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a thousand changes of a few keys the files are as large as the entries, not as the changes."""
    monkeypatch.setattr(Journal, "MIN_COMPACTED_BYTES", 1_000)
    journal = _begun(tmp_path)
    for number in range(1_000):
        journal.append({"a": {f"k{number % 7}": number}})
        assert changes_of(tmp_path / "facts").stat().st_size < 1_100
    journal.close()
    assert _facts(tmp_path)["a"] == {"x": 1, "y": [2], **{f"k{n % 7}": n for n in range(993, 1_000)}}


@pytest.mark.parametrize("dies", ["image", "changes"])
def test_a_death_while_the_image_is_made_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    """Whether the image or the changes after it could not be written: everything is there, once."""
    monkeypatch.setattr(Journal, "MIN_COMPACTED_BYTES", 200)
    journal = _begun(tmp_path)
    failed = []

    def fail(*_: Any, **__: Any) -> None:
        failed.append(dies)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((module, "write_atomically") if dies == "image" else (module.os, "fsync")), fail)
    for number in range(40):
        journal.append({"a": {"x": number}})
    journal.close()
    assert failed
    assert _facts(tmp_path)["a"] == {"x": 39, "y": [2]}


def test_a_new_file_of_changes_is_written_to_before_its_name_is_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When no more files can be opened after the rename, acknowledged changes are in the new file."""
    monkeypatch.setattr(Journal, "MIN_COMPACTED_BYTES", 200)
    journal = _begun(tmp_path)
    real, trouble = module.sync_folder, [True]

    def sync(folder: Path) -> None:
        if trouble[0]:
            raise OSError(24, "Too many open files")
        real(folder)

    monkeypatch.setattr(module, "sync_folder", sync)
    kept, refused = 0, 0
    for number in range(1, 31):
        trouble[0] = number <= 20
        try:
            journal.append({"a": {"x": number}})
        except OSError:
            refused += 1
        else:
            kept = number
            assert _facts(tmp_path)["a"] == {"x": kept, "y": [2]}
    journal.close()
    assert (kept, refused > 0) == (30, True)


def test_a_death_while_format_1_is_taken_over_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the process ends while it writes the present format, the folder opens with the same content."""
    body = b'{"v":7}'
    old = b"groupsim-cluster 1 %b\n%b" % (hashlib.sha256(body).hexdigest().encode(), body)
    real = Path.replace
    for deaths in range(3):
        (tmp_path / "facts").write_bytes(old)
        changes_of(tmp_path / "facts").unlink(missing_ok=True)
        done: list[Path] = []

        def replace(self: Path, target: Path, done: list[Path] = done, deaths: int = deaths) -> Path:
            if len(done) == deaths:
                raise OSError(5, "dead")
            done.append(self)
            return real(self, target)

        journal = _open(tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", replace)
            with pytest.raises(OSError, match="dead"):
                journal.begin({"a": {}})
        journal.close()
        assert _facts(tmp_path) == {"a": {}, "b": {}, "old": {"v": 7}}


@pytest.mark.parametrize("when", ["half a line", "no flush"])
def test_a_change_that_cannot_be_written_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """When the disk is full within a line, or at the flush, there is an error and the file is unchanged."""
    journal = _begun(tmp_path)
    file = changes_of(tmp_path / "facts")
    before, full = file.read_bytes(), [True]
    pwrite, sync = module.os.pwrite, module.flush_data

    def short(descriptor: int, data: Any, position: int) -> int:
        if full[0] and position > len(before):
            raise OSError(28, "No space left on device")
        return pwrite(descriptor, bytes(data)[:9] if full[0] else data, position)

    def fail(descriptor: int) -> None:
        if full[0]:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    place = (module.os, "pwrite", short) if when == "half a line" else (module, "flush_data", fail)
    monkeypatch.setattr(*place)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            journal.append({"a": {"x": "lost"}, "b": {"k": 1}})
        assert (journal.section("a"), journal.section("b")) == ({"x": 1, "y": [2]}, {})
        assert file.read_bytes() == before
    full[0] = False
    journal.append({"b": {"k": 2}})
    journal.close()
    assert _facts(tmp_path) == {"a": {"x": 1, "y": [2]}, "b": {"k": 2}, "old": {}}


CHANGE = st.dictionaries(
    st.sampled_from("ab"),
    st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.text() | st.lists(st.booleans()), max_size=4),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(CHANGE, max_size=12), st.lists(st.integers(0, 12), max_size=3))
def test_any_changes_in_any_lives_add_up(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[str, dict[str, Any]]], deaths: list[int]
) -> None:
    """After any changes and any deaths of processes the journal has the content of a dict."""
    folder = tmp_path_factory.mktemp("journal")
    journal, model = _begun(folder), {"a": {"x": 1, "y": [2]}, "b": {}, "old": {}}
    for number, change in enumerate(changes):
        if number in deaths:
            journal.close()
            journal = _open(folder)
        journal.append(change)
        for section, facts in change.items():
            for key, value in facts.items():
                model[section].pop(key, None) if value is None else model[section].update({key: value})
    journal.close()
    found = _facts(folder)
    assert json.dumps(found) == json.dumps(model)
