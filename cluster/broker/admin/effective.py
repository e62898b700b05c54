"""The settings of topics and brokers as an administrator is told of them: value, type, and where the value comes from.

A topic's own setting beats what was changed on this running broker, that beats what was changed on all of them, that
beats the properties the broker began with, that beats Kafka's default. All that were passed over are told as synonyms,
strongest first.

A trait of Kafka's kept here: synonyms before the one whose name is asked for are left out, so that with
`log.retention.hours` alone in the properties `retention.ms` has the value of it, no synonyms, and the source "default".

Sources: `ConfigHelper`, `DynamicBrokerConfig.brokerConfigSynonyms`, `KafkaConfigSchema.resolveEffectiveTopicConfigs`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from itertools import dropwhile
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.config.cluster import ClusterConfig, values_in_effect
from groupsim.cluster.config.group_settings import GROUP
from groupsim.cluster.config.inert_settings import INERT
from groupsim.cluster.config.log import BROKER_SETTINGS, TOPIC_SETTINGS, LogConfig, broker_defaults
from groupsim.cluster.config.setting_names import (
    ADDRESSES,
    BROKER_TYPES,
    DEFAULT,
    DYNAMIC,
    DYNAMIC_BROKER,
    DYNAMIC_DEFAULT,
    GROUP_SETTING,
    INTERNAL,
    STATIC_BROKER,
    TOPIC,
    TOPIC_NAME_OF,
    TOPIC_SETTING,
    TYPES,
)
from groupsim.cluster.config.setting_texts import documentation_of
from groupsim.cluster.config.setting_values import as_told
from groupsim.cluster.controller.partitions import MIN_ISR
from groupsim.protocol.messages.admin import ConfigEntry
from groupsim.protocol.messages.cluster import ClusterImage

_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "log.roll.ms": ("log.roll.ms", "log.roll.hours"),
    "log.roll.hours": ("log.roll.ms", "log.roll.hours"),
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    **dict.fromkeys(
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ),
}
_UNSAID: Final[Mapping[str, str | None]] = {
    "log.roll.ms": None,
    "log.roll.hours": "168",
    "log.retention.ms": None,
    "log.retention.minutes": None,
    "log.retention.hours": "168",
    "log.flush.interval.ms": None,
}
"""What these are when nobody says anything: their effect is another's."""

_OF_KAFKA: Final[Mapping[str, str | None]] = {"broker.id": "-1", "listeners": "PLAINTEXT://:9092"}
"""Defaults of Kafka's that no broker here has."""
_INERT: Final[Mapping[str, str | None]] = {name: default for name, (_, default) in INERT.items()}

Layer = tuple[Mapping[str, str | None], int]


class Settings:
    """The settings of one broker (or, with node None, of the controller); `image` tells what was changed since."""

    def __init__(self, config: ClusterConfig, node: int | None = None, rack: str | None = None) -> None:
        self._config = config
        self._node = "" if node is None else str(node)
        self._own: dict[str, str | None] = {"node.id": self._node, "broker.id": self._node, "broker.rack": rack}
        self._own |= dict.fromkeys(ADDRESSES, "")

    # --- what holds ------------------------------------------------------------------------------------------

    def log_defaults(self, image: ClusterImage) -> LogConfig:
        """What holds for topics that say nothing themselves."""
        changed = {**image.configs.get("", {}), **image.configs.get(self._node, {})}
        return broker_defaults(changed, self._config.replica.log)

    def _layers(self, image: ClusterImage) -> list[Layer]:
        """Broker settings by where they come from, the strongest first."""
        given = self._config.properties
        static = {name: text for name, text in self._static().items() if name in given or name in self._own}
        plain = {name: text for name, text in self._static().items() if name not in static}
        return [
            (image.configs.get(self._node, {}) if self._node else {}, DYNAMIC_BROKER),
            (self._of_all(image), DYNAMIC_DEFAULT),
            (static, STATIC_BROKER),
            ({**_INERT, **_OF_KAFKA, **_defaults(), **plain}, DEFAULT),
        ]

    def _of_all(self, image: ClusterImage) -> Mapping[str, str]:
        """What was changed for all brokers; with eligible leader replicas Kafka begins by setting one itself."""
        changed = image.configs.get("", {})
        if not self._config.controller.eligible_leader_replicas:
            return changed
        return {MIN_ISR: str(self._config.controller.min_insync_replicas), **changed}

    def _static(self) -> dict[str, str | None]:
        """Every broker setting as it was when the broker began."""
        values = values_in_effect(self._config)
        log = self._config.replica.log
        for name, row in BROKER_SETTINGS.items():
            unsaid = self._config.properties.get(name, _UNSAID[name]) if name in _UNSAID else _text(log, row.field)
            values.setdefault(name, unsaid)
        return {**{name: text for name, text in values.items() if name in BROKER_TYPES}, **self._own}

    # --- what is told ----------------------------------------------------------------------------------------

    def of_topic(self, own: Mapping[str, str], image: ClusterImage, names: Collection[str] = ()) -> list[ConfigEntry]:
        """Every setting of a topic with these settings of its own (or those of `names`), in the order of names."""
        effective, layers = self.log_defaults(image), self._layers(image)
        return [self._topic_entry(name, own, effective, layers) for name in TOPIC if not names or name in names]

    def _topic_entry(self, name: str, own: Mapping[str, str], effective: LogConfig, layers: list[Layer]) -> ConfigEntry:
        row = TOPIC[name]
        synonyms = _passed_over(row.synonyms[0], layers) if row.synonyms else ()
        if name in own:
            value: str | None = as_told(row.type, own[name])
            synonyms = ((name, value, TOPIC_SETTING), *synonyms)
        elif name in TOPIC_SETTINGS:
            value = _text(effective, TOPIC_SETTINGS[name].field)
        else:
            value = synonyms[0][1] if synonyms else row.default
        return _entry(name, value, row.type, synonyms)

    def created(self, own: Mapping[str, str], image: ClusterImage) -> tuple[ConfigEntry, ...]:
        """The settings of a new topic, as the answer to CreateTopics tells them: as they came, without synonyms."""
        entries = self.of_topic(own, image)
        return tuple(evolve(entry, value=own.get(entry.name, entry.value), synonyms=(), type=0) for entry in entries)

    def of_broker(self, image: ClusterImage, names: Collection[str] = ()) -> list[ConfigEntry]:
        """Every setting of this broker, and names unknown to Kafka that were set while it ran."""
        layers = self._layers(image)
        there = sorted({name for layer, _ in layers for name in layer if not names or name in names} - INTERNAL)
        return [self._broker_entry(name, layers) for name in there]

    def of_all_brokers(self, image: ClusterImage, names: Collection[str] = ()) -> list[ConfigEntry]:
        """What was changed for all brokers while they ran."""
        changed = self._of_all(image)
        layers: list[Layer] = [(changed, DYNAMIC_DEFAULT)]
        return [self._broker_entry(name, layers) for name in sorted(changed) if not names or name in names]

    def of_group(self, own: Mapping[str, str], image: ClusterImage, names: Collection[str] = ()) -> list[ConfigEntry]:
        """Every setting of a group with these settings of its own (or those of `names`); internal ones if set."""
        layers = self._layers(image)
        there = (name for name, row in GROUP.items() if name in own or not row.internal)
        return [self._group_entry(name, own, layers) for name in there if not names or name in names]

    def _group_entry(self, name: str, own: Mapping[str, str], layers: list[Layer]) -> ConfigEntry:
        row = GROUP[name]
        known = [*layers, ({} if row.default is None else {row.synonym: row.default}, DEFAULT)]
        synonyms = _passed_over(row.synonym, known)
        if name in own:
            value = own[name] if row.internal else as_told(row.type, own[name])  # Kafka does not parse internal ones
            synonyms = ((name, value, GROUP_SETTING), *synonyms)
        return _entry(name, synonyms[0][1], row.type, synonyms)

    def _broker_entry(self, name: str, layers: list[Layer]) -> ConfigEntry:
        value = next(layer[name] for layer, _ in layers if name in layer)
        synonyms = _passed_over(name, layers)
        if name not in BROKER_TYPES:  # nobody knows whether it is a secret, so nobody is told
            unsaid = tuple((one, None, source) for one, _, source in synonyms)
            return ConfigEntry(name, None, True, synonyms[0][2] if synonyms else DEFAULT, True, synonyms=unsaid)
        entry = evolve(_entry(name, value, BROKER_TYPES[name], synonyms), read_only=name not in DYNAMIC)
        return evolve(entry, value=None, sensitive=True) if BROKER_TYPES[name] == "PASSWORD" else entry


def _passed_over(name: str, layers: list[Layer]) -> tuple[tuple[str, str | None, int], ...]:
    """A broker setting and its synonyms wherever they are said, the strongest first, as far as Kafka tells of them."""
    names = _SYNONYMS.get(name, (name,))
    said = [(one, layer[one], source) for layer, source in layers for one in names if layer.get(one) is not None]
    return tuple(dropwhile(lambda found: found[0] != name, said))


def _entry(name: str, value: str | None, kind: str, synonyms: tuple[tuple[str, str | None, int], ...]) -> ConfigEntry:
    source = synonyms[0][2] if synonyms else DEFAULT
    text = documentation_of(name, TOPIC_NAME_OF.get(name, ""))
    return ConfigEntry(name, value, source=source, type=TYPES.get(kind, 0), synonyms=synonyms, documentation=text)


def _text(config: LogConfig, attribute: str) -> str:
    value: Any = getattr(config, attribute)
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


@cache
def _defaults() -> dict[str, str]:
    """Kafka's own default of each setting that has one, also where another value was given."""
    logs = {name: _UNSAID.get(name, _text(LogConfig(), row.field)) for name, row in BROKER_SETTINGS.items()}
    every = {**logs, **values_in_effect(ClusterConfig())}  # switches of releases among them, which are no settings
    return {name: text for name, text in every.items() if text is not None and name in BROKER_TYPES}
