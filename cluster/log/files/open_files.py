"""Descriptors of log files, so many at a time: a process has a limit of them, and a cluster may have more segments.

A file is opened when it is read or written, and the one that was used least recently is closed when there are as many
as allowed. Nothing is buffered in this process, so a file may be closed at any time. When the system refuses one more
file, because others than logs are open too, another log file gives way.
"""

from __future__ import annotations

import errno
import os
import resource
from collections import OrderedDict
from pathlib import Path

_FEWEST, _MOST = 16, 1_000_000


def files_for_logs() -> int:
    """How many log files may be open: half of what the process may open, the rest is for connections."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(soft // 2, _FEWEST)


class OpenFiles:
    """At most `most` descriptors (by default `files_for_logs`, asked when a file is first opened)."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._open: OrderedDict[object, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, key: object, path: Path, flags: int = os.O_RDWR) -> int:
        """The descriptor of a file that `key` stands for; it holds until the next call. Raises OSError."""
        found = self._open.get(key)
        if found is not None:
            self._open.move_to_end(key)
            return found
        if self._most is None:
            self._most = files_for_logs()
        while len(self._open) >= self._most:
            self._close_oldest()
        self._open[key] = made = self._opened(path, flags)
        return made

    def close(self, key: object) -> None:
        """Close a file, if it is open."""
        found = self._open.pop(key, None)
        if found is not None:
            os.close(found)

    def _opened(self, path: Path, flags: int) -> int:
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
"""The files of all logs of this process."""
