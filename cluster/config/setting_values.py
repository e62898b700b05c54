"""Checks of the values of settings, with Kafka's messages: `ConfigDef` and `LogConfig.validate`.

The messages are the error messages of answers, so they are the same as a real broker's.

Sources: `ConfigDef.parseType`, `ConfigDef.Range`, `LogConfig` (the ranges), `DynamicBrokerConfig.validateConfigs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from groupsim.cluster.config.inert_settings import INERT
from groupsim.cluster.config.setting_names import BROKER_TYPES, READ_ONLY, TOPIC, TOPIC_NAME_OF

_MINIMUM: Final[Mapping[str, int]] = {
    "delete.retention.ms": 0,
    "file.delete.delay.ms": 0,
    "flush.messages": 1,
    "flush.ms": 0,
    "index.interval.bytes": 0,
    "internal.segment.bytes": 1,
    "local.retention.bytes": -2,
    "local.retention.ms": -2,
    "max.compaction.lag.ms": 1,
    "max.decompressed.message.bytes": 1,
    "max.message.bytes": 0,
    "message.timestamp.after.max.ms": 0,
    "message.timestamp.before.max.ms": 0,
    "min.cleanable.dirty.ratio": 0,
    "min.compaction.lag.ms": 0,
    "min.insync.replicas": 1,
    "retention.ms": -1,
    "segment.bytes": 1_048_576,
    "segment.index.bytes": 4,
    "segment.jitter.ms": 0,
    "segment.ms": 1,
}
_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "compression.lz4.level": (1, 17),
    "compression.zstd.level": (-131_072, 22),
}
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "cleanup.policy": ("compact", "delete"),
    "compression.type": ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
}
_THROTTLED: Final = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")
_REPLICA: Final = re.compile("[0-9]+:[0-9]+")
_BITS: Final = {"INT": 31, "SHORT": 15, "LONG": 63}
_INTERNAL: Final[Mapping[str, str]] = {"internal.segment.bytes": "INT"}


class Invalid(ValueError):
    """A setting or value that Kafka refuses, with Kafka's message."""


def check_topic(config: Mapping[str, str]) -> None:
    """Check the settings of a topic. Raises `Invalid` for an unknown name, an invalid value or a conflict."""
    for name in config:
        if name not in TOPIC and name not in _INTERNAL:
            raise Invalid(f"Unknown topic config name: {name}")
    for name, value in config.items():
        _check(name, name, TOPIC[name].type if name in TOPIC else _INTERNAL[name], value)
    if config.get("remote.storage.enable", "").strip().lower() == "true":
        text = "Tiered Storage functionality is disabled in the broker."
        raise Invalid(f"{text} Topic cannot be configured with remote log storage.")
    least, most = (
        int(config.get(name, TOPIC[name].default)) for name in ("min.compaction.lag.ms", "max.compaction.lag.ms")
    )
    if least > most:
        raise Invalid(f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})")


def check_broker(changes: Mapping[str, str]) -> None:
    """Check settings for a running broker. Raises `Invalid`.

    Unknown settings pass, as in Kafka (`DynamicBrokerConfig`): they may be a plugin's.
    """
    fixed = [name for name in changes if name in READ_ONLY]
    if fixed:
        raise Invalid(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    for name, value in changes.items():
        if name in BROKER_TYPES:
            _check(name, TOPIC_NAME_OF.get(name, name), BROKER_TYPES[name], value)


def check_value(name: str, kind: str, text: str, *, least: int | None = None) -> None:
    """Check that a text is a value of this type, and that a number is at least `least`. Raises `Invalid`."""
    _check(name, name, kind, text)
    if least is not None and int(text) < least:
        raise _invalid(name, str(int(text)), f"Value must be at least {least}")


def is_list(name: str) -> bool:
    """Whether a setting is a list, which APPEND and SUBTRACT change."""
    return (TOPIC[name].type if name in TOPIC else BROKER_TYPES.get(name)) == "LIST"


def parsed_text(kind: str, text: str) -> str:
    """Return a setting's value as DescribeConfigs answers it: parsed by its type and printed again."""
    value = text.strip()
    if kind == "LIST":
        return ",".join(dict.fromkeys(_parts(value)))
    if kind in _BITS and value:
        return str(int(value))
    return value.lower() if kind == "BOOLEAN" else value


def default_of(name: str) -> str:
    """Return Kafka's default of a setting of topics or of a broker; "" where it has none."""
    if name in INERT:
        return INERT[name][1] or ""
    name = TOPIC_NAME_OF.get(name, name)
    return TOPIC[name].default if name in TOPIC else ""


def _check(name: str, rule: str, kind: str, text: str) -> None:
    """Raise `Invalid` unless the text is a value of this type and obeys the rule of the topic's setting `rule`."""
    value = text.strip()
    if kind in _BITS:
        _check_number(name, rule, kind, value)
    elif kind == "DOUBLE":
        _check_ratio(name, value)
    elif kind == "BOOLEAN" and value.lower() not in ("true", "false"):
        raise _invalid(name, value, "Expected value to be either true or false")
    elif rule in _THROTTLED:
        _check_replicas(name, _parts(value))
    elif rule in _CHOICES:
        for part in _parts(value) if kind == "LIST" else [value]:
            if part not in _CHOICES[rule]:
                raise _invalid(name, part, f"String must be one of: {', '.join(_CHOICES[rule])}")


def _parts(value: str) -> list[str]:
    """Return the elements of a list, without blanks."""
    return [part.strip() for part in value.split(",") if part.strip()]


def _check_number(name: str, rule: str, kind: str, value: str) -> None:
    digits = value[1:] if value[:1] in ("-", "+") else value
    if not (digits.isascii() and digits.isdigit()) or not -(1 << _BITS[kind]) <= int(value) < 1 << _BITS[kind]:
        raise _invalid(name, value, f"Not a number of type {kind}")
    number, least = int(value), _MINIMUM.get(rule)
    if rule == "compression.gzip.level" and number != -1 and not 1 <= number <= 9:
        raise _invalid(name, value, "Value must be between 1 and 9 or equal to -1")
    least, most = _RANGES.get(rule, (least, None))
    if least is not None and number < least:
        raise _invalid(name, str(number), f"Value must be at least {least}")
    if most is not None and number > most:
        raise _invalid(name, str(number), f"Value must be no more than {most}")


def _check_replicas(name: str, parts: list[str]) -> None:
    if parts != ["*"] and not all(_REPLICA.fullmatch(part) for part in parts):
        form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        text = f"{name} must be the literal '*' or a list of replicas in the following format: {form}"
        raise _invalid(name, f"[{', '.join(parts)}]", text)


def _check_ratio(name: str, value: str) -> None:
    try:
        ratio = float(value)
    except ValueError:
        raise _invalid(name, value, "Not a number of type DOUBLE") from None
    if not 0 <= ratio <= 1:
        raise _invalid(name, str(ratio), "Value must be at least 0" if ratio < 0 else "Value must be no more than 1")


def _invalid(name: str, value: str, why: str) -> Invalid:
    return Invalid(f"Invalid value {value} for configuration {name}: {why}")
