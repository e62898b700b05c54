"""Units of virtual time: integers of microseconds, and the notation of durations."""

from __future__ import annotations

import re
from decimal import Decimal

MS_US = 1_000
SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

_UNITS = {
    "us": 1,
    "µs": 1,
    "ms": MS_US,
    "s": SECOND_US,
    "m": MINUTE_US,
    "min": MINUTE_US,
    "h": HOUR_US,
    "d": DAY_US,
}
_PART = re.compile(r"(\d+(?:_\d+)*(?:\.\d+)?)\s*([a-zµ]+)\s*")
_REMEDY = "write a number with a unit, such as 300ms, 45s, 2m, 1h or 1m30s"


def ms(number: int) -> int:
    """Return milliseconds as microseconds."""
    return number * MS_US


def seconds(number: int | float | Decimal | str) -> int:
    """Return seconds as microseconds; a fraction is taken by its decimal digits, so that 0.1 is exactly 100,000."""
    return int(Decimal(str(number)) * SECOND_US)


_BANDWIDTHS = {
    "B/s": 1,
    "kB/s": 1_000,
    "MB/s": 1_000_000,
    "GB/s": 1_000_000_000,
    "kbit/s": 125,
    "Mbit/s": 125_000,
    "Gbit/s": 125_000_000,
}
_BANDWIDTH = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*((?:[kMG]?B|[kMG]bit)/s)\s*")


def parse_bandwidth(text: object) -> int:
    """Return the bytes a second of a bandwidth such as ``300 kB/s``, ``1.5 MB/s``, ``1 Gbit/s``.

    Prefixes are powers of 1,000. Raises `ValueError`, with the remedy, for anything else.
    """
    match = _BANDWIDTH.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"`{text}` is no bandwidth; write for example 300 kB/s, 10 MB/s or 1 Gbit/s")
    found = Decimal(match[1]) * _BANDWIDTHS[match[2]]
    if found < 1 or found != int(found):
        raise ValueError(f"`{text}` is not a whole number of bytes a second, at least one")
    return int(found)


def show_bandwidth(per_second: int) -> str:
    """Return bytes a second in the largest unit in which they are a whole number: ``300 kB/s``."""
    unit = next(name for name in ("GB/s", "MB/s", "kB/s", "B/s") if per_second % _BANDWIDTHS[name] == 0)
    return f"{per_second // _BANDWIDTHS[unit]:,} {unit}"


def parse_duration(text: str | int) -> int:
    """Return the microseconds of a duration such as ``300ms``, ``45s``, ``2m``, ``1h``, ``1m30s``, ``0``.

    Raises `ValueError`, with the remedy, for anything else: a bare number has no unit (Kafka's own ``*.ms``
    settings are read elsewhere), time has no sign here, and nothing is finer than a microsecond.
    """
    if text == 0 and not isinstance(text, bool):
        return 0
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a duration: it has no unit; {_REMEDY}")
    total = sum((_part_us(text, *part) for part in _parts(text)), Decimal(0))
    if total != int(total):
        raise ValueError(f"{text!r} is finer than a microsecond, the unit of virtual time")
    return int(total)


def as_us(duration: int | str) -> int:
    """Return microseconds: an int is taken as it is, text as by `parse_duration`, with its ValueError."""
    return parse_duration(duration) if isinstance(duration, str) else duration


def _parts(text: str) -> list[tuple[str, str]]:
    """Split ``1m30s`` into its numbers and units; ``0`` alone needs no unit."""
    stripped = text.strip().lower()
    if stripped == "0":
        return []
    if stripped.startswith("-") and _PART.match(stripped[1:].lstrip()):
        raise ValueError(f"{text!r}: a duration is not negative; {_REMEDY}")
    parts = _PART.findall(stripped)
    if not parts or _PART.sub("", stripped):
        raise ValueError(f"{text!r} is not a duration: {_REMEDY}")
    return parts


def _part_us(text: str, number: str, unit: str) -> Decimal:
    if unit not in _UNITS:
        raise ValueError(f"{text!r} is not a duration: unknown unit {unit!r} (known: {', '.join(_UNITS)}); {_REMEDY}")
    return Decimal(number) * _UNITS[unit]


def show_us(us: int) -> str:
    """Return a time in seconds with milliseconds, ``3.000 s``, or with microseconds, ``3.000125 s``."""
    sign, us = ("-", -us) if us < 0 else ("", us)
    whole, rest = divmod(us, SECOND_US)
    fraction = f"{rest // MS_US:03d}" if rest % MS_US == 0 else f"{rest:06d}"
    return f"{sign}{whole}.{fraction} s"
