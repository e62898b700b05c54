"""Settings of 0.8's high-level consumer, by their own names.

Source: Kafka 0.8.2, `ConsumerConfig`, `ZKConfig`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from attrs import fields_dict

from groupsim.members.keys import CONSUMER_KEYS, SECRET_NOTE, SECRET_PREFIXES, ClientKey, KeyType, acts
from groupsim.members.profiles import ClientProfile
from groupsim.members.settings import ConsumerSettings, Note, SettingError, parse_value, settings_from
from groupsim.protocol.values import frozen

_MS, _INT, _BOOL, _STR = KeyType.MS, KeyType.INT, KeyType.BOOL, KeyType.STRING

_WITH_EFFECT = (
    acts("group.id", _STR, None),
    acts("client.id", _STR, ""),
    acts("zookeeper.session.timeout.ms", _MS, 6_000, 1),
    acts("zookeeper.sync.time.ms", _MS, 2_000, 0),
    acts("rebalance.max.retries", _INT, 4, 1),
    acts("rebalance.backoff.ms", _MS, None, 0),
    acts("auto.commit.enable", _BOOL, True),
    acts("auto.commit.interval.ms", _MS, 60_000, 1),
    acts("auto.offset.reset", _STR, "largest", choices=("smallest", "largest")),
    acts("partition.assignment.strategy", _STR, "range", choices=("range", "roundrobin")),
    acts("fetch.message.max.bytes", _INT, 1_048_576, 1),
    acts("fetch.min.bytes", _INT, 1, 0),
    acts("fetch.wait.max.ms", _MS, 100, 0),
    acts("offsets.storage", _STR, "zookeeper", choices=("zookeeper",)),
)
_NO_EFFECT = "accepted, no effect here"
_WITHOUT_EFFECT = (
    "zookeeper.connect",
    "zookeeper.connection.timeout.ms",
    "consumer.id",
    "consumer.timeout.ms",
    "socket.timeout.ms",
    "socket.receive.buffer.bytes",
    "num.consumer.fetchers",
    "queued.max.message.chunks",
    "refresh.leader.backoff.ms",
    "exclude.internal.topics",
    "offsets.channel.backoff.ms",
    "offsets.channel.socket.timeout.ms",
    "offsets.commit.max.retries",
    "dual.commit.enabled",
)
KEYS: Mapping[str, ClientKey] = {
    key.name: key for key in (*_WITH_EFFECT, *(ClientKey(name, _STR) for name in _WITHOUT_EFFECT))
}


@frozen
class ZookeeperSettings(ConsumerSettings):
    """The resolved settings. Inherited fields hold those that 0.8 shares with later consumers."""

    zookeeper_session_timeout_ms: int = 6_000
    rebalance_max_retries: int = 4
    rebalance_backoff_ms: int = 2_000
    strategy: str = "range"
    auto_commit: bool = True

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """The settings to show with a run, by the names of 0.8."""
        return (
            ("zookeeper.session.timeout.ms", str(self.zookeeper_session_timeout_ms)),
            ("rebalance.max.retries", str(self.rebalance_max_retries)),
            ("rebalance.backoff.ms", str(self.rebalance_backoff_ms)),
            ("partition.assignment.strategy", self.strategy),
            ("commits", f"every {self.auto_commit_interval_ms} ms" if self.auto_commit else "by the application"),
        )


def zookeeper_settings(
    profile: ClientProfile, properties: Mapping[str, object], *, pulls: bool = False
) -> tuple[ZookeeperSettings, tuple[Note, ...]]:
    """Resolve `properties`; a note for every key without effect, a warning for one that 0.8 lacks.

    Raises SettingError for impossible values.
    """
    notes: list[Note] = []
    given = dict(_known(properties, notes))
    values: dict[str, Any] = {key.name: key.default for key in KEYS.values()} | given
    if values["rebalance.backoff.ms"] is None:
        values["rebalance.backoff.ms"] = values["zookeeper.sync.time.ms"]
    if not values["group.id"]:
        raise SettingError("group.id", values["group.id"], "0.8's consumer needs a group", "set group.id")
    common, _ = settings_from(profile, _as_today(values), pulls=pulls)
    inherited = {name: getattr(common, name) for name in fields_dict(ConsumerSettings)}
    inherited["changed"] = {name: value for name, value in given.items() if KEYS[name].default != value}
    settings = ZookeeperSettings(
        **inherited,
        zookeeper_session_timeout_ms=values["zookeeper.session.timeout.ms"],
        rebalance_max_retries=values["rebalance.max.retries"],
        rebalance_backoff_ms=values["rebalance.backoff.ms"],
        strategy=values["partition.assignment.strategy"],
        auto_commit=values["auto.commit.enable"],
    )
    return settings, tuple(notes)


def _known(properties: Mapping[str, object], notes: list[Note]) -> Iterable[tuple[str, object]]:
    for name, value in properties.items():
        key = KEYS.get(name)
        if name.startswith(SECRET_PREFIXES):
            notes.append(Note("note", name, SECRET_NOTE))
        elif key is None:
            notes.append(_unknown(name))
        elif not key.effect:
            notes.append(Note("note", name, _NO_EFFECT))
        else:
            yield name, parse_value(key, name, value)


def _unknown(name: str) -> Note:
    if name in CONSUMER_KEYS:
        return Note("warning", name, f"no effect with zookeeper-0.8: {name} belongs to later consumers")
    near = get_close_matches(name, KEYS, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return Note("warning", name, f"{name} is no setting of 0.8's high-level consumer{hint}")


def _as_today(values: Mapping[str, Any]) -> dict[str, object]:
    """Return the settings of shared parts under their later names."""
    return {
        "group.id": values["group.id"],
        "client.id": values["client.id"] or values["group.id"],
        "enable.auto.commit": False,  # commits of later consumers; those of 0.8 are `auto_commit`
        "auto.commit.interval.ms": values["auto.commit.interval.ms"],
        "auto.offset.reset": {"smallest": "earliest", "largest": "latest"}[values["auto.offset.reset"]],
        "max.partition.fetch.bytes": values["fetch.message.max.bytes"],
        "fetch.min.bytes": values["fetch.min.bytes"],
        "fetch.max.wait.ms": values["fetch.wait.max.ms"],
    }
