"""The settings of a topic's log: a table with Kafka's names, defaults and ranges.

A topic's own setting precedes the broker's default, which precedes Kafka's. The table has every setting of a topic,
including those of the leader and the controller (`min.insync.replicas`, `unclean.leader.election.enable`). Settings of
Kafka that have no effect here are in `WITHOUT_EFFECT`.

Source: `LogConfig`, `TopicConfig`, `ServerTopicConfigSynonyms`, `ServerLogConfigs`, `CleanerConfig`; KIP-1030 for the
smallest `segment.bytes` (`internal.segment.bytes` gets below it, as in Kafka's own tests).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from attrs import evolve, field

from groupsim.cluster.config.setting_names import TOPIC
from groupsim.protocol.values import frozen

NEVER: Final = 2**63 - 1
_INT: Final = 2**31 - 1


@frozen
class LogConfig:
    """Settings of one log. A retention of -1 is without limit; NEVER as a time or a number of messages means never.

    With an empty `cleanup_policy` only DeleteRecords deletes records (KIP-1161).
    """

    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4_096
    retention_ms: int = 604_800_000
    retention_bytes: int = -1
    cleanup_policy: tuple[str, ...] = ("delete",)
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = NEVER
    delete_retention_ms: int = 86_400_000
    max_message_bytes: int = 1_048_588
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = NEVER
    message_timestamp_after_max_ms: int = 3_600_000
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    flush_messages: int = NEVER
    flush_ms: int = NEVER
    file_delete_delay_ms: int = 60_000
    log_retention_check_interval_ms: int = 300_000
    log_cleaner_backoff_ms: int = 15_000
    producer_id_expiration_ms: int = 86_400_000
    producer_id_expiration_check_interval_ms: int = 600_000

    # Derived from the settings, and stored because every append needs them.
    compact: bool = field(init=False)
    delete: bool = field(init=False)
    log_append_time: bool = field(init=False)
    max_segment_ms: int = field(init=False)
    """The age at which a segment is rolled (`LogConfig.maxSegmentMs`)."""

    @compact.default
    def _compact(self) -> bool:
        return "compact" in self.cleanup_policy

    @delete.default
    def _delete(self) -> bool:
        return "delete" in self.cleanup_policy

    @log_append_time.default
    def _log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"

    @max_segment_ms.default
    def _max_segment_ms(self) -> int:
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms


@frozen
class Setting:
    """One row of the table: field, and reader of the text."""

    field: str
    read: Callable[[Any], Any]


class UnknownSetting(ValueError):
    """A setting that no log has."""


# --- reading values --------------------------------------------------------------------------------------------------


def _number(low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        try:
            number = int(str(value).strip()) if not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None:
            raise ValueError(f"expected a whole number, found {value!r}")
        if not low <= number <= high:
            raise ValueError(f"expected a number {_range(low, high)}, found {number}")
        return number

    return read


def _range(low: int, high: int) -> str:
    return f"of at least {low}" if high == NEVER else f"from {low} to {high}"


def _ratio(value: Any) -> float:
    try:
        ratio = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"expected a number from 0 to 1, found {value!r}") from None
    if not 0 <= ratio <= 1:
        raise ValueError(f"expected a number from 0 to 1, found {value!r}")
    return ratio


def _flag(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise ValueError(f"expected true or false, found {value!r}")
    return text == "true"


def _policy(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, (list, tuple)) else str(value).split(",")
    policies = tuple(str(part).strip() for part in parts if str(part).strip())
    if not all(policy in ("delete", "compact") for policy in policies):
        raise ValueError(f"expected delete, compact or delete,compact, found {value!r}")
    return policies


def _timestamp_type(value: Any) -> str:
    if value not in ("CreateTime", "LogAppendTime"):
        raise ValueError(f"expected CreateTime or LogAppendTime, found {value!r}")
    return str(value)


def _scaled(factor: int, read: Callable[[Any], int]) -> Callable[[Any], int]:
    def scaled(value: Any) -> int:
        number = _number(-1, NEVER)(value)
        return read(number if number < 0 else number * factor)

    return scaled


# --- the table -------------------------------------------------------------------------------------------------------

_LONG_FROM_0 = _number(0, NEVER)
_LONG_FROM_1 = _number(1, NEVER)
_LONG_OR_NONE = _number(-1, NEVER)

TOPIC_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        "segment.bytes": Setting("segment_bytes", _number(1_048_576, _INT)),
        "internal.segment.bytes": Setting("segment_bytes", _number(1, _INT)),
        "segment.ms": Setting("segment_ms", _LONG_FROM_1),
        "segment.index.bytes": Setting("segment_index_bytes", _number(4, _INT)),
        "index.interval.bytes": Setting("index_interval_bytes", _number(0, _INT)),
        "retention.ms": Setting("retention_ms", _LONG_OR_NONE),
        "retention.bytes": Setting("retention_bytes", _number(-NEVER, NEVER)),
        "cleanup.policy": Setting("cleanup_policy", _policy),
        "min.cleanable.dirty.ratio": Setting("min_cleanable_dirty_ratio", _ratio),
        "min.compaction.lag.ms": Setting("min_compaction_lag_ms", _LONG_FROM_0),
        "max.compaction.lag.ms": Setting("max_compaction_lag_ms", _LONG_FROM_1),
        "delete.retention.ms": Setting("delete_retention_ms", _LONG_FROM_0),
        "max.message.bytes": Setting("max_message_bytes", _number(0, _INT)),
        "message.timestamp.type": Setting("message_timestamp_type", _timestamp_type),
        "message.timestamp.before.max.ms": Setting("message_timestamp_before_max_ms", _LONG_FROM_0),
        "message.timestamp.after.max.ms": Setting("message_timestamp_after_max_ms", _LONG_FROM_0),
        "min.insync.replicas": Setting("min_insync_replicas", _number(1, _INT)),
        "unclean.leader.election.enable": Setting("unclean_leader_election_enable", _flag),
        "flush.messages": Setting("flush_messages", _LONG_FROM_1),
        "flush.ms": Setting("flush_ms", _LONG_FROM_0),
    }
)
_SYNONYMS: Final[Mapping[str, str]] = {TOPIC[name].synonyms[0]: name for name in TOPIC_SETTINGS if name in TOPIC}
"""The broker's setting in the same unit → the topic's setting whose default it is."""

BROKER_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        "log.roll.hours": Setting("segment_ms", _scaled(3_600_000, _LONG_FROM_1)),
        "log.retention.hours": Setting("retention_ms", _scaled(3_600_000, _LONG_OR_NONE)),
        "log.retention.minutes": Setting("retention_ms", _scaled(60_000, _LONG_OR_NONE)),
        **{synonym: TOPIC_SETTINGS[name] for synonym, name in _SYNONYMS.items()},
        "log.retention.check.interval.ms": Setting("log_retention_check_interval_ms", _LONG_FROM_1),
        "log.segment.delete.delay.ms": Setting("file_delete_delay_ms", _LONG_FROM_0),
        "log.cleaner.backoff.ms": Setting("log_cleaner_backoff_ms", _LONG_FROM_1),
        "producer.id.expiration.ms": Setting("producer_id_expiration_ms", _number(1, _INT)),
        "producer.id.expiration.check.interval.ms": Setting(
            "producer_id_expiration_check_interval_ms", _number(1, _INT)
        ),
    }
)
"""The broker's defaults for topics, and its own settings; of two names for a field the later one precedes."""

WITHOUT_EFFECT: Final = frozenset(TOPIC.keys() - TOPIC_SETTINGS.keys() | {"message.downconversion.enable"})
"""Kafka's settings of topics without effect here: no compression, no tiered storage, no quotas, no jitter."""


def topic_config(settings: Mapping[str, Any], defaults: LogConfig | None = None) -> LogConfig:
    """Return the configuration of a topic. Raises ValueError with the setting, the mistake and the allowed values."""
    return _filled(settings, defaults or LogConfig(), TOPIC_SETTINGS, "topic setting")


def broker_defaults(settings: Mapping[str, Any], before: LogConfig | None = None) -> LogConfig:
    """Return the defaults that a broker's settings give its topics; settings of other parts are ignored.

    `before` has the values of all other settings: Kafka's defaults, or those of the broker's start.

    Raises ValueError for an invalid value.
    """
    own = {name: value for name, value in settings.items() if name in BROKER_SETTINGS}
    return _filled(own, before or LogConfig(), BROKER_SETTINGS, "broker setting")


def _filled(settings: Mapping[str, Any], config: LogConfig, table: Mapping[str, Setting], what: str) -> LogConfig:
    for name in settings:
        if name not in table and name not in WITHOUT_EFFECT:
            raise UnknownSetting(_unknown(name, table, what))
    changes: dict[str, Any] = {}
    # In the table's order: of two names for one field the later one precedes (`log.retention.ms` over hours).
    for name, row in table.items():
        if name in settings:
            try:
                changes[row.field] = row.read(settings[name])
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    return evolve(config, **changes) if changes else config


def _unknown(name: str, table: Mapping[str, Setting], what: str) -> str:
    if name in _SYNONYMS and table is TOPIC_SETTINGS:
        return f"{name} is a broker's setting; a topic's is called {_SYNONYMS[name]}"
    near = get_close_matches(name, [*table, *WITHOUT_EFFECT], 1)
    return f"unknown {what} {name}" + (f"; did you mean {near[0]}?" if near else f"; known are {', '.join(table)}")
