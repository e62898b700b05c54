"""Match the facts of the files: the pods, settings and topics of each group.

A workload is a consumer if a source names its group: its environment, a file of its application, or the trigger of a
ScaledObject. If no source names a group, the workloads that mention Kafka are consumers, and the group is a question.
A file of settings belongs to the workload that mounts it or has its `spring.application.name`, else to every one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attrs import evolve, field

from groupsim.members.keys import CONSUMER_KEYS
from groupsim.protocol.values import frozen
from groupsim.scenarios.drafting.applications import Consumer, consumer_of, is_placeholder, mentions_kafka, over
from groupsim.scenarios.drafting.clusters import brokers_of, runs_brokers
from groupsim.scenarios.drafting.facts import (
    POD_NAME,
    AutoscalerFacts,
    BrokerFacts,
    Fact,
    Found,
    Settings,
    Topic,
    Workload,
)
from groupsim.scenarios.language.data_values import SETTINGS, BrokerProperties
from groupsim.scenarios.language.problems import Place, one_problem, suggest
from groupsim.scenarios.lint.documents import variants

PROFILES_ACTIVE = "SPRING_PROFILES_ACTIVE"
HOSTNAME = "HOSTNAME"
"""The variable with the name of the pod in every container."""


@frozen
class Pods:
    """The members of a group that one workload runs; `workload` is None if only settings are known."""

    name: str
    consumer: Consumer
    workload: Workload | None = None
    autoscaler: AutoscalerFacts | None = None


@frozen
class Group:
    """A consumer group; `fact` is None if no file names it."""

    id: str
    fact: Fact[str] | None
    pods: tuple[Pods, ...]
    topics: tuple[Fact[str], ...] = ()


@frozen
class Plan:
    """The contents of the scenario."""

    groups: tuple[Group, ...]
    topics: tuple[Topic, ...] = ()
    brokers: BrokerFacts | None = None
    #: Sources that were read and are not in the scenario, with the reason.
    left_out: tuple[str, ...] = ()
    profiles: tuple[str, ...] = field(default=())


def plan_of(found: Found, only: Sequence[str] = (), profile: str | None = None) -> Plan:
    """Match the facts; `only` names workloads, `profile` one of the application's.

    Raises ScenarioError without any consumer, topic or cluster, and for an unknown name.
    """
    running = [one for one in found.workloads if runs_brokers(one)]
    known = SETTINGS[BrokerProperties]
    cluster = _cluster([*found.brokers, *(brokers_of(one, known) for one in running)], found.pools)
    clients = [one for one in found.workloads if one not in running]
    _check_names(only, clients)
    profiles = _profiles(found.settings)
    if profile is not None and profile not in profiles:
        raise one_problem("--profile", f"no file has a profile `{profile}`", suggest(profile, profiles, "profiles"))
    selected = [one for one in clients if not only or one.name in only]
    candidates = [_pods(one, found, profile, len(selected)) for one in selected]
    chosen, left_out = _chosen(candidates)
    if not candidates:
        chosen = list(_without_workloads(found, profile))
    groups = tuple(_groups(chosen, found.topics))
    if not groups and not found.topics and cluster is None:
        raise _nothing(found, left_out)
    groups = groups or (Group("consumers", None, (Pods("consumer", Consumer()),)),)
    others = [f"{name} (nothing in it concerns consumers, topics or brokers)" for name in found.left_out]
    excluded = [f"{one.kind} {one.name} (left out by --workload)" for one in clients if one not in selected]
    return Plan(groups, found.topics, cluster, (*left_out, *excluded, *others), profiles)


def _check_names(only: Sequence[str], clients: Sequence[Workload]) -> None:
    names = [one.name for one in clients]
    for name in only:
        if name not in names:
            raise one_problem("--workload", f"unknown Deployment or StatefulSet `{name}`", suggest(name, names))


def _nothing(found: Found, left_out: Sequence[str]) -> Exception:
    seen = ", ".join([*left_out, *found.left_out][:5]) or "no setting of a consumer"
    remedy = "add the file that names the group: an application.yml, a consumer.properties, a ScaledObject"
    return one_problem("the files", f"have no consumer, topic or broker: {seen}", remedy)


# --- one workload ----------------------------------------------------------------------------------------------


def _pods(workload: Workload, found: Found, profile: str | None, of: int) -> Pods:
    """Return a workload with its settings and its autoscaler."""
    own = consumer_of(workload.env.values(), workload.env)
    active = workload.env.get(PROFILES_ACTIVE)
    wanted = profile if profile is not None else active.value if active is not None else ""
    for settings in found.settings:
        consumer = _in_file(settings, wanted, workload)
        if _belongs(settings, consumer, workload, of):
            own = over(own, consumer)
    scalers = [one for one in found.autoscalers if one.target == workload.name]
    scaler = next((one for one in scalers if one.lag is not None), scalers[0] if scalers else None)
    if scaler is not None:
        topics = own.topics or tuple(one.topic for one in scalers if one.topic is not None)
        own = evolve(own, group=own.group or scaler.group, topics=topics)
    return Pods(workload.name, own, workload, scaler)


def _in_file(settings: Settings, wanted: str, workload: Workload | None) -> Consumer:
    several = variants(settings.documents)
    lines = [line for one in several if one.profile in ("", wanted) for line in one.lines if one.profile == wanted]
    if not lines and several:
        lines = list(several[0].lines)
    facts = [Fact(value, Place(settings.file, number, 1), name) for number, name, value in lines]
    pod = {HOSTNAME: Fact(POD_NAME, Place(settings.file), HOSTNAME)}
    return consumer_of(facts, {**pod, **(workload.env if workload is not None else {})})


def _belongs(settings: Settings, consumer: Consumer, workload: Workload, of: int) -> bool:
    """Return whether a file belongs to this workload, one of `of`."""
    if settings.config_map:
        return settings.config_map in workload.mounts or of == 1
    return not consumer.name or of == 1 or consumer.name in workload.name or workload.name in consumer.name


def _profiles(files: Iterable[Settings]) -> tuple[str, ...]:
    names = (one.profile for settings in files for one in variants(settings.documents))
    return tuple(dict.fromkeys(name for name in names if name))


# --- the consumers ---------------------------------------------------------------------------------------------


def _chosen(candidates: Sequence[Pods]) -> tuple[list[Pods], list[str]]:
    """Return the consumers among the workloads, and the others with the reason."""
    streams = [one for one in candidates if one.consumer.streams is not None and one.consumer.group is None]
    clients = [one for one in candidates if one not in streams]
    with_group = [one for one in clients if one.consumer.group is not None]
    chosen = with_group or [one for one in clients if _mentions(one)] or (clients if len(clients) == 1 else [])
    left_out = [f"{_words(one)} (Kafka Streams: its assignor and its stores are not simulated)" for one in streams]
    why = "no setting in it names a group" if with_group else "nothing in it names Kafka"
    left_out += [f"{_words(one)} ({why})" for one in clients if one not in chosen]
    return chosen, left_out


def _mentions(pods: Pods) -> bool:
    workload = pods.workload
    names = list(workload.env.values()) + list(workload.unknown) if workload is not None else []
    return bool(pods.consumer.settings.keys() - {"client.id"}) or pods.consumer.spring or mentions_kafka(names)


def _concerns_a_consumer(consumer: Consumer) -> bool:
    """Return whether settings concern a consumer."""
    return bool(consumer.topics) or consumer.spring or any(name in CONSUMER_KEYS for name in consumer.settings)


def _words(pods: Pods) -> str:
    return f"{pods.workload.kind} {pods.name}" if pods.workload is not None else pods.name


def _without_workloads(found: Found, profile: str | None) -> Iterator[Pods]:
    """Yield the members without a workload: of each file of settings, of each ScaledObject that names a group."""
    files = [(one, _in_file(one, profile or "", None)) for one in found.settings]
    for settings, consumer in files:
        if consumer.group is None and (consumer.streams is not None or not _concerns_a_consumer(consumer)):
            continue
        yield Pods(consumer.name or Path(settings.file).name.split(".")[0], consumer)
    if not files:
        for scaler in found.autoscalers:
            if scaler.group is not None:
                topics = (scaler.topic,) if scaler.topic is not None else ()
                yield Pods(scaler.target, Consumer(group=scaler.group, topics=topics), None, scaler)


def _groups(chosen: Sequence[Pods], topics: Sequence[Topic]) -> Iterator[Group]:
    """Yield the members by group. Files with the same group are one member; the later file takes precedence."""
    by_id: dict[str, list[Pods]] = {}
    for pods in chosen:
        fact = pods.consumer.group
        known = fact is not None and not is_placeholder(fact.value)
        by_id.setdefault(fact.value if fact is not None and known else pods.name, []).append(pods)
    for name, members in by_id.items():
        if len(members) > 1 and all(one.workload is None for one in members):
            whole = members[0].consumer
            for one in members[1:]:
                whole = over(one.consumer, whole)
            members = [evolve(members[0], consumer=whole)]
        facts = [one.consumer.group for one in members]
        fact = next((one for one in facts if one is not None), None)
        named = {topic.value: topic for one in members for topic in one.consumer.topics}
        declared = {topic.name: topic for topic in topics}
        of_group = [fact_ for name_, fact_ in named.items() if name_ in declared] or list(named.values())
        yield Group(name, fact, tuple(members), tuple(of_group))


# --- the brokers -----------------------------------------------------------------------------------------------


def _cluster(resources: Sequence[BrokerFacts], pools: Sequence[BrokerFacts]) -> BrokerFacts | None:
    """Return the first cluster; the sizes of its node pools take precedence over its own."""
    if not resources and not pools:
        return None
    first = resources[0] if resources else evolve(pools[0], count=None)
    counts = [pool.count for pool in pools if pool.name in (first.name, "") and pool.count is not None]
    if not counts:
        return first
    total = sum(count.value for count in counts)
    return evolve(first, count=evolve(counts[0], value=total))
