"""The settings of topics, brokers and groups as DescribeConfigs answers them: value, type, source and synonyms.

In order of precedence: the topic's own setting, the dynamic setting of this broker, the dynamic default of all brokers,
the properties of the broker's start, Kafka's default. The answer lists overridden values as synonyms, in this order.

As in Kafka, synonyms before the requested name are left out: with only `log.retention.hours` in the properties,
`retention.ms` has its value, no synonyms, and the source "default".

Sources: `ConfigHelper`, `DynamicBrokerConfig.brokerConfigSynonyms`, `KafkaConfigSchema.resolveEffectiveTopicConfigs`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from itertools import dropwhile
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.config.cluster import ClusterConfig, values_in_effect
from groupsim.cluster.config.group_settings import GROUP, GroupRules
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
from groupsim.cluster.config.setting_values import parsed_text
from groupsim.cluster.controller.partitions import MIN_ISR
from groupsim.coordinator.base.versions import parse_version
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
_UNSET: Final[Mapping[str, str | None]] = {
    "log.roll.ms": None,
    "log.roll.hours": "168",
    "log.retention.ms": None,
    "log.retention.minutes": None,
    "log.retention.hours": "168",
    "log.flush.interval.ms": None,
}
"""The values of these settings where they are not set: another setting takes effect for them."""

_OF_KAFKA: Final[Mapping[str, str | None]] = {"broker.id": "-1", "listeners": "PLAINTEXT://:9092"}
"""Kafka's defaults of settings that every broker here sets."""
_INERT: Final[Mapping[str, str | None]] = {name: default for name, (_, default) in INERT.items()}

Layer = tuple[Mapping[str, str | None], int]


class Settings:
    """The settings of one broker (or, with node None, of the controller); `image` holds the dynamic changes."""

    def __init__(self, config: ClusterConfig, node: int | None = None, rack: str | None = None) -> None:
        self._config = config
        self._node = "" if node is None else str(node)
        self._own: dict[str, str | None] = {"node.id": self._node, "broker.id": self._node, "broker.rack": rack}
        self._own |= dict.fromkeys(ADDRESSES, "")
        self._group_settings = group_rules(config).known

    # --- effective values ------------------------------------------------------------------------------------

    def log_defaults(self, image: ClusterImage) -> LogConfig:
        """Return the effective settings of a topic without settings of its own."""
        changed = {**image.configs.get("", {}), **image.configs.get(self._node, {})}
        return broker_defaults(changed, self._config.replica.log)

    def _layers(self, image: ClusterImage) -> list[Layer]:
        """Return broker settings by source, in order of precedence."""
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
        """Return the dynamic default of all brokers; KIP-966 sets `min.insync.replicas` in it."""
        changed = image.configs.get("", {})
        if not self._config.controller.eligible_leader_replicas:
            return changed
        return {MIN_ISR: str(self._config.controller.min_insync_replicas), **changed}

    def _static(self) -> dict[str, str | None]:
        """Return every broker setting at the broker's start."""
        values = values_in_effect(self._config)
        log = self._config.replica.log
        for name, row in BROKER_SETTINGS.items():
            unset = self._config.properties.get(name, _UNSET[name]) if name in _UNSET else _text(log, row.field)
            values.setdefault(name, unset)
        return {**{name: text for name, text in values.items() if name in BROKER_TYPES}, **self._own}

    # --- described settings -----------------------------------------------------------------------------------

    def of_topic(self, own: Mapping[str, str], image: ClusterImage, names: Collection[str] = ()) -> list[ConfigEntry]:
        """Return every setting of a topic (or those of `names`) whose own settings are `own`, in the order of names."""
        effective, layers = self.log_defaults(image), self._layers(image)
        return [self._topic_entry(name, own, effective, layers) for name in TOPIC if not names or name in names]

    def _topic_entry(self, name: str, own: Mapping[str, str], effective: LogConfig, layers: list[Layer]) -> ConfigEntry:
        row = TOPIC[name]
        synonyms = _synonyms(row.synonyms[0], layers) if row.synonyms else ()
        if name in own:
            value: str | None = parsed_text(row.type, own[name])
            synonyms = ((name, value, TOPIC_SETTING), *synonyms)
        elif name in TOPIC_SETTINGS:
            value = _text(effective, TOPIC_SETTINGS[name].field)
        else:
            value = synonyms[0][1] if synonyms else row.default
        return _entry(name, value, row.type, synonyms)

    def created(self, own: Mapping[str, str], image: ClusterImage) -> tuple[ConfigEntry, ...]:
        """Return the settings of a new topic for CreateTopics (KIP-525): unparsed values, without synonyms."""
        entries = self.of_topic(own, image)
        return tuple(evolve(entry, value=own.get(entry.name, entry.value), synonyms=(), type=0) for entry in entries)

    def of_broker(self, image: ClusterImage, names: Collection[str] = ()) -> list[ConfigEntry]:
        """Return every setting of this broker, and dynamic settings whose names Kafka does not know."""
        layers = self._layers(image)
        known = sorted({name for layer, _ in layers for name in layer if not names or name in names} - INTERNAL)
        return [self._broker_entry(name, layers) for name in known]

    def of_all_brokers(self, image: ClusterImage, names: Collection[str] = ()) -> list[ConfigEntry]:
        """Return the dynamic default of all brokers."""
        changed = self._of_all(image)
        layers: list[Layer] = [(changed, DYNAMIC_DEFAULT)]
        return [self._broker_entry(name, layers) for name in sorted(changed) if not names or name in names]

    def of_group(self, own: Mapping[str, str], image: ClusterImage, names: Collection[str] = ()) -> list[ConfigEntry]:
        """Return every setting of a group (or of `names`) whose own settings are `own`; internal ones only if set."""
        layers = self._layers(image)
        shown = (name for name, row in self._group_settings.items() if name in own or not row.internal)
        return [self._group_entry(name, own, layers) for name in shown if not names or name in names]

    def _group_entry(self, name: str, own: Mapping[str, str], layers: list[Layer]) -> ConfigEntry:
        row = GROUP[name]
        with_default = [*layers, ({} if row.default is None else {row.synonym: row.default}, DEFAULT)]
        synonyms = _synonyms(row.synonym, with_default)
        if name in own:
            value = (
                own[name] if row.internal else parsed_text(row.type, own[name])
            )  # Kafka does not parse internal ones
            synonyms = ((name, value, GROUP_SETTING), *synonyms)
        return _entry(name, synonyms[0][1], row.type, synonyms)

    def _broker_entry(self, name: str, layers: list[Layer]) -> ConfigEntry:
        value = next(layer[name] for layer, _ in layers if name in layer)
        synonyms = _synonyms(name, layers)
        if name not in BROKER_TYPES:  # an unknown setting may be a secret, so `ConfigHelper` hides its value
            hidden = tuple((one, None, source) for one, _, source in synonyms)
            return ConfigEntry(name, None, True, synonyms[0][2] if synonyms else DEFAULT, True, synonyms=hidden)
        entry = evolve(_entry(name, value, BROKER_TYPES[name], synonyms), read_only=name not in DYNAMIC)
        return evolve(entry, value=None, sensitive=True) if BROKER_TYPES[name] == "PASSWORD" else entry


def _synonyms(name: str, layers: list[Layer]) -> tuple[tuple[str, str | None, int], ...]:
    """Return the values of a broker setting and its synonyms, in order of precedence, from the requested name on."""
    names = _SYNONYMS.get(name, (name,))
    found = [(one, layer[one], source) for layer, source in layers for one in names if layer.get(one) is not None]
    return tuple(dropwhile(lambda synonym: synonym[0] != name, found))


def _entry(name: str, value: str | None, kind: str, synonyms: tuple[tuple[str, str | None, int], ...]) -> ConfigEntry:
    source = synonyms[0][2] if synonyms else DEFAULT
    text = documentation_of(name, TOPIC_NAME_OF.get(name, ""))
    return ConfigEntry(name, value, source=source, type=TYPES.get(kind, 0), synonyms=synonyms, documentation=text)


def _text(config: LogConfig, attribute: str) -> str:
    value: Any = getattr(config, attribute)
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


def group_rules(config: ClusterConfig) -> GroupRules:
    """Return what these brokers accept as settings of a group."""
    return GroupRules(values_in_effect(config), parse_version(config.coordinator.broker_version))


@cache
def _defaults() -> dict[str, str]:
    """Return Kafka's default of each setting that has one, whether or not it is set."""
    logs = {name: _UNSET.get(name, _text(LogConfig(), row.field)) for name, row in BROKER_SETTINGS.items()}
    every = {**logs, **values_in_effect(ClusterConfig())}  # includes switches of releases, which are no settings
    return {name: text for name, text in every.items() if text is not None and name in BROKER_TYPES}
