"""The coordinator's settings, under Kafka's own names. Source: `GroupCoordinatorConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from attrs import Factory, field, frozen

from groupsim.coordinator.base.placement import DEFAULT_PARTITIONS
from groupsim.coordinator.base.versions import BASELINE, Differences, differences

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a new member's first JoinGroup may stay parked; a constant in Kafka as well."""

_UNLIMITED = 2**31 - 1


@frozen
class BrokerKey:
    """One setting: its attribute in `CoordinatorConfig`, the allowed values, and its effect."""

    attribute: str
    smallest: int
    effect: str
    largest: int = _UNLIMITED


BROKER_KEYS: Mapping[str, BrokerKey] = {
    "group.initial.rebalance.delay.ms": BrokerKey(
        "initial_rebalance_delay_ms", 0, "how long the first round of an empty group waits for more members"
    ),
    "group.min.session.timeout.ms": BrokerKey(
        "min_session_timeout_ms", 0, "a JoinGroup with a shorter session timeout is refused"
    ),
    "group.max.session.timeout.ms": BrokerKey(
        "max_session_timeout_ms", 0, "a JoinGroup with a longer session timeout is refused"
    ),
    "group.max.size": BrokerKey("group_max_size", 1, "members a group may have"),
    "offsets.retention.minutes": BrokerKey("offsets_retention_minutes", 1, "how long offsets of an empty group live"),
    "offsets.retention.check.interval.ms": BrokerKey(
        "offsets_retention_check_interval_ms", 1, "how often expired offsets are looked for", 2**63 - 1
    ),
    "offset.metadata.max.bytes": BrokerKey("offset_metadata_max_bytes", 0, "longest metadata of a commit"),
    "offsets.commit.timeout.ms": BrokerKey(
        "offsets_commit_timeout_ms", 1, "how long an answer waits for its records to be replicated"
    ),
    "offsets.topic.num.partitions": BrokerKey(
        "offsets_topic_num_partitions", 1, "partitions of __consumer_offsets: which broker coordinates a group"
    ),
}
"""Every broker setting that the coordinator reads, by Kafka's name, besides `broker.version` and `broker.defects`."""
LEFT_OUT: Mapping[str, str] = {
    "offsets.commit.required.acks": "coordinators up to 3.9 append with its default, -1, and 4.0 has no such setting",
}
"""Settings of real coordinators that are not modelled, and the behaviour in their place."""


@frozen
class CoordinatorConfig:
    """Kafka's settings of the group coordinator; defaults are those of `broker_version`."""

    broker_version: str = BASELINE
    #: Names of defects besides those of the release.
    defects: tuple[str, ...] = ()
    initial_rebalance_delay_ms: int = 3_000
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = field(
        default=Factory(lambda self: differences(self.broker_version).max_session_timeout_ms, takes_self=True)
    )
    group_max_size: int = _UNLIMITED
    offsets_retention_minutes: int = field(
        default=Factory(lambda self: differences(self.broker_version).retention_minutes, takes_self=True)
    )
    offsets_retention_check_interval_ms: int = 600_000
    offset_metadata_max_bytes: int = 4_096
    offsets_commit_timeout_ms: int = 5_000
    offsets_topic_num_partitions: int = DEFAULT_PARTITIONS

    @classmethod
    def from_properties(cls, properties: Mapping[str, object]) -> CoordinatorConfig:
        """Read settings by Kafka's names, e.g. `{"group.initial.rebalance.delay.ms": 0, "broker.version": "2.8.1"}`.

        Numbers may be written as text, as in a properties file. Raises ValueError that names the key and the remedy.
        """
        values: dict[str, int | str | tuple[str, ...]] = {}
        for name, value in properties.items():
            if name == "broker.version":
                differences(str(value))
                values["broker_version"] = str(value)
            elif name == "broker.defects":
                defects = values["defects"] = _names(value)
                differences(defects=defects)
            else:
                key = _known(name)
                values[key.attribute] = _number(name, key, value)
        return cls(**values)  # type: ignore[arg-type]

    @property
    def differences(self) -> Differences:
        """The differences of a coordinator with `broker_version` and `defects`."""
        return differences(self.broker_version, self.defects)


def _known(name: str) -> BrokerKey:
    key = BROKER_KEYS.get(name)
    if name in LEFT_OUT:
        raise ValueError(f"the broker setting {name} is not modelled: {LEFT_OUT[name]}; leave it out")
    if key is None:
        near = get_close_matches(name, [*BROKER_KEYS, "broker.version", "broker.defects"], 1)
        hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(BROKER_KEYS)}"
        raise ValueError(f"unknown broker setting {name!r}{hint}")
    return key


def _names(value: object) -> tuple[str, ...]:
    """Return the names of a list, or of a text with commas between them."""
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(str(part).strip() for part in parts)  # type: ignore[attr-defined]


def _number(name: str, key: BrokerKey, value: object) -> int:
    text = str(value).strip()
    digits = text.removeprefix("-")
    if isinstance(value, bool) or not digits.isdecimal():
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    number = int(text)
    if number < key.smallest:
        raise ValueError(f"{name} must be at least {key.smallest}, not {number}")
    if number > key.largest:
        raise ValueError(f"{name} must be at most {key.largest}, as in Kafka, not {number}")
    return number
