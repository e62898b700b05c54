"""Damage in the files of a log, and its repair."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Repair(NamedTuple):
    """One repair of a damaged file; every repair is reported as one of these."""

    file: Path
    position: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file} at byte {self.position}: {self.what}: {self.remedy}"


class DamagedLog(Exception):
    """A log that cannot be read further, or must not be truncated; nothing was changed."""

    def __init__(self, file: Path, position: int, what: str, remedy: str) -> None:
        super().__init__(f"{file} at byte {position}: {what}: {remedy}")
        self.file = file
        self.position = position
        self.what = what
        self.remedy = remedy


class CorruptIndex(Exception):
    """An index with impossible content; it can be rebuilt from the log."""

    def __init__(self, file: Path, position: int, what: str) -> None:
        super().__init__(f"{file} at byte {position}: {what}")
        self.file = file
        self.position = position
        self.what = what
