"""Read Kafka's settings as deployments spell them: with a framework's prefix, or as environment variables.

    spring.kafka.consumer.properties.session.timeout.ms     Spring Boot; in application.yaml the dots are levels
    spring.kafka.consumer.heartbeat-interval                Spring Boot's own name: a duration, 3s or 3000
    mp.messaging.incoming.orders.session.timeout.ms         Quarkus; Micronaut, Connect and others have prefixes, too
    KAFKA_SESSION_TIMEOUT_MS                                an environment variable, with any prefix

They are read under Kafka's name, at the place where they were written. The reader assumes that a program passes them
on to its consumer; a rule reports names that only look like Spring Boot's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from groupsim.eventloop.units import parse_duration
from groupsim.members.keys import CONSUMER_KEYS
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.properties import WITHHELD, is_secret
from groupsim.scenarios.lint.places import ELSEWHERE, OLD_CONSUMER

Line = tuple[int, str, str]

#: Spring Boot's own names (KafkaProperties.Consumer) → Kafka's; other settings go below `properties`.
_SPRING: Mapping[str, str] = {
    "auto-commit-interval": "auto.commit.interval.ms",
    "auto-offset-reset": "auto.offset.reset",
    "bootstrap-servers": "bootstrap.servers",
    "client-id": "client.id",
    "enable-auto-commit": "enable.auto.commit",
    "fetch-max-wait": "fetch.max.wait.ms",
    "fetch-min-size": "fetch.min.bytes",
    "group-id": "group.id",
    "heartbeat-interval": "heartbeat.interval.ms",
    "isolation-level": "isolation.level",
    "key-deserializer": "key.deserializer",
    "max-poll-interval": "max.poll.interval.ms",
    "max-poll-records": "max.poll.records",
    "value-deserializer": "value.deserializer",
}
_COMMON = ("bootstrap-servers", "client-id")
_SPRING_ELSEWHERE = ("properties", "security", "ssl")
_CONSUMER, _KAFKA = "spring.kafka.consumer.", "spring.kafka."
_PASSED_ON = (f"{_CONSUMER}properties.", f"{_KAFKA}properties.")
_SQUASHED = {name.replace("-", ""): name for name in _SPRING}

_PREFIX = re.compile(
    r"(.+\.)?(properties|configuration|consumer|consumer\.override|consumers\.[^.]+|incoming\.[^.]+|kafka)\.", re.I
)
_NOT_CONSUMERS = re.compile(r"(?<![a-z])(producers?|outgoing|admin|streams)(?![a-z])", re.IGNORECASE)
_VARIABLE = re.compile(r"(?:.*\.)?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)")
_BY_VARIABLE = {name.replace(".", "_").upper(): name for name in (*CONSUMER_KEYS, *ELSEWHERE, *OLD_CONSUMER)}
_OF_KAFKA = {"KAFKA", "CONSUMER"}
_DEFAULT = re.compile(r"\$\{(?:[A-Z][A-Z0-9_]*|[a-z][\w-]*\.[\w.-]+):-?(.*)\}")
_FILLED_IN = re.compile(r"\$\{.*\}|\$\(.*\)|\$[A-Za-z_]\w*|\{\{.*\}\}|%\(.*\)s|@.*@")


def respelt(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield settings under Kafka's names where they have one, and values as passed to the client."""
    for number, name, value in lines:
        if name == "export" and "=" in value:  # a line of a shell script
            name, _, value = value.partition("=")
        key = kafka_name(name)
        yield (number, name, value) if key is None else (number, key, _value(name, key, value))


def kafka_name(name: str) -> str | None:
    """Return Kafka's name of a setting in another spelling; None for Kafka's own names, and other settings."""
    if name in _BY_VARIABLE.values() or _NOT_CONSUMERS.search(name.replace("_", ".")):
        return None
    plain = re.sub(r"\.?\[(.+)\]$", r".\1", name)
    return _by_spring(_kebab(plain)) or _by_prefix(plain) or _by_variable(name)


def is_filled_in(value: object) -> bool:
    """Return whether a value is a placeholder, replaced before the client reads it."""
    return _FILLED_IN.fullmatch(str(value).strip()) is not None


def unknown_to_spring(name: str) -> str | None:
    """Return Kafka's name for a name that looks like Spring Boot's but has no effect there."""
    last = _kebab(name).removeprefix(_CONSUMER)
    if last == name or last in _SPRING or last.split(".")[0] in _SPRING_ELSEWHERE:
        return None
    dotted = last.replace("-", ".")
    return next((key for key in (dotted, f"{dotted}.ms") if key in CONSUMER_KEYS), None)


def flat(document: Document) -> Iterator[Line]:
    """Yield the leaves of a YAML file as settings: dots join levels, and a `name` and `value` in a list are one."""
    return _leaves(document, (), document.data)


def _leaves(document: Document, path: tuple[str | int, ...], here: object) -> Iterator[Line]:
    if isinstance(here, dict) and "name" in here and "value" in here and isinstance(path[-1] if path else "", int):
        yield _leaf(document, (*path, "value"), str(here["name"]), here["value"])
    elif isinstance(here, dict):
        for name, value in here.items():
            yield from _leaves(document, (*path, name), value)
    elif isinstance(here, list) and any(isinstance(one, dict | list) for one in here):
        for index, value in enumerate(here):
            yield from _leaves(document, (*path, index), value)
    else:
        yield _leaf(document, path, ".".join(str(part) for part in path), here)


def _leaf(document: Document, path: tuple[str | int, ...], name: str, value: object) -> Line:
    text = ",".join(map(str, value)) if isinstance(value, list) else str(getattr(value, "text", value))
    text = text.lower() if isinstance(value, bool) else "" if value is None else text
    return document.at_key(path).line, name, WITHHELD if is_secret(name) else text


def _value(name: str, key: str, value: str) -> str:
    """Return the value that the client gets."""
    text = value.strip()
    if _VARIABLE.fullmatch(name) and len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    default = _DEFAULT.fullmatch(text)
    text = default[1] if default else text
    if (_by_spring(_kebab(name)) or name.startswith("SPRING_KAFKA_")) and key.endswith(".ms") and not text.isdecimal():
        text = _milliseconds(text)
    return text.lower().replace("-", "_") if key == "isolation.level" else text


def _milliseconds(text: str) -> str:
    """Return a duration of Spring Boot, `10s` or `PT10S`, in milliseconds; other texts as written."""
    try:
        return str(parse_duration(text.lower().removeprefix("pt")) // 1_000)
    except ValueError:
        return text


def _kebab(name: str) -> str:
    """Return a name as Spring Boot binds it: `maxPollRecords` and `max_poll_records` as `max-poll-records`."""
    if not name.startswith(_KAFKA) or name.startswith(_PASSED_ON):
        return name
    head, _, last = name.rpartition(".")
    apart = re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", last)
    return f"{head}.{apart.replace('_', '-').lower()}"


def _by_spring(name: str) -> str | None:
    passed_on = next((name.removeprefix(prefix) for prefix in _PASSED_ON if name.startswith(prefix)), None)
    if passed_on is not None:
        return passed_on
    own, common = name.removeprefix(_CONSUMER), name.removeprefix(_KAFKA)
    if own != name:
        return _SPRING.get(own)
    return _SPRING[common] if common != name and common in _COMMON else None


def _by_prefix(name: str) -> str | None:
    ends = (place + 1 for place, letter in enumerate(name) if letter == ".")
    rests = (name[end:] for end in ends if _PREFIX.fullmatch(name[:end]))
    return next((rest for rest in rests if rest in CONSUMER_KEYS or rest in ELSEWHERE), None)


def _by_variable(name: str) -> str | None:
    match = _VARIABLE.fullmatch(name)
    if match is None:
        return None
    last = re.sub(r"^SPRING_KAFKA_(CONSUMER_)?", "", match[1])
    if last != match[1] and (own := _SQUASHED.get(last.replace("_", "").lower())) is not None:
        return _SPRING[own]
    parts = match[1].split("_")
    firsts = range(len(parts) - 1) if _OF_KAFKA & set(parts) else (0,)  # AWS_SECURITY_GROUP_ID is no group.id
    endings = ("_".join(parts[first:]) for first in firsts)
    return next((_BY_VARIABLE[ending] for ending in endings if ending in _BY_VARIABLE), None)
