"""The scenario to serve: one adapted to real time, or a bare cluster with Kafka's default settings.

A scenario of counted logs is served on replicated ones, because real clients read the records. The simulated network
takes 20 µs, and so does a request, unless the scenario sets other values: the brokers are in one process, and real
clients wait for every microsecond. The scenario's clock begins at 0, the served one at the true time, so every time in
it is moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from attrs import evolve

from groupsim.eventloop.distributions import parse_distribution
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.model import (
    BrokerSettings,
    ClusterSpec,
    MemberSpec,
    ProducerSpec,
    RateStep,
    Scenario,
    TopicSpec,
)
from groupsim.scenarios.language.values import END, LONGEST_US, Brokers, Duration, Moment, Properties
from groupsim.scenarios.plans.clusters import check_settings

Start = Moment | Literal["never"]
_AT_ONCE = parse_distribution("20us")


@frozen
class TopicWish:
    """A topic to make at the start: `--topic name:partitions[:replication]`."""

    name: str
    partitions: int = 1
    replication: int | None = None


def bare(brokers: int, broker: Mapping[str, object] | None = None) -> Scenario:
    """Return a cluster without topics, members or a timeline. Raises ValueError for unknown broker settings."""
    cluster = ClusterSpec(brokers=Brokers.counted(brokers), logs="replicated")
    settings = BrokerSettings(properties=Properties(dict(broker or {})))
    scenario = Scenario(name="served", run_for=Duration(0), cluster=cluster, broker=settings)
    check_settings(scenario)
    return scenario


def as_served(scenario: Scenario, origin_us: int, *, brokers: int | None = None) -> Scenario:
    """Return the scenario as it is served: replicated, without own latencies, from `origin_us` on, without an end."""
    cluster = evolve(
        scenario.cluster,
        logs="replicated",
        latency=scenario.cluster.latency or _AT_ONCE,
        processing=scenario.cluster.processing or _AT_ONCE,
        append_latency=None,
        election=None,
        brokers=scenario.cluster.brokers if brokers is None else Brokers.counted(brokers),
    )
    return _from(evolve(scenario, cluster=cluster, plugin_errors="as-kafka", expect=()), origin_us)


def with_topics(scenario: Scenario, wishes: Sequence[TopicWish]) -> Scenario:
    """Return the scenario with more topics. Raises ValueError for a topic that it has already."""
    twice = [wish.name for wish in wishes if wish.name in scenario.topics]
    if twice:
        raise ValueError(f"topic {twice[0]!r} is in the scenario already; leave --topic {twice[0]} out")
    more = {wish.name: TopicSpec(wish.partitions, replication=wish.replication) for wish in wishes}  # type: ignore[arg-type]
    return evolve(scenario, topics={**scenario.topics, **more})


def _from(scenario: Scenario, origin: int) -> Scenario:
    """Return the same with every time moved by `origin`."""

    def moved(at: Moment) -> Moment:
        return at if at == END else Moment(at + origin)

    def begun(at: Start) -> Start:
        return "never" if at == "never" else moved(at)

    def rates(steps: tuple[RateStep, ...]) -> tuple[RateStep, ...]:
        return tuple(evolve(step, at=moved(step.at)) for step in steps)

    def process(spec: ProducerSpec) -> ProducerSpec:
        return evolve(spec, start=begun(spec.start), steps=rates(spec.steps))

    def member(spec: MemberSpec) -> MemberSpec:
        return evolve(spec, start=begun(spec.start))

    return evolve(
        scenario,
        run_for=Duration(origin + LONGEST_US),
        topics={name: evolve(topic, steps=rates(topic.steps)) for name, topic in scenario.topics.items()},
        producers={name: process(spec) for name, spec in scenario.producers.items()},
        groups={
            name: evolve(group, members={key: member(spec) for key, spec in group.members.items()})
            for name, group in scenario.groups.items()
        },
        timeline=tuple(evolve(step, at=begun(step.at)) for step in scenario.timeline),
    )
