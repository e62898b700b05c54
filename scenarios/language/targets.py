"""Name the target of an action or a fault: names, patterns, and roles.

| written | means |
| --- | --- |
| `c2`, `[c1, c2]`, `pod-*`, `all` | processes by name or pattern |
| `leader`, `leader of orders` | the member that leads the group when the step runs |
| `member 2`, `member 2 of orders` | the second member of the group, in the order of the file |
| `broker 1`, `1` | a broker by number |
| `coordinator`, `coordinator of orders` | the broker that coordinates the group when the step runs |
| `the third Heartbeat of c2`, `next SyncGroup of leader`, `every JoinGroup of *` | requests, counted from the step on |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NewType

from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.values import API_NAMES, VALUE_TYPES, ValueType, quote

Members = NewType("Members", tuple[str, ...])
"""Processes: names, patterns or roles."""
Processes = NewType("Processes", tuple[str, ...])
"""Members of groups and producers: names and patterns, and roles of members; `all` means the members."""
OneMember = NewType("OneMember", str)
"""One process."""
Broker = NewType("Broker", str)
"""A broker, by number or role."""
TheGroup = NewType("TheGroup", str)
"""The target group; may be left out if the scenario has only one."""
GroupName = NewType("GroupName", str)
"""A group of the scenario, as a filter; without it, all of them."""
TopicName = NewType("TopicName", str)
"""A topic of the scenario, or one that a step creates."""
PartitionName = NewType("PartitionName", str)
"""A partition, as `orders-0`."""

ROLE = re.compile(r"(leader|coordinator)(?: of (?P<group>\S+))?")
NUMBERED = re.compile(r"member (?P<number>[1-9]\d*)(?: of (?P<group>\S+))?")
_BROKER = re.compile(r"(?:broker )?(\d+)|coordinator(?: of (?P<group>\S+))?")
_PARTITION = re.compile(r"(?P<topic>.+)-(?P<number>\d+)")
_REQUEST = re.compile(r"(?:the )?(?:(?P<nth>\w+) )?(?P<api>[A-Za-z]+) (?:of|from) (?P<member>.+)", re.IGNORECASE)
_ORDINALS = {
    word: number
    for number, words in enumerate(
        [
            ("every", "each"),
            ("next", "first", "1st"),
            ("second", "2nd"),
            ("third", "3rd"),
            ("fourth", "4th"),
            ("fifth", "5th"),
            ("sixth", "6th"),
            ("seventh", "7th"),
            ("eighth", "8th"),
            ("ninth", "9th"),
            ("tenth", "10th"),
        ]
    )
    for word in words
}


@frozen
class RequestTarget:
    """Requests of a process: the `nth` of that API from now on, or every one (0)."""

    nth: int
    api: str
    member: str
    text: str


def is_pattern(name: str) -> bool:
    """Return whether a name stands for several processes."""
    return name == "all" or any(sign in name for sign in "*?[")


def group_named(target: str) -> str | None:
    """Return the group that a role names, if any."""
    match = ROLE.fullmatch(target) or NUMBERED.fullmatch(target) or _BROKER.fullmatch(target)
    return match.groupdict().get("group") if match else None


def is_role(target: str) -> bool:
    """Return whether the target is a role (`leader`, `member 2` …), which is resolved while the scenario runs."""
    return ROLE.fullmatch(target) is not None or NUMBERED.fullmatch(target) is not None


def matches(pattern: str, name: str) -> bool:
    """Return whether a name or pattern means this process."""
    return pattern in ("all", name) or fnmatchcase(name, pattern)


def split_partition(name: str) -> tuple[str, int] | None:
    """Split `orders-0` into topic and number; None for any other text."""
    match = _PARTITION.fullmatch(name)
    return (match["topic"], int(match["number"])) if match else None


def partition_named(name: str) -> TopicPartition:
    """Return `orders-0` as a partition. Raises ValueError for any other text."""
    parts = split_partition(name)
    if parts is None:
        raise ValueError(f"`{name}` is not a partition; write topic-number, such as orders-0")
    return TopicPartition(*parts)


def _read_members(found: object) -> Members:
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"expected a member, a list of members or a pattern, found {quote(found)}")
    return Members(tuple(names))


def _read_name(what: str) -> Callable[[object], str]:
    def read(found: object) -> str:
        if not isinstance(found, str) or not found:
            raise ValueError(f"expected the name of {what}, found {quote(found)}")
        return found

    return read


def _read_broker(found: object) -> Broker:
    text = str(found) if isinstance(found, int) and not isinstance(found, bool) else found
    if not isinstance(text, str) or not _BROKER.fullmatch(text):
        raise ValueError(f"expected `coordinator`, `broker 1` or a number, found {quote(found)}")
    return Broker(text.removeprefix("broker "))


def _read_partition(found: object) -> PartitionName:
    if not isinstance(found, str) or not _PARTITION.fullmatch(found):
        raise ValueError(f"expected a partition such as orders-0, found {quote(found)}")
    return PartitionName(found)


def read_request_target(found: object) -> RequestTarget:
    """Read `the third Heartbeat of c2`. Raises ValueError with the remedy."""
    match = _REQUEST.fullmatch(found.strip()) if isinstance(found, str) else None
    if match is None:
        raise ValueError(f"expected requests such as `next SyncGroup of c2`, found {quote(found)}")
    nth = _ORDINALS.get((match["nth"] or "next").lower())
    if nth is None:
        raise ValueError(f"`{match['nth']}` is not an ordinal; {suggest(match['nth'], _ORDINALS)}")
    api = {name.casefold(): name for name in API_NAMES}.get(match["api"].casefold())
    if api is None:
        raise ValueError(f"`{match['api']}` is not an API; {suggest(match['api'], API_NAMES)}")
    return RequestTarget(nth, api, match["member"], match[0])


_NAME = {"type": "string", "minLength": 1}

VALUE_TYPES.update(
    {
        Members: ValueType(_read_members, {"anyOf": [_NAME, {"type": "array", "items": _NAME, "minItems": 1}]}),
        Processes: ValueType(_read_members, {"anyOf": [_NAME, {"type": "array", "items": _NAME, "minItems": 1}]}),
        OneMember: ValueType(_read_name("a member"), _NAME),
        TheGroup: ValueType(_read_name("a group"), _NAME),
        GroupName: ValueType(_read_name("a group"), _NAME),
        TopicName: ValueType(_read_name("a topic"), _NAME),
        PartitionName: ValueType(_read_partition, {"type": "string", "pattern": r"^.+-[0-9]+$"}),
        Broker: ValueType(
            _read_broker,
            {
                "anyOf": [
                    {"type": "integer", "minimum": 0},
                    {"type": "string", "pattern": r"^((broker )?[0-9]+|coordinator( of \S+)?)$"},
                ]
            },
        ),
        RequestTarget: ValueType(
            read_request_target, {"type": "string", "pattern": r"^([Tt]he )?(\w+ )?[A-Za-z]+ (of|from) .+$"}
        ),
    }
)
