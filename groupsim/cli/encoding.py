"""Printing where the terminal cannot show everything: another encoding than UTF-8, or no open stream at all."""

from __future__ import annotations

import codecs
import io
import os
import sys

#: What stands in for characters that an encoding lacks; lanes have pens of their own (`groupsim/cli/render/lanes.py`).
INSTEAD = {
    "·": "-",
    "✓": "+",
    "✗": "X",
    "↩": "<",
    "→": "->",
    "–": "-",
    "−": "-",
    "…": "...",
    "±": "+-",
    "×": "x",
    "µ": "u",
    "≤": "<=",
    "≥": ">=",
}


def make_printable() -> None:
    """See to it that whatever a command prints can be printed, if need be in plainer characters."""
    codecs.register_error("groupsim.plain", _instead)
    if sys.stdout is None:
        sys.stdout = _closed()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="groupsim.plain")


def _closed() -> io.TextIOWrapper:
    """An output that was closed before the command began: what is written fails, as it does for any other tool.

    Something has to be open there, or the next file opened would take its place; to read is no way to write (gnulib's
    `stdopen` does the same).
    """
    return open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # it lives as long as the process


def _nowhere() -> io.TextIOWrapper:
    """Complaints that nobody wants to read."""
    return open(os.devnull, "w", encoding="utf-8")


def _instead(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(INSTEAD.get(character, "?") for character in lacking), error.end
