"""Lint the producers and topics of a scenario, and find its transactional topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.model import Scenario, TopicSpec
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.lint import engine
from groupsim.scenarios.lint.brokers import BrokerView, Written
from groupsim.scenarios.lint.producer_view import ProducerView
from groupsim.scenarios.lint.rule import LintFinding
from groupsim.scenarios.lint.rules.writes import LEAST, WriteView
from groupsim.scenarios.plans.clusters import is_replicated
from groupsim.scenarios.plans.members import plans
from groupsim.scenarios.plans.producers import producer_plans, transforming_properties
from groupsim.scenarios.validation.producers import place_of
from groupsim.scenarios.validation.writes import broker_path


def of_writing(scenario: Scenario, document: Document, broker: BrokerView) -> Iterator[LintFinding]:
    """Yield the findings in the producers of a scenario and in the topics they write to."""
    views = tuple(_producers(scenario, document, broker))
    for view in views:
        yield from engine.of_producer(view)
    if is_replicated(scenario):
        for name, topic in scenario.topics.items():
            yield from engine.of_writes(_written_to(name, topic, scenario, document, broker, views))


def transactional_topics(scenario: Scenario, folder: Path) -> tuple[str, ...]:
    """Return the topics that producers of the scenario write in transactions."""
    found = [plan.spec.topic for plan in producer_plans(scenario, folder) if plan.properties().get("transactional.id")]
    found += [group.produces.to for group in scenario.groups.values() if group.produces is not None]
    return tuple(dict.fromkeys(found))


def _producers(scenario: Scenario, document: Document, broker: BrokerView) -> Iterator[ProducerView]:
    for plan in producer_plans(scenario, Path(document.file).parent):
        if plan.number == 1:
            yield _view(("producers", plan.key), plan.properties(), plan.key, plan.spec.topic, document, broker)
    for member in plans(scenario):
        produces = scenario.groups[member.group].produces
        if produces is not None and member.number == 1:
            path: Path_ = ("groups", member.group, "produces")
            properties = transforming_properties(member, produces)
            yield _view(path, properties, member.key, produces.to, document, broker)


def _view(
    path: Path_, properties: Mapping[str, object], name: str, topic: str, document: Document, broker: BrokerView
) -> ProducerView:
    place_at = partial(place_of, document, path)
    entries = {key: Written(value, place_at(key)) for key, value in properties.items()}
    return ProducerView(entries, broker, document.at_key(path), subject=name, topic=topic, place_at=place_at)


def _written_to(
    name: str,
    topic: TopicSpec,
    scenario: Scenario,
    document: Document,
    broker: BrokerView,
    producers: tuple[ProducerView, ...],
) -> WriteView:
    replicas = len(topic.replicas[0]) if topic.replicas else topic.replication
    own: Path_ = ("topics", name, "properties", LEAST)
    least = topic.properties.get(LEAST, scenario.broker.properties.get(LEAST))
    places = {LEAST: document.at_key(own if document.holds(own) else broker_path(document, LEAST))}
    theirs = tuple(one for one in producers if one.topic == name)
    weak = next((one for one in theirs if one.acks != -1 and "acks" in one.entries), None)
    if weak is not None:
        places["acks"] = weak.place_of(("acks",))
    return WriteView(
        name,
        replicas if replicas is not None else broker.number("default.replication.factor"),
        int(str(least)) if str(least).isdecimal() else None,
        broker,
        document.at_key(("topics", name)),
        theirs,
        places if least is not None else {key: place for key, place in places.items() if key != LEAST},
    )
