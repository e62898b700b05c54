"""The producers of a scenario before it runs: which processes there are, and what each is configured with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from groupsim.members.producer.settings import ProducerSettings, producer_settings_from
from groupsim.members.settings import Note
from groupsim.scenarios.language.model import ProducerSpec, ProducesSpec, Scenario
from groupsim.scenarios.language.properties import is_secret, parse_properties
from groupsim.scenarios.plans.members import MemberPlan, fill, member_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groupsim.scenarios.language.values import Rate

_MILLION = 1_000_000
FEED_PREFIX = "producer-"
"""The host of the steady producer behind a topic's `rate`, before the topic's name."""


@frozen
class ProducerPlan:
    """One process that produces: its name, number within its specification, and what is said of it.

    `folder` is where a `properties-file` is looked for.
    """

    name: str
    number: int
    spec: ProducerSpec
    key: str
    folder: Path = field(factory=Path)

    def properties(self) -> dict[str, object]:
        """What the producer is configured with: file, then what is written; values of secrets are left out.

        Raises OSError or ValueError when a properties file cannot be read.
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
        """The names of the settings whose values are left out; raises as `properties` does."""
        return tuple(name for name in self._given() if is_secret(name))

    def _given(self) -> dict[str, object]:
        if self.spec.properties_file is None:
            return dict(self.spec.properties)
        read = parse_properties((self.folder / self.spec.properties_file).read_text(encoding="utf-8"))
        return {**read, **self.spec.properties}


def producer_plans(scenario: Scenario, folder: Path | None = None) -> Iterator[ProducerPlan]:
    """Every producer process of a scenario, in the order of the file; `folder` is that of the scenario's file."""
    folder = folder if folder is not None else Path(scenario.file).parent
    for key, spec in scenario.producers.items():
        for number, name in enumerate(member_names(key, spec.count), 1):
            yield ProducerPlan(name, number, spec, key, folder)


def transforming_properties(plan: MemberPlan, produces: ProducesSpec) -> dict[str, object]:
    """What the producer of a member that consumes, transforms and produces is configured with."""
    found = {name: value for name, value in produces.properties.items() if not is_secret(name)}
    return {"client.id": plan.name, **found, "transactional.id": plan.filled(produces.transactional_id)}


def settings_of(properties: Mapping[str, object]) -> tuple[ProducerSettings, tuple[Note, ...]]:
    """A producer's settings, with notes. Raises SettingError for impossible values."""
    return producer_settings_from(properties)


def millionths(rate: Rate) -> int:
    """A rate as loads have it: records per 10⁶ s."""
    return round(rate.per_second * _MILLION)


def with_transactions(properties: dict[str, object]) -> dict[str, object]:
    """A member's settings when its offsets are committed in transactions: it commits none itself."""
    return {**properties, "enable.auto.commit": False}
