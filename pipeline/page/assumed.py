"""The assumptions of a run: cost models, settings, defaults, and the source of the scenario.

A number from a simulation is worth no more than its assumptions, so a page lists them, defaults included.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.counted import CountedConfig
from groupsim.cluster.config.loading_cost import LoadingCost
from groupsim.eventloop.units import show_us
from groupsim.members.settings import ConsumerSettings, SettingError
from groupsim.members.zookeeper.kinds import client_settings
from groupsim.members.zookeeper.settings import ZookeeperSettings
from groupsim.scenarios.language.clients import is_profile
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.properties import without_secrets
from groupsim.scenarios.plans.clusters import counted_config, is_replicated, replicated_config
from groupsim.scenarios.plans.members import MemberPlan, plans, properties_of
from groupsim.scenarios.runtime.member_process import behaviour_of
from groupsim.scenarios.story.words import count, span

Facts = list[tuple[str, str]]
Assumed = list[tuple[str, Facts]]

MANY_KINDS = 12  # kinds of members that are listed
_PLACED = {
    "striped": "KRaft's stripes, from a drawn broker on",
    "zookeeper": "in turn, from a drawn broker on",
    "round-robin": "in turn, from broker 0 on",
}
LIMITS = (
    "Times and latencies are drawn from the distributions named here; they are models, not measurements of your "
    "machines.",
    "A partition stands still from the instant at which its old owner began to release it, crashed or was paused until "
    "the new owner could fetch. An owner that is busy in a handler makes lag, not a standstill.",
    "Rules that the simulation simplifies are listed in docs/fidelity.md.",
)


def assumed(scenario: Scenario) -> Assumed:
    """Return the facts that a reader needs to judge the figures, as (heading, facts); a fact is (name, value)."""
    found: Assumed = [("Scenario", list(_scenario(scenario))), ("Brokers and network", list(_cluster(scenario)))]
    found.append(("Topics", [(name, _topic(scenario, name)) for name in scenario.topics]))
    found += _kinds(scenario)
    notes = [("", str(note)) for note in scenario.notes]
    found.append(("Limits", [*(("", text) for text in LIMITS), *notes]))
    return [(title, facts) for title, facts in found if facts]


def _scenario(scenario: Scenario) -> Iterator[tuple[str, str]]:
    parts = (scenario.title, scenario.shows, scenario.known, scenario.source)
    for what, text in zip(("title", "shows", "known and filled in", "source"), parts, strict=True):
        if text:
            yield what, " ".join(text.split())


def _cluster(scenario: Scenario) -> Iterator[tuple[str, str]]:
    replicated = is_replicated(scenario)
    cluster = replicated_config(scenario) if replicated else counted_config(scenario)
    written = scenario.cluster
    yield "broker version", cluster.coordinator.broker_version
    if cluster.coordinator.defects:
        yield "defects", ", ".join(cluster.coordinator.defects)
    yield "brokers", str(cluster.brokers)
    yield "latency, one way", _value(cluster.latency, written.latency)
    yield "a broker takes for a request", _value(cluster.processing, written.processing)
    shown = {"group.initial.rebalance.delay.ms": str(cluster.coordinator.initial_rebalance_delay_ms)}
    if cluster.counted is None:
        yield from _brokers_logs(scenario, cluster)
        shown |= _kafkas(scenario, cluster)
    else:
        yield from _stand_ins(scenario, cluster, cluster.counted)
    yield from shown.items()
    for name, value in sorted(without_secrets(scenario.broker.properties).items()):
        if name not in shown:
            yield name, str(value)


def _stand_ins(scenario: Scenario, cluster: ClusterConfig, counted: CountedConfig) -> Iterator[tuple[str, str]]:
    """What counted logs draw, or have by decree."""
    written = scenario.cluster
    yield "logs", "counted: ends that grow at a rate, no replicas"
    yield "append to __consumer_offsets", _value(counted.append_latency, written.append_latency)
    yield "election of a new coordinator", _value(show_us(counted.election_us), written.election)
    yield "loading of its groups", _value(show_us(cluster.load_us), written.loading)


def _brokers_logs(scenario: Scenario, cluster: ClusterConfig) -> Iterator[tuple[str, str]]:
    """What replicated logs go by; the rest (appends, elections) follows from it."""
    written, controller = scenario.cluster, cluster.controller
    yield (
        "logs",
        "replicated: an append commits when the replicas in sync have it, leaders are elected",
    )
    yield "placement of replicas", _value(_PLACED[controller.placement], written.placement)
    replicas = min(cluster.offsets_replication_factor, cluster.brokers)
    yield "__consumer_offsets", f"{cluster.offsets_partitions} partitions, {count(replicas, 'replica')}"
    yield "loading of its groups", f"{_loading(cluster.loading)}{_more(cluster.load_us)}"
    silent = "broker.session.timeout.ms" not in scenario.broker.properties and written.broker_session is None
    session = show_us(controller.session_us)
    yield "a silent broker is taken for dead after", _value(session, None if silent else session)


def _kafkas(scenario: Scenario, cluster: ClusterConfig) -> dict[str, str]:
    """Return the settings that decide which data is lost and when, defaults included."""
    found = {
        "min.insync.replicas": str(cluster.controller.min_insync_replicas),
        "replica.lag.time.max.ms": str(cluster.replica.replica_lag_time_max_ms),
        "unclean.leader.election.enable": str(cluster.controller.unclean_leader_election_enable).lower(),
    }
    chosen = scenario.broker.properties
    return {name: _value(value, chosen.get(name)) for name, value in found.items()}


def _loading(cost: LoadingCost) -> str:
    speeds = f"{cost.records_per_second:,} records and {cost.bytes_per_second // 1_000_000} MB in a second"
    return f"by the length of their log: {speeds}, {span(cost.read_us)} for each read"


def _more(us: int) -> str:
    return f", and {show_us(us)}" if us else ""


def _value(value: object, written: object) -> str:
    return f"{value}{'' if written is not None else ' (default)'}"


def _topic(scenario: Scenario, name: str) -> str:
    topic = scenario.topics[name]
    steps = "".join(f", {step.rate} from {show_us(step.at)} on" for step in topic.steps)
    traffic = f"{topic.partitions} partitions, {topic.rate}{steps}"
    if not is_replicated(scenario):
        return traffic
    factor = replicated_config(scenario).default_replication_factor
    replicas = count(len(topic.replicas[0]) if topic.replicas else topic.replication or factor, "replica")
    return ", ".join([traffic, replicas, *(f"{name}={value}" for name, value in sorted(topic.properties.items()))])


def _kinds(scenario: Scenario) -> Assumed:
    """Join members with the same settings and behaviour; of those specified together the first one counts."""
    first: dict[tuple[str, str], MemberPlan] = {}
    names: dict[tuple[str, str], list[str]] = {}
    for plan in plans(scenario):
        first.setdefault((plan.group, plan.key), plan)
        names.setdefault((plan.group, plan.key), []).append(plan.name)
    folder = Path(scenario.file).parent if scenario.file else Path()
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for key, plan in first.items():
        alike.setdefault((plan.group, tuple(_member(plan, folder))), []).extend(names[key])
    found = [(f"Group {group}: {_listed(who)}", list(facts)) for (group, facts), who in alike.items()]
    more = [("Members", [("", f"{len(found) - MANY_KINDS} more kinds of members")])] if len(found) > MANY_KINDS else []
    return found[:MANY_KINDS] + more


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]}, {names[1]} … {names[-1]} ({len(names)} members)"


def _member(plan: MemberPlan, folder: Path) -> Iterator[tuple[str, str]]:
    yield "client", plan.client if is_profile(plan.client) else f"{plan.client}, as {plan.profile.name}"
    if plan.spec.defects:
        yield "defects", ", ".join(plan.spec.defects)
    try:
        settings, _ = client_settings(plan.profile, properties_of(plan, folder))
    except (OSError, ValueError, SettingError):
        yield "settings", "could not be read again"
    else:
        yield from _settings(settings)
    behaviour = behaviour_of(plan.spec)
    times = (
        ("processing of a record", behaviour.processing),
        ("per batch", behaviour.per_batch),
        ("between two polls", behaviour.poll_gap),
        *((("given to poll", behaviour.poll_timeout),) if behaviour.poll_timeout is not None else ()),
        ("onPartitionsAssigned", behaviour.on_assigned),
        ("onPartitionsRevoked", behaviour.on_revoked),
        ("computing an assignment", behaviour.assignor_time),
    )
    for what, distribution in times:
        yield what, _length(str(distribution)) if distribution is not None else "takes no time (default)"
    if plan.spec.pauses is not None:
        yield "pauses of the process", f"{plan.spec.pauses.length}, every {plan.spec.pauses.every}"
    if plan.spec.start_spread is not None:
        yield "spread of starts", str(plan.spec.start_spread)


def _length(text: str) -> str:
    """A time as a file writes it, but for none at all."""
    return "takes no time" if text == "0us" else text


def _settings(settings: ConsumerSettings) -> Iterator[tuple[str, str]]:
    if isinstance(settings, ZookeeperSettings):
        yield from settings.shown
        return
    yield "group.instance.id", settings.group_instance_id or "none (dynamic)"
    yield "partition.assignment.strategy", ", ".join(settings.assignors)
    yield "session.timeout.ms", str(settings.session_timeout_ms)
    yield "heartbeat.interval.ms", str(settings.heartbeat_interval_ms)
    yield "max.poll.interval.ms", str(settings.max_poll_interval_ms)
    yield "max.poll.records", str(settings.max_poll_records)
    commits = f"every {settings.auto_commit_interval_ms} ms" if settings.enable_auto_commit else "by the application"
    yield "commits", commits
