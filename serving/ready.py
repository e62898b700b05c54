"""The ready file: it appears, whole, when everything listens, and goes when the cluster ends."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


class ReadyFile:
    """JSON for programs that wait for the cluster; only its owner may read it, because it may contain a token."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written = False

    def check(self) -> None:
        """Check before the start whether it can be written. Raises ValueError with the remedy."""
        if self.path.is_dir():
            raise ValueError(f"{self.path} is a directory; give a file in it")
        if not self.path.resolve().parent.is_dir():
            raise ValueError(
                f"{self.path}: the directory {self.path.parent} does not exist; mkdir -p {self.path.parent}"
            )
        if not os.access(self.path.resolve().parent, os.W_OK | os.X_OK):
            raise ValueError(f"{self.path}: no permission to write in {self.path.resolve().parent}; give another path")
        with suppress(FileNotFoundError):
            self.path.unlink()  # a file of a killed run would contain ports that no broker has

    def write(self, data: Mapping[str, Any]) -> None:
        """Write it; it appears complete. Raises OSError."""
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        with suppress(FileNotFoundError):
            part.unlink()
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(json.dumps(data, indent=2) + "\n")
            os.replace(part, self.path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        self._written = True

    def remove(self) -> None:
        """Remove it, if it was written."""
        if self._written:
            self.path.unlink(missing_ok=True)
            self._written = False
