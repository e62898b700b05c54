"""Parse a consumer's properties into typed settings, by Kafka's names and rules or by the library's own names.

`settings_from` reads a mapping as written in a properties file or a scenario. An unknown key gets a warning with the
nearest name; an impossible value is refused with key, value and remedy. Values of `sasl.*` and `ssl.*` are neither read
nor stored. Sources: `ConsumerConfig`, `GroupRebalanceConfig`; classic-protocol reference, section 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NamedTuple

from attrs import AttrsInstance, astuple, fields

from groupsim.eventloop.units import MS_US, parse_duration
from groupsim.members.keys import (
    CONSUMER_KEYS,
    JAVA_ASSIGNORS,
    SECRET_NOTE,
    SECRET_PREFIXES,
    ClientKey,
    KeyType,
)
from groupsim.members.profiles import ClientProfile, RebalanceTimeout
from groupsim.protocol.values import frozen

CLASSIC = "classic"
"""The group protocol of before KIP-848, a value of group.protocol."""
_LARGEST = 2**31 - 1
_DEFAULTS = {key.name: key.default for key in CONSUMER_KEYS.values()}
_RESET, _BY_DURATION = "auto.offset.reset", "by_duration:"
_ISO_8601 = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?")


class SettingError(ValueError):
    """An invalid setting: `key` and `value` as given, the problem and the remedy."""

    def __init__(self, key: str, value: object, problem: str, remedy: str) -> None:
        super().__init__(f"{key} = {value!r}: {problem}; {remedy}")
        self.key = key
        self.value = value
        self.problem = problem
        self.remedy = remedy


@frozen
class Note:
    """A remark about a setting; `level` is "note" or "warning"."""

    level: str
    key: str
    message: str


@frozen
class ConsumerSettings:
    """A consumer's resolved settings: properties over the profile's defaults over Kafka's. Times in milliseconds."""

    group_id: str
    client_id: str
    group_instance_id: str | None
    client_rack: str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    max_poll_records: int
    assignors: tuple[str, ...]
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    auto_offset_reset: str
    request_timeout_ms: int
    default_api_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    metadata_max_age_ms: int
    exclude_internal_topics: bool
    #: The rebalance timeout in JoinGroup; -1 when this library's version has no such field.
    rebalance_timeout_ms: int
    #: `internal.leave.group.on.close`; None: as in the profile.
    leave_on_close: bool | None
    # fetch settings, for a consumer that pulls
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 1_048_576
    isolation_level: str = "read_uncommitted"
    #: The duration of auto.offset.reset = by_duration:…; None for the other policies.
    reset_duration_ms: int | None = None
    #: The group protocol: "classic", or "consumer" (KIP-848).
    group_protocol: str = CLASSIC
    #: The coordinator's assignor that a member of a consumer group asks for; None: no preference.
    group_remote_assignor: str | None = None
    #: The properties that differ from the defaults, without secrets.
    changed: Mapping[str, object] = {}

    @property
    def own_rebalance_timeout_ms(self) -> int:
        """The client's own bound of a rebalance: the rebalance timeout it sends, else its session timeout."""
        return self.rebalance_timeout_ms if self.rebalance_timeout_ms > 0 else self.session_timeout_ms


def settings_from(
    profile: ClientProfile, properties: Mapping[str, object], *, pulls: bool = False
) -> tuple[ConsumerSettings, tuple[Note, ...]]:
    """Resolve `properties` for a library. Raises SettingError for impossible values.

    `pulls`: the consumer pulls from brokers' logs, so the fetch settings have an effect; else each gets a note.
    """
    client_id = properties.get(_CLIENT_ID)
    if not client_id or type(client_id) is not str or _CLIENT_ID in profile.defaults:
        return _resolved(profile, properties, pulls=pulls)
    alike = _but_for_client_id(profile, properties, pulls)
    try:
        kept = _KEPT.get(alike)
    except TypeError:  # a list among the values cannot be hashed
        return _resolved(profile, properties, pulls=pulls)
    if kept is not None and kept.profile is profile:
        return kept.with_client_id(client_id), kept.notes
    settings, notes = _resolved(profile, properties, pulls=pulls)
    if not any(name in properties for name, alias in profile.setting_names.items() if alias.key == _CLIENT_ID):
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.clear()
        _KEPT[alike] = _Kept(profile, astuple(settings, recurse=False), notes)
    return settings, notes


# Members of a group share their settings except client.id, so the settings are resolved once.
_CLIENT_ID = "client.id"
_MOST_KEPT = 256


class _Kept(NamedTuple):
    """The resolved settings and notes that properties share which differ in client.id alone."""

    profile: ClientProfile
    values: tuple[Any, ...]  # the fields of ConsumerSettings, in order
    notes: tuple[Note, ...]

    def with_client_id(self, client_id: str) -> ConsumerSettings:
        """Return the settings with another client.id."""
        group_id, _, *others, changed = self.values
        values = [group_id, client_id, *others, {**changed, _CLIENT_ID: client_id}]
        return ConsumerSettings(*values)


_KEPT: dict[tuple[object, ...], _Kept] = {}


def _but_for_client_id(profile: ClientProfile, properties: Mapping[str, object], pulls: bool) -> tuple[object, ...]:
    """Return the cache key of properties that differ in client.id alone; it has types, because True equals 1.

    Secrets are left out: they change nothing, and are not stored here either.
    """
    values = [(name, type(value), None if _is_left_out(name) else value) for name, value in properties.items()]
    return (profile.name, pulls, *values)


def _is_left_out(name: str) -> bool:
    return name == _CLIENT_ID or name.startswith(SECRET_PREFIXES)


def _resolved(
    profile: ClientProfile, properties: Mapping[str, object], *, pulls: bool
) -> tuple[ConsumerSettings, tuple[Note, ...]]:
    notes: list[Note] = []
    given = dict(_known(profile, properties, notes, pulls=pulls))
    values = {**_DEFAULTS, **profile.defaults}
    changed = {key: value for key, value in given.items() if values[key] != value}
    values |= given
    settings = _resolve(profile, values, changed)
    _check_protocol(profile, settings, given)
    _check(settings)
    notes += _advice(settings, profile, given)
    return settings, tuple(notes)


def _known(
    profile: ClientProfile, properties: Mapping[str, object], notes: list[Note], *, pulls: bool
) -> Iterable[tuple[str, object]]:
    """Return the parsed properties with an effect, under Kafka's names; add a note for each of the others."""
    by_duration = pulls and profile.positions.reset_by_duration
    for name, value in properties.items():
        if name.startswith(SECRET_PREFIXES):
            notes.append(Note("note", name, SECRET_NOTE))
            continue
        alias = profile.setting_names.get(name)
        key = CONSUMER_KEYS.get(alias.key if alias else name)
        if key is None:
            notes.append(_unknown(name, profile))
        elif not (key.effect or (pulls and key.pull)):
            notes.append(Note("note", name, key.note))
        elif by_duration and key.name == _RESET and str(value).startswith(_BY_DURATION):
            yield key.name, value
        else:
            yield key.name, parse_value(key, name, value, alias.factor if alias else 1)


def _unknown(name: str, profile: ClientProfile) -> Note:
    near = get_close_matches(name, [*CONSUMER_KEYS, *profile.setting_names], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return Note("warning", name, f"{name} is no consumer setting known to Kafka or {profile.name}{hint}")


# --- values ----------------------------------------------------------------------------------------------------


def parse_value(key: ClientKey, name: str, value: object, factor: int = 1) -> object:
    """Parse a value by the type of its key, and multiply a number by `factor`. Raises SettingError, naming `name`."""
    parsed = _PARSERS[key.type](name, value, factor)
    if isinstance(parsed, int) and not isinstance(parsed, bool):
        _check_range(key, name, value, parsed)
    if key.choices and parsed not in key.choices:
        raise SettingError(name, value, "no such choice", f"use one of {', '.join(key.choices)}")
    return parsed


def _check_range(key: ClientKey, name: str, value: object, parsed: int) -> None:
    if key.minimum is not None and parsed < key.minimum:
        raise SettingError(name, value, f"below the least value {key.minimum}", f"use at least {key.minimum}")
    if parsed > _LARGEST:
        raise SettingError(name, value, "too large for Kafka's 32-bit field", f"use at most {_LARGEST}")


def _milliseconds(name: str, value: object, factor: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise SettingError(name, value, "not a time", "give an integer of milliseconds, or text such as 45s")
    number = _whole(value)
    if number is not None:
        return number * factor
    try:
        us = parse_duration(str(value))
    except ValueError as error:
        raise SettingError(name, value, "not a time", f"give an integer of milliseconds; {error}") from None
    if us % MS_US:
        raise SettingError(name, value, "finer than a millisecond", "Kafka's settings are whole milliseconds")
    return us // MS_US


def _whole(value: int | str) -> int | None:
    """Return an integer, or the integer that a text spells; None for other text."""
    if isinstance(value, int):
        return value
    text = value.strip()
    return int(text) if text.lstrip("-").isdecimal() and text.isascii() else None


def _integer(name: str, value: object, factor: int) -> int:
    number = None if isinstance(value, bool) or not isinstance(value, int | str) else _whole(value)
    if number is None:
        raise SettingError(name, value, "not an integer", "give a whole number")
    return number * factor


def _boolean(name: str, value: object, factor: int) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise SettingError(name, value, "neither true nor false", "write true or false")


def _string(name: str, value: object, factor: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise SettingError(name, value, "not a text", "put it in quotes")


def _list(name: str, value: object, factor: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    raise SettingError(name, value, "not a list of names", "write a list, or names separated by commas")


_PARSERS = {
    KeyType.MS: _milliseconds,
    KeyType.INT: _integer,
    KeyType.NUMBER: _integer,
    KeyType.BOOL: _boolean,
    KeyType.STRING: _string,
    KeyType.LIST: _list,
}


# --- resolved settings -----------------------------------------------------------------------------------------


def _resolve(profile: ClientProfile, values: Mapping[str, Any], changed: Mapping[str, object]) -> ConsumerSettings:
    group_id = values["group.id"]
    if not group_id:
        raise SettingError("group.id", group_id, "a consumer that subscribes needs a group", "set group.id")
    instance = values["group.instance.id"]
    if instance == "":
        raise SettingError("group.instance.id", "", "empty", "leave it out, or give each member a name of its own")
    policy, reset_duration_ms = _reset_policy(values[_RESET])
    return ConsumerSettings(
        **named_as_their_keys(ConsumerSettings, values)
        | {
            "client_id": values["client.id"] or _client_id(profile, group_id, instance),
            "assignors": _assignors(values["partition.assignment.strategy"]),
            "auto_offset_reset": policy,
            "rebalance_timeout_ms": rebalance_timeout_of(profile, values),
            "leave_on_close": values["internal.leave.group.on.close"],
            "reset_duration_ms": reset_duration_ms,
            "changed": changed,
        }
    )


def named_as_their_keys(settings: type[AttrsInstance], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of fields that are named like their keys, with `_` for the dots: `session_timeout_ms`."""
    return {name: values[key] for name, key in _keys(settings) if key in values}


@lru_cache(maxsize=16)
def _keys(settings: type[AttrsInstance]) -> tuple[tuple[str, str], ...]:
    """Return each field name with the key of the same name."""
    return tuple((field.name, field.name.replace("_", ".")) for field in fields(settings))


def _reset_policy(value: str) -> tuple[str, int | None]:
    """Return auto.offset.reset, and the duration in milliseconds of `by_duration:PT1H` (KIP-1106)."""
    if not value.startswith(_BY_DURATION):
        return value, None
    text = value.removeprefix(_BY_DURATION)
    found = _ISO_8601.fullmatch(text)
    if found is None or text.endswith(("P", "T")):
        raise SettingError(_RESET, value, "no ISO 8601 duration", "write by_duration:PT1H, by_duration:P7D or the like")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    fraction = int((found[5] or "").ljust(3, "0"))
    return "by_duration", (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000 + fraction


def _client_id(profile: ClientProfile, group_id: str, instance: str | None) -> str:
    """Return the library's default client id; in Java a static member's instance id replaces the counter."""
    made = profile.client_id.format(group=group_id)
    return f"consumer-{group_id}-{instance}" if instance and "{group}" in profile.client_id else made


def _assignors(strategy: str) -> tuple[str, ...]:
    names = tuple(JAVA_ASSIGNORS.get(name.strip(), name.strip()) for name in strategy.split(",") if name.strip())
    key = "partition.assignment.strategy"
    if not names:
        raise SettingError(key, strategy, "no assignor", "name at least one, such as range or cooperative-sticky")
    if len(set(names)) != len(names):
        raise SettingError(key, strategy, "an assignor stands there twice", "name each assignor once")
    return names


def rebalance_timeout_of(profile: ClientProfile, values: Mapping[str, Any]) -> int:
    """Return the rebalance timeout in a library's JoinGroup, in milliseconds; -1 when it sends none."""
    own = values["rebalance.timeout.ms"]
    if profile.rebalance_timeout is RebalanceTimeout.UNSENT:
        return -1
    if own is not None and profile.rebalance_timeout is not RebalanceTimeout.MAX_POLL:
        return int(own)
    if profile.rebalance_timeout is RebalanceTimeout.MAX_POLL:
        return int(values["max.poll.interval.ms"])
    return int(values["session.timeout.ms"])


#: Keys that a consumer of the other protocol refuses (`ConsumerConfig.checkUnsupportedConfigsPostProcess`).
_ONLY_UNDER: Mapping[str, tuple[str, ...]] = {
    "classic": ("partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"),
    "consumer": ("group.remote.assignor",),
}
_OTHER_REMEDY = {
    "partition.assignment.strategy": "leave it out, and name an assignor of the broker by group.remote.assignor",
    "heartbeat.interval.ms": "leave it out: the broker sets the interval (group.consumer.heartbeat.interval.ms)",
    "session.timeout.ms": "leave it out: the broker sets the timeout (group.consumer.session.timeout.ms)",
    "group.remote.assignor": "leave it out or empty, or set group.protocol to consumer",
}


def _check_protocol(profile: ClientProfile, settings: ConsumerSettings, given: Mapping[str, object]) -> None:
    """Refuse a protocol that the library lacks, and settings of the other protocol."""
    protocol = settings.group_protocol
    if protocol not in profile.protocols:
        raise SettingError(
            "group.protocol",
            protocol,
            f"{profile.name} has the classic protocol only",
            "use Java from 4.0 or librdkafka from 2.12 on (java-4.4, librdkafka-2.12), or group.protocol: classic",
        )
    for other in profile.protocols:
        refused = () if other == protocol else _ONLY_UNDER[other]
        for key in refused:
            if given.get(key) not in (None, ""):
                problem = f"cannot be set when group.protocol={protocol.upper()}"
                raise SettingError(key, given[key], problem, _OTHER_REMEDY[key])


def _check(settings: ConsumerSettings) -> None:
    heartbeat, session = settings.heartbeat_interval_ms, settings.session_timeout_ms
    if heartbeat >= session:
        raise SettingError(
            "heartbeat.interval.ms",
            heartbeat,
            f"not below session.timeout.ms = {session}",
            "use at most a third of the session timeout",
        )
    if settings.default_api_timeout_ms < settings.request_timeout_ms and "default.api.timeout.ms" in settings.changed:
        raise SettingError(
            "default.api.timeout.ms",
            settings.default_api_timeout_ms,
            f"below request.timeout.ms = {settings.request_timeout_ms}",
            "raise it to at least request.timeout.ms",
        )


def _advice(settings: ConsumerSettings, profile: ClientProfile, given: Mapping[str, object]) -> Iterable[Note]:
    """Warn of settings that have no effect in this library, or that are risky."""
    if "group.remote.assignor" in given and "consumer" not in profile.protocols:
        yield Note("note", "group.remote.assignor", "accepted; belongs to group.protocol=consumer")
    if settings.heartbeat_interval_ms * 3 > settings.session_timeout_ms:
        yield Note(
            "warning",
            "heartbeat.interval.ms",
            f"{settings.heartbeat_interval_ms} is more than a third of session.timeout.ms "
            f"= {settings.session_timeout_ms}: one or two lost heartbeats end the session",
        )
    if "rebalance.timeout.ms" in given and profile.rebalance_timeout in (
        RebalanceTimeout.MAX_POLL,
        RebalanceTimeout.UNSENT,
    ):
        message = f"no effect with {profile.name}: it sends {profile.rebalance_timeout.value}"
        yield Note("warning", "rebalance.timeout.ms", message)
    if "max.poll.interval.ms" in given and not profile.poll_limit.enforced:
        yield Note("warning", "max.poll.interval.ms", f"no effect with {profile.name}: it has no poll limit")
