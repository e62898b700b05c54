"""What brokers accept as settings of a group: every answer was asked of `GroupConfig.validate` of Kafka 4.4.0."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groupsim.cluster.broker.admin.effective import group_rules
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.setting_values import Invalid

SESSION, BEAT, INTERVAL = (
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "consumer.assignment.interval.ms",
)


def check(config: Mapping[str, str], **properties: object) -> None:
    """Check settings of a group against brokers with these properties; names have `_` for `.`."""
    named = {name.replace("_", "."): value for name, value in properties.items()}
    group_rules(ClusterConfig.from_properties(named)).check(config)


@pytest.mark.parametrize(
    "config",
    [{SESSION: "50000"}, {BEAT: " 15000 "}, {INTERVAL: "0"}, {"share.auto.offset.reset": "earliest"}, {}],
)
def test_settings_within_the_brokers_bounds_are_accepted(config: dict[str, str]) -> None:
    """The bounds belong to the range."""
    check(config)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({SESSION: "44999"}, f"{SESSION} must be in the range 45000 to 60000 inclusive."),
        ({SESSION: "60001"}, f"{SESSION} must be in the range 45000 to 60000 inclusive."),
        ({BEAT: "4999"}, f"{BEAT} must be in the range 5000 to 15000 inclusive."),
        ({INTERVAL: "15001"}, f"{INTERVAL} must be in the range 0 to 15000 inclusive."),
        ({INTERVAL: "-1"}, f"Invalid value -1 for configuration {INTERVAL}: Value must be at least 0"),
        ({SESSION: "abc"}, f"Invalid value abc for configuration {SESSION}: Not a number of type INT"),
        ({"nope": "1"}, "Unknown group config name: nope"),
        ({SESSION: "1", BEAT: "1"}, f"{BEAT} must be in the range 5000 to 15000 inclusive."),
        ({SESSION: "1", INTERVAL: "99999"}, f"{SESSION} must be in the range 45000 to 60000 inclusive."),
        (
            {"errors.deadletterqueue.topic.name": "__dlq"},
            "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",
        ),
    ],
)
def test_settings_are_refused_with_kafkas_words(config: dict[str, str], message: str) -> None:
    """Types, bounds and names; of two errors the first in Kafka's order."""
    with pytest.raises(Invalid) as refused:
        check(config)
    assert str(refused.value) == message


@pytest.mark.parametrize("config", [{SESSION: "5000", BEAT: "6000"}, {SESSION: "5000"}])
def test_a_session_must_be_longer_than_the_interval_of_heartbeats(config: dict[str, str]) -> None:
    """The brokers' interval counts when the group has none of its own."""
    with pytest.raises(Invalid, match=f"{SESSION} must be greater than {BEAT}"):
        check(config, group_consumer_min_session_timeout_ms=1_000)
    check({SESSION: "5001"}, group_consumer_min_session_timeout_ms=1_000)


def test_bounds_are_those_of_the_brokers() -> None:
    """A broker with other bounds accepts and refuses by them."""
    check(
        {SESSION: "1000", BEAT: "100"},
        group_consumer_min_session_timeout_ms=1_000,
        **{
            "group_consumer_min_heartbeat_interval_ms": 100,
        },
    )
    with pytest.raises(Invalid, match=f"{SESSION} must be in the range 45000 to 50000 inclusive"):
        check({SESSION: "50001"}, group_consumer_max_session_timeout_ms=50_000)


@pytest.mark.parametrize(("version", "known"), [("4.0", False), ("4.2", False), ("4.3", True), ("4.4", True)])
def test_the_assignment_interval_of_a_group_came_with_4_3(version: str, known: bool) -> None:
    """Older brokers do not know the name, and do not describe it."""
    rules = group_rules(ClusterConfig.from_properties({"broker.version": version}))
    assert (INTERVAL in rules.known) is known
    if known:
        rules.check({INTERVAL: "0"})
    else:
        with pytest.raises(Invalid, match=f"Unknown group config name: {INTERVAL}"):
            rules.check({INTERVAL: "0"})
