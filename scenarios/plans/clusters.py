"""Configure the cluster of a scenario, and list the brokers' settings without effect.

`logs: replicated`, the default, has logs on brokers, followers that fetch, and a controller. `logs: counted`
costs a third of it, for sweeps: log ends that grow at a rate, an offsets log without replicas, and
coordinators that move at once. Only the group coordinator's settings hold for both; the others belong to controller,
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
    from groupsim.scenarios.language.model import BrokerRelease, BrokerSettings, Scenario

COUNTED: Final = "counted"
REPLICATED: Final = "replicated"
_FIRST_KRAFT = (3, 3)
_MIN_ISR_COMMITS = (3, 7)
_PLACEMENTS: Mapping[str, Placement] = {
    "striped": "striped",
    "zookeeper": "round-robin",
    "zookeeper-seeded": "zookeeper",
}

#: Keys of `cluster` for counted logs alone, with the reason.
ONLY_COUNTED: Mapping[str, str] = {
    "append_latency": "the followers' fetches decide when an append commits",
    "election": "the broker's session with the controller decides it",
}
ONLY_REPLICATED: Mapping[str, str] = {
    #: Keys of `cluster` for replicated logs alone, with the reason.
    "placement": "counted logs have no replicas to place",
    "broker_session": "counted logs have no controller with broker sessions",
    "fresh": "counted logs have no `__consumer_offsets`",
}


def is_replicated(scenario: Scenario) -> bool:
    """Return whether the scenario runs on brokers with logs of their own."""
    return scenario.cluster.logs == REPLICATED


def coordinator_config(scenario: Scenario) -> CoordinatorConfig:
    """Return the coordinator's settings. Raises ValueError for a key or value that Kafka does not have."""
    theirs = {name: value for name, value in scenario.broker.properties.items() if name in BROKER_KEYS}
    return CoordinatorConfig.from_properties({**theirs, **_release_settings(scenario.broker)})


def _release_settings(brokers: BrokerSettings | BrokerRelease) -> dict[str, object]:
    """Return the release and the defects of brokers, under CoordinatorConfig's names."""
    known = {"broker.version": brokers.version, "broker.defects": brokers.defects}
    return {name: value for name, value in known.items() if value}


def _coordinators(scenario: Scenario) -> dict[int, CoordinatorConfig]:
    """Return the coordinators of brokers that differ from the rest. Raises ValueError for an incompatible one."""
    plain, others = coordinator_config(scenario), {}
    theirs = {name: value for name, value in scenario.broker.properties.items() if name in BROKER_KEYS}
    for name, release in scenario.broker.brokers.items():
        known = scenario.cluster.brokers
        if not name.isdecimal() or int(name) not in known.ids:
            raise ValueError(f"broker.brokers: there is no broker {name!r}; brokers are numbered {known.shown}")
        settings = {**theirs, **_release_settings(scenario.broker), **_release_settings(release)}
        one = CoordinatorConfig.from_properties(settings)
        _same_requests("broker.brokers", one, plain)
        others[int(name)] = one
    return others


def _same_requests(key: str, one: CoordinatorConfig, plain: CoordinatorConfig) -> None:
    if broker_versions(one.broker_version) != broker_versions(plain.broker_version):
        raise ValueError(
            f"{key}: {one.broker_version} has other request versions than {plain.broker_version}; "
            "write releases with equal ones, such as 2.6.0 and 2.6.1"
        )


def upgraded(config: ClusterConfig, node: int, version: str) -> dict[int, CoordinatorConfig]:
    """Return the coordinators that differ from the rest after one broker got another release.

    Raises ValueError for a release with other request versions, or a text that is not a release.
    """
    before = config.coordinator_of(node)
    parse_version(version)
    one = evolve(before, broker_version=version)
    _same_requests("version", one, before)
    return {**config.coordinators, node: one}


def check_settings(scenario: Scenario) -> None:
    """Check every broker setting, used or not. Raises ValueError for a key or value that Kafka does not have."""
    coordinator_config(scenario)
    replicated_config(scenario)


def without_effect(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the broker settings without effect for the scenario's kind of logs, each with the reason."""
    if not is_replicated(scenario):
        for name in scenario.broker.properties:
            if name not in BROKER_KEYS:
                yield name, "counted logs have no replicas, segments or transactions"


def counted_config(scenario: Scenario) -> ClusterConfig:
    """Return the configuration of the scenario's cluster with counted logs."""
    return ClusterConfig.with_counted_logs(
        coordinator=coordinator_config(scenario),
        coordinators=_coordinators(scenario),
        **_spec_fields(scenario, _SAME),
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


def _spec_fields(scenario: Scenario, names: Mapping[str, str]) -> dict[str, Any]:
    spec = scenario.cluster
    brokers = {"brokers": int(spec.brokers), "broker_ids": spec.brokers.ids}
    return brokers | {theirs: getattr(spec, ours) for ours, theirs in names.items() if getattr(spec, ours) is not None}


def replicated_config(scenario: Scenario) -> ClusterConfig:
    """Return the configuration of the scenario's cluster with replicated logs.

    Brokers of a release before KRaft have the controller with metadata in ZooKeeper. Raises ValueError as
    `check_settings`.
    """
    names = {ours: theirs for ours, theirs in _SAME.items() if ours not in ONLY_COUNTED}
    fields = {**_spec_fields(scenario, names), "fresh": bool(scenario.cluster.fresh)}
    config = brokers_of(scenario.broker.version, scenario.broker.properties, scenario.cluster.placement, **fields)
    if scenario.broker.defects or scenario.broker.brokers:
        config = evolve(config, coordinator=coordinator_config(scenario), coordinators=_coordinators(scenario))
    session = scenario.cluster.broker_session
    if session is not None:
        config = evolve(config, controller=_with_session(config.controller, session // 1_000))
    return config


def brokers_of(
    version: str | None, properties: Mapping[str, object], placement: str | None = None, **others: Any
) -> ClusterConfig:
    """Return brokers of a release with these settings, and the replicas and the controller of that release.

    `placement` is a word of scenario files, `others` are fields of ClusterConfig. Raises ValueError as
    `check_settings`.
    """
    named = {"broker.version": version} if version else {}
    release = _release(version)
    replica = ReplicaConfig(min_isr_commits=min_isr_commits(version))
    aged = {"controller": _controller(release, placement), "replica": replica}
    return ClusterConfig.from_properties({**named, **properties}, **{**aged, **others})


def min_isr_commits(version: str | None) -> bool:
    """Return whether `min.insync.replicas` above the number of replicas means all of them (KAFKA-15583, since 3.7)."""
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
    """Return the controller with another broker session, and 1/8 of it as the interval of session checks."""
    checks = controller.session_check_ms and session_ms // 8
    return evolve(controller, broker_session_timeout_ms=session_ms, session_check_ms=checks)
