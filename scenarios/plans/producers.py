"""List the producers of a scenario before it runs, with their configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field

from groupsim.members.producer.settings import ProducerSettings, producer_settings_from
from groupsim.members.settings import Note
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.model import ProducerSpec, ProducesSpec, Scenario
from groupsim.scenarios.language.properties import is_secret, parse_properties
from groupsim.scenarios.plans.members import MemberPlan, fill, member_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groupsim.scenarios.language.values import Rate

_MILLION = 1_000_000
FEED_PREFIX = "producer-"
"""Prefix of the host of the steady producer behind a topic's `rate`; the topic's name follows."""


@frozen
class ProducerPlan:
    """One process that produces: its name, number within its specification, and its settings.

    `folder` contains its `properties-file`.
    """

    name: str
    number: int
    spec: ProducerSpec
    key: str
    folder: Path = field(factory=Path)

    def properties(self) -> dict[str, object]:
        """Return the producer's configuration: the file, then written settings; values of secrets are left out.

        Raises OSError or ValueError if a properties file cannot be read.
        """
        spec = self.spec
        found = {name: value for name, value in self._given().items() if not is_secret(name)}
        found.setdefault("client.id", self.name)
        for name, pattern in (("client.id", spec.client_id), ("transactional.id", spec.transactional_id)):
            value = pattern if pattern is not None else found.get(name)
            if isinstance(value, str):
                found[name] = fill(value, self.name, self.number, "")
        return found

    def secrets(self) -> tuple[str, ...]:
        """Return the names of the settings left out as secrets; raises as `properties` does."""
        return tuple(name for name in self._given() if is_secret(name))

    def _given(self) -> dict[str, object]:
        if self.spec.properties_file is None:
            return dict(self.spec.properties)
        read = parse_properties((self.folder / self.spec.properties_file).read_text(encoding="utf-8"))
        return {**read, **self.spec.properties}


def producer_plans(scenario: Scenario, folder: Path | None = None) -> Iterator[ProducerPlan]:
    """Yield every producer process of a scenario, in the order of the file; `folder` is that of the scenario's file."""
    folder = folder if folder is not None else Path(scenario.file).parent
    for key, spec in scenario.producers.items():
        for number, name in enumerate(member_names(key, spec.count), 1):
            yield ProducerPlan(name, number, spec, key, folder)


def transforming_properties(plan: MemberPlan, produces: ProducesSpec) -> dict[str, object]:
    """Return the configuration of the producer in a member that consumes, transforms and produces."""
    found = {name: value for name, value in produces.properties.items() if not is_secret(name)}
    return {"client.id": plan.name, **found, "transactional.id": plan.filled(produces.transactional_id)}


def settings_of(properties: Mapping[str, object]) -> tuple[ProducerSettings, tuple[Note, ...]]:
    """Return a producer's settings, with notes. Raises SettingError for impossible values."""
    return producer_settings_from(properties)


def millionths(rate: Rate) -> int:
    """Return a rate in records per 10⁶ s, as loads have it."""
    return round(rate.per_second * _MILLION)


def with_transactions(properties: dict[str, object]) -> dict[str, object]:
    """Return the settings of a member whose offsets are committed in transactions, without auto-commit."""
    return {**properties, "enable.auto.commit": False}
