"""Output streams that survive a broken pipe: `| head` is no failure, and a full disk is reported in one message.

A command continues after its reader has closed the pipe: it writes the requested files, and returns its own exit code.
So the broken pipe is handled below every printer, where bytes leave the process.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Outlet(io.RawIOBase):
    """The bytes of one stream, discarded after an error. `failure` is the error; None for a broken pipe."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream  # a reference, because the stream closes its descriptor when it is collected
        below: Any = stream.buffer
        self._raw = getattr(below, "raw", below)  # an unbuffered stream has no `raw`
        self.failure: OSError | None = None
        self._ended = False

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the stream below."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Whether the stream below is a terminal."""
        return self._stream.isatty()

    def write(self, data: ReadableBuffer, /) -> int | None:
        """Write to the stream below; after an error, discard the data and return its size."""
        size = memoryview(data).nbytes
        if self._ended:
            return size
        try:
            written: int | None = self._raw.write(data)
        except OSError as error:
            self._ended = True
            self.failure = None if isinstance(error, BrokenPipeError) else error
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # libraries may write to the descriptor
            return size
        return written


@contextmanager
def naming(*places: Path | None) -> Iterator[None]:
    """Add the paths written in this block to an OSError without a file name, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        named = " or ".join(str(place) for place in places if place is not None)
        if error.filename is not None or not named:
            raise
        raise OSError(error.errno, error.strerror or str(error), named) from error


def write_whole(text: str, path: Path) -> None:
    """Write a file completely or not at all. Raises OSError, with the path; an earlier file is then unchanged."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with naming(path):
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def outlive_readers() -> None:
    """Put an `Outlet` below standard output and standard error."""
    sys.stdout = _with_outlet(sys.stdout)
    sys.stderr = _with_outlet(sys.stderr)


def failure_of_output() -> OSError | None:
    """Flush standard output, and return the error that stopped its output, if any."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.failure if isinstance(raw, Outlet) else None


def _with_outlet(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream  # an in-memory stream of a test or an embedding program
    lines = stream.line_buffering or stream.write_through
    return io.TextIOWrapper(io.BufferedWriter(Outlet(stream)), stream.encoding, stream.errors, line_buffering=lines)
