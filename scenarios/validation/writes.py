"""Warn of writes that fail: records too large for their producer or topic, commits without enough replicas.

Such a scenario runs, but writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.log import topic_config
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.members.producer.load import Sizes
from groupsim.members.producer.settings import ProducerSettings
from groupsim.members.producer.sizes import batch_bytes, serialized_bytes
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.model import ProducerSpec, Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import NOTE, WARNING, Problem
from groupsim.scenarios.plans.producers import producer_plans, settings_of

_FACTOR = "offsets.topic.replication.factor"
_IN_SYNC = "min.insync.replicas"
_NO_KEY = -1


def unwritable(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Yield warnings for replicated logs, at the size or setting that causes the failure."""
    for name, topic in scenario.topics.items():
        path: Path_ = ("topics", name)
        if not any(document.holds((*path, key)) for key in ("rate", "steps", "record-size")):
            continue  # only its producers write to it
        yield from _too_large(path, topic.record_size, _NO_KEY, ProducerSettings(), name, scenario, document)
    for plan in producer_plans(scenario, Path(document.file).parent):
        if plan.number == 1:
            try:
                settings, _ = settings_of(plan.properties())
            except (OSError, ValueError):
                continue  # reported by validation/producers.py
            spec, path = plan.spec, ("producers", plan.key)
            yield from _too_large(path, spec.record_size, _key(spec), settings, spec.topic, scenario, document)
    yield from _offsets(scenario, document)


def _key(spec: ProducerSpec) -> int:
    """Return the bytes of the longest key."""
    return _NO_KEY if spec.keys is None else len(f"key-{spec.keys.count - 1}")


def _too_large(
    path: Path_,
    sizes: Sizes,
    key: int,
    settings: ProducerSettings,
    topic: str,
    scenario: Scenario,
    document: Document,
) -> Iterator[Problem]:
    """Compare record sizes with the producer's limits first, then with the topic's."""
    where = (*path, "record-size")
    place = document.at_key(where if document.holds(where) else path)
    many = "records" if sizes.constant else "the largest records"
    for setting, most in (
        ("max.request.size", settings.max_request_size),
        ("buffer.memory", settings.buffer_memory),
    ):
        size = serialized_bytes(key, sizes.most)
        if size > most:
            message = f"{many} of {size} bytes with their batch, more than `{setting}` ({most})"
            remedy = f"the producer throws RecordTooLargeException: write a smaller size, or raise `{setting}`"
            yield Problem(place, message, remedy, WARNING)
            return
    size, most = batch_bytes(1, key, sizes.most), _message_limit(topic, scenario)
    if size > most:
        message = f"{many} of {size} bytes with their batch, more than `max.message.bytes` of `{topic}` ({most})"
        remedy = "brokers refuse them (MESSAGE_TOO_LARGE): write a smaller size, or raise `max.message.bytes`"
        yield Problem(place, message, remedy, WARNING)


def _message_limit(topic: str, scenario: Scenario) -> int:
    """Return `max.message.bytes` of a topic: its own, the brokers' `message.max.bytes`, or Kafka's."""
    spec = scenario.topics.get(topic)
    own: Mapping[str, object] = spec.properties if spec is not None else {}
    for settings, name in ((own, "max.message.bytes"), (scenario.broker.properties, "message.max.bytes")):
        if name in settings:
            try:
                return topic_config({"max.message.bytes": str(settings[name])}).max_message_bytes
            except ValueError:
                break  # reported by the validation of settings
    return topic_config({}).max_message_bytes


def _offsets(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Check the replicas of `__consumer_offsets`: the factor, and min.insync.replicas."""
    brokers, settings = scenario.cluster.brokers, scenario.broker.properties
    factor = _number(settings.get(_FACTOR), ClusterConfig().offsets_replication_factor)
    if scenario.cluster.fresh and factor > brokers:
        message = f"`{OFFSETS_TOPIC}` is never created: `{_FACTOR}` is {factor}, and there are {brokers} brokers"
        remedy = (
            "FindCoordinator fails with COORDINATOR_NOT_AVAILABLE (INVALID_REPLICATION_FACTOR): write "
            f"`broker: {{{_FACTOR}: {brokers}}}`, or raise `cluster.brokers`"
        )
        yield Problem(document.at_key(("cluster", "fresh")), message, remedy, WARNING)
    elif _FACTOR in settings and factor > brokers:
        message = f"`{_FACTOR}` {factor} on {brokers} brokers: `{OFFSETS_TOPIC}` gets {brokers} replicas here"
        remedy = (
            "Kafka would not create it (INVALID_REPLICATION_FACTOR), and FindCoordinator would fail "
            f"with fewer than {factor} brokers: write {brokers}, or raise `cluster.brokers`"
        )
        yield Problem(document.at_key(broker_path(document, _FACTOR)), message, remedy, NOTE)
    replicas, least = min(factor, brokers), _number(settings.get(_IN_SYNC), 1)
    if least > replicas:
        message = f"`{_IN_SYNC}` {least} and {replicas} replicas of `{OFFSETS_TOPIC}`"
        remedy = (
            f"it counts as {replicas} here; before Kafka 3.7 no commit and no generation of a group is "
            f"acknowledged (KAFKA-15583): lower it, or raise `{_FACTOR}` and `cluster.brokers`"
        )
        yield Problem(document.at_key(broker_path(document, _IN_SYNC)), message, remedy, WARNING)


def _number(found: object, default: int) -> int:
    text = str(found)
    return int(text) if found is not None and text.isdecimal() else default


def broker_path(document: Document, setting: str) -> Path_:
    """Return the path of a broker's setting: beside `version`, or below `properties`."""
    nested: Path_ = ("broker", "properties", setting)
    return nested if document.holds(nested) else ("broker", setting)
