"""Read the values of records and producers: sizes, skew, and settings of topics, brokers and producers.

Each is a type with a row in `VALUE_TYPES`, like every value of a file (`values.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import NewType

from groupsim.cluster.config.cluster import KNOWN
from groupsim.cluster.config.group_settings import GROUP
from groupsim.cluster.config.log import TOPIC_SETTINGS, WITHOUT_EFFECT
from groupsim.members.producer.keys import PRODUCER_KEYS
from groupsim.members.producer.load import Sizes
from groupsim.scenarios.language.values import VALUE_TYPES, Properties, ValueType, quote, read_properties

RecordSize = NewType("RecordSize", Sizes)
"""Bytes of a record's value: one size, or a range of sizes."""
Skew = NewType("Skew", str)
"""Zipf's exponent, as decimal text."""
TopicProperties = NewType("TopicProperties", Mapping[str, object])
"""Settings of a topic by Kafka's own names."""
BrokerProperties = NewType("BrokerProperties", Mapping[str, object])
"""Settings of the brokers by Kafka's own names."""
GroupProperties = NewType("GroupProperties", Mapping[str, object])
"""Settings of a group at the brokers by Kafka's own names; None resets one."""
ProducerProperties = NewType("ProducerProperties", Mapping[str, object])
"""Settings of a producer by Kafka's own names."""

#: The settings that have an effect, by the type of the settings.
SETTINGS: Mapping[object, tuple[str, ...]] = {
    BrokerProperties: tuple(name for name in KNOWN if name not in ("broker.version", "broker.defects")),
    TopicProperties: (*TOPIC_SETTINGS, *sorted(WITHOUT_EFFECT)),
    GroupProperties: tuple(name for name in GROUP if name.startswith("consumer.")),
    ProducerProperties: tuple(PRODUCER_KEYS),
}

LARGEST_RECORD = 100_000_000
_UNIFORM = re.compile(r"\s*uniform\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)\s*")
_STEEPEST = 10


def read_record_size(found: object) -> RecordSize:
    """Read `100` or `uniform(100, 300)`, in bytes. Raises ValueError with the remedy."""
    between = _UNIFORM.fullmatch(found) if isinstance(found, str) else None
    if between is not None:
        least, most = int(between[1]), int(between[2])
    elif isinstance(found, int) and not isinstance(found, bool):
        least = most = found
    else:
        raise ValueError(f"expected bytes such as 100 or uniform(100, 300), found {quote(found)}")
    if not 0 <= least <= most <= LARGEST_RECORD:
        raise ValueError(f"{quote(found)} is not a record size; write 0 to {LARGEST_RECORD:,} bytes, the smaller first")
    return RecordSize(Sizes(least, most))


def read_skew(found: object) -> Skew:
    """Read Zipf's exponent, such as 1.1. Raises ValueError with the remedy."""
    try:
        number = Decimal(str(getattr(found, "text", found))) if not isinstance(found, bool) else Decimal(-1)
    except InvalidOperation:
        number = Decimal(-1)
    if not 0 <= number <= _STEEPEST:
        raise ValueError(f"expected a skew from 0 (all keys alike) to {_STEEPEST}, found {quote(found)}")
    return Skew(str(number))


VALUE_TYPES.update(
    {
        RecordSize: ValueType(
            read_record_size,
            {
                "anyOf": [
                    {"type": "integer", "minimum": 0, "maximum": LARGEST_RECORD},
                    {"type": "string", "pattern": _UNIFORM.pattern.join("^$")},
                ]
            },
        ),
        Skew: ValueType(
            read_skew,
            {"anyOf": [{"type": "number", "minimum": 0, "maximum": _STEEPEST}, {"type": "string"}]},
        ),
        TopicProperties: ValueType(read_properties, VALUE_TYPES[Properties].schema),
        BrokerProperties: ValueType(read_properties, VALUE_TYPES[Properties].schema),
        GroupProperties: ValueType(read_properties, VALUE_TYPES[Properties].schema),
        ProducerProperties: ValueType(read_properties, VALUE_TYPES[Properties].schema),
    }
)
