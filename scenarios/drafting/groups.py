"""Write the part `groups` of a drafted scenario: members, and the settings of their consumers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from groupsim.members.keys import CONSUMER_KEYS, KeyType
from groupsim.members.settings import SettingError, parse_value
from groupsim.scenarios.drafting.applications import Consumer, is_placeholder
from groupsim.scenarios.drafting.facts import POD_NAME, Fact
from groupsim.scenarios.drafting.guesses import GUESSES, MEMBERS
from groupsim.scenarios.drafting.plan import Group, Pods
from groupsim.scenarios.drafting.sheet import Sheet, names, scalar
from groupsim.scenarios.drafting.spring import commit_of, concurrency_of, polls_of
from groupsim.scenarios.language.properties import WITHHELD, is_secret
from groupsim.scenarios.lint.places import OLD_CONSUMER
from groupsim.scenarios.lint.spellings import kafka_name

#: Settings for which a scenario has its own keys.
_OWN = ("client.id", "group.instance.id")
#: Settings of every consumer, which need no comment.
_EXPECTED = ("bootstrap.servers", "key.deserializer", "value.deserializer", "metadata.broker.list")
#: Settings that cause a question if a Secret or a missing ConfigMap has their value.
_ASKED = tuple(name for name, key in CONSUMER_KEYS.items() if key.effect)
#: Values of the consumer of 0.8 → today's values.
_OLD_VALUES = {("auto.offset.reset", "smallest"): "earliest", ("auto.offset.reset", "largest"): "latest"}


def write_groups(sheet: Sheet, groups: Sequence[Group], subscribed: Mapping[str, Sequence[str]]) -> None:
    """Write all groups; `subscribed` has the topics of each."""
    sheet.open(0, "groups")
    for group in groups:
        if group.fact is None:
            sheet.ask(1, "group", " and ".join(one.name for one in group.pods))
        elif is_placeholder(group.fact.value):
            sheet.question(1, f"The group is `{group.fact.value}` ({group.fact.source}): which value is filled in?")
        sheet.open(1, scalar(group.id), group.fact or "")
        if not group.topics:
            sheet.ask(2, "topic")
        sheet.value(2, "subscribe", names(subscribed[group.id]), group.topics[0] if group.topics else "")
        alone = len(group.pods) == 1
        for pods in group.pods:
            _unknown_values(sheet, pods)
        if alone:
            _application(sheet, 2, group.pods[0].consumer, members_of(group.pods[0])[0])
        sheet.open(2, "members")
        for pods in group.pods:
            _members(sheet, pods, alone=alone)


def members_of(pods: Pods) -> tuple[int, str]:
    """Return the number of members of a workload, and its source."""
    workload, concurrency = pods.workload, concurrency_of(pods.consumer)
    times = concurrency.value if concurrency is not None else 1
    if workload is None:
        return MEMBERS * times, "" if concurrency is None else f"{MEMBERS} pods, times {concurrency.source}"
    replicas, least = workload.replicas, pods.autoscaler.minimum if pods.autoscaler is not None else None
    if replicas is not None and replicas.value:
        count, words = replicas.value, replicas.source
    elif least is not None and least.value:
        count, words = least.value, least.source
    else:
        count, words = 1, "spec.replicas: Kubernetes' default" if replicas is None else f"{replicas.source} is 0"
    return count * times, words + (f", times {concurrency.source}" if concurrency is not None else "")


def _unknown_values(sheet: Sheet, pods: Pods) -> None:
    """Ask for settings whose values no file contains."""
    for fact in pods.workload.unknown if pods.workload is not None else ():
        if fact.value.startswith("ConfigMap ") or kafka_name(fact.value) in _ASKED:
            what = f"{fact.value} ({Path(fact.place.file).name}:{fact.place.line})"
            sheet.question(2, f"{what} is in no file: what does it set of the consumer?")


def _members(sheet: Sheet, pods: Pods, *, alone: bool) -> None:
    count, words = members_of(pods)
    if pods.workload is None:
        sheet.ask(3, "members")
    if alone:
        sheet.value(3, scalar(pods.name), str(count), words)
        return
    sheet.open(3, scalar(pods.name))
    sheet.value(4, "count", str(count), words)
    _application(sheet, 4, pods.consumer, count)


def _application(sheet: Sheet, depth: int, consumer: Consumer, count: int) -> None:
    """Write the settings of the application, for a group or for one of several kinds of members."""
    _client(sheet, depth, consumer)
    _identity(sheet, depth, consumer, count)
    _properties(sheet, depth, consumer)
    if consumer.spring:
        commit, why = commit_of(consumer)
        if commit:
            sheet.value(depth, "commit", commit, why)
        for key, value, source in polls_of(consumer):
            sheet.value(depth, key, value, source)
    elif (auto := consumer.settings.get("enable.auto.commit")) is not None and auto.value.lower() == "false":
        sheet.ask(depth, "commit")
        sheet.value(depth, "commit", GUESSES["commit"].value)
    sheet.ask(depth, "processing")
    sheet.value(depth, "processing", GUESSES["processing"].value)


def _client(sheet: Sheet, depth: int, consumer: Consumer) -> None:
    if consumer.spring:
        sheet.value(depth, "client", "java", "Spring for Apache Kafka")
        return
    old = next((fact for name, fact in consumer.settings.items() if name.startswith("zookeeper.")), None)
    if old is not None:
        words = "is a setting of the consumer of 0.8, which kept its group in ZooKeeper"
        sheet.question(depth, f"Which client is it? {old.source} {words} (`client: zookeeper-0.8`).")
    else:
        sheet.ask(depth, "client")
    sheet.value(depth, "client", GUESSES["client"].value)


def _identity(sheet: Sheet, depth: int, consumer: Consumer, count: int) -> None:
    client = consumer.settings.get("client.id")
    if client is not None and not is_placeholder(client.value):
        sheet.value(depth, "client-id", scalar(client.value), client)
    instance = consumer.settings.get("group.instance.id")
    if instance is None:
        return
    if is_placeholder(instance.value) or (count > 1 and POD_NAME not in instance.value):
        words = f"Static membership: {instance.source} is `{instance.value}`; is it the same after a restart"
        sheet.question(depth, f'{words}, and another for each pod? Then write `instance-id: "{POD_NAME}"`.')
    else:
        sheet.value(depth, "instance-id", scalar(instance.value), instance)


# --- settings --------------------------------------------------------------------------------------------------


def _properties(sheet: Sheet, depth: int, consumer: Consumer) -> None:
    """Write the settings with an effect, and list the others in a comment."""
    kept, asked, unused = [], [], []
    for name, fact in consumer.settings.items():
        key = CONSUMER_KEYS.get(name)
        if name in _OWN or name in _EXPECTED or is_secret(name) or fact.value == WITHHELD:
            continue
        if key is None:
            unused += [fact.source] if name in OLD_CONSUMER else []
        elif not (key.effect or key.pull):
            unused.append(fact.source)
        elif is_placeholder(fact.value):
            asked.append(f"{name} is filled in from `{fact.value}` ({fact.source}): which value?")
        else:
            kept += _checked(name, fact, asked)
    if consumer.spring and "enable.auto.commit" not in consumer.settings:
        kept.append(("enable.auto.commit", "false", "Spring's default"))
    if kept:
        sheet.open(depth, "properties")
    for name, value, source in kept:
        sheet.value(depth + 1, name, value, source)
    for words in asked:
        sheet.question(depth, words)
    if unused:
        sheet.note(depth, f"Without effect here: {', '.join(unused)}.")


def _checked(name: str, fact: Fact[str], asked: list[str]) -> list[tuple[str, str, Fact[str] | str]]:
    """Return a setting as written, or with today's value; ask about a value that Kafka refuses."""
    value = _OLD_VALUES.get((name, fact.value), fact.value)
    try:
        parsed = parse_value(CONSUMER_KEYS[name], name, value)
    except SettingError as error:
        asked.append(f"{fact.source} is `{fact.value}`: {error.problem}; {error.remedy}.")
        return []
    if name == "partition.assignment.strategy":
        return [(name, scalar(str(parsed)), fact)]
    typed = CONSUMER_KEYS[name].type
    plain = typed in (KeyType.MS, KeyType.INT, KeyType.BOOL)
    text = str(parsed).lower() if plain else scalar(str(parsed))
    return [(name, text, fact if value == fact.value else f"{fact.source} ({fact.value})")]
