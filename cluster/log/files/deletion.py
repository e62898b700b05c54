"""How a log goes from the disk: its folder gets another name at once, and is removed later.

    orders-0                                            →  orders-0.<32 hexadecimal digits>-delete

The name is free for a new log at once, and a process that dies in between leaves a folder that says what it is. The
delay (`log.segment.delete.delay.ms`) is for those who still read from the files.

Source: `LogManager.asyncDelete`, `LocalLog.logDeleteDirName`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

DELETED: Final = "-delete"
STRAY: Final = "-stray"
_LONGEST: Final = 255


def out_of_the_way(folder: Path, unique: str) -> Path:
    """Rename the folder of a log; `unique` are 32 hexadecimal digits. Returns its new path. Raises OSError."""
    topic, _, number = folder.name.rpartition("-")
    end = f"-{number}.{unique}{DELETED}"
    return folder.rename(folder.with_name(topic[: _LONGEST - len(end)] + end))


def deleted(folder: Path) -> list[Path]:
    """The folders in a broker's that wait to be removed, sorted."""
    return sorted(path for path in folder.glob(f"*-*.*{DELETED}") if path.is_dir())
