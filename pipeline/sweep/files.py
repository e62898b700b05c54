"""Files that appear completely or not at all, and a lock that keeps two sweeps out of one directory."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from groupsim.pipeline.sweep.errors import SweepError

TEMPORARY = ".tmp"
_FULL = (errno.ENOSPC, errno.EDQUOT)
LOCK = ".lock"


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside its place, bring it to the disk, and only then give it its name.

    A reader finds the complete file or none, also after a crash. Raises SweepError when it cannot be written:
    the disk is full, the folder gone, a limit reached.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise not_written(path, error) from error
        raise


def not_written(path: Path, error: OSError) -> SweepError:
    """Why a file could not be written, with the remedy."""
    if error.errno in _FULL:
        remedy = "what was finished is kept; make room, and the same command goes on from there"
        return SweepError(f"{path.parent}: the disk is full", remedy)
    return SweepError(
        f"{path}: cannot be written: {error.strerror or error}",
        "what was finished is kept; once it can be written, the same command goes on from there",
    )


def _sync_folder(folder: Path) -> None:
    """Bring a folder's names to the disk, where a folder can be opened (not on Windows)."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock(folder: Path) -> Callable[[], None]:
    """Take the folder for this process; returns its release. Raises SweepError when another process has it.

    The operating system gives the lock back when a process dies, so none is ever left behind.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such lock: there the user has to take care
        return lambda: None
    file = (folder / LOCK).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise SweepError(
            f"{folder}: another sweep is writing here", "wait until it has ended, or name another directory"
        ) from None
    return file.close
