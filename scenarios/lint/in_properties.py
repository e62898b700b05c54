"""Lint properties: a client's own configuration, and a broker's server.properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from groupsim.coordinator.base.versions import BASELINE, parse_version
from groupsim.scenarios.language.clients import Client
from groupsim.scenarios.language.problems import Place, one_problem
from groupsim.scenarios.language.properties import entries
from groupsim.scenarios.lint import engine
from groupsim.scenarios.lint.brokers import BrokerView, Written
from groupsim.scenarios.lint.producer_view import ProducerView
from groupsim.scenarios.lint.rule import LintFinding
from groupsim.scenarios.lint.rules.names import unknown_keys
from groupsim.scenarios.lint.rules.writes import defaults_of
from groupsim.scenarios.lint.spellings import Line, is_filled_in, respelt
from groupsim.scenarios.lint.view import ClientView

#: Releases that changed the producer's defaults, the newest first.
_MAJORS = (4, 3)
_ONLY_PRODUCERS = frozenset({"acks", "key.serializer", "value.serializer", "transactional.id", "enable.idempotence"})
_WITH_KAFKAS_NAMES = ("java", "librdkafka")
_ONLY_CONSUMERS = ("group.id", "key.deserializer", "value.deserializer")


def lint_properties(text: str, file: str, client: Client, broker: BrokerView) -> tuple[LintFinding, ...]:
    """Lint a client's own configuration, written as key=value.

    Raises ScenarioError for another format.
    """
    return lint_settings(lines_of(text, file), file, client, broker)


def lines_of(text: str, file: str) -> list[Line]:
    """Return line, name and value of each setting of a .properties text. Raises ScenarioError for another format."""
    try:
        return list(entries(text))
    except ValueError as error:
        raise one_problem(file, str(error), "write key=value lines, or a scenario file") from None


def lint_settings(
    lines: Sequence[Line], file: str, client: Client, broker: BrokerView, *, for_target: bool = False
) -> tuple[LintFinding, ...]:
    """Lint a client's own configuration, from settings in any format.

    `for_target` applies the rules of a change to `migration.TARGET` instead.
    """
    judge = engine.for_target if for_target else engine.of_client
    return engine.ordered(judge(_view(lines, file, client, broker)))


def not_judged(lines: Sequence[Line], client: Client, broker: BrokerView) -> tuple[str, ...]:
    """Return the settings that no rule can check, as written: unknown names, and values with placeholders."""
    view = _view(lines, "", client, broker)
    found = {finding.place.line for finding in engine.of_client(view)}
    unchecked = {view.entries[name].place.line for name in unknown_keys(view)} - found
    unchecked |= {one.place.line for one in view.entries.values() if is_filled_in(one.value)}
    return tuple(name for line, name, _ in lines if line in unchecked)


def _view(lines: Sequence[Line], file: str, client: Client, broker: BrokerView) -> ClientView:
    _, repeated = _by_name(lines, file)
    settings, _ = _by_name(respelt(lines) if client.library in _WITH_KAFKAS_NAMES else lines, file)
    return ClientView(client, settings, broker, Place(file), repeated=repeated)


def lint_producer(text: str, file: str, client: Client, broker: BrokerView) -> tuple[LintFinding, ...]:
    """Lint a Java producer's own configuration, written as key=value.

    Raises ScenarioError for another format.
    """
    settings, _ = _read(text, file)
    named = client.low > (0,)
    major = next((first for first in _MAJORS if not named or client.since(first)), 0)
    return engine.ordered(engine.of_producer(ProducerView(settings, broker, Place(file), (major, 0))))


def is_producers(text: str) -> bool:
    """Return whether properties are a producer's: they have its settings, and no consumer's."""
    try:
        names = {key for _, key, _ in entries(text)}
    except ValueError:
        return False
    return bool(names & _ONLY_PRODUCERS) and not names & set(_ONLY_CONSUMERS)


def broker_of(
    version: str | None = None, text: str = "", file: str = "broker", more: Mapping[str, str] | None = None
) -> BrokerView:
    """Return the broker of a client: its version, a server.properties, and single settings that override it.

    Raises ValueError for an invalid version of Kafka, ScenarioError for text that is not properties.
    """
    if version is not None:
        parse_version(version)
    settings, _ = _read(text, file)
    extra = {key: Written(value, Place("--set")) for key, value in (more or {}).items()}
    return BrokerView(Place(file), version or BASELINE, {**settings, **extra}, version_given=version is not None)


def lint_broker(broker: BrokerView) -> tuple[LintFinding, ...]:
    """Lint the broker's settings alone."""
    topic = defaults_of(broker)
    found = [*engine.of_broker(broker), *(engine.of_writes(topic) if topic is not None else ())]
    return engine.ordered(found) if broker.settings else ()


def _read(text: str, file: str) -> tuple[dict[str, Written], dict[str, Written]]:
    """Return the settings by name, and for repeated names the value that is overridden."""
    return _by_name(lines_of(text, file), file)


def _by_name(lines: Iterable[Line], file: str) -> tuple[dict[str, Written], dict[str, Written]]:
    found: dict[str, Written] = {}
    repeated: dict[str, Written] = {}
    for line, key, value in lines:
        if key in found:
            repeated[key] = found[key]
        found[key] = Written(value, Place(file, line, 1))
    return found, repeated
