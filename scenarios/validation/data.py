"""Validate topics, producers and settings of brokers' logs; `semantics.py` calls it.

Errors prevent a run: producers without logs to write to, replicas on brokers that do not exist. Notes name settings
without effect: a segment size without segments, an election gap where the controller decides it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupsim.cluster.config.acl import AUTHORIZER, STANDARD
from groupsim.cluster.config.log import WITHOUT_EFFECT, topic_config
from groupsim.scenarios.language.acls import hosts_of, wrong_acls
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.model import GroupSpec, ProducerSpec, ProducesSpec, Scenario, TopicSpec
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import NOTE, WARNING, Problem, suggest
from groupsim.scenarios.language.values import Brokers
from groupsim.scenarios.plans.clusters import (
    ONLY_COUNTED,
    ONLY_REPLICATED,
    is_replicated,
    min_isr_commits,
    without_effect,
)
from groupsim.scenarios.plans.fleets import unfolded
from groupsim.scenarios.plans.members import partition_limits, plans
from groupsim.scenarios.plans.producers import FEED_PREFIX, producer_plans, transforming_properties
from groupsim.scenarios.steps.actions import NEED_LOGS as ACTIONS_THAT_NEED_LOGS
from groupsim.scenarios.steps.actions import AddAcls, CrashBroker, RemoveAcls
from groupsim.scenarios.steps.broker_rollout import RollBrokers
from groupsim.scenarios.steps.faults import NEED_LOGS as FAULTS_THAT_NEED_LOGS
from groupsim.scenarios.steps.faults import CutRacks
from groupsim.scenarios.validation.producers import noted_producers, settings_problems
from groupsim.scenarios.validation.writes import broker_path, unwritable

Found = Iterator[tuple[Path_, Wrong]]
REMEDY = "remove `logs: counted` from `cluster`"
_HOSTS = ("controller", "scenario", "zookeeper")


def wrong_data(scenario: Scenario) -> Found:
    """Yield the mistakes that prevent a run."""
    for name, topic in scenario.topics.items():
        yield from _topic(("topics", name), topic, scenario)
    yield from _need_logs(scenario)
    yield from _racks(scenario)
    for below, wrong in wrong_acls(scenario.cluster.acls):
        yield ("cluster", "acls", *below), wrong
    yield from _producers(scenario)
    for group, spec in scenario.groups.items():
        if spec.produces is not None:
            yield from _produces(("groups", group, "produces"), spec.produces, scenario)


def _topic(path: Path_, topic: TopicSpec, scenario: Scenario) -> Found:
    brokers = scenario.cluster.brokers
    if topic.replication is not None and topic.replication > brokers:
        message = f"{topic.replication} replicas on {brokers} brokers"
        yield (*path, "replication"), Wrong(message, f"write 1 to {brokers}, or raise `brokers`")
    if topic.weights is not None and (len(topic.weights) != topic.partitions or not any(topic.weights)):
        message = f"{len(topic.weights)} weights for {topic.partitions} partitions"
        yield (*path, "weights"), Wrong(message, "write one number for each partition, not all of them 0")
    if topic.replicas is not None:
        yield from _placed(path, topic, brokers)
    for name, value in topic.properties.items():
        try:
            topic_config({name: value})
        except ValueError as error:
            message, _, remedy = str(error).removeprefix(f"{name}: ").partition("; ")
            yield (*path, "properties", name), Wrong(message, remedy, at_key=True)


def _placed(path: Path_, topic: TopicSpec, brokers: Brokers) -> Found:
    """Check replicas with explicit brokers."""
    assert topic.replicas is not None
    where = (*path, "replicas")
    if len(topic.replicas) != topic.partitions:
        message = f"{len(topic.replicas)} lists of replicas for {topic.partitions} partitions"
        yield where, Wrong(message, "write one list of brokers for each partition")
    for index, nodes in enumerate(topic.replicas):
        unknown = [node for node in nodes if node not in brokers.ids]
        if unknown:
            yield (*where, index), Wrong(f"there is no broker {unknown[0]}", f"write one of {brokers.shown}")
        elif not nodes or len(dict.fromkeys(nodes)) != len(nodes):
            yield (*where, index), Wrong("no replica, or two on one broker", "write different brokers: [0, 1, 2]")
        elif len(nodes) != len(topic.replicas[0]) or (topic.replication or len(nodes)) != len(nodes):
            wanted = topic.replication or len(topic.replicas[0])
            yield (*where, index), Wrong(f"{len(nodes)} replicas instead of {wanted}", "write as many everywhere")


def _need_logs(scenario: Scenario) -> Found:
    """Yield the keys and steps that need brokers' logs."""
    if is_replicated(scenario):
        return
    if scenario.producers:
        yield ("producers",), Wrong("counted logs cannot be written to", f"{REMEDY}, or write `rate` for the topic")
    if scenario.cluster.acls:
        yield ("cluster", "acls"), Wrong("brokers with counted logs have no authorizer", REMEDY)
    for group, spec in scenario.groups.items():
        if spec.produces is not None:
            yield ("groups", group, "produces"), Wrong("counted logs cannot be written to", REMEDY)
        yield from _pushed(group, spec)
    for index, step in enumerate(scenario.timeline):
        action = step.action
        if isinstance(action, (*ACTIONS_THAT_NEED_LOGS, *FAULTS_THAT_NEED_LOGS, RollBrokers)):
            yield ("timeline", index, "do"), Wrong(f"`{action.NAME}` needs replicated logs", REMEDY)
        elif isinstance(action, CrashBroker) and action.machine:
            yield ("timeline", index, "machine"), Wrong("counted logs lose no data with a machine", REMEDY)
    for index, expectation in enumerate(scenario.expect):
        if expectation.check.NAME == "fetches":
            yield ("expect", index), Wrong("counted logs have no fetches", REMEDY)


def _racks(scenario: Scenario) -> Found:
    """Yield the racks that a step names and no broker is in."""
    racks = scenario.cluster.racks
    for index, step in enumerate(scenario.timeline):
        for rack in step.action.racks if isinstance(step.action, CutRacks) else ():
            if rack not in racks:
                remedy = suggest(rack, racks, "racks") if racks else "write `cluster: {racks: [a, b]}`"
                yield ("timeline", index, "racks"), Wrong(f"no broker is in a rack `{rack}`", remedy)


def _pushed(group: str, spec: GroupSpec) -> Found:
    path: Path_ = ("groups", group)
    if spec.push_buffer is not None:
        yield (*path, "push-buffer"), Wrong("counted logs have no records to push", REMEDY)
    for name, member in spec.members.items():
        if member.push_buffer is not None:
            where = (*path, "members", name, "push-buffer")
            yield where, Wrong("counted logs have no records to push", REMEDY)


def _producers(scenario: Scenario) -> Found:
    limits = partition_limits(scenario)
    taken = {plan.name: f"a member of `{plan.group}`" for plan in plans(unfolded(scenario))}
    taken |= {f"{FEED_PREFIX}{topic}": f"the producer of `{topic}`'s rate" for topic in scenario.topics}
    taken |= {f"broker-{node}": "a broker" for node in scenario.cluster.brokers.ids} | dict.fromkeys(_HOSTS, "reserved")
    for plan in producer_plans(scenario):
        if plan.name in taken:
            remedy = "choose a name that no other process has"
            yield ("producers", plan.key), Wrong(f"`{plan.name}` is {taken[plan.name]} already", remedy, at_key=True)
        taken[plan.name] = "a producer"
    for key, spec in scenario.producers.items():
        yield from _producer(("producers", key), spec, limits)


def _producer(path: Path_, spec: ProducerSpec, limits: dict[str, int]) -> Found:
    if spec.topic not in limits:
        yield (*path, "topic"), _no_topic(spec.topic, limits)
    elif spec.weights is not None and (len(spec.weights) != limits[spec.topic] or not any(spec.weights)):
        message = f"{len(spec.weights)} weights for {limits[spec.topic]} partitions"
        yield (*path, "weights"), Wrong(message, "write one number for each partition, not all of them 0")
    if spec.weights is not None and spec.keys is not None:
        yield (*path, "weights"), Wrong("both `weights` and `keys` choose the partition", "keep one of the two")
    if spec.keys is not None and spec.keys.hot is not None and not spec.keys.hot.percent:
        yield (*path, "keys", "hot"), Wrong("the share must be a percentage", "write for example `hot: 20%`")
    if spec.commit_every == 0:
        yield (*path, "commit-every"), Wrong("endless commits at one instant", "write for example `1s`")


def _produces(path: Path_, spec: ProducesSpec, scenario: Scenario) -> Found:
    limits = partition_limits(scenario)
    if spec.to not in limits:
        yield (*path, "to"), _no_topic(spec.to, limits)


def _no_topic(name: str, limits: dict[str, int]) -> Wrong:
    return Wrong(f"there is no topic `{name}`", suggest(name, limits, "topics here"))


# --- settings without effect ----------------------------------------------------------------------------------------


def noted_data(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Yield notes on keys without effect, and on the producers' settings."""
    for path, message, remedy in _idle(scenario, document):
        yield Problem(document.at_key(path), message, remedy, NOTE)
    if is_replicated(scenario):
        for name, topic in scenario.topics.items():
            yield from _unsafe(name, topic, scenario, document)
        yield from unwritable(scenario, document)
        yield from _noted_acls(scenario, document)
    yield from noted_producers(scenario, document)
    for member in plans(scenario):
        produces = scenario.groups[member.group].produces
        if produces is not None and member.number == 1:
            yield from settings_problems(
                ("groups", member.group, "produces"), transforming_properties(member, produces), document
            )


def _noted_acls(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Yield findings on ACLs without an authorizer, and on unknown hosts, which a rollout may add."""
    acls = scenario.cluster.acls
    if not scenario.broker.properties.get(AUTHORIZER):
        remedy = f"add `{AUTHORIZER}: {STANDARD}` to `broker`"
        for path in _with_acls(scenario):
            yield Problem(document.at_key(path), "ACLs without an authorizer have no effect", remedy, WARNING)
    members, producers = (
        [plan.name for plan in plans(unfolded(scenario))],
        [one.name for one in producer_plans(scenario)],
    )
    own = [f"{FEED_PREFIX}{topic}" for topic in scenario.topics] + [f"{name}-producer" for name in members]
    known = (*members, *producers, *own)
    for below, host in hosts_of(acls):
        if host not in known:
            place = document.at_value(("cluster", "acls", *below))
            yield Problem(place, f"no process of this file is called `{host}`", suggest(host, known, "processes"), NOTE)


def _with_acls(scenario: Scenario) -> Iterator[Path_]:
    """Yield the paths of a file's ACLs."""
    if scenario.cluster.acls:
        yield ("cluster", "acls")
    for index, step in enumerate(scenario.timeline):
        if isinstance(step.action, AddAcls | RemoveAcls):
            yield ("timeline", index, "acls")


def _unsafe(name: str, topic: TopicSpec, scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Yield warnings on settings of a topic that refuse writes or can lose acknowledged records."""

    def effective(setting: str) -> tuple[str, Any]:
        own: Path_ = ("topics", name, "properties", setting)
        here = setting in topic.properties
        value = topic.properties[setting] if here else scenario.broker.properties.get(setting, "")
        return str(value).lower(), document.at_key(own if here else broker_path(document, setting))

    replicas = len(topic.replicas[0]) if topic.replicas else topic.replication or _default_replication(scenario)
    least, place = effective("min.insync.replicas")
    if least.isdecimal() and int(least) > replicas:
        message = f"min.insync.replicas {least} of `{name}`, which has {replicas} replicas"
        counts = f"it counts as {replicas} here; before Kafka 3.7 " if min_isr_commits(scenario.broker.version) else ""
        remedy = (
            f"{counts}with acks=all every record is refused "
            "(NOT_ENOUGH_REPLICAS, KAFKA-15583): raise the replication, or lower the setting"
        )
        yield Problem(place, message, remedy, WARNING)
    elif least.isdecimal() and int(least) == replicas > 1:
        message = f"min.insync.replicas {least} of `{name}`, which has {replicas} replicas"
        yield Problem(place, message, "while one of their brokers is down, records with acks=all are refused", NOTE)
    unclean, place = effective("unclean.leader.election.enable")
    if unclean == "true":
        message = f"unclean leader elections of `{name}`"
        yield Problem(place, message, "a replica that lags may become leader: acknowledged records can be lost", NOTE)


def _default_replication(scenario: Scenario) -> int:
    factor = str(scenario.broker.properties.get("default.replication.factor", 1))
    return int(factor) if factor.isdecimal() else 1


def _idle(scenario: Scenario, document: Document) -> Iterator[tuple[Path_, str, str]]:
    replicated = is_replicated(scenario)
    for name, why in (ONLY_COUNTED if replicated else ONLY_REPLICATED).items():
        if getattr(scenario.cluster, name) is not None:
            key = name.replace("_", "-")
            theirs = "; it belongs to `logs: counted`" if replicated else ""
            yield ("cluster", key), f"`{key}` has no effect here", f"{why}{theirs}"
    for setting, why in without_effect(scenario):
        yield broker_path(document, setting), f"`{setting}` has no effect here", why
    for topic, spec in scenario.topics.items():
        for name in spec.properties:
            if name in WITHOUT_EFFECT:
                yield ("topics", topic, "properties", name), f"`{name}` has no effect here", "it is accepted"
        yield from _idle_of_topic(("topics", topic), document, replicated=replicated)


def _idle_of_topic(path: Path_, document: Document, *, replicated: bool) -> Iterator[tuple[Path_, str, str]]:
    if replicated:
        return
    for key in ("properties", "record-size", "replicas"):
        if document.holds((*path, key)):
            yield (*path, key), f"`{key}` has no effect here", f"counted logs hold no records; {REMEDY}"
