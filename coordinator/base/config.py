"""The coordinator's settings, under Kafka's own names. Source: `GroupCoordinatorConfig`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from attrs import Factory, field

from groupsim.coordinator.base import consumer_settings
from groupsim.coordinator.base.consumer_settings import ASSIGNORS_KEY, GROUP_VERSION_SINCE, POLICY_KEY, PROTOCOLS_KEY
from groupsim.coordinator.base.placement import DEFAULT_PARTITIONS
from groupsim.coordinator.base.versions import BASELINE, OLDEST, Differences, Version, differences, parse_version, since
from groupsim.protocol.values import frozen

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a new member's first JoinGroup may stay parked; a constant in Kafka as well."""

_UNLIMITED = 2**31 - 1
_NEVER = 2**63 - 1


@frozen
class BrokerKey:
    """One setting: its attribute in `CoordinatorConfig`, the allowed values, its effect, and its first release.

    `read` reads a setting that is no number.
    """

    attribute: str
    smallest: int
    effect: str
    largest: int = _UNLIMITED
    since: Version = OLDEST
    read: Callable[[str, object], str | tuple[str, ...]] | None = None

    @property
    def is_number(self) -> bool:
        """Whether its value is a number."""
        return self.read is None


_CONSUMER = GROUP_VERSION_SINCE
_REGEX_REFRESH, _BATCHING = (4, 1), (4, 3)


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
    "group.consumer.session.timeout.ms": BrokerKey(
        "consumer_session_timeout_ms",
        1,
        "silence after which a member of the consumer protocol is removed",
        since=_CONSUMER,
    ),
    "group.consumer.min.session.timeout.ms": BrokerKey(
        "consumer_min_session_timeout_ms",
        1,
        "the least session timeout that a group may set for itself",
        since=_CONSUMER,
    ),
    "group.consumer.max.session.timeout.ms": BrokerKey(
        "consumer_max_session_timeout_ms",
        1,
        "the greatest session timeout that a group may set for itself",
        since=_CONSUMER,
    ),
    "group.consumer.heartbeat.interval.ms": BrokerKey(
        "consumer_heartbeat_interval_ms", 1, "the interval that answers give to members", since=_CONSUMER
    ),
    "group.consumer.min.heartbeat.interval.ms": BrokerKey(
        "consumer_min_heartbeat_interval_ms", 1, "the least interval that a group may set for itself", since=_CONSUMER
    ),
    "group.consumer.max.heartbeat.interval.ms": BrokerKey(
        "consumer_max_heartbeat_interval_ms",
        1,
        "the greatest interval that a group may set for itself",
        since=_CONSUMER,
    ),
    "group.consumer.max.size": BrokerKey(
        "consumer_max_size", 1, "members that a group of the consumer protocol may have", since=_CONSUMER
    ),
    ASSIGNORS_KEY: BrokerKey(
        "consumer_assignors",
        0,
        "assignors of the brokers, the default first: uniform, range or module:Class",
        since=_CONSUMER,
        read=consumer_settings.read_assignors,
    ),
    POLICY_KEY: BrokerKey(
        "consumer_migration_policy",
        0,
        "which groups with members change their protocol: bidirectional, upgrade, downgrade or disabled",
        since=_CONSUMER,
        read=consumer_settings.read_policy,
    ),
    "group.consumer.regex.refresh.interval.ms": BrokerKey(
        "consumer_regex_refresh_interval_ms",
        10_000,
        "the age at which the topics of a regular expression are looked up again",
        since=_REGEX_REFRESH,
    ),
    "group.consumer.assignment.interval.ms": BrokerKey(
        "consumer_assignment_interval_ms", 0, "the least time between two targets of a group", since=_BATCHING
    ),
    "group.consumer.min.assignment.interval.ms": BrokerKey(
        "consumer_min_assignment_interval_ms", 0, "the least of these times that a group may set", since=_BATCHING
    ),
    "group.consumer.max.assignment.interval.ms": BrokerKey(
        "consumer_max_assignment_interval_ms", 0, "the greatest of these times that a group may set", since=_BATCHING
    ),
    PROTOCOLS_KEY: BrokerKey(
        "rebalance_protocols",
        0,
        "the kinds of groups that brokers take",
        since=_CONSUMER,
        read=consumer_settings.read_protocols,
    ),
}
"""Every broker setting that the coordinator reads, by Kafka's name, besides `broker.version` and `broker.defects`."""
LEFT_OUT: Mapping[str, str] = {
    "offsets.commit.required.acks": "coordinators up to 3.9 append with its default, -1, and 4.0 has no such setting",
}
"""Settings of real coordinators that are not modelled, and the behaviour in their place."""


def _of_release(*steps: tuple[str, Any]) -> Any:
    """Return a field whose default is the value of `broker_version` in this history."""
    return field(default=Factory(lambda self: since(parse_version(self.broker_version), steps), takes_self=True))


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
    consumer_session_timeout_ms: int = 45_000
    consumer_min_session_timeout_ms: int = 45_000
    consumer_max_session_timeout_ms: int = 60_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_min_heartbeat_interval_ms: int = 5_000
    consumer_max_heartbeat_interval_ms: int = 15_000
    consumer_max_size: int = _UNLIMITED
    #: As written: `server_assignors` (assignors/server/registry.py) makes them.
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: str = "bidirectional"
    #: Releases before 4.1 never look up a resolved regular expression again because of its age.
    consumer_regex_refresh_interval_ms: int = _of_release(("0.9", _NEVER), ("4.1", 600_000))
    #: Releases before 4.3 compute a target at once.
    consumer_assignment_interval_ms: int = _of_release(("0.9", 0), ("4.3", 1_000))
    consumer_min_assignment_interval_ms: int = 0
    consumer_max_assignment_interval_ms: int = 15_000
    rebalance_protocols: tuple[str, ...] = _of_release(
        ("0.9", ("classic",)), ("4.0", ("classic", "consumer")), ("4.1", ("classic", "consumer", "streams"))
    )

    @classmethod
    def from_properties(cls, properties: Mapping[str, object]) -> CoordinatorConfig:
        """Read settings by Kafka's names, e.g. `{"group.initial.rebalance.delay.ms": 0, "broker.version": "2.8.1"}`.

        Numbers may be written as text, as in a properties file. Raises ValueError that names the key and the remedy.
        """
        values: dict[str, Any] = {}
        for name, value in properties.items():
            if name == "broker.version":
                differences(str(value))
                values["broker_version"] = str(value)
            elif name == "broker.defects":
                defects = values["defects"] = _names(value)
                differences(defects=defects)
            else:
                key = _known(name)
                values[key.attribute] = key.read(name, value) if key.read else _number(name, key, value)
        config = cls(**values)
        _check_release(config, properties)
        for conflict in consumer_settings.conflicts(config.numbers()):
            raise ValueError(conflict)
        return config

    @property
    def differences(self) -> Differences:
        """The differences of a coordinator with `broker_version` and `defects`."""
        return differences(self.broker_version, self.defects)

    @property
    def group_version(self) -> int:
        """The finalized feature `group.version`: 1 in releases that have groups of the consumer protocol."""
        return int(parse_version(self.broker_version) >= GROUP_VERSION_SINCE)

    @property
    def consumer_protocol(self) -> bool:
        """Whether brokers take the requests of the consumer protocol; else they answer UNSUPPORTED_VERSION."""
        return self.group_version > 0 and "consumer" in self.rebalance_protocols

    def numbers(self) -> dict[str, int]:
        """Return the settings that are numbers, by Kafka's names."""
        return {name: getattr(self, key.attribute) for name, key in BROKER_KEYS.items() if key.is_number}


def _check_release(config: CoordinatorConfig, given: Mapping[str, object]) -> None:
    """Refuse settings that the release does not have."""
    version = parse_version(config.broker_version)
    for name in given:
        first = BROKER_KEYS[name].since if name in BROKER_KEYS else OLDEST
        if first > version:
            release = ".".join(str(part) for part in first)
            what = "groups of the consumer protocol" if first == GROUP_VERSION_SINCE else "it"
            raise ValueError(
                f"{name} needs Kafka {release}: broker.version {config.broker_version} does not have {what}; "
                f"leave it out, or write broker.version {release} or newer"
            )


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
