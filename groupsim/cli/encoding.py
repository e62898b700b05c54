"""Output to streams that cannot encode every character, and to streams that are closed."""

from __future__ import annotations

import codecs
import io
import os
import sys

#: Replacements of characters that an encoding lacks; lanes have their own (`groupsim/cli/render/lanes.py`).
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
    """Replace characters that an output stream cannot encode, and replace closed output streams."""
    codecs.register_error("groupsim.plain", _instead)
    if sys.stdout is None:
        sys.stdout = _closed()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="groupsim.plain")


def _closed() -> io.TextIOWrapper:
    """Return a stream in place of a closed standard output; writes to it fail, as those of other tools do.

    The next file that the process opens would take the free descriptor. A descriptor that is open for reading only
    occupies it (as gnulib's `stdopen` does).
    """
    return open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # it lives as long as the process


def _nowhere() -> io.TextIOWrapper:
    """Return a stream in place of a closed standard error, which discards its text."""
    return open(os.devnull, "w", encoding="utf-8")


def _instead(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(INSTEAD.get(character, "?") for character in lacking), error.end
