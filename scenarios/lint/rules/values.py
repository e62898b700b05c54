"""Rules about single values: invalid, outside the library's range, or an assignor that it does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from groupsim.members.keys import JAVA_ASSIGNORS
from groupsim.scenarios.language.problems import ERROR, WARNING
from groupsim.scenarios.lint.librdkafka_keys import LIBRDKAFKA_KEYS
from groupsim.scenarios.lint.places import Version
from groupsim.scenarios.lint.rule import Hit, Rule
from groupsim.scenarios.lint.view import ClientView

#: Assignors that a library ships, with their first versions.
SHIPPED: Mapping[str, Mapping[str, Version]] = {
    "java": {"range": (0, 9), "roundrobin": (0, 9), "sticky": (0, 11), "cooperative-sticky": (2, 4)},
    "librdkafka": {"range": (0,), "roundrobin": (0,), "cooperative-sticky": (1, 6)},
    "kafka-python": {"range": (0,), "roundrobin": (0,), "sticky": (2, 0), "cooperative-sticky": (3,)},
    "aiokafka": {"range": (0,), "roundrobin": (0,), "sticky": (0,)},
    "sarama": {"range": (0,), "roundrobin": (0,), "sticky": (0,)},
    "franz-go": {"range": (0,), "roundrobin": (0,), "sticky": (0,), "cooperative-sticky": (0,)},
}
_BUILT_IN = ("range", "roundrobin", "sticky", "cooperative-sticky")
_STRATEGY = "partition.assignment.strategy"
_NEARLY = 0.8  # how similar a misspelt short name must be to a known one


def _impossible(view: ClientView) -> Iterator[Hit]:
    for name, error in view.impossible.items():
        reason = _REFUSED.get(view.client.library, "") if view.pasted else ""
        comment = "a comment needs a line of its own" if view.pasted and " #" in str(error.value) else ""
        yield Hit((name,), f"`{name}` = {error.value}: {error.problem}", comment or error.remedy, reason=reason)


_REFUSED = {
    "java": "the client refuses it when it is created (ConfigException)",
    "librdkafka": "librdkafka refuses it: creating the consumer fails (rd_kafka_conf_set)",
}


def _without_unit(view: ClientView) -> Iterator[Hit]:
    for name, text in view.without_unit:
        message = f"{name} = {text} is {text} nanosecond{'' if text == '1' else 's'} in Go"
        remedy = f"write a unit: {text}ms or {text}s, in code {text}*time.Millisecond or {text}*time.Second"
        yield Hit((name,), message, remedy)


def _quoted(view: ClientView) -> Iterator[Hit]:
    if not view.pasted:
        return
    for name, entry in view.entries.items():
        text = str(entry.value)
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and name not in view.impossible:
            yield Hit((name,), f"`{name}`: the quotes become part of the value", "write the value without them")


def _out_of_range(view: ClientView) -> Iterator[Hit]:
    if view.client.library != "librdkafka" or not view.pasted:
        return
    for name, entry in view.entries.items():
        key, text = LIBRDKAFKA_KEYS.get(name), str(entry.value).strip()
        if key is None or key.low is None or key.high is None or not text.removeprefix("-").isdecimal():
            continue
        if not key.low <= int(text) <= key.high and name not in view.impossible:
            message = f"`{name}` = {text} is outside librdkafka's {key.low} to {key.high}"
            yield Hit((name,), message, f"write {max(key.low, min(key.high, int(text)))}")


def _needs_class(view: ClientView) -> Iterator[Hit]:
    written = view.entries.get(_STRATEGY)
    if view.client.library != "java" or not view.pasted or written is None:
        return
    classes = {short: name for name, short in JAVA_ASSIGNORS.items()}
    for name in (part.strip() for part in str(written.value).split(",")):
        meant = get_close_matches(
            name.lower(), classes, n=1, cutoff=_NEARLY
        )  # other names may be the user's own classes
        if meant:
            message = f"`{_STRATEGY}` = {name}: the Java consumer needs a class name"
            yield Hit((_STRATEGY,), message, f"write {classes[meant[0]]}")


def _no_such_assignor(view: ClientView) -> Iterator[Hit]:
    shipped = SHIPPED.get(view.client.library)
    if shipped is None or not view.written(_STRATEGY) or not view.classic:
        return
    for name in view.assignors:
        java_class = view.client.library != "java" and name in JAVA_ASSIGNORS.values() and _as_class(view, name)
        if java_class:
            yield Hit((_STRATEGY,), f"{view.client.library} has no Java classes", f"write {name}")
        elif name in _BUILT_IN and (name not in shipped or view.client.before(*shipped[name])):
            message = f"{view.client.name} has no assignor `{name}`"
            yield Hit((_STRATEGY,), message, f"write one of {', '.join(_available(view, shipped))}")


def _as_class(view: ClientView, short: str) -> bool:
    written = view.entries.get(view.name(_STRATEGY))
    return (
        view.pasted
        and written is not None
        and f"org.apache.kafka.clients.consumer.{_class(short)}" in str(written.value)
    )


def _class(short: str) -> str:
    return next(name.rpartition(".")[2] for name, own in JAVA_ASSIGNORS.items() if own == short)


def _available(view: ClientView, shipped: Mapping[str, Version]) -> list[str]:
    return [name for name, since in shipped.items() if not view.client.before(*since)]


RULES: tuple[Rule[ClientView], ...] = (
    Rule(
        "impossible-value",
        ERROR,
        "a value that the client cannot read",
        "the client refuses it when it is created",
        "ConfigDef.parseType and validators of ConsumerConfig; rd_kafka_conf_set",
        _impossible,
    ),
    Rule(
        "duration-without-unit",
        WARNING,
        "a bare number for a Go duration",
        "time.Duration counts nanoseconds: a timeout of a few nanoseconds ends at once",
        "Go: time.Duration; sarama.Config, kgo options",
        _without_unit,
    ),
    Rule(
        "quoted-value",
        WARNING,
        "quotes around a value",
        "a .properties file has no quotes: they become part of a group id or host name",
        "java.util.Properties.load",
        _quoted,
    ),
    Rule(
        "librdkafka-range",
        ERROR,
        "a number outside librdkafka's range",
        "librdkafka refuses it: creating the consumer fails",
        "CONFIGURATION.md of librdkafka, column Range",
        _out_of_range,
    ),
    Rule(
        "assignor-needs-class",
        ERROR,
        "an assignor's short name where Java needs a class name",
        "ConfigException: the class could not be found; short names are librdkafka's",
        "ConsumerConfig (Type.LIST of classes); ConsumerPartitionAssignor.getAssignorInstances",
        _needs_class,
    ),
    Rule(
        "no-such-assignor",
        ERROR,
        "an assignor that the library does not have",
        "the client refuses it when it is created, or needs an implementation",
        "KIP-54 (sticky, 0.11), KIP-429 (cooperative, 2.4); rdkafka_assignor.c (1.6)",
        _no_such_assignor,
    ),
)
