"""Files that are there whole or not at all: write beside, flush, rename, flush the directory.

With `sync` off nothing waits for the disk: a killed process still loses nothing, a machine that loses power may. For
tests, and for clusters whose brokers never really die.

Source: `CheckpointFile`, `Utils.atomicMoveWithFallback`.
"""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Put a file in the place of another. Raises OSError; the old one is there until the new one is."""
    beside = path.with_name(path.name + ".tmp")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    if sync:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names made or changed in a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_at(descriptor: int, data: bytes, position: int) -> None:
    """Write all of it. Raises OSError, and then cuts the file back to where it ended."""
    try:
        done = os.pwrite(descriptor, data, position)
        while done < len(data):
            done += os.pwrite(descriptor, memoryview(data)[done:], position + done)
    except OSError:
        os.ftruncate(descriptor, position)
        raise
