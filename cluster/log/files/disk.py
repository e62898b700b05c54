"""Atomic writes of files: write a temporary file, flush it, rename it, flush the directory.

Without `sync` no call waits for the disk: a killed process still loses nothing, a crash of the machine can lose data.
That is for tests and for clusters in which only simulated brokers crash.

Source: `CheckpointFile`, `Utils.atomicMoveWithFallback`.
"""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace a file atomically. Raises OSError, and then the old file is unchanged."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    if sync:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder, so that new and changed names survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_at(descriptor: int, data: bytes, position: int) -> None:
    """Write all data. Raises OSError, and then truncates the file to its former end."""
    try:
        done = os.pwrite(descriptor, data, position)
        while done < len(data):
            done += os.pwrite(descriptor, memoryview(data)[done:], position + done)
    except OSError:
        os.ftruncate(descriptor, position)
        raise
