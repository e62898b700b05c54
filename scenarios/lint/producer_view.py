"""One producer's configuration for the rules: written values, defaults, and their places.

Values are read leniently, as `view.ClientView` reads a consumer's: an invalid value is a finding of its own, and
counts as not written for the other rules. Defaults are those of the Java producer's release (KIP-679: acks=all
and idempotence from 3.0 on).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field

from groupsim.members.producer.keys import LINGER_BEFORE_4, LONG_KEYS, PRODUCER_KEYS
from groupsim.members.producer.settings import ACKS
from groupsim.members.settings import SettingError, parse_value
from groupsim.protocol.values import define
from groupsim.scenarios.language.problems import Place
from groupsim.scenarios.lint.brokers import BrokerView, Written

Version = tuple[int, ...]
_IDEMPOTENT_SINCE: Version = (3, 0)
_LINGERS_SINCE: Version = (4, 0)


@define
class ProducerView:
    """One producer: its written settings, its broker, and its release (the newest if not known).

    `place_at` finds the place of a setting; `subject` is its name in a scenario, `topic` its topic there.
    """

    entries: Mapping[str, Written]
    broker: BrokerView
    where: Place
    release: Version = (4, 4)
    subject: str = ""
    topic: str = ""
    place_at: Callable[[str], Place] | None = None
    #: Invalid settings: name → error.
    impossible: dict[str, SettingError] = field(factory=dict, init=False)
    _values: dict[str, Any] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        for name, entry in self.entries.items():
            key = PRODUCER_KEYS.get(name)
            if key is None or not key.effect:
                continue
            try:
                self._values[name] = self._parsed(name, entry.value)
            except SettingError as error:
                self.impossible[name] = error

    def _parsed(self, name: str, value: object) -> object:
        text = str(value).strip()
        if name in LONG_KEYS and text.isdecimal():
            return int(text)
        return parse_value(PRODUCER_KEYS[name], name, value)

    # --- values ----------------------------------------------------------------------------------------------

    def written(self, *keys: str) -> bool:
        """Return whether any of these keys was written with a valid value."""
        return any(key in self._values for key in keys)

    def value(self, key: str) -> Any:
        """Return a key's value: as written, else the release's default."""
        return self._values[key] if key in self._values else self._default(key)

    def _default(self, key: str) -> object:
        if key == "linger.ms" and self.release < _LINGERS_SINCE:
            return LINGER_BEFORE_4
        if self.release < _IDEMPOTENT_SINCE and key in ("acks", "enable.idempotence"):
            return "1" if key == "acks" else False
        return PRODUCER_KEYS[key].default

    def number(self, key: str) -> int:
        """Return a numeric key; times are milliseconds."""
        return int(self.value(key))

    @property
    def acks(self) -> int:
        """`acks` as in the request: -1 (all), 0 or 1."""
        return ACKS[str(self.value("acks"))]

    @property
    def transactional(self) -> bool:
        """Whether it has a transactional id."""
        return bool(self.value("transactional.id"))

    @property
    def asks_for_idempotence(self) -> bool:
        """Whether idempotence was written, or a transactional id, which requires it."""
        return self.transactional or self._values.get("enable.idempotence") is True

    # --- messages ----------------------------------------------------------------------------------------------

    def shown(self, key: str) -> str:
        """Return a key with its value, marked if it is the default."""
        value = self.value(key)
        text = str(value).lower() if isinstance(value, bool) else value
        return f"{key} = {text}{'' if key in self._values else ' (default)'}"

    def place_of(self, keys: tuple[str, ...]) -> Place:
        """Return the place of the first of these keys that was written, else of the whole."""
        for key in keys:
            if key in self.entries:
                return self.place_at(key) if self.place_at is not None else self.entries[key].place
        return self.where
