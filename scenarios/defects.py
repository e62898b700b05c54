"""Defects by name, as scenario files write them: `defects: [KAFKA-9752]` on brokers."""

from __future__ import annotations

from typing import Any, NewType

from groupsim.coordinator.defects import BROKER_DEFECTS
from groupsim.scenarios.problems import suggest
from groupsim.scenarios.values import VALUE_TYPES, ValueType, read_names

BrokerDefects = NewType("BrokerDefects", tuple[str, ...])
"""Defects of brokers by name."""


def read_broker_defects(found: object) -> BrokerDefects:
    """Names of defects of brokers; ValueError, with the remedy, for any other name."""
    names = read_names(found)
    for name in names:
        if name not in BROKER_DEFECTS:
            raise ValueError(f"no broker has a defect `{name}`; {suggest(name, BROKER_DEFECTS)}")
    return BrokerDefects(tuple(names))


def _one_or_more(names: list[str]) -> dict[str, Any]:
    one = {"enum": names}
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


VALUE_TYPES[BrokerDefects] = ValueType(read_broker_defects, _one_or_more(list(BROKER_DEFECTS)))
