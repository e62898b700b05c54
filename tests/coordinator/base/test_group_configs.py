"""The settings in force for one group."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.effects import Emit
from groupsim.coordinator.base.group_configs import HEARTBEAT, INTERVAL, SESSION, GroupConfigs
from groupsim.coordinator.base.interfaces import NO_SETTINGS
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.purgatory import Purgatory
from groupsim.coordinator.base.timers import Timers
from groupsim.eventloop.trace.events import Kind


class Settings:
    """A broker's view of settings that a test changes."""

    def __init__(self, brokers: Mapping[str, str] | None = None, **groups: Mapping[str, str]) -> None:
        self.groups: dict[str, Mapping[str, str]] = groups
        self.brokers: Mapping[str, str] = brokers or {}

    def in_force(self, group_id: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The settings of a group, and those of the broker."""
        return self.groups.get(group_id, {}), self.brokers


def test_a_group_without_settings_has_those_of_the_brokers() -> None:
    """It is the same object, so a quiet heartbeat costs nothing more."""
    config = CoordinatorConfig()
    assert GroupConfigs(config, NO_SETTINGS).of("g") is config


def test_a_groups_own_settings_take_the_place_of_the_brokers() -> None:
    """Three settings have an effect; a setting of another kind of group changes nothing."""
    configs = GroupConfigs(
        CoordinatorConfig(),
        Settings(g={SESSION: "50000", HEARTBEAT: "6000", INTERVAL: "0", "share.session.timeout.ms": "1"}),
    )
    found = configs.of("g")
    assert (found.consumer_session_timeout_ms, found.consumer_heartbeat_interval_ms) == (50_000, 6_000)
    assert found.consumer_assignment_interval_ms == 0
    assert configs.of("other") == CoordinatorConfig()
    assert configs.warnings == []


def test_a_change_takes_effect_at_the_next_reading() -> None:
    """A new value, and none."""
    source = Settings(g={HEARTBEAT: "6000"})
    configs = GroupConfigs(CoordinatorConfig(), source)
    seen = [configs.of("g").consumer_heartbeat_interval_ms]
    source.groups["g"] = {HEARTBEAT: "7000"}
    seen.append(configs.of("g").consumer_heartbeat_interval_ms)
    del source.groups["g"]
    seen.append(configs.of("g").consumer_heartbeat_interval_ms)
    assert seen == [6_000, 7_000, 5_000]


def test_the_brokers_interval_can_change_while_they_run() -> None:
    """A group with an interval of its own keeps it."""
    source = Settings(g={INTERVAL: "300"})
    configs = GroupConfigs(CoordinatorConfig(), source)
    before = [configs.of(one).consumer_assignment_interval_ms for one in ("g", "h")]
    source.brokers = {"group.consumer.assignment.interval.ms": "2000", "min.insync.replicas": "2"}
    after = [configs.of(one).consumer_assignment_interval_ms for one in ("g", "h")]
    assert (before, after) == ([300, 1_000], [300, 2_000])


@pytest.mark.parametrize(
    ("name", "stored", "effective", "words"),
    [
        (SESSION, 44_999, 45_000, "which is below the broker's allowed minimum 45000"),
        (SESSION, 60_001, 60_000, "which exceeds the broker's allowed maximum 60000"),
        (HEARTBEAT, 4_999, 5_000, "which is below the broker's allowed minimum 5000"),
        (INTERVAL, 15_001, 15_000, "which exceeds the broker's allowed maximum 15000"),
    ],
)
def test_a_stored_value_outside_of_the_brokers_bounds_is_moved_into_them(
    name: str, stored: int, effective: int, words: str
) -> None:
    """With Kafka's warning, once for each change of the group's settings (KAFKA-20162)."""
    source = Settings(g={name: str(stored)})
    configs = GroupConfigs(CoordinatorConfig(), source)
    found = [configs.of("g").numbers()[f"group.{name}"] for _ in range(3)]
    assert found == [effective] * 3
    assert configs.warnings == [
        f"The group config '{name}' for group 'g' has value {stored} {words}. "
        f"The effective value will be capped to {effective}."
    ]
    source.groups["g"] = {name: str(stored)}
    configs.of("g")
    assert len(configs.warnings) == 2


def test_a_session_that_is_not_longer_than_the_interval_is_a_warning() -> None:
    """Brokers whose bounds overlap leave such a group as it is."""
    config = CoordinatorConfig(consumer_min_session_timeout_ms=1_000)
    configs = GroupConfigs(config, Settings(g={SESSION: "5000", HEARTBEAT: "6000"}))
    assert configs.of("g").consumer_session_timeout_ms == 5_000
    assert configs.warnings[0].startswith(f"The effective {SESSION} (5000) for group 'g' is not greater than")


def test_many_groups_do_not_grow_the_memory() -> None:
    """The values of groups that were asked for are forgotten at a limit."""
    groups = {f"g{number}": {HEARTBEAT: "6000"} for number in range(5_000)}
    configs = GroupConfigs(CoordinatorConfig(), Settings(**groups))
    assert {configs.of(group).consumer_heartbeat_interval_ms for group in groups} == {6_000}
    assert len(configs._groups) <= 4_096


def test_an_operation_reports_a_value_that_was_moved_once() -> None:
    """As an event of the group."""
    op = Operation(CoordinatorConfig(), Timers(iter(range(1, 9)).__next__), Purgatory(0))
    op.group_configs = GroupConfigs(op.config, Settings(g={SESSION: "1"}))
    assert [op.config_of("g").consumer_session_timeout_ms for _ in range(2)] == [45_000, 45_000]
    (warning,) = op.take()
    assert isinstance(warning, Emit)
    assert (warning.kind, warning.group_id) == (Kind.WARNING, "g")
    assert str(warning.reason).startswith(f"The group config '{SESSION}' for group 'g' has value 1 which is below")
