"""Records of log files: lines of any layout, with their continuation lines and their time.

A layout need not be known: messages are searched for anywhere in a record. What has to be undone is what changes the
text of a message itself: colours, JSON escapes, line breaks inside a message, marks of a web page it was copied from.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from groupsim.protocol.values import frozen

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_MARKS = re.compile(r"^\s*(?:>\s?)+|^\*\*|\*\*$")
_SHIPPED = re.compile(r"^(?:[\w.@-]+\s+\|\s|\[pod/[^\]]+\]\s)")
"""The prefix of a collector: `docker compose logs`, `kubectl logs --prefix`."""
_HEAD = re.compile(
    r"^\s{0,4}[\"\[(*]*(?:\d{4}[-/ ]|\d{1,2}[-/:]\d|\d{10}[.\d]|[A-Z][a-z]{2} |%\d\||\{|time=|level=|ts=|"
    r"TRACE|DEBUG|INFO|WARN|ERROR|FATAL|[TDIWEF][,\d]|\w+: \[thrd|Handle: |\[\w+\] |Group member \()"
)
"""How the first line of a record begins: with a time, a level, JSON or a name."""
_RELATED = (
    "group", "rebalanc", "coordinator", "member", "heartbeat", "poll", "commit", "fenced", "session", "sesst",
    "offsets", "offset's topic", "join",
)  # fmt: skip
"""Words in small letters of which every message about a group has one; other records are not kept."""
_LONGEST = 8_000
"""Maximal number of characters of a record; the rest of a long stack trace is dropped."""

_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: n for n, name in enumerate(_NAMES, 1)}
_ISO = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_EPOCH = re.compile(r"(?:\||^|:)\s?(\d{10})(?:\.(\d{1,9})|(\d{3}))?(?=[|,}\s])")
_AMERICAN = re.compile(r"(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d)(?: ([AP])M)?")
_SYSLOG = re.compile(r"\b([A-Z][a-z]{2}) {1,2}(\d{1,2}) (?:\d{4} )?(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_CLOCK = re.compile(r"\b(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_NO_YEAR = 1972
"""The year of a time without one; it has a 29th of February."""


@frozen
class Record:
    """A record of a log: its file, the number of its first line, that line as it is, the text to search, its time."""

    file: str
    number: int
    line: str
    text: str
    at: float | None
    """Seconds since 1970 in the zone of the log; None without a time."""


def records(file: str, lines: Iterable[str]) -> list[Record]:
    """Return the records about groups in the order of time. A view that lists the newest first is turned round."""
    found = list(_joined(file, lines))
    times = [one.at for one in found if one.at is not None]
    if len(times) > 1 and times[0] > times[-1]:
        falling = sum(later < earlier for earlier, later in pairwise(times))
        rising = sum(later > earlier for earlier, later in pairwise(times))
        if falling > rising:
            found.reverse()
    return found


def _joined(file: str, lines: Iterable[str]) -> Iterator[Record]:
    """Join each line that has no head to the record before it, if that one had a head."""
    begun: tuple[int, str, list[str]] | None = None
    headed = False
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r\n")
        plain = _plain(line)
        if not plain.strip():
            continue
        head = bool(_HEAD.match(_SHIPPED.sub("", plain)))
        if begun and headed and not head:
            begun[2].append(plain.strip())
            continue
        if begun:
            yield from _related(file, *begun)
        begun, headed = (number, line.strip(), [plain]), head
    if begun:
        yield from _related(file, *begun)


def _related(file: str, number: int, line: str, parts: list[str]) -> Iterator[Record]:
    text = " ".join(parts)[:_LONGEST]
    small = text.lower()
    if any(word in small for word in _RELATED):
        yield Record(file, number, line, text, moment(parts[0]))


def _plain(line: str) -> str:
    text = _COLOUR.sub("", line) if "\x1b" in line else line
    text = _MARKS.sub("", text.removeprefix("\ufeff"))
    while '\\"' in text:
        text = text.replace('\\\\"', '\\"').replace('\\"', '"')
    return text.replace("\\n", " ").replace("\\t", " ") if "\\" in text else text


def moment(line: str) -> float | None:
    """Return the time of a line in seconds since 1970, without its zone; of several the innermost."""
    head = line[:200]
    if full := list(_ISO.finditer(head)):
        year, month, day, *rest = full[-1].groups()
        return _seconds(year, month, day, *rest)
    if (found := _EPOCH.search(head)) is not None:
        return int(found[1]) + float(f"0.{found[2] or found[3] or 0}")
    if (found := _AMERICAN.search(head)) is not None:
        hour = int(found[4]) % 12 + 12 * (found[7] == "P") if found[7] else int(found[4])
        return _seconds(found[3], found[1], found[2], str(hour), found[5], found[6])
    if (found := _SYSLOG.search(head)) is not None and found[1] in _MONTHS:
        return _seconds(str(_NO_YEAR), str(_MONTHS[found[1]]), *found.groups()[1:])
    if (found := _CLOCK.search(head)) is not None:
        return _seconds(str(_NO_YEAR), "1", "1", *found.groups())
    return None


def _seconds(
    year: str, month: str, day: str, hour: str, minute: str, second: str, fraction: str | None = None
) -> float | None:
    try:
        at = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError:
        return None
    return at.timestamp() + float(f"0.{fraction or 0}")


def read(path: Path) -> list[Record]:
    """Return the records of a file, or of every text file of a folder and its folders; `.gz` is unpacked.

    Raises OSError for a path that cannot be read.
    """
    if path.is_dir():
        return [one for file in sorted(path.rglob("*")) if file.is_file() for one in read(file)]
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as opened:
        if b"\0" in opened.peek(1024)[:1024]:
            return []
        return records(path.name, (raw.decode("utf-8", "replace") for raw in opened))
