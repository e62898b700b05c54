"""The broker of a client, as far as it is known: its version, and settings from a file or a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field

from groupsim.coordinator.base.config import BROKER_KEYS, CoordinatorConfig
from groupsim.coordinator.base.versions import parse_version
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import Place
from groupsim.scenarios.lint.places import Version

#: Defaults of the newest broker for settings of replicas and transactions.
_DEFAULTS = {
    "broker.heartbeat.interval.ms": 2_000,
    "broker.session.timeout.ms": 9_000,
    "default.replication.factor": 1,
    "min.insync.replicas": 1,
    "offsets.topic.replication.factor": 3,
    "replica.fetch.wait.max.ms": 500,
    "replica.lag.time.max.ms": 30_000,
    "transaction.max.timeout.ms": 900_000,
}
_LAG, _LAG_BEFORE_2_5 = "replica.lag.time.max.ms", 10_000  # KIP-537


def is_number(key: str) -> bool:
    """Return whether a broker setting that a rule reads is a number."""
    return key in _DEFAULTS or (key in BROKER_KEYS and BROKER_KEYS[key].is_number)


@frozen
class Written:
    """A setting as written, and its place."""

    value: object
    place: Place


@frozen
class BrokerView:
    """A broker's version and settings, by Kafka's names. `where` is the place of the whole.

    `brokers` and `racks` are those of a scenario's cluster; None if they are not known.
    """

    where: Place
    version_text: str
    settings: Mapping[str, Written] = field(factory=dict)
    #: Whether a version was given; else the newest is assumed.
    version_given: bool = True
    brokers: int | None = None
    racks: tuple[str, ...] | None = None

    @property
    def version(self) -> Version:
        """The version as numbers. Raises ValueError for an invalid version."""
        return parse_version(self.version_text)

    def before(self, *version: int) -> bool:
        """Return whether this broker is known to be older."""
        return self.version_given and self.version < version

    def written(self, key: str) -> bool:
        """Return whether a setting was given."""
        return key in self.settings

    def number(self, key: str) -> int:
        """Return a numeric setting: the given value, else its default in this version."""
        given = self.settings.get(key)
        text = str(given.value).strip() if given is not None else ""
        if text.removeprefix("-").isdecimal():
            return int(text)
        if key == _LAG and self.before(2, 5):
            return _LAG_BEFORE_2_5
        if key in _DEFAULTS:
            return _DEFAULTS[key]
        default = CoordinatorConfig.from_properties({"broker.version": self.version_text})
        return int(getattr(default, BROKER_KEYS[key].attribute))

    def place_of(self, keys: tuple[str, ...]) -> Place:
        """Return the place of the first of these settings that was given, else of the whole."""
        return next((self.settings[key].place for key in keys if key in self.settings), self.where)
