"""Standard output and standard error that outlive their reader: `| head` is no failure, a full disk is one sentence.

A command goes on to its end when nobody reads any more: files that it was asked for are written, and its exit code is
its own. So the place to deal with a broken pipe is below every printer, where bytes leave the process.
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
    """The bytes of one stream. After an error nothing more is written; `failure` says what it was, unless it was that
    the reader went away.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream  # it would close what is below when nobody held it
        below: Any = stream.buffer
        self._raw = getattr(below, "raw", below)  # without buffering there is but one
        self.failure: OSError | None = None
        self._ended = False

    def writable(self) -> bool:
        """Yes."""
        return True

    def fileno(self) -> int:
        """Of the stream below."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Whether the stream below is a terminal."""
        return self._stream.isatty()

    def write(self, data: ReadableBuffer, /) -> int | None:
        """Write as the stream below does, or pretend to."""
        size = memoryview(data).nbytes
        if self._ended:
            return size
        try:
            written: int | None = self._raw.write(data)
        except OSError as error:
            self._ended = True
            self.failure = None if isinstance(error, BrokenPipeError) else error
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # for what others still write there
            return size
        return written


@contextmanager
def naming(*places: Path | None) -> Iterator[None]:
    """What is written in this block goes to these places: an error that names no file (a full disk) names them."""
    try:
        yield
    except OSError as error:
        named = " or ".join(str(place) for place in places if place is not None)
        if error.filename is not None or not named:
            raise
        raise OSError(error.errno, error.strerror or str(error), named) from error


def outlive_readers() -> None:
    """Put an outlet below standard output and standard error."""
    sys.stdout = _with_outlet(sys.stdout)
    sys.stderr = _with_outlet(sys.stderr)


def failure_of_output() -> OSError | None:
    """Send what is still buffered of standard output; returns what kept some of it from arriving, if anything did."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.failure if isinstance(raw, Outlet) else None


def _with_outlet(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream  # somebody else's, in memory
    lines = stream.line_buffering or stream.write_through
    return io.TextIOWrapper(io.BufferedWriter(Outlet(stream)), stream.encoding, stream.errors, line_buffering=lines)
