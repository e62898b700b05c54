"""Deletion of a log from the disk: its folder is renamed at once, and removed later.

    orders-0                                            →  orders-0.<32 hexadecimal digits>-delete

A new log can use the old name at once, and after a crash the folder's name shows that it can be removed. The delay
(`log.segment.delete.delay.ms`) lets open reads of the files finish.

Source: `LogManager.asyncDelete`, `LocalLog.logDeleteDirName`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

DELETED: Final = "-delete"
STRAY: Final = "-stray"
_LONGEST: Final = 255


def rename_for_deletion(folder: Path, unique: str) -> Path:
    """Rename the folder of a log; `unique` has 32 hexadecimal digits. Return the new path. Raises OSError."""
    topic, _, number = folder.name.rpartition("-")
    end = f"-{number}.{unique}{DELETED}"
    return folder.rename(folder.with_name(topic[: _LONGEST - len(end)] + end))


def deleted_logs(folder: Path) -> list[Path]:
    """Return the folders of deleted logs in a data directory, sorted."""
    return sorted(path for path in folder.glob(f"*-*.*{DELETED}") if path.is_dir())
