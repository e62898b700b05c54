"""Parse a producer's properties into typed settings, by Kafka's names and rules.

`producer_settings_from` reads a mapping as written in a properties file or a scenario. An unknown key gets a warning
with the nearest name; an impossible value is refused with key, value and remedy. Values of `sasl.*` and `ssl.*` are
neither read nor stored.

Idempotence is on by default. With acks other than all, retries 0 or more than five requests in flight an explicit
`enable.idempotence=true` is refused; else idempotence is switched off, in Java silently, here with a warning. A
transactional id requires idempotence.

Source: `ProducerConfig.postProcessAndValidateIdempotenceConfigs`, `KafkaProducer.configureDeliveryTimeout`; KIP-679.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from attrs import evolve

from groupsim.members.keys import SECRET_NOTE, SECRET_PREFIXES
from groupsim.members.producer.keys import LINGER_BEFORE_4, LONG_KEYS, PARTITIONERS, PRODUCER_KEYS
from groupsim.members.settings import Note, SettingError, named_as_their_keys, parse_value
from groupsim.protocol.values import frozen

_MOST_IN_FLIGHT_IN_ORDER = 5
_LARGEST_INT = 2**31 - 1
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}


@frozen
class ProducerSettings:
    """A producer's resolved settings. Times in milliseconds; `acks` as in the request: -1, 0 or 1."""

    client_id: str = "producer-1"
    acks: int = -1
    linger_ms: int = 5
    batch_size: int = 16_384
    max_request_size: int = 1_048_576
    buffer_memory: int = 33_554_432
    max_block_ms: int = 60_000
    max_in_flight: int = 5
    retries: int = 2**31 - 1
    delivery_timeout_ms: int = 120_000
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    metadata_max_age_ms: int = 300_000
    idempotence: bool = True
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    partitioner: str = "default"
    ignore_keys: bool = False
    #: The properties that differ from the defaults, without secrets.
    changed: Mapping[str, object] = {}


def producer_settings_from(
    properties: Mapping[str, object], *, client_release: str = "4.4.0"
) -> tuple[ProducerSettings, tuple[Note, ...]]:
    """Resolve `properties` for a Java producer of a release. Raises SettingError for impossible values."""
    notes: list[Note] = []
    given = dict(_known(properties, notes))
    values: dict[str, Any] = {key.name: key.default for key in PRODUCER_KEYS.values()}
    values |= _defaults_of(client_release)
    changed = {key: value for key, value in given.items() if values[key] != value}
    values |= given
    settings = _resolve(values, changed)
    settings = _with_idempotence(settings, given, notes)
    settings = _with_delivery_timeout(settings, given, notes)
    return settings, tuple(notes)


def _defaults_of(release: str) -> dict[str, object]:
    """Return defaults of older releases: no linger before 4.0; acks=1 without idempotence before 3.0 (KIP-679)."""
    major = int(release.split(".")[0])
    older: dict[str, object] = {"linger.ms": LINGER_BEFORE_4} if major < 4 else {}
    return older | ({"acks": "1", "enable.idempotence": False} if major < 3 else {})


def _known(properties: Mapping[str, object], notes: list[Note]) -> Iterable[tuple[str, object]]:
    """Return the parsed properties with an effect; add a note for each of the others."""
    for name, value in properties.items():
        key = PRODUCER_KEYS.get(name)
        if name.startswith(SECRET_PREFIXES):
            notes.append(Note("note", name, SECRET_NOTE))
        elif key is None:
            near = get_close_matches(name, PRODUCER_KEYS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            notes.append(Note("warning", name, f"{name} is no producer setting known to Kafka{hint}"))
        elif not key.effect:
            notes.append(Note("note", name, key.note))
        else:
            yield name, _parsed(name, value)


def _parsed(name: str, value: object) -> object:
    key = PRODUCER_KEYS[name]
    if name in LONG_KEYS and isinstance(value, int) and not isinstance(value, bool) and value > _LARGEST_INT:
        return value
    return parse_value(key, name, value)


def _resolve(values: Mapping[str, Any], changed: Mapping[str, object]) -> ProducerSettings:
    transactional_id = values["transactional.id"]
    if transactional_id == "":
        raise SettingError("transactional.id", "", "empty", "leave it out, or name the producer")
    return ProducerSettings(
        **named_as_their_keys(ProducerSettings, values)
        | {
            "client_id": values["client.id"] or (f"producer-{transactional_id}" if transactional_id else "producer-1"),
            "acks": ACKS[values["acks"]],
            "max_in_flight": values["max.in.flight.requests.per.connection"],
            "idempotence": values["enable.idempotence"],
            "partitioner": _partitioner(values["partitioner.class"]),
            "ignore_keys": values["partitioner.ignore.keys"],
            "changed": changed,
        }
    )


def _partitioner(name: str) -> str:
    found = PARTITIONERS.get(name)
    if found is None:
        known = ", ".join(dict.fromkeys(PARTITIONERS.values()))
        raise SettingError("partitioner.class", name, "no such partitioner", f"use one of {known}")
    return found


def _with_idempotence(settings: ProducerSettings, given: Mapping[str, object], notes: list[Note]) -> ProducerSettings:
    """Decide idempotence as Java does: an explicit but impossible one is refused, the default is switched off."""
    if not settings.idempotence:
        if settings.transactional_id is not None:
            raise SettingError(
                "enable.idempotence", False, "a transactional producer is idempotent", "leave it at true"
            )
        return settings
    conflict = _conflict(settings)
    if conflict is None:
        return settings
    key, value, remedy = conflict
    if given.get("enable.idempotence") is True or settings.transactional_id is not None:
        raise SettingError(key, value, "cannot be with an idempotent or transactional producer", remedy)
    notes.append(Note("warning", key, f"{key} = {value} switches idempotence off: retries may duplicate records"))
    return evolve(settings, idempotence=False)


def _conflict(settings: ProducerSettings) -> tuple[str, object, str] | None:
    if settings.acks != -1:
        return "acks", settings.acks, "set acks=all"
    if settings.retries == 0:
        return "retries", 0, "use at least 1 retry"
    if settings.max_in_flight > _MOST_IN_FLIGHT_IN_ORDER:
        key = "max.in.flight.requests.per.connection"
        return key, settings.max_in_flight, f"use at most {_MOST_IN_FLIGHT_IN_ORDER}"
    return None


def _with_delivery_timeout(
    settings: ProducerSettings, given: Mapping[str, object], notes: list[Note]
) -> ProducerSettings:
    """Check that `delivery.timeout.ms` covers linger and one request: refuse a smaller value, raise the default."""
    least = min(settings.linger_ms + settings.request_timeout_ms, _LARGEST_INT)
    if settings.delivery_timeout_ms >= least:
        return settings
    key = "delivery.timeout.ms"
    if key in given:
        problem = f"below linger.ms + request.timeout.ms = {least}"
        raise SettingError(key, settings.delivery_timeout_ms, problem, f"use at least {least}")
    notes.append(Note("warning", key, f"raised to linger.ms + request.timeout.ms = {least}"))
    return evolve(settings, delivery_timeout_ms=least)
