"""The search for scenes of the library by a line of a log.

The index has the form of each line: its text without the layout, with `*` for names, numbers and ids.
`tools/refresh_log_lines.py` runs every scene and writes the forms to `lines.txt` beside this module: a form, and below
it the scenes that log it. A search runs no scene.

The search text is either a phrase, which is looked up in the forms, or a whole line of another system, with its own
layout, names and times. A form matches a whole line that contains its longest fixed part; of several forms those with
the most fixed text count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files

INDEX = "lines.txt"
FIXED = 12
"""The least length of the longest fixed part of a form that can match a whole line, in characters."""

_STOCK = re.compile(r"^\[[^\]]*\] (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (.*?)(?: \([\w.$]+\))?$", re.DOTALL)
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NUMBER = re.compile(r"(?<![A-Za-z])-?\d+(?:[-:.,T/ ]?\d+)*(?:[smhZ]|ms|µs)?(?![A-Za-z])|\d+")
_AGAIN = re.compile(r"\*(?:[-:@#]?\*|[,;]? \*)+")
_LIKE_THE_LAST = re.compile(r"([^,]{3,60}(?:\[\*?\]\)?)?)(?:, \1)+")


def form(line: str, names: Iterable[str] = ()) -> str:
    """Return a line without its layout, with `*` for each of `names`, for numbers and for ids."""
    found = _STOCK.match(line)
    text = found[1] if found else line
    for name in sorted(set(names), key=lambda one: (-len(one), one)):
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![a-zA-Z_])", "*", text)
    text = _NUMBER.sub("*", _ID.sub("*", text))
    return " ".join(_LIKE_THE_LAST.sub(r"\1", _AGAIN.sub("*", text)).split())


def index() -> dict[str, tuple[str, ...]]:
    """Return every form with the names of the scenes that log it."""
    lines = files("groupsim.logs").joinpath(INDEX).read_text("utf-8").splitlines()
    return {lines[n]: tuple(lines[n + 1].split()) for n in range(0, len(lines), 2)}


def scenes_that_log(words: str) -> dict[str, list[str]]:
    """Return the scenes with a matching line, each with the matching forms; none for a text below four characters."""
    wanted = form(words.strip()).casefold()
    if len(wanted) < 4:
        return {}
    by_form = index()
    matching = [one for one in by_form if wanted in one.casefold()] or _most_alike(wanted, by_form)
    found: dict[str, list[str]] = {}
    for one in matching:
        for scene in by_form[one]:
            found.setdefault(scene, []).append(one)
    return dict(sorted(found.items()))


def _most_alike(line: str, known: Iterable[str]) -> list[str]:
    """Return the forms that match a whole line with the most fixed text."""
    sizes = {one: _fixed_within(one.casefold(), line) for one in known}
    most = max(sizes.values(), default=0)
    return [one for one, size in sizes.items() if size == most and size]


def _fixed_within(one: str, line: str) -> int:
    """Count the characters of a form's fixed text that a line contains in order; 0 without its longest part."""
    parts = [part for part in one.split("*") if part.strip()]
    if not parts or len(max(parts, key=len)) < FIXED or max(parts, key=len).strip() not in line:
        return 0
    at = size = 0
    for part in parts:
        place = line.find(part.strip(), at)
        if place >= 0:
            at, size = place + len(part.strip()), size + len(part.strip())
    return size
