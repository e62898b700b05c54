"""Read defects by name, as scenario files write them: `defects: [KAFKA-9752]` on brokers, groups and members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NewType

from groupsim.coordinator.base.defects import BROKER_DEFECTS
from groupsim.members.profiles.defects import CLIENT_DEFECTS
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.values import VALUE_TYPES, ValueType, read_names

BrokerDefects = NewType("BrokerDefects", tuple[str, ...])
"""Defects of brokers by name."""
ClientDefects = NewType("ClientDefects", tuple[str, ...])
"""Defects of clients by name."""


def read_broker_defects(found: object) -> BrokerDefects:
    """Read names of broker defects. Raises ValueError with the remedy for any other name."""
    remedy = "write it on a group or member"
    return BrokerDefects(_read(found, "broker", BROKER_DEFECTS, CLIENT_DEFECTS, remedy))


def read_client_defects(found: object) -> ClientDefects:
    """Read names of client defects. Raises ValueError with the remedy for any other name."""
    return ClientDefects(_read(found, "client", CLIENT_DEFECTS, BROKER_DEFECTS, "write it under `broker`"))


def _read(found: object, whose: str, own: Iterable[str], others: Iterable[str], remedy: str) -> tuple[str, ...]:
    names = tuple(read_names(found))
    for name in names:
        if name in others:
            raise ValueError(f"`{name}` is not a defect of a {whose}; {remedy}")
        if name not in own:
            raise ValueError(f"unknown defect `{name}` of a {whose}; {suggest(name, own)}")
    return names


def _one_or_more(names: Iterable[str]) -> dict[str, Any]:
    one = {"enum": list(names)}
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


VALUE_TYPES[BrokerDefects] = ValueType(read_broker_defects, _one_or_more(BROKER_DEFECTS))
VALUE_TYPES[ClientDefects] = ValueType(read_client_defects, _one_or_more(CLIENT_DEFECTS))
