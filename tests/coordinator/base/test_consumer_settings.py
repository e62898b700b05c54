"""Broker settings of groups of the consumer protocol."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.config import BROKER_KEYS, CoordinatorConfig

SESSION = "group.consumer.session.timeout.ms"
LOW, HIGH = "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"
MIN_BEAT = "group.consumer.min.heartbeat.interval.ms"
BEAT, MAX_BEAT = "group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"
INTERVAL, MIN_INTERVAL = "group.consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms"
ASSIGNORS, POLICY = "group.consumer.assignors", "group.consumer.migration.policy"
REFRESH, PROTOCOLS = "group.consumer.regex.refresh.interval.ms", "group.coordinator.rebalance.protocols"


def test_defaults_are_those_of_the_released_classes() -> None:
    """The defaults of `GroupCoordinatorConfig` 4.4.0."""
    config = CoordinatorConfig()
    assert config.numbers() | {"group.max.size": 0} == {
        **CoordinatorConfig().numbers(),
        "group.max.size": 0,
        SESSION: 45_000,
        LOW: 45_000,
        HIGH: 60_000,
        BEAT: 5_000,
        MIN_BEAT: 5_000,
        MAX_BEAT: 15_000,
        "group.consumer.max.size": 2_147_483_647,
        REFRESH: 600_000,
        INTERVAL: 1_000,
        MIN_INTERVAL: 0,
        "group.consumer.max.assignment.interval.ms": 15_000,
    }
    assert (config.consumer_assignors, config.consumer_migration_policy) == (("uniform", "range"), "bidirectional")
    assert config.rebalance_protocols == ("classic", "consumer", "streams")


@pytest.mark.parametrize(
    ("version", "group_version", "protocols", "interval_ms", "refreshes"),
    [
        ("3.9", 0, ("classic",), 0, False),
        ("4.0", 1, ("classic", "consumer"), 0, False),
        ("4.1", 1, ("classic", "consumer", "streams"), 0, True),
        ("4.2", 1, ("classic", "consumer", "streams"), 0, True),
        ("4.3", 1, ("classic", "consumer", "streams"), 1_000, True),
    ],
)
def test_defaults_follow_the_release(
    version: str, group_version: int, protocols: tuple[str, ...], interval_ms: int, refreshes: bool
) -> None:
    """`group.version` is 1 since 4.0; batching came with 4.3, the refresh of regular expressions with 4.1."""
    config = CoordinatorConfig(version)
    assert (config.group_version, config.rebalance_protocols) == (group_version, protocols)
    assert config.consumer_assignment_interval_ms == interval_ms
    assert (config.consumer_regex_refresh_interval_ms == 600_000) is refreshes


@pytest.mark.parametrize(("protocols", "enabled"), [("classic", False), ("classic, consumer", True)])
def test_the_protocol_can_be_disabled(protocols: str, enabled: bool) -> None:
    """Brokers whose list lacks `consumer` do not take the protocol's requests."""
    assert CoordinatorConfig.from_properties({PROTOCOLS: protocols}).consumer_protocol is enabled
    assert not CoordinatorConfig("3.9").consumer_protocol


@pytest.mark.parametrize(
    ("properties", "attribute", "value"),
    [
        ({SESSION: "60000"}, "consumer_session_timeout_ms", 60_000),
        ({LOW: 100, SESSION: 1_000, MIN_BEAT: 100, BEAT: 100}, "consumer_heartbeat_interval_ms", 100),
        ({ASSIGNORS: "range,range"}, "consumer_assignors", ("range",)),
        ({ASSIGNORS: ["range", "uniform"]}, "consumer_assignors", ("range", "uniform")),
        ({ASSIGNORS: " uniform , range "}, "consumer_assignors", ("uniform", "range")),
        ({POLICY: "Upgrade"}, "consumer_migration_policy", "upgrade"),
        ({POLICY: "DISABLED"}, "consumer_migration_policy", "disabled"),
        ({REFRESH: 10_000}, "consumer_regex_refresh_interval_ms", 10_000),
        ({INTERVAL: 0}, "consumer_assignment_interval_ms", 0),
        ({PROTOCOLS: "classic,consumer,share"}, "rebalance_protocols", ("classic", "consumer", "share")),
    ],
)
def test_values_that_kafka_accepts(properties: dict[str, object], attribute: str, value: object) -> None:
    """Words in any case, lists with repetitions, numbers at their bounds."""
    assert getattr(CoordinatorConfig.from_properties(properties), attribute) == value


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({SESSION: 44_999}, f"{SESSION} must be greater than or equal to {LOW}, not 44999 beside 45000"),
        ({SESSION: 60_001}, f"{SESSION} must be less than or equal to {HIGH}"),
        ({SESSION: 0}, f"{SESSION} must be at least 1"),
        ({LOW: 70_000}, f"{HIGH} must be greater than or equal to {LOW}"),
        ({BEAT: 15_001}, f"{BEAT} must be less than or equal to {MAX_BEAT}"),
        ({MAX_BEAT: 50_000, BEAT: 45_000}, f"{BEAT} must be less than {SESSION}"),
        ({"group.consumer.max.size": 0}, "must be at least 1"),
        ({ASSIGNORS: ""}, f"{ASSIGNORS} must not be empty"),
        ({ASSIGNORS: ",range"}, "has an empty name"),
        ({ASSIGNORS: 3}, "must be a list"),
        ({ASSIGNORS: "Range"}, f"Invalid value Range for configuration {ASSIGNORS}: no such assignor; did you mean"),
        ({POLICY: "both"}, r"String must be one of \(case insensitive\): DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL"),
        ({REFRESH: 9_999}, "must be at least 10000"),
        ({INTERVAL: 15_001}, f"{INTERVAL} must be less than or equal to"),
        ({MIN_INTERVAL: 2_000}, f"{INTERVAL} must be greater than or equal to {MIN_INTERVAL}"),
        ({PROTOCOLS: "classic,nope"}, "String must be one of: consumer, classic, share, streams"),
        ({PROTOCOLS: "consumer"}, "Disabling the 'classic' protocol is not supported."),
    ],
)
def test_values_that_kafka_refuses(properties: dict[str, object], message: str) -> None:
    """The released classes refuse the same, most of them with these words."""
    with pytest.raises(ValueError, match=message):
        CoordinatorConfig.from_properties(properties)


def test_two_assignors_of_one_name_are_refused() -> None:
    """A name and the class of that name are two assignors of one name, where the same entry twice is one."""
    java = "org.apache.kafka.coordinator.group.assignor.RangeAssignor"
    with pytest.raises(ValueError, match=f"Invalid value {java} .* 'range' is already registered by another"):
        CoordinatorConfig.from_properties({ASSIGNORS: ["range", java]})


@pytest.mark.parametrize(
    ("version", "name", "release"),
    [("3.9", "group.consumer.max.size", "4.0"), ("4.0", REFRESH, "4.1"), ("4.2", INTERVAL, "4.3")],
)
def test_a_setting_that_the_release_lacks_is_refused(version: str, name: str, release: str) -> None:
    """The message names the first release that has it; that release takes it."""
    with pytest.raises(ValueError, match=f"{name} needs Kafka {release}: broker.version {version} does not have"):
        CoordinatorConfig.from_properties({name: 10_000, "broker.version": version})
    config = CoordinatorConfig.from_properties({name: 10_000, "broker.version": release})
    assert getattr(config, BROKER_KEYS[name].attribute) == 10_000
