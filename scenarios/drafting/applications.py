"""Read the consumer of an application's settings: its group, its topics, Kafka's settings, and Spring's listener.

Settings are read under Kafka's names by the linter's `spellings`: Spring Boot, other frameworks' prefixes, variables of
containers. The tables below have the frameworks' own settings, and the usual names of variables for a
topic or a group.

Source: Spring Boot, KafkaProperties; Spring for Apache Kafka, ContainerProperties; Spring Cloud Stream, binding
properties; SmallRye, Kafka connector.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from attrs import field

from groupsim.protocol.values import frozen
from groupsim.scenarios.drafting.facts import Fact
from groupsim.scenarios.language.properties import is_secret
from groupsim.scenarios.lint.spellings import kafka_name, respelt

GROUP = "group.id"
#: Usual names of a setting with the group, beside Kafka's group.id.
_GROUPS = re.compile(
    r"(?:KAFKA_|APP_)?(?:CONSUMER_GROUP|GROUP|CONSUMER_GROUP_NAME|CONSUMERGROUP)"
    r"|spring\.cloud\.stream\.bindings\.[^.]+\.group|spring\.cloud\.stream\.default\.group"
)
#: Usual names of a setting with a topic to read.
_TOPICS = re.compile(
    r"(?:.*[._-])?topics?(?:[._-](?:names?|in|input|source|consumer))?|.*\btopics\.[\w-]+"
    r"|spring\.cloud\.stream\.bindings\.(?:input|[^.]+-in-\d+)\.destination",
    re.IGNORECASE,
)
#: Parts of a setting's name that mark a topic as written, or as the framework's own.
_WRITTEN = re.compile(
    r"producer|template|output|[._-]out(?:going)?(?:[._-]|$)|target|sink|dlq|dlt|dead|error|reply|result|admin|streams"
    r"|offsets?|config[._-]storage|status[._-]storage",
    re.IGNORECASE,
)
_TOPIC_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9._-]{1,249}")
_NO_NAME = ("true", "false")
_LISTENER = re.compile(r"spring[._]kafka[._]listener[._](.+)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][\w.-]*)(:-?[^{}]*)?\}")
_STREAMS = ("APPLICATION_ID", "application.id", "spring.kafka.streams.application-id")


@frozen
class Consumer:
    """A consumer as its settings describe it."""

    name: str = ""
    spring: bool = False
    group: Fact[str] | None = None
    topics: tuple[Fact[str], ...] = ()
    #: Kafka's names → values as passed to the client.
    settings: Mapping[str, Fact[str]] = field(factory=dict)
    #: `spring.kafka.listener.*`: the last part in kebab case → value.
    listener: Mapping[str, Fact[str]] = field(factory=dict)
    #: The application id of Kafka Streams, whose consumers are not drafted.
    streams: Fact[str] | None = None


def consumer_of(facts: Iterable[Fact[str]], env: Mapping[str, Fact[str]]) -> Consumer:
    """Return the consumer that settings describe; placeholders are replaced from `env`, then by their defaults."""
    written = list(facts)
    known = {**{fact.name: fact for fact in written}, **env}  # Spring also fills in a file's own settings
    filled = [Fact(_filled(fact.value, known), fact.place, fact.name) for fact in written]
    by_kafka = {
        key: Fact(value, fact.place, fact.name)
        for fact in filled
        for _, key, value in respelt([(fact.place.line, fact.name, fact.value)])
    }
    groups = [fact for fact in filled if _GROUPS.fullmatch(fact.name) is not None]
    return Consumer(
        name=next((fact.value for fact in filled if kebab(fact.name) == "spring.application.name"), ""),
        spring=any(fact.name.lower().replace("_", ".").startswith("spring.kafka.") for fact in filled),
        group=by_kafka.get(GROUP) or (groups[0] if groups else None),
        topics=tuple(_topics(filled)),
        settings={name: fact for name, fact in by_kafka.items() if name != GROUP},
        listener=dict(_listener(filled)),
        streams=next((fact for fact in filled if fact.name in _STREAMS), None),
    )


def over(upper: Consumer, lower: Consumer) -> Consumer:
    """Merge two sources of one application's settings; `upper` takes precedence."""
    return Consumer(
        name=upper.name or lower.name,
        spring=upper.spring or lower.spring,
        group=upper.group or lower.group,
        topics=upper.topics or lower.topics,
        settings={**lower.settings, **upper.settings},
        listener={**lower.listener, **upper.listener},
        streams=upper.streams or lower.streams,
    )


def mentions_kafka(facts: Iterable[Fact[str]]) -> bool:
    """Return whether settings name Kafka, or one of its settings."""
    return any("kafka" in fact.name.lower() or kafka_name(fact.name) is not None for fact in facts)


def is_placeholder(text: str) -> bool:
    """Return whether a part of the value comes from outside the files."""
    return any(mark in text for mark in ("${", "$(", "{{", "@{")) or text == ""


def kebab(name: str) -> str:
    """Return a name as Spring Boot binds it: `SPRING_KAFKA_LISTENER_ACK_MODE`, `spring.kafka.listener.ackMode`."""
    if name.isupper():
        return name.lower().replace("_", ".")
    apart = re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", name)
    return apart.lower()


def _filled(text: str, env: Mapping[str, Fact[str]]) -> str:
    """Replace placeholders with a known variable or a default; others stay."""

    def of(match: re.Match[str]) -> str:
        name = match[1]
        known = env.get(name) or env.get(name.upper().replace(".", "_").replace("-", "_"))
        if known is not None:
            return known.value
        default = match[2]
        return match[0] if default is None else default.lstrip(":").removeprefix("-")

    return _PLACEHOLDER.sub(of, text)


def _topics(facts: Iterable[Fact[str]]) -> Iterator[Fact[str]]:
    seen = set()
    for fact in facts:
        if _TOPICS.fullmatch(fact.name) is None or _WRITTEN.search(fact.name) or is_secret(fact.name):
            continue
        for name in (part.strip() for part in fact.value.split(",")):
            if _TOPIC_NAME.fullmatch(name) and name.lower() not in _NO_NAME and name not in seen:
                seen.add(name)
                yield Fact(name, fact.place, fact.name)


def _listener(facts: Iterable[Fact[str]]) -> Iterator[tuple[str, Fact[str]]]:
    for fact in facts:
        match = _LISTENER.fullmatch(fact.name)
        if match is not None:
            yield kebab(match[1]).replace(".", "-").replace("_", "-"), fact
