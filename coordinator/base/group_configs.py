"""The settings in force for one group: the broker's own, with what the group has set for itself.

A group of the consumer protocol may set its session timeout, its heartbeat interval and the least time between two
targets (IncrementalAlterConfigs of the resource type GROUP). They take effect at once: the session with the member's
next heartbeat, the interval with its answer. The brokers' assignment interval can change while they run, too.

The controller refuses a value outside of the brokers' bounds, but brokers may come back with other bounds. Then the
value is moved into them when it is read, with a warning, as in KAFKA-20162.

Asked of the released classes 4.4.0. Source: `GroupConfig.evaluate`, `GroupConfigManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from groupsim.coordinator.base.config import BROKER_KEYS, CoordinatorConfig
from groupsim.coordinator.base.interfaces import GroupSettings

SESSION: Final = "consumer.session.timeout.ms"
HEARTBEAT: Final = "consumer.heartbeat.interval.ms"
INTERVAL: Final = "consumer.assignment.interval.ms"
_INTERVAL_OF_BROKERS: Final = f"group.{INTERVAL}"
_REMEMBERED: Final = 4_096


class GroupConfigs:
    """The settings of each group at this instant, as a `CoordinatorConfig`; computed when they have changed.

    Most groups have none of their own; for them `of` returns the brokers' settings after two look-ups.
    """

    def __init__(self, config: CoordinatorConfig, source: GroupSettings) -> None:
        self._config = config
        self._source = source
        self._brokers: tuple[Mapping[str, str], CoordinatorConfig] | None = None
        self._groups: dict[str, tuple[Mapping[str, str], CoordinatorConfig, CoordinatorConfig]] = {}
        #: Warnings about values that were moved into the brokers' bounds, in the order in which they were read.
        self.warnings: list[str] = []

    def of(self, group_id: str) -> CoordinatorConfig:
        """Return the settings in force for a group; a value that is not the brokers' may add to `warnings`."""
        own, changed = self._source.in_force(group_id)
        brokers = self._of_brokers(changed) if changed else self._config
        if not own:
            return brokers
        kept = self._groups.get(group_id)
        if kept is not None and kept[0] is own and kept[1] is brokers:
            return kept[2]
        if len(self._groups) >= _REMEMBERED:
            self._groups.clear()
        config = self._with(brokers, group_id, own)
        self._groups[group_id] = own, brokers, config
        return config

    def _of_brokers(self, changed: Mapping[str, str]) -> CoordinatorConfig:
        if self._brokers is None or self._brokers[0] is not changed:
            config = self._config
            if _INTERVAL_OF_BROKERS in changed:
                config = evolve(config, consumer_assignment_interval_ms=int(changed[_INTERVAL_OF_BROKERS]))
            self._brokers = changed, config
        return self._brokers[1]

    def _with(self, config: CoordinatorConfig, group_id: str, own: Mapping[str, str]) -> CoordinatorConfig:
        """Return the brokers' settings with those of a group in their place, each within the brokers' bounds."""
        for name in (HEARTBEAT, SESSION, INTERVAL):
            if name in own:
                attribute = BROKER_KEYS[f"group.{name}"].attribute
                change: Any = {attribute: self._bounded(config, group_id, name, int(own[name]))}
                config = evolve(config, **change)
        session, beat = config.consumer_session_timeout_ms, config.consumer_heartbeat_interval_ms
        if session <= beat:
            advice = (
                "Check that the broker-level min/max bounds for session timeout and heartbeat interval do not overlap."
            )
            self.warnings.append(
                f"The effective {SESSION} ({session}) for group '{group_id}' is not greater than {HEARTBEAT} ({beat}). "
                f"{advice}"
            )
        return config

    def _bounded(self, config: CoordinatorConfig, group_id: str, name: str, value: int) -> int:
        _, what = name.split(".", 1)
        least, most = (
            int(getattr(config, BROKER_KEYS[f"group.consumer.{end}.{what}"].attribute)) for end in ("min", "max")
        )
        if least <= value <= most:
            return value
        bound = least if value < least else most
        relation = "is below the broker's allowed minimum" if value < least else "exceeds the broker's allowed maximum"
        self.warnings.append(
            f"The group config '{name}' for group '{group_id}' has value {value} which {relation} {bound}. "
            f"The effective value will be capped to {bound}."
        )
        return bound
