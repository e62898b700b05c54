"""Read the small values of a scenario file: durations, moments, rates, shares, counts and their comparisons.

Each type has one row in `VALUE_TYPES`: how it is read, and its JSON Schema. The loader and the
schema are both made from this table, so they cannot disagree.

Durations carry a unit (`300ms`, `10s`, `5m`, `1h`); a bare number is an error, except 0. In memory, a duration is an
integer of microseconds, like every time of the simulator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NewType

from groupsim.eventloop.distributions import Distribution, parse_distribution
from groupsim.eventloop.units import DAY_US, parse_bandwidth, parse_duration
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.properties import parse_properties

Duration = NewType("Duration", int)
"""Microseconds."""
Moment = NewType("Moment", int)
"""Microseconds since the start, or END."""
LARGEST_NODE = 2**31 - 1
CONTROLLER_NODE = 3_000


Bandwidth = NewType("Bandwidth", int)
"""Bytes a second."""


class Brokers(int):
    """The number of brokers, and their ids."""

    ids: tuple[int, ...]

    @classmethod
    def listed(cls, ids: Iterable[int]) -> Brokers:
        """Return brokers with these ids."""
        nodes = tuple(ids)
        brokers = cls(len(nodes))
        brokers.ids = nodes
        return brokers

    @classmethod
    def counted(cls, number: int) -> Brokers:
        """Return brokers with the ids from 0 on."""
        return cls.listed(range(number))

    @property
    def shown(self) -> str:
        """Return the ids in words: a range, or a list."""
        if self.ids == tuple(range(self)):
            return f"0 to {self - 1}"
        return ", ".join(map(str, self.ids))


Names = NewType("Names", tuple[str, ...])
"""One name, or a list of names."""
Version = NewType("Version", str)
"""A version number as text."""
Count = NewType("Count", int)
"""A whole number that is not negative."""
Positive = NewType("Positive", int)
"""A whole number of at least 1."""
Size = NewType("Size", int)
"""A number of things that the simulation holds, from 1 to a million."""
Amount = NewType("Amount", int)
"""A number of things that the simulation holds, from 0 to a million."""
ProcessCount = NewType("ProcessCount", int)
"""A number of processes, from none to MOST_PROCESSES."""
ErrorName = NewType("ErrorName", str)
"""One of Kafka's error codes by name."""
ApiName = NewType("ApiName", str)
"""One of the group APIs by name, as `JoinGroup`."""
Properties = NewType("Properties", Mapping[str, object])
"""Settings by Kafka's own names; a mapping, or the text of a .properties file."""

END = Moment(2**62)
LARGEST = 2**63 - 1
LONGEST_US = 3650 * DAY_US
LARGEST_SIZE = 1_000_000
MOST_PROCESSES = 10_000  # of one kind in a run: a member takes 0.1 MB, and joins with a dozen events

MOST_RECORDS = 1_000_000  # per second of one load: the clock's ticks are µs

API_NAMES = tuple(sorted(api.title for api in Api))
ERROR_NAMES = tuple(sorted(code.name for code in ErrorCode))


@frozen
class Rate:
    """Records per second, as an exact fraction."""

    per_second: Fraction
    text: str

    def __str__(self) -> str:
        return self.text


@frozen
class Share:
    """A number of processes, or a percentage of them, as Kubernetes writes maxSurge and maxUnavailable."""

    amount: int
    percent: bool = False

    def of(self, total: int, *, round_up: bool) -> int:
        """Return the share of `total`. Kubernetes rounds a surge up and unavailability down."""
        if not self.percent:
            return self.amount
        return -(-total * self.amount // 100) if round_up else total * self.amount // 100


@frozen
class Bounds:
    """The range of a number: `low` to `high`, both included; None is open. `text` is the written form."""

    low: int | None
    high: int | None
    text: str

    def holds(self, number: int) -> bool:
        """Return whether the number lies within."""
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        return self.text


class CountIs(Bounds):
    """Bounds of a count: `3`, `<= 4`, `2..5`."""


class SpanIs(Bounds):
    """Bounds of a duration in microseconds: `10s`, `<= 3s`, `9s..11s`, `10s ± 5ms`."""


def read_duration(found: object) -> Duration:
    """Read a duration with its unit. Raises ValueError with the remedy."""
    if found == 0 and not isinstance(found, bool):
        return Duration(0)
    _refuse_number(found)
    us = parse_duration(_text(found, "a duration such as 300ms, 10s or 5m"))
    if us > LONGEST_US:
        raise ValueError(f"{quote(found)} is longer than ten years; write a shorter duration")
    return Duration(us)


def _refuse_number(found: object) -> None:
    """Refuse a bare number in place of a duration."""
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        if found < 0:
            raise ValueError("a duration is not negative; write for example 10s")
        raise ValueError(f"a duration needs a unit; write {found}s or {found}ms")


def read_moment(found: object) -> Moment:
    """Read a time since the start of the run, or `end`."""
    return END if found == "end" else Moment(read_duration(found))


def read_distribution(found: object) -> Distribution:
    """Read a duration, or one of the distributions by name."""
    if found == 0 and not isinstance(found, bool):
        return parse_distribution("0s")
    _refuse_number(found)
    return parse_distribution(_text(found, "a duration (10ms) or a distribution such as uniform(1ms, 5ms)"))


_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:/|per)\s*(s|sec|second|m|min|minute|h|hour)\s*$")
_PER_S = {"s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600}


def read_rate(found: object) -> Rate:
    """Read `10/s`, `0.5/s`, `3/min`, or 0 for a topic without traffic."""
    if found == 0 and not isinstance(found, bool):
        return Rate(Fraction(0), "0/s")
    match = _RATE.match(found) if isinstance(found, str) else None
    if match is None:
        raise ValueError(f"expected a rate such as 10/s or 3/min, found {quote(found)}")
    rate = Rate(Fraction(match[1]) / _PER_S[match[2]], str(found).strip())
    if rate.per_second > MOST_RECORDS:
        raise ValueError(f"{quote(found)} is above {MOST_RECORDS:,}/s; write at most one record per µs of virtual time")
    return rate


def read_bandwidth(found: object) -> Bandwidth:
    """Read `300 kB/s`, `10 MB/s`, `1 Gbit/s`. A bare number is refused."""
    if isinstance(found, int | float) and not isinstance(found, bool):
        raise ValueError(f"a bandwidth needs a unit; write {found} kB/s or {found} MB/s")
    return Bandwidth(parse_bandwidth(_text(found, "a bandwidth such as 300 kB/s, 10 MB/s or 1 Gbit/s")))


def read_share(found: object) -> Share:
    """Read a whole number, or a percentage from 0% to 100%."""
    if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
        return Share(found)
    match = re.fullmatch(r"(\d{1,9})\s*%", found) if isinstance(found, str) else None
    if match is not None and int(match[1]) > 100:
        raise ValueError(f"{quote(found)} is a percentage above 100%; write 100% or less, or a number such as 12")
    if match is None:
        raise ValueError(f"expected a whole number or a percentage such as 25%, found {quote(found)}")
    return Share(int(match[1]), percent=True)


def read_names(found: object) -> Names:
    """Read one name or a list of names. An empty list is refused."""
    if isinstance(found, str) and found:
        return Names((found,))
    if isinstance(found, list) and found and all(isinstance(name, str) and name for name in found):
        return Names(tuple(found))
    raise ValueError(f"expected a name or a list of names, found {quote(found)}")


def read_version(found: object) -> Version:
    """Read a version. A number keeps the text it was written in, so that 3.10 stays 3.10."""
    text = str(getattr(found, "text", found))
    if isinstance(found, bool) or not re.fullmatch(r"\d+(\.\d+)*", text):
        raise ValueError(f"expected a version such as 3.9 or 4.1.0, found {quote(found)}")
    return Version(text)


def read_brokers(found: object) -> Brokers:
    """Read a number of brokers, or the list of their ids."""
    if not isinstance(found, list | tuple):
        return Brokers.counted(_whole(found, 1, LARGEST_SIZE))
    ids = [_whole(node, 0, LARGEST_NODE) for node in found]
    if not ids:
        raise ValueError("expected at least one id of a broker, found []")
    twice = next((node for node in ids if ids.count(node) > 1), None)
    if twice is not None:
        raise ValueError(f"broker {twice} is listed twice; give each broker an id of its own")
    if CONTROLLER_NODE in ids:
        raise ValueError(f"{CONTROLLER_NODE} is the id of the controller; choose another one for the broker")
    return Brokers.listed(ids)


def read_process_count(found: object) -> ProcessCount:
    """Read a number of processes, at most MOST_PROCESSES."""
    number = _whole(found, 0)
    if number > MOST_PROCESSES:
        raise ValueError(f"{number:,} processes are more than a run can hold; {PROCESSES_REMEDY}")
    return ProcessCount(number)


PROCESSES_REMEDY = f"write at most {MOST_PROCESSES:,} in all"


def _whole(found: object, least: int, most: int = LARGEST) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or found < least:
        raise ValueError(f"expected a whole number of at least {least}, found {quote(found)}")
    if found > most:
        raise ValueError(f"{found} is too large; write at most {most:,}")
    return found


def read_count_is(found: object) -> CountIs:
    """Read bounds of a count: `3`, `<= 4`, `>= 1`, `< 4`, `> 1`, `2..5`."""
    if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
        return CountIs(found, found, str(found))
    text = _text(found, "a number or a comparison such as `<= 4` or `2..5`")
    low, high = _bounds(text, lambda part: _whole(int(part) if part.isdecimal() else part, 0), 1)
    return CountIs(low, high, text)


def read_span_is(found: object) -> SpanIs:
    """Read bounds of a duration: as for a count, and `10s ± 5ms` (or `10s +- 5ms`)."""
    if found == 0 and not isinstance(found, bool):
        return SpanIs(0, 0, "0s")
    text = _text(found, "a duration or a comparison such as `<= 3s`, `9s..11s`, `10s ± 5ms`")
    middle, sign, slack = (part.strip() for part in text.replace("+-", "±").replace("+/-", "±").partition("±"))
    if sign:
        centre, around = read_duration(middle), read_duration(slack)
        return SpanIs(centre - around, centre + around, text)
    low, high = _bounds(text, lambda part: read_duration(0 if part == "0" else part), 1)
    return SpanIs(low, high, text)


def _bounds(text: str, read: Callable[[str], int], step: int) -> tuple[int | None, int | None]:
    """Return the lower and the upper bound of a comparison."""
    text = text.strip()
    for sign, make in _SIGNS:
        if text.startswith(sign):
            return make(read(text[len(sign) :].strip()), step)
    low, dots, high = (part.strip() for part in text.partition(".."))
    if not dots:
        return (exact := read(low)), exact
    bounds = read(low), read(high)
    if bounds[0] > bounds[1]:
        raise ValueError(f"the range {quote(text)} is empty; write the smaller number first")
    return bounds


_SIGNS: tuple[tuple[str, Callable[[int, int], tuple[int | None, int | None]]], ...] = (
    ("<=", lambda n, _: (None, n)),
    (">=", lambda n, _: (n, None)),
    ("≤", lambda n, _: (None, n)),
    ("≥", lambda n, _: (n, None)),
    ("<", lambda n, step: (None, n - step)),
    (">", lambda n, step: (n + step, None)),
    ("=", lambda n, _: (n, n)),
)


def read_properties(found: object) -> Properties:
    """Read a mapping of Kafka's keys, or the pasted text of a .properties file."""
    if isinstance(found, str):
        return Properties(parse_properties(found))
    if not isinstance(found, dict):
        raise ValueError(f"expected settings by Kafka's names, or pasted properties, found {quote(found)}")
    wrong = next((key for key, value in found.items() if isinstance(value, dict)), None)
    if wrong is not None:
        remedy = in_quotes(found[wrong]) or "write Kafka's keys with their dots: `session.timeout.ms: 45000`"
        raise ValueError(f"`{wrong}` is a mapping; {remedy}")
    return Properties(dict(found))


def quote(found: object) -> str:
    """Show a value in an error message."""
    if found is None:
        return "nothing"
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, (dict, list, tuple)):
        return "a mapping" if isinstance(found, dict) else "a list"
    return f"`{getattr(found, 'text', found)}`"


def in_quotes(found: object) -> str:
    """Return the remedy for `{name}` without quotes, which YAML reads as a mapping with one empty key; else ""."""
    if not isinstance(found, dict) or list(found.values()) != [None]:
        return ""
    text = f'"{{{next(iter(found))}}}"'
    return f"YAML reads braces as a mapping: write {text} with the quotes, in a shell '{text}'"


def _text(found: object, expected: str) -> str:
    if not isinstance(found, str) or not found.strip():
        raise ValueError(f"expected {expected}, found {quote(found)}")
    return found


@frozen
class ValueType:
    """A type of values: its reader, and its JSON Schema without description."""

    read: Callable[[object], Any]
    schema: Mapping[str, Any]


def _whole_number(least: int, most: int = LARGEST) -> ValueType:
    """Return the type of whole numbers from `least` to `most`."""
    schema = {"type": "integer", "minimum": least}
    return ValueType(
        lambda found: _whole(found, least, most), schema if most == LARGEST else {**schema, "maximum": most}
    )


def _one_of(names: tuple[str, ...], what: str) -> ValueType:
    """Return the type of names from a list."""

    def read(found: object) -> str:
        if not isinstance(found, str) or found not in names:
            raise ValueError(f"{quote(found)} is not {what}; {suggest(str(found), names)}")
        return found

    return ValueType(read, {"enum": list(names)})


_AMOUNT = r"[0-9]+(\.[0-9]+)?\s*(us|µs|ms|s|m|min|h|d)"
_DURATION = rf"^\s*({_AMOUNT}\s*)+$"
_PART = r"([0-9]+(\.[0-9]+)?\s*(us|µs|ms|s|m|min|h|d)?\s*)+"
_SIGN = r"\s*(<=|>=|<|>|=|≤|≥)?\s*"
_DURATION_SCHEMA = {"anyOf": [{"const": 0}, {"type": "string", "pattern": _DURATION}]}
_NAME = {"type": "string", "minLength": 1}
_DISTRIBUTION_NAMES = "uniform|exponential|lognormal|percentiles|constant"

VALUE_TYPES: dict[Any, ValueType] = {
    Duration: ValueType(read_duration, _DURATION_SCHEMA),
    Moment: ValueType(read_moment, {"anyOf": [{"enum": [0, "end"]}, {"type": "string", "pattern": _DURATION}]}),
    Distribution: ValueType(
        read_distribution,
        {"anyOf": [{"const": 0}, {"type": "string", "pattern": rf"{_DURATION}|^\s*({_DISTRIBUTION_NAMES})\(.*\)\s*$"}]},
    ),
    Rate: ValueType(
        read_rate, {"anyOf": [{"const": 0}, {"type": "string", "pattern": _RATE.pattern.rstrip("$") + "$"}]}
    ),
    Bandwidth: ValueType(
        read_bandwidth, {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([kMG]?B|[kMG]bit)/s\s*$"}
    ),
    Share: ValueType(
        read_share,
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"^([0-9]{1,2}|100)\s*%$"}]},
    ),
    Names: ValueType(read_names, {"anyOf": [_NAME, {"type": "array", "items": _NAME, "minItems": 1}]}),
    Version: ValueType(
        read_version,
        {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)*$"}]},
    ),
    Count: _whole_number(0),
    Positive: _whole_number(1),
    Size: _whole_number(1, LARGEST_SIZE),
    Brokers: ValueType(
        read_brokers,
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": LARGEST_SIZE},
                {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 0, "maximum": LARGEST_NODE},
                    "minItems": 1,
                    "uniqueItems": True,
                },
            ]
        },
    ),
    Amount: _whole_number(0, LARGEST_SIZE),
    ProcessCount: ValueType(read_process_count, {"type": "integer", "minimum": 0, "maximum": MOST_PROCESSES}),
    ErrorName: _one_of(ERROR_NAMES, "an error code"),
    ApiName: _one_of(API_NAMES, "an API"),
    CountIs: ValueType(
        read_count_is,
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": rf"^{_SIGN}[0-9]+\s*(\.\.\s*[0-9]+)?\s*$"},
            ]
        },
    ),
    SpanIs: ValueType(
        read_span_is,
        {
            "anyOf": [
                {"const": 0},
                {"type": "string", "pattern": rf"^{_SIGN}{_PART}\s*((\.\.|±|\+-|\+/-)\s*{_PART})?\s*$"},
            ]
        },
    ),
    Properties: ValueType(
        read_properties,
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "array", "null"]}},
            ]
        },
    ),
}
