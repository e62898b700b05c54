"""Write the scenario: every value with its source, every guess with its question.

A line `# ? …` asks for a fact that the files lack; the value below it is a guess, with which the scenario runs.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupsim.coordinator.base.versions import BASELINE
from groupsim.scenarios.drafting.facts import BrokerFacts, Fact, Topic
from groupsim.scenarios.drafting.groups import members_of, write_groups
from groupsim.scenarios.drafting.guesses import BROKERS, GUESSES, PARTITIONS
from groupsim.scenarios.drafting.plan import Group, Plan
from groupsim.scenarios.drafting.sheet import Sheet, scalar
from groupsim.scenarios.drafting.timeline import run_for_s, write_timeline
from groupsim.scenarios.language.data_values import SETTINGS, BrokerProperties, TopicProperties
from groupsim.scenarios.language.problems import Place
from groupsim.scenarios.language.properties import is_secret

RACKS = ("a", "b", "c")
"""Names for the zones of a cluster with `rack`."""


def text_of(plan: Plan, files: Sequence[str]) -> str:
    """Return the text of the scenario."""
    sheet = Sheet()
    subscribed = {group.id: _read_by(group, plan) for group in plan.groups}
    _head(sheet, plan, files)
    _brokers(sheet, plan)
    _topics(sheet, plan, subscribed)
    sheet.blank()
    write_groups(sheet, plan.groups, subscribed)
    sheet.blank()
    write_timeline(sheet, plan.groups)
    sheet.blank()
    sheet.open(0, "expect")
    for group in plan.groups:
        sheet.item("every-partition-owned", f"{{group: {scalar(group.id)}}}")
    return sheet.text


def _read_by(group: Group, plan: Plan) -> tuple[str, ...]:
    """Return the topics of a group: those it names, else those declared, else one named after the group."""
    named = tuple(topic.value for topic in group.topics)
    return named or tuple(topic.name for topic in plan.topics) or (f"{_as_topic(group.id)}-input",)


def _as_topic(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in name)


def _head(sheet: Sheet, plan: Plan, files: Sequence[str]) -> None:
    sheet.note(0, f"Written by `groupsim init {shlex.join(files)}`. A comment beside a value is the place it is from.")
    sheet.note(0, "A line `# ?` asks what the files do not say; the value below it is a guess: correct it.")
    if plan.left_out:
        sheet.note(0, f"Not in it: {'; '.join(plan.left_out)}.")
    if plan.profiles:
        sheet.note(0, f"Profiles of the application: {', '.join(plan.profiles)} (`--profile NAME` takes one).")
    sheet.blank()
    names = ", ".join(pods.name for group in plan.groups for pods in group.pods)
    sheet.value(0, "title", scalar(f"A rollout of {names}"))
    sheet.value(0, "run-for", f"{run_for_s(plan.groups) // 60}m")
    sheet.blank()


def _brokers(sheet: Sheet, plan: Plan) -> None:
    brokers = plan.brokers or BrokerFacts("", Place(""))
    sheet.open(0, "broker")
    if brokers.version is None:
        sheet.ask(1, "version")
    sheet.value(1, "version", f'"{brokers.version.value if brokers.version else BASELINE}"', brokers.version or "")
    _config(sheet, 1, brokers.config, SETTINGS[BrokerProperties])
    sheet.open(0, "cluster")
    if brokers.count is None:
        sheet.ask(1, "brokers")
        replicas = [topic.replicas.value for topic in plan.topics if topic.replicas is not None]
        sheet.value(1, "brokers", str(max(BROKERS, *replicas, 0)))
    else:
        sheet.value(1, "brokers", str(brokers.count.value), brokers.count)
    if brokers.racks is not None:
        sheet.value(1, "racks", f"[{', '.join(RACKS)}]", f"{brokers.racks.source}: {brokers.racks.value}")
    sheet.blank()


def _topics(sheet: Sheet, plan: Plan, subscribed: Mapping[str, Sequence[str]]) -> None:
    declared = {topic.name: topic for topic in plan.topics}
    wanted = list(dict.fromkeys([*declared, *(name for names in subscribed.values() for name in names)]))
    read = {name for names in subscribed.values() for name in names}
    sheet.open(0, "topics")
    for name in wanted:
        topic = declared.get(name)
        sheet.open(1, scalar(name))
        if topic is None or topic.partitions is None:
            sheet.ask(2, "partitions", name)
            sheet.value(2, "partitions", str(max(PARTITIONS, _readers(name, plan, subscribed))))
        else:
            sheet.value(2, "partitions", str(topic.partitions.value), topic.partitions)
        _replicas(sheet, topic, plan.brokers)
        if topic is not None:
            _config(sheet, 2, topic.config, SETTINGS[TopicProperties])
        if name in read:
            sheet.ask(2, "rate", name)
            sheet.value(2, "rate", GUESSES["rate"].value)


def _readers(topic: str, plan: Plan, subscribed: Mapping[str, Sequence[str]]) -> int:
    """Return the number of members that read a topic."""
    readers = (pods for group in plan.groups if topic in subscribed[group.id] for pods in group.pods)
    return sum(members_of(pods)[0] for pods in readers)


def _replicas(sheet: Sheet, topic: Topic | None, brokers: BrokerFacts | None) -> None:
    if topic is None or topic.replicas is None:
        return
    count = brokers.count.value if brokers is not None and brokers.count is not None else None
    if count is not None and topic.replicas.value > count:
        words = f"{topic.replicas.source} is {topic.replicas.value}, and there are {count} brokers: which is right?"
        sheet.question(2, words)
        sheet.value(2, "replication", str(count))
    else:
        sheet.value(2, "replication", str(topic.replicas.value), topic.replicas)


def _config(sheet: Sheet, depth: int, config: Mapping[str, Fact[Any]], known: Iterable[str]) -> None:
    """Write settings by Kafka's names, and list those without effect."""
    kept = {name: fact for name, fact in config.items() if name in known and not is_secret(name)}
    if kept:
        sheet.open(depth, "properties")
    for name, fact in kept.items():
        sheet.value(depth + 1, name, scalar(fact.value), fact)
    unused = [fact.source for name, fact in config.items() if name not in kept and not name.startswith("KAFKA_")]
    if unused:
        sheet.note(depth, f"Without effect here: {', '.join(unused)}.")
