"""A pool of file descriptors for log files: a cluster can have more segments than a process may have open files.

A file is opened when it is read or written; at the limit, the least recently used one is closed. The process buffers
nothing, so a file can be closed at any time. If the system refuses to open a file, because the process has other open
files too, a log file is closed and the open is retried.
"""

from __future__ import annotations

import errno
import os
import resource
from collections import OrderedDict
from pathlib import Path

_FEWEST, _MOST = 16, 1_000_000


def log_file_limit() -> int:
    """Return how many log files may be open: half of the process's limit, because connections need the rest."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(soft // 2, _FEWEST)


class OpenFiles:
    """At most `most` descriptors (by default `log_file_limit`, which is read when a file is first opened)."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._open: OrderedDict[object, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, key: object, path: Path, flags: int = os.O_RDWR) -> int:
        """Return the descriptor of the file for `key`; it is valid until the next call. Raises OSError."""
        found = self._open.get(key)
        if found is not None:
            self._open.move_to_end(key)
            return found
        if self._most is None:
            self._most = log_file_limit()
        while len(self._open) >= self._most:
            self._close_oldest()
        self._open[key] = descriptor = self._open_file(path, flags)
        return descriptor

    def close(self, key: object) -> None:
        """Close a file, if it is open."""
        found = self._open.pop(key, None)
        if found is not None:
            os.close(found)

    def _open_file(self, path: Path, flags: int) -> int:
        while True:
            try:
                return os.open(path, flags, 0o644)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                    raise
                self._close_oldest()

    def _close_oldest(self) -> None:
        _, descriptor = self._open.popitem(last=False)
        os.close(descriptor)


SHARED = OpenFiles()
"""The open files of all logs of this process."""
