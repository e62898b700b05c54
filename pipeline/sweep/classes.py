"""Spark's classes as Java has them in memory, kept in a file: with it a session starts in half the time.

The first sweep's Java writes it when it ends (some seconds, some 160 MB, in the user's folder for caches); the next
ones use it. Java itself tells when a file was written by another Java or from other jars, and goes on without it. Where
the file cannot be written nothing is lost but that time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen

from groupsim.pipeline.sweep.java import Java

ROOM = 2 << 30  # bytes that have to be free: the file is no reason to fill a disk
ABANDONED_S = 3600.0
SUFFIX = ".jsa"
KEPT = 3  # files; each pair of a Java and a Spark has its own


@frozen
class Classes:
    """The file for one Java and one Spark. `draft` is where the Java of this session is to leave it, if it is to."""

    path: Path
    draft: Path | None

    @property
    def options(self) -> tuple[str, ...]:
        """What Java has to be told: to use the file, to write it, or nothing."""
        if self.draft is not None:
            return (f"-XX:ArchiveClassesAtExit={self.draft}",)
        return (f"-XX:SharedArchiveFile={self.path}",) if self.path.is_file() else ()

    def take(self, well: bool) -> None:
        """Java has ended, `well` or not: a draft gets its name, so that whoever looks finds a whole file or none."""
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
    draft = path.with_suffix(f".{os.getpid()}") if write and not path.is_file() and _room(folder) else None
    return Classes(path, draft)


def _tidy(folder: Path) -> None:
    """Remove all but the newest files, and drafts of processes that were killed."""
    ages = {file: time.time() - file.stat().st_mtime for file in folder.glob("spark-*")}
    whole = sorted((file for file in ages if file.suffix == SUFFIX), key=ages.__getitem__)
    for old in [*whole[KEPT:], *(file for file in ages if file.suffix != SUFFIX and ages[file] > ABANDONED_S)]:
        old.unlink()


def _key(java: Java) -> str:
    """What Java and Spark are told apart by: where they lie, and when they came there."""
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
