"""The real clients, and which profile has to do the same as each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from attrs import evolve, frozen

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import kafka_jars

from groupsim.protocol.messages.group import Api
from tests.interop.go import build as go_build
from tests.interop.java import build
from tests.twins import aiokafka, kafka_python, librdkafka
from tests.twins.consumer import franz_go
from tests.twins.consumer import librdkafka as consumer_librdkafka
from tests.twins.consumer.differs import OF_OLDER_JAVA
from tests.twins.story import Deed, Story

Unavailable = kafka_jars.Unavailable  #: a client cannot be had here
_CLOSE_OPTIONS = (4, 1)
_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


@frozen
class Client:
    """A client and its simulated twin. `command` starts the program of its applications (it raises
    `kafka_jars.Unavailable` where that cannot be had), `settings` says Kafka's settings in its words. Requests of the
    APIs `unseen` are not compared; of what applications go through, what begins with one of `hears` is; what errors
    are called is not if `loosely`, nor of which partition a question for one committed offset is if `unsorted`, nor a
    pause or a heartbeat without a change if `eventful`.
    `fitted`: a story as it plays it, None where it does not have the means. `apart_ms`: stories begin so far apart.
    `broker`: the release whose versions of requests it is offered. `protocol`: its group.protocol;
    mixed: classic, in consumer groups.
    """

    name: str
    profile: str
    command: Callable[[], Sequence[str]]
    settings: Callable[[Mapping[str, object]], Mapping[str, object]]
    unseen: frozenset[Api] = frozenset()
    hears: tuple[str, ...] = ("assigned", "revoked", "lost", "threw", "closed")
    loosely: bool = False
    unsorted: bool = False
    eventful: bool = False
    fitted: Callable[[Story], Story | None] = lambda story: story
    apart_ms: int = 50
    broker: str = "4.x"
    protocol: str = "classic"


def _java(properties: Mapping[str, object]) -> Mapping[str, object]:
    said = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in properties.items()}
    names = said["partition.assignment.strategy"].split(",")
    classes = ",".join(f"org.apache.kafka.clients.consumer.{_ASSIGNORS[name]}" for name in names)
    return {**said, "group.protocol": "classic", "partition.assignment.strategy": classes}


def _java_consumer(properties: Mapping[str, object]) -> Mapping[str, object]:
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in properties.items()}


def _without_close_options(story: Story) -> Story | None:
    """Before 4.1 `close` has no option to leave or to stay."""
    told = any(isinstance(rule, Deed) and "leave" in rule.given for rule in story.rules)
    return None if told else story


def _older_java(version: str, profile: str) -> Client:
    command = partial(build.command, "Twin", logs="off", version=version)
    fitted = _without_close_options if _release(version) < _CLOSE_OPTIONS else lambda story: story
    return Client(f"java-{version}", profile, command, _java, fitted=fitted)


def _release(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def old_java(version: str) -> Client:
    """Any release of Java's client; no profile is compared with all that it does."""
    return _older_java(version, "")


JAVA = Client(f"java-{kafka_jars.VERSION}", "java-4.x", lambda: build.command("Twin", logs="off"), _java)
#: The same client in groups of the consumer protocol, whose stories are `mixed.ALL`.
JAVA_MIXED = evolve(JAVA, name=f"{JAVA.name}-mixed", apart_ms=150, protocol="mixed")


def _in_consumer_protocol(client: Client) -> Client:
    """The same client with group.protocol=consumer, whose stories are `consumer.stories.ALL`."""
    return evolve(client, name=f"{client.name}-consumer", settings=_java_consumer, apart_ms=150, protocol="consumer")


def _older_java_consumer(version: str, profile: str) -> Client:
    """An older release with group.protocol=consumer.

    Recorded on a busy machine: requests and their order are compared, pauses and quiet heartbeats are not.
    """
    client = _in_consumer_protocol(_older_java(version, profile))
    differs = OF_OLDER_JAVA[profile]

    def fitted(story: Story) -> Story | None:
        own = client.fitted(story)
        return None if own is None else evolve(own, differs=differs.get(story.name, ""))

    return evolve(client, fitted=fitted, eventful=True)


#: Of the simulated consumer's profile `java-4.x`, as of the newest release alone.
JAVA_CONSUMER = _in_consumer_protocol(JAVA)
OLDER_JAVA_CONSUMERS = (_older_java_consumer("4.2.1", "java-4.2"), _older_java_consumer("4.0.2", "java-4.0"))
#: Older releases, and the profile that stands for each.
OLDER_JAVA = (
    _older_java("2.8.2", "java-2.8"),
    _older_java("3.1.2", "java-3.1"),
    _older_java("3.3.1", "java-3.3"),
    _older_java("3.5.2", "java-3.5"),
    _older_java("3.7.2", "java-3.7"),
    _older_java("3.9.1", "java-3.9"),
)
LIBRDKAFKA = Client(
    "librdkafka-2.16.1",
    "librdkafka-2.x",
    librdkafka.command,
    librdkafka.settings,
    frozenset({Api.FIND_COORDINATOR}),  # it asks twice or three times at first
    hears=("assigned", "revoked", "lost", "session", "threw", "closed"),
    loosely=True,  # its errors have names of its own
    fitted=librdkafka.fitted,
)
#: The same library with group.protocol=consumer.
LIBRDKAFKA_CONSUMER = evolve(
    LIBRDKAFKA,
    name=f"{LIBRDKAFKA.name}-consumer",
    profile="librdkafka-2.15",
    fitted=consumer_librdkafka.fitted,
    apart_ms=150,
    protocol="consumer",
    eventful=True,
)
#: Older releases of it, and the profile that stands for each.
OLDER_LIBRDKAFKA_CONSUMERS = tuple(
    evolve(
        LIBRDKAFKA_CONSUMER,
        name=f"librdkafka-{version}-consumer",
        command=librdkafka.command_of(version),
        profile=profile,
        fitted=consumer_librdkafka.fitted_of(version),
    )
    for version, profile in (("2.12.2", "librdkafka-2.12"), ("2.15.1", "librdkafka-2.15"))
)
#: Its errors have names of their own, and its callbacks are called for nothing, too.
_PYTHONIC = ("assigned", "revoked ", "lost", "closed")
_OF_ONE_LOCK_MS = 200  # all threads of a Python process take turns


def _kafka_python(release: str, profile: str, fitted: Callable[[Story], Story | None]) -> Client:
    return Client(
        f"kafka-python-{release}",
        profile,
        kafka_python.command(release),
        kafka_python.settings,
        hears=_PYTHONIC,
        fitted=fitted,
        apart_ms=_OF_ONE_LOCK_MS,
    )


#: franz-go as a member of the consumer protocol (`ServerSideBalancer`).
FRANZ_GO_CONSUMER = Client(
    "franz-go-1.22.2-consumer",
    "franz-go",
    go_build.command("twin"),
    _java_consumer,
    frozenset({Api.FIND_COORDINATOR}),
    hears=("assigned ", "revoked ", "lost ", "closed"),
    loosely=True,  # its errors have names of its own
    fitted=franz_go.fitted,
    apart_ms=150,
    protocol="consumer",
    eventful=False,
)
KAFKA_PYTHON_2_0 = _kafka_python("2.0.2", "kafka-python-2.x", kafka_python.fitted_2_0)
KAFKA_PYTHON_2_3 = _kafka_python("2.3.3", "kafka-python-2.3", kafka_python.fitted_2_3)
KAFKA_PYTHON_3 = _kafka_python("3.0.12", "kafka-python-3.x", kafka_python.fitted_3)
AIOKAFKA = Client(
    "aiokafka-0.14.0",
    "aiokafka",
    aiokafka.command,
    aiokafka.settings,
    hears=_PYTHONIC,
    unsorted=True,
    fitted=aiokafka.fitted,
    apart_ms=_OF_ONE_LOCK_MS,
)
