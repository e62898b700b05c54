"""Rules about names of settings: keys of another owner, too new, removed, misspelt or repeated.

They check a client's own configuration. In a scenario Kafka's names hold for each library, and
the loader refuses an unknown name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from groupsim.members.keys import SECRET_PREFIXES
from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING
from groupsim.scenarios.lint.librdkafka_keys import LIBRDKAFKA_KEYS, UNLISTED, UNLISTED_ENDS, LibrdkafkaKey
from groupsim.scenarios.lint.places import (
    ELSEWHERE,
    JAVA_DEPRECATED,
    JAVA_GONE,
    JAVA_KEYS,
    JAVA_SINCE,
    LIBRDKAFKA_FOR_JAVA,
    OLD_CONSUMER,
    Version,
)
from groupsim.scenarios.lint.rule import Hit, Rule
from groupsim.scenarios.lint.spellings import unknown_to_spring
from groupsim.scenarios.lint.view import ClientView

#: What a library does with an unknown name, unless it ignores it: severity and reason.
_REFUSALS: Mapping[str, tuple[str, str]] = {
    "librdkafka": (ERROR, "librdkafka refuses an unknown property: creating the consumer fails"),
    "kafka-python": (ERROR, "KafkaConsumer raises KafkaConfigurationError (Unrecognized configs)"),
    "aiokafka": (ERROR, "AIOKafkaConsumer raises TypeError (unexpected keyword argument)"),
    "sarama": (WARNING, "sarama.Config has no field of this name: it has no effect, and the default holds"),
    "franz-go": (WARNING, "kgo has no option of this name: it has no effect, and the default holds"),
}
_LIKE = 0.86


def _known(view: ClientView, name: str) -> bool:
    """Return whether the library, in some version, has a key of this name (or ignores it as a binding's own)."""
    if name in view.client.profile.setting_names:
        return True
    if view.client.library == "java":
        return name in JAVA_KEYS or name.startswith(SECRET_PREFIXES)
    if view.client.library == "librdkafka":
        return name in LIBRDKAFKA_KEYS or name.startswith(UNLISTED) or name.endswith(UNLISTED_ENDS)
    return False


def _unlisted(view: ClientView) -> Iterator[str]:
    """Yield the names that the library does not have."""
    return (name for name in view.entries if not _known(view, name))


def _refusal(view: ClientView) -> dict[str, str]:
    """Return severity and reason of an unknown key: some libraries refuse it, others ignore it."""
    level, reason = _REFUSALS.get(view.client.library, ("", ""))
    return {"level": level, "reason": reason} if level else {}


def _elsewhere(view: ClientView, *kinds: str) -> Iterator[tuple[str, str]]:
    for name in _unlisted(view):
        kind = ELSEWHERE.get(name)
        if kind in kinds and not (name == "rebalance.timeout.ms" and not view.pasted):
            yield name, str(kind)


def _broker_key(view: ClientView) -> Iterator[Hit]:
    for name, _ in _elsewhere(view, "broker"):
        if view.client.library == "java" and name in OLD_CONSUMER:
            continue  # the Scala consumer had this key too
        remedy = f"remove it here; write it in the brokers' server.properties{_instead(name)}"
        yield Hit((name,), f"`{name}` is a broker setting: on a consumer it has no effect", remedy, **_refusal(view))


def _instead(name: str) -> str:
    """Name the consumer's setting for the same subject."""
    own = next((key for key in ("session.timeout.ms", "heartbeat.interval.ms") if name.endswith(key)), None)
    return f"; the consumer's setting is {own}" if own else ""


def _topic_key(view: ClientView) -> Iterator[Hit]:
    for name, _ in _elsewhere(view, "topic"):
        remedy = f"remove it here; kafka-configs --alter --entity-type topics --add-config {name}=…"
        yield Hit((name,), f"`{name}` is a topic's setting: on a consumer it has no effect", remedy, **_refusal(view))


def _producer_key(view: ClientView) -> Iterator[Hit]:
    for name, _ in _elsewhere(view, "producer"):
        yield Hit((name,), f"`{name}` is a producer's setting: this consumer ignores it", "remove it")
    for name in view.entries:
        key = _librdkafka(view, name)
        if key is not None and key.scope == "producer":
            own = LIBRDKAFKA_FOR_JAVA.get(name)
            remedy = f"write {own}" if own else "remove it"
            message = f"`{name}` is a producer property in librdkafka: the consumer ignores it"
            yield Hit((name,), message, remedy, level=WARNING if own else "")


def _framework_key(view: ClientView) -> Iterator[Hit]:
    for name, kind in _elsewhere(view, "Kafka Streams application", "Connect worker"):
        own = " set max.poll.interval.ms, which the consumer sends instead" if name.startswith("rebalance") else ""
        message = f"`{name}` is a setting of a {kind}: on a plain consumer it has no effect"
        yield Hit((name,), message, f"remove it;{own or ' write it in the configuration of that process'}")


def _foreign_key(view: ClientView) -> Iterator[Hit]:
    if not view.pasted:
        return
    for name in _unlisted(view):
        if name in ELSEWHERE or (view.client.library == "java" and name in OLD_CONSUMER):
            continue
        owner = _owner(name, view)
        if owner is not None:
            message = f"`{name}` is a name of {owner}: {view.client.library} has no such setting"
            yield Hit((name,), message, _own_name(view, name), **_refusal(view))


def _owner(name: str, view: ClientView) -> str | None:
    if name in JAVA_KEYS:
        return "the Java consumer"
    if name in LIBRDKAFKA_KEYS and not view.client.library.startswith(("kafka-python", "aiokafka")):
        return "librdkafka"
    if "_" in name and name.replace("_", ".") in JAVA_KEYS and view.client.library in ("java", "librdkafka"):
        return "the Python libraries"
    return None


def _own_name(view: ClientView, name: str) -> str:
    """Return the remedy: the library's own name, if it has one."""
    if view.client.library == "librdkafka" and name in LIBRDKAFKA_FOR_JAVA:
        own = LIBRDKAFKA_FOR_JAVA[name]
        return f"write {own}" if own else "remove it; librdkafka has no such setting"
    dotted = name.replace("_", ".")
    own = view.name(dotted)
    if own != name and (own in view.client.profile.setting_names or own in JAVA_KEYS):
        return f"write {own}"
    java = next((key for key, other in LIBRDKAFKA_FOR_JAVA.items() if other == name), None)
    if java and view.client.library == "java":
        return f"write {java}"
    return f"remove it, or name the client with --client (now {view.client.name})"


def _old_key(view: ClientView) -> Iterator[Hit]:
    if view.client.library == "java":
        for name in view.entries:
            if name in OLD_CONSUMER and not _known(view, name):
                own = OLD_CONSUMER[name]
                message = f"`{name}` was the Scala consumer's (0.8): the Java consumer ignores it"
                yield Hit((name,), message, f"write {own}" if own else "remove it; it has no successor")


def _too_new(view: ClientView) -> Iterator[Hit]:
    for name, since in _since(view):
        if view.client.before(*since):
            message = f"`{name}` came with {view.client.library} {shown(since)}; {view.client.name} does not have it"
            remedy = f"remove it, or upgrade to {shown(since)}"
            yield Hit((name,), message, remedy, **_refusal(view))


def _since(view: ClientView) -> Iterator[tuple[str, Version]]:
    for name in view.entries:
        if view.client.library == "java" and name in JAVA_SINCE:
            yield name, JAVA_SINCE[name]
        elif (key := _librdkafka(view, name)) is not None and key.since > (0, 11):
            yield name, key.since


def _librdkafka(view: ClientView, name: str) -> LibrdkafkaKey | None:
    """Return the property of librdkafka, if that is the client."""
    return LIBRDKAFKA_KEYS.get(name) if view.client.library == "librdkafka" and view.pasted else None


def _gone(view: ClientView) -> Iterator[Hit]:
    for name in view.entries:
        if view.client.library == "java" and name in JAVA_GONE:
            until, instead = JAVA_GONE[name]
        elif (key := _librdkafka(view, name)) is not None and key.until:
            until, instead = key.until, "remove it"
        else:
            continue
        if view.client.since(*until):
            yield Hit(
                (name,), f"`{name}` was removed in {view.client.library} {shown(until)}", instead, **_refusal(view)
            )


def _deprecated(view: ClientView) -> Iterator[Hit]:
    for name in view.entries:
        if view.client.library == "java" and name in JAVA_DEPRECATED:
            since, instead = JAVA_DEPRECATED[name]
            if view.client.since(*since) and view.client.before(*JAVA_GONE[name][0]):
                yield Hit((name,), f"`{name}` is deprecated since Java {shown(since)}", instead)
        elif (key := _librdkafka(view, name)) is not None and key.deprecated:
            remedy = "write enable.auto.commit" if name == "auto.commit.enable" else "remove it"
            yield Hit((name,), f"`{name}` is deprecated in librdkafka", remedy)


def _misspelt(view: ClientView) -> Iterator[Hit]:
    if not view.pasted:
        return
    names = _all_names(view)
    for name in unknown_keys(view):
        near = get_close_matches(name.lower(), names, 1, _LIKE)
        if near and near[0] != name:
            whose = "the Java consumer" if view.client.library == "java" else view.client.library
            message = f"`{name}` is not a setting of {whose}"
            yield Hit((name,), message, f"did you mean {near[0]}?", **_refusal(view))


def _spring(view: ClientView) -> Iterator[Hit]:
    for name in view.entries if view.pasted else ():
        key = unknown_to_spring(name)
        if key is not None:
            message = f"`{name}` is not a name of Spring Boot: it has no effect, and the default holds"
            yield Hit((name,), message, f"write spring.kafka.consumer.properties.{key}")


def unknown_keys(view: ClientView) -> Iterator[str]:
    """Yield the names that no table has."""
    elsewhere = (name for name in _unlisted(view) if name not in ELSEWHERE and name not in OLD_CONSUMER)
    return (name for name in elsewhere if not _owner(name, view))


def _all_names(view: ClientView) -> list[str]:
    own = {"java": JAVA_KEYS, "librdkafka": tuple(LIBRDKAFKA_KEYS)}.get(view.client.library, ())
    return [*view.client.profile.setting_names, *own]


def _repeated(view: ClientView) -> Iterator[Hit]:
    for name, first in view.repeated.items():
        message = f"`{name}` appears twice; the one in line {first.place.line} has no effect"
        yield Hit((name,), message, "keep one of them")


def shown(version: Version) -> str:
    """Write a version with dots."""
    return ".".join(str(part) for part in version)


_LIB_CONFIG = "CONFIGURATION.md of librdkafka; rd_kafka_conf_set"
RULES: tuple[Rule[ClientView], ...] = (
    Rule(
        "broker-key-on-client",
        WARNING,
        "a broker's setting in a consumer's configuration",
        "the consumer ignores it with a line in its log; the broker never gets it",
        "corda/corda-runtime-os#3964; AbstractConfig.logUnused",
        _broker_key,
    ),
    Rule(
        "topic-key-on-client",
        WARNING,
        "a topic's setting in a consumer's configuration",
        "the consumer ignores it with a line in its log; the topic keeps its own",
        "TopicConfig; AbstractConfig.logUnused",
        _topic_key,
    ),
    Rule(
        "producer-key-on-consumer",
        NOTE,
        "a producer's setting in a consumer's configuration",
        "harmless in a file shared with a producer, without effect on the consumer",
        "ProducerConfig; rd_kafka_conf_warn (`… property and will be ignored`)",
        _producer_key,
    ),
    Rule(
        "framework-key-on-consumer",
        WARNING,
        "a setting of Kafka Streams or Connect in a plain consumer's configuration",
        "the consumer ignores it: the Java consumer sends max.poll.interval.ms as its rebalance timeout",
        "KIP-62; StreamsConfig, DistributedConfig",
        _framework_key,
    ),
    Rule(
        "key-of-another-library",
        WARNING,
        "a setting under another library's name (librdkafka and the Python clients: error)",
        "a library ignores unknown names, and its default holds",
        f"argoproj/argo-events#2358; {_LIB_CONFIG}",
        _foreign_key,
    ),
    Rule(
        "old-consumer-key",
        WARNING,
        "a setting of the Scala consumer of 0.8",
        "that consumer kept its groups in ZooKeeper and was removed in 2.0",
        "KAFKA-2983; ConsumerConfig of 0.9",
        _old_key,
    ),
    Rule(
        "key-too-new",
        WARNING,
        "a setting newer than the client (librdkafka: error)",
        "an older client ignores it and keeps its old behaviour",
        f"ConsumerConfig of the release branches; {_LIB_CONFIG}",
        _too_new,
    ),
    Rule(
        "key-gone",
        WARNING,
        "a setting the client no longer has (librdkafka: error)",
        "the client ignores it and keeps its new behaviour",
        "KIP-830, KIP-1092; CONFIGURATION.md of librdkafka 1.7",
        _gone,
    ),
    Rule(
        "key-deprecated",
        NOTE,
        "a deprecated setting",
        "it still works, or has no effect any more, and a later release may refuse it",
        f"KIP-830; {_LIB_CONFIG}",
        _deprecated,
    ),
    Rule(
        "misspelt-key",
        WARNING,
        "an unknown name, similar to one of the library (librdkafka and the Python clients: error)",
        "the Java consumer only logs unknown names, and the default holds",
        "AbstractConfig.logUnused; rd_kafka_conf_set",
        _misspelt,
    ),
    Rule(
        "unknown-to-spring",
        WARNING,
        "a name that looks like one of Spring Boot's, but is not",
        "Spring Boot ignores names that it does not bind; settings without a name of its own go below `properties`",
        "Spring Boot: KafkaProperties.Consumer",
        _spring,
    ),
    Rule(
        "repeated-key",
        WARNING,
        "the same setting twice in one file",
        "the last one wins, without a warning",
        "java.util.Properties",
        _repeated,
    ),
)
