"""One client's configuration for the rules: written values, defaults, and the library's own names.

Values are read leniently: an invalid value is a finding of its own, and counts as not written for other rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from attrs import field

from groupsim.members.keys import CONSUMER_KEYS, JAVA_ASSIGNORS, KeyType
from groupsim.members.profiles import RebalanceTimeout, SettingName
from groupsim.members.settings import SettingError, parse_value, rebalance_timeout_of
from groupsim.protocol.values import define
from groupsim.scenarios.language.clients import Client
from groupsim.scenarios.language.model import MemberSpec
from groupsim.scenarios.language.problems import Place
from groupsim.scenarios.lint.brokers import BrokerView, Written
from groupsim.scenarios.lint.spellings import is_filled_in

#: librdkafka's names for Kafka's keys; its `request.timeout.ms` is the producer's.
_LIBRDKAFKA_NAMES: Mapping[str, SettingName] = {
    "fetch.wait.max.ms": SettingName("fetch.max.wait.ms"),
    "auto.commit.enable": SettingName("enable.auto.commit"),
    "topic.metadata.refresh.interval.ms": SettingName("metadata.max.age.ms"),
}
_MORE_NAMES: Mapping[str, Mapping[str, SettingName]] = {
    "kafka-python": {
        name.replace(".", "_"): SettingName(name)
        for name in ("fetch.max.wait.ms", "connections.max.idle.ms", "default.api.timeout.ms", "retry.backoff.max.ms")
    },
    "kafkajs": {"maxWaitTimeInMs": SettingName("fetch.max.wait.ms")},
    "sarama": {"Consumer.MaxWaitTime": SettingName("fetch.max.wait.ms")},
}
#: Libraries with times as Go durations.
_DURATIONS = ("sarama", "franz-go")
_OTHER_RESETS = {
    "librdkafka": ("smallest", "earliest", "beginning", "largest", "latest", "end", "error"),
}


@define
class ClientView:
    """One client: its library, its settings by their names as written, and its broker.

    `pasted` means the client's own configuration, with the library's own names; in a scenario Kafka's
    names hold for every library. `subject` is the member of a scenario, `spec` its specification.
    """

    client: Client
    entries: Mapping[str, Written]
    broker: BrokerView
    where: Place
    pasted: bool = True
    subject: str = ""
    spec: MemberSpec | None = None
    repeated: Mapping[str, Written] = field(factory=dict)
    #: Places of scenario keys that are not settings: `processing`, `on-revoked` …
    spots: Mapping[str, Place] = field(factory=dict)
    #: Topics that it reads and producers of the scenario write in transactions.
    transactional: tuple[str, ...] = ()
    #: Invalid settings: name as written → error.
    impossible: dict[str, SettingError] = field(factory=dict, init=False)
    _names: dict[str, str] = field(factory=dict, init=False)
    _values: dict[str, Any] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        aliases = self._aliases()
        for name, entry in self.entries.items():
            alias = aliases.get(name)
            key = CONSUMER_KEYS.get(alias.key if alias else name)
            if key is None or self._means_something_else(name) or (alias is None and self._has_only_own_names):
                continue
            if self.pasted and is_filled_in(entry.value):
                continue  # a placeholder, whose value is unknown
            self._names[key.name] = name
            try:
                self._values[key.name] = self._parsed(key.name, name, entry.value, alias.factor if alias else 1)
            except SettingError as error:
                self.impossible[name] = error
                self._guess(key.name, name, entry.value)

    def _guess(self, key: str, name: str, value: object) -> None:
        """Keep a time that the client cannot read for the other rules: `45s` means forty-five seconds."""
        with suppress(SettingError):
            if CONSUMER_KEYS[key].type is KeyType.MS:
                self._values[key] = parse_value(CONSUMER_KEYS[key], name, value)

    def _aliases(self) -> dict[str, SettingName]:
        own = _LIBRDKAFKA_NAMES if self.client.library == "librdkafka" else {}
        return {**self.client.profile.setting_names, **own, **_MORE_NAMES.get(self._family, {})}

    @property
    def _family(self) -> str:
        """The library that defines the setting names: aiokafka has those of kafka-python."""
        return "kafka-python" if self.client.library == "aiokafka" else self.client.library

    @property
    def _has_only_own_names(self) -> bool:
        """Whether the library does not know Kafka's names, so that settings under them have no effect."""
        return self.pasted and self.client.library not in ("java", "librdkafka")

    def _means_something_else(self, name: str) -> bool:
        return self.pasted and self.client.library == "librdkafka" and name == "request.timeout.ms"

    def _parsed(self, key: str, name: str, value: object, factor: int) -> object:
        if key == "auto.offset.reset" and self.pasted:
            return self._reset(name, str(value))
        if key == "group.protocol":
            return str(value).strip().lower()
        if self.pasted and CONSUMER_KEYS[key].type is KeyType.MS and self.client.library not in _DURATIONS:
            _only_digits(name, str(value))
        return parse_value(CONSUMER_KEYS[key], name, value, factor)

    def _reset(self, name: str, value: str) -> str:
        """Accept the further values of librdkafka and Kafka 4.0 (KIP-1106), which the simulator lacks."""
        choices = _OTHER_RESETS.get(self.client.library, ("earliest", "latest", "none"))
        by_duration = value.startswith("by_duration:") and self.client.library == "java" and not self.client.before(4)
        if self.client.library in ("java", "librdkafka") and value not in choices and not by_duration:
            raise SettingError(name, value, "no such choice", f"use one of {', '.join(choices)}")
        return value

    @property
    def without_unit(self) -> Iterator[tuple[str, str]]:
        """The settings whose value should be a Go duration and is a bare number, with the number."""
        if self.pasted and self.client.library in _DURATIONS:
            for key, name in self._names.items():
                text = str(self.entries[name].value).strip()
                if CONSUMER_KEYS[key].type is KeyType.MS and text.isdecimal() and int(text):
                    yield name, text

    # --- values ----------------------------------------------------------------------------------------------

    def written(self, *keys: str) -> bool:
        """Return whether any of these of Kafka's keys was written with a valid value."""
        return any(key in self._values for key in keys)

    def value(self, key: str) -> Any:
        """Return a key's value: as written, else the library's default, else Kafka's."""
        return self._with_defaults()[key]

    def number(self, key: str) -> int:
        """Return a numeric key; times are milliseconds."""
        return int(self.value(key))

    def _with_defaults(self) -> dict[str, Any]:
        defaults = {key.name: key.default for key in CONSUMER_KEYS.values()}
        return {**defaults, **self.client.profile.defaults, **self._values}

    @property
    def rebalance_ms(self) -> int:
        """How long the broker waits for this member in a rebalance: the sent timeout, else its session timeout."""
        sent = rebalance_timeout_of(self.client.profile, self._with_defaults())
        return sent if sent > 0 else self.number("session.timeout.ms")

    @property
    def rebalance_key(self) -> str:
        """The key of the rebalance timeout."""
        kind = self.client.profile.rebalance_timeout
        if kind is RebalanceTimeout.MAX_POLL:
            return "max.poll.interval.ms"
        own = kind is not RebalanceTimeout.UNSENT and self.value("rebalance.timeout.ms") is not None
        return "rebalance.timeout.ms" if own else "session.timeout.ms"

    @property
    def classic(self) -> bool:
        """Whether it uses the classic protocol."""
        return bool(self.value("group.protocol") != "consumer")

    @property
    def assignors(self) -> tuple[str, ...]:
        """The assignors by Kafka's short names, or as written."""
        names = str(self.value("partition.assignment.strategy")).split(",")
        return tuple(JAVA_ASSIGNORS.get(name.strip(), name.strip()) for name in names if name.strip())

    @property
    def instance_id(self) -> str | None:
        """Its group.instance.id, if one was written."""
        value = self.value("group.instance.id")
        return str(value) if value else None

    @property
    def has_poll_limit(self) -> bool:
        """Whether the library enforces max.poll.interval.ms."""
        return self.client.profile.poll_limit.enforced

    @property
    def beats_alone(self) -> bool:
        """Whether heartbeats come from a thread or task of their own."""
        return self.client.profile.pace.heartbeats_in_background

    # --- messages ----------------------------------------------------------------------------------------------

    def name(self, key: str) -> str:
        """Return the key as the user writes it: as written, else by the library's own name.

        A scenario accepts the names of the library's profile, so that a remedy can be pasted into it.
        """
        if key in self._names:
            return self._names[key]
        own = self._aliases() if self.pasted else self.client.profile.setting_names
        return next((name for name, alias in own.items() if alias.key == key), key)

    def shown(self, key: str) -> str:
        """Return a key with its value, marked if it is the default."""
        default = "" if key in self._values else " (default)"
        value = self.value(key)
        if CONSUMER_KEYS[key].type is KeyType.MS:
            return f"{self.setting(key, int(value))}{default}"
        return f"{self.name(key)} = {str(value).lower() if isinstance(value, bool) else value}{default}"

    def setting(self, key: str, milliseconds: int) -> str:
        """Write a setting with a time, in the library's own name and unit."""
        return f"{self.name(key)} = {self.amount(key, milliseconds)}"

    def amount(self, key: str, milliseconds: int) -> str:
        """Write a time in the library's own unit."""
        alias = self._aliases().get(self.name(key))
        if (self.pasted or alias) and self.client.library in _DURATIONS:
            return f"{milliseconds}ms" if milliseconds % 1_000 else f"{milliseconds // 1_000}s"
        return str(milliseconds // alias.factor if alias else milliseconds)

    def place_of(self, keys: tuple[str, ...]) -> Place:
        """Return the place of the first of these keys that was written, else of the whole."""
        names = [name for key in keys for name in (key, self._names.get(key, key))]
        found = (self.spots.get(name) or self.entries[name].place for name in names if self._has_place(name))
        return next(found, self.where)

    def _has_place(self, name: str) -> bool:
        return name in self.spots or name in self.entries


def _only_digits(name: str, value: str) -> None:
    """Refuse a time with a unit in a client's own configuration; only a scenario can have `45s`."""
    if not value.strip().lstrip("-").isdecimal():
        remedy = "write a bare number of milliseconds; move a comment to a line of its own"
        raise SettingError(name, value, "not a number", remedy)
