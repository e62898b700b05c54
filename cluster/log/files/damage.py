"""What was found wrong with the files of a log, and what was done about it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Repair(NamedTuple):
    """Something that was not as it should be, and is again; nothing is repaired without one of these."""

    file: Path
    position: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file} at byte {self.position}: {self.what}: {self.remedy}"


class DamagedLog(Exception):
    """A log that cannot be read any further, or must not be cut; nothing was changed."""

    def __init__(self, file: Path, position: int, what: str, remedy: str) -> None:
        super().__init__(f"{file} at byte {position}: {what}: {remedy}")
        self.file = file
        self.position = position
        self.what = what
        self.remedy = remedy


class CorruptIndex(Exception):
    """An index that cannot be what it says; it can be made anew from the log."""

    def __init__(self, file: Path, position: int, what: str) -> None:
        super().__init__(f"{file} at byte {position}: {what}")
        self.file = file
        self.position = position
        self.what = what
