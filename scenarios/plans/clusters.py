"""The cluster a scenario runs on, and which of the brokers' settings have an effect there.

`logs: replicated`, the default, is the real thing: logs on brokers, followers that fetch, a controller. `logs: counted`
is a stand-in that costs a third of it, for sweeps: log ends that grow at a rate, an offsets log without replicas,
coordinators that move by decree. Only the group coordinator's settings matter to both; the others belong to controller,
replicas, logs and transactions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.controller import ControllerConfig, Placement, kraft, zookeeper_era
from groupsim.cluster.config.replica import ReplicaConfig
from groupsim.coordinator.base.config import BROKER_KEYS, CoordinatorConfig
from groupsim.coordinator.base.versions import parse_version
from groupsim.protocol.messages.releases import broker_versions

if TYPE_CHECKING:
    from groupsim.scenarios.language.model import BrokerAge, BrokerSettings, Scenario

COUNTED: Final = "counted"
REPLICATED: Final = "replicated"
_FIRST_KRAFT = (3, 3)
_MIN_ISR_COMMITS = (3, 7)
_PLACEMENTS: Mapping[str, Placement] = {
    "striped": "striped",
    "zookeeper": "round-robin",
    "zookeeper-seeded": "zookeeper",
}

#: Keys of `cluster` that only one kind of logs has, with why.
ONLY_COUNTED: Mapping[str, str] = {
    "append_latency": "an append commits when the followers have fetched it",
    "election": "it follows from the broker's session with the controller",
}
ONLY_REPLICATED: Mapping[str, str] = {
    "placement": "counted logs have no replicas to place",
    "broker_session": "there is no controller that a broker has a session with",
    "fresh": "there is no topic that the groups' offsets are kept in",
}


def is_replicated(scenario: Scenario) -> bool:
    """Whether the scenario runs on brokers with logs of their own."""
    return scenario.cluster.logs == REPLICATED


def coordinator_config(scenario: Scenario) -> CoordinatorConfig:
    """The coordinator's settings. Raises ValueError for a key or value Kafka does not have."""
    theirs = {name: value for name, value in scenario.broker.properties.items() if name in BROKER_KEYS}
    return CoordinatorConfig.from_properties({**theirs, **_age(scenario.broker)})


def _age(said: BrokerSettings | BrokerAge) -> dict[str, object]:
    """What a file says of the release and the defects of brokers, under our own names."""
    known = {"broker.version": said.version, "broker.defects": said.defects}
    return {name: value for name, value in known.items() if value}


def _coordinators(scenario: Scenario) -> dict[int, CoordinatorConfig]:
    """The coordinators of brokers that differ from the rest. Raises ValueError for one that cannot be among them."""
    plain, others = coordinator_config(scenario), {}
    theirs = {name: value for name, value in scenario.broker.properties.items() if name in BROKER_KEYS}
    for name, age in scenario.broker.brokers.items():
        known = scenario.cluster.brokers
        if not name.isdecimal() or int(name) not in known.ids:
            raise ValueError(f"broker.brokers: there is no broker {name!r}; brokers are numbered {known.shown}")
        one = CoordinatorConfig.from_properties({**theirs, **_age(scenario.broker), **_age(age)})
        _same_requests("broker.brokers", one, plain)
        others[int(name)] = one
    return others


def _same_requests(key: str, one: CoordinatorConfig, plain: CoordinatorConfig) -> None:
    if broker_versions(one.broker_version) != broker_versions(plain.broker_version):
        raise ValueError(
            f"{key}: {one.broker_version} takes other request versions than {plain.broker_version}; "
            "brokers of one cluster are releases with the same ones, such as 2.6.0 and 2.6.1"
        )


def upgraded(config: ClusterConfig, node: int, version: str) -> dict[int, CoordinatorConfig]:
    """The coordinators that differ from the rest when one broker has got another release.

    Raises ValueError for a release with other request versions, or for what is none.
    """
    before = config.coordinator_of(node)
    parse_version(version)
    one = evolve(before, broker_version=version)
    _same_requests("version", one, before)
    return {**config.coordinators, node: one}


def check_settings(scenario: Scenario) -> None:
    """Look at every broker setting, whoever goes by it. Raises ValueError for a key or value Kafka does not have."""
    coordinator_config(scenario)
    replicated_config(scenario)


def without_effect(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Broker settings that do nothing with the scenario's kind of logs, each with why."""
    if not is_replicated(scenario):
        for name in scenario.broker.properties:
            if name not in BROKER_KEYS:
                yield name, "counted logs have no replicas, segments or transactions"


def counted_config(scenario: Scenario) -> ClusterConfig:
    """The configuration of a cluster with counted logs from what the scenario says."""
    return ClusterConfig.with_counted_logs(
        coordinator=coordinator_config(scenario), coordinators=_coordinators(scenario), **_said(scenario, _SAME)
    )


_SAME = {
    "racks": "racks",
    "latency": "latency",
    "processing": "processing",
    "append_latency": "append_latency",
    "election": "election_us",
    "loading": "load_us",
    "stale_metadata": "metadata_stale_us",
}


def _said(scenario: Scenario, names: Mapping[str, str]) -> dict[str, Any]:
    spec = scenario.cluster
    brokers = {"brokers": int(spec.brokers), "broker_ids": spec.brokers.ids}
    return brokers | {theirs: getattr(spec, ours) for ours, theirs in names.items() if getattr(spec, ours) is not None}


def replicated_config(scenario: Scenario) -> ClusterConfig:
    """The replicated cluster's configuration from what the scenario says.

    Brokers of a release before KRaft have the controller that kept its metadata in ZooKeeper. Raises ValueError as
    `check_settings`.
    """
    names = {ours: theirs for ours, theirs in _SAME.items() if ours not in ONLY_COUNTED}
    said = {**_said(scenario, names), "fresh": bool(scenario.cluster.fresh)}
    config = brokers_of(scenario.broker.version, scenario.broker.properties, scenario.cluster.placement, **said)
    if scenario.broker.defects or scenario.broker.brokers:
        config = evolve(config, coordinator=coordinator_config(scenario), coordinators=_coordinators(scenario))
    session = scenario.cluster.broker_session
    if session is not None:
        config = evolve(config, controller=_with_session(config.controller, session // 1_000))
    return config


def brokers_of(
    version: str | None, properties: Mapping[str, object], placement: str | None = None, **others: Any
) -> ClusterConfig:
    """Brokers of a release with these settings, and the replicas and the controller of their age.

    `placement` is a word of scenario files, `others` are fields of ClusterConfig. Raises ValueError as
    `check_settings`.
    """
    said = {"broker.version": version} if version else {}
    release = _release(version)
    replica = ReplicaConfig(min_isr_commits=min_isr_commits(version))
    aged = {"controller": _controller(release, placement), "replica": replica}
    return ClusterConfig.from_properties({**said, **properties}, **{**aged, **others})


def min_isr_commits(version: str | None) -> bool:
    """Whether `min.insync.replicas` above the number of replicas means all for brokers of this version: KAFKA-15583."""
    release = _release(version)
    return release is None or release >= _MIN_ISR_COMMITS


def _controller(release: tuple[int, int] | None, placement: str | None) -> ControllerConfig:
    if release is None:
        made = ControllerConfig()
    else:
        made = zookeeper_era(release) if release < _FIRST_KRAFT else kraft(release)
    return made if placement is None else evolve(made, placement=_PLACEMENTS[placement])


def _release(version: str | None) -> tuple[int, int] | None:
    numbers = [int(part) for part in (version or "").split(".")[:2] if part.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _with_session(controller: ControllerConfig, session_ms: int) -> ControllerConfig:
    """Another session; the controller looks for dead ones as often in one as before."""
    checks = controller.session_check_ms and session_ms // 8
    return evolve(controller, broker_session_timeout_ms=session_ms, session_check_ms=checks)
