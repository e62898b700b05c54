"""Read Deployments and StatefulSets of Kubernetes: pods, rollouts, and environments.

    spec.replicas                                    members of the group
    spec.strategy, spec.updateStrategy               `kind`, `max-unavailable` and `surge` of a rollout
    readinessProbe, minReadySeconds                  when a pod counts as ready
    lifecycle.preStop                                `stop-time`, where it sleeps
    terminationGracePeriodSeconds                    `grace`; Kubernetes' default is 30 s
    env, envFrom, args (`--spring.kafka.…=…`)        settings

Source: Kubernetes API reference, DeploymentSpec, StatefulSetSpec, PodSpec, Container, Probe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from groupsim.scenarios.drafting.facts import POD_NAME, Fact, Node, Workload
from groupsim.scenarios.language.properties import WITHHELD, is_secret

KINDS = ("Deployment", "StatefulSet", "DeploymentConfig")
GRACE_S = 30
"""Kubernetes' default of terminationGracePeriodSeconds."""
PROBE_PERIOD_S = 10
"""Kubernetes' default of periodSeconds."""
_SLEEP = re.compile(r"\bsleep\s+(\d+)\b")
_ARGUMENT = re.compile(r"(?:--|-D)([A-Za-z][\w.\[\]-]*)=(.*)", re.DOTALL)
_REFERENCE = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)")
_POD = ("metadata.name",)
ConfigMaps = Mapping[str, Mapping[str, Fact[str]]]


def read_workload(node: Node, config_maps: ConfigMaps) -> Workload:
    """Read one manifest. Raises ScenarioError for invalid numbers."""
    kind = str(node.data["kind"])
    name = node.text("metadata", "name")
    template = node.at("spec", "template", "spec")
    if name is None or template is None:
        remedy = "write both, as in a Deployment"
        raise node.problem("has no `metadata.name` or no `spec.template.spec`", remedy)
    containers = list(template.items("containers"))
    main = containers[0] if containers else template
    env, unknown = _environment(containers, config_maps)
    probe = main.at("readinessProbe")
    return Workload(
        kind=kind,
        name=name.value,
        place=node.place,
        replicas=node.number_at("spec", "replicas"),
        rollout=dict(_rollout(node, template, main, kind)),
        first_probe_s=_first_probe(probe),
        probe_period_s=_seconds(probe, "periodSeconds", PROBE_PERIOD_S),
        minimum_ready_s=node.number_at("spec", "minReadySeconds"),
        env=env,
        unknown=unknown,
        mounts=frozenset(_mounts(template)),
    )


def _rollout(node: Node, template: Node, main: Node, kind: str) -> Iterator[tuple[str, Fact[str]]]:
    """Yield the keys of the step that the manifest sets."""
    strategy = node.text("spec", "updateStrategy", "type") or node.text("spec", "strategy", "type")
    if kind == "StatefulSet":
        yield "kind", Fact("statefulset", strategy.place if strategy else node.place, f"kind: {kind}")
    elif strategy is not None and strategy.value == "Recreate":
        yield "kind", Fact("recreate", strategy.place, strategy.name)
    else:
        yield "kind", Fact("deployment", strategy.place if strategy else node.place, f"kind: {kind}")
        for params in ("rollingUpdate", "rollingParams"):
            for key, theirs in (("max-unavailable", "maxUnavailable"), ("surge", "maxSurge")):
                found = node.text("spec", "strategy", params, theirs)
                if found is not None:
                    yield key, found
    seconds = _pre_stop(main)
    if seconds is not None:
        yield "stop-time", seconds
    grace = template.number_at("terminationGracePeriodSeconds")
    if grace is None:
        yield "grace", Fact(f"{GRACE_S}s", node.place, "terminationGracePeriodSeconds: Kubernetes' default")
    else:
        yield "grace", Fact(f"{grace.value}s", grace.place, grace.name)


def _pre_stop(container: Node) -> Fact[str] | None:
    """Return the sleep of the preStop hook, if it only sleeps."""
    seconds = container.number_at("lifecycle", "preStop", "sleep", "seconds")
    if seconds is not None:
        return Fact(f"{seconds.value}s", seconds.place, seconds.name)
    command = container.at("lifecycle", "preStop", "exec", "command")
    if command is None or not isinstance(command.data, list):
        return None
    sleep = _SLEEP.search(" ".join(str(getattr(part, "text", part)) for part in command.data))
    return None if sleep is None else Fact(f"{sleep[1]}s", command.place, "lifecycle.preStop")


def _first_probe(probe: Node | None) -> Fact[int] | None:
    if probe is None:
        return None
    written = probe.number_at("initialDelaySeconds")
    return written or Fact(0, probe.place, "readinessProbe")


def _seconds(probe: Node | None, key: str, default: int) -> int:
    written = probe.number_at(key) if probe is not None else None
    return written.value if written is not None else default


def _mounts(template: Node) -> Iterator[str]:
    for volume in template.items("volumes"):
        name = volume.text("configMap", "name")
        if name is not None:
            yield name.value


# --- the environment -------------------------------------------------------------------------------------------


def _environment(containers: list[Node], config_maps: ConfigMaps) -> tuple[dict[str, Fact[str]], tuple[Fact[str], ...]]:
    """Return variables and arguments of all containers, and the variables whose values no file contains."""
    found: dict[str, Fact[str]] = {}
    unknown: list[Fact[str]] = []
    for container in containers:
        for name, fact in _of_container(container, config_maps):
            if fact.value is None:
                unknown.append(Fact(name, fact.place, name))
            else:
                found[name] = Fact(WITHHELD if is_secret(name) else fact.value, fact.place, name)
    return {name: _expanded(fact, found) for name, fact in found.items()}, tuple(unknown)


def _of_container(container: Node, config_maps: ConfigMaps) -> Iterator[tuple[str, Fact[str | None]]]:
    for source in container.items("envFrom"):
        yield from _all_of(source, config_maps)
    for variable in container.items("env"):
        name = variable.text("name")
        if name is not None:
            yield name.value, _value(variable, config_maps)
    for list_ in ("command", "args"):
        for argument in container.items(list_):
            if isinstance(argument.data, str) and (match := _ARGUMENT.fullmatch(argument.data)) is not None:
                yield match[1], Fact(match[2], argument.place, match[1])


def _all_of(source: Node, config_maps: ConfigMaps) -> Iterator[tuple[str, Fact[str | None]]]:
    """Yield the variables of an `envFrom` ConfigMap, or the name of one that no file contains."""
    name = source.text("configMapRef", "name")
    prefix = source.text("prefix")
    if name is not None and name.value not in config_maps:
        yield f"ConfigMap {name.value}", Fact(None, name.place, name.name)
    for key, fact in config_maps.get(name.value if name else "", {}).items():
        yield f"{prefix.value if prefix else ''}{key}", Fact(fact.value, fact.place, fact.name)


def _value(variable: Node, config_maps: ConfigMaps) -> Fact[str | None]:
    written = variable.text("value")
    if written is not None:
        return Fact(written.value, written.place, written.name)
    field = variable.text("valueFrom", "fieldRef", "fieldPath")
    if field is not None and field.value in _POD:
        return Fact(POD_NAME, field.place, field.name)
    name, key = (variable.text("valueFrom", "configMapKeyRef", part) for part in ("name", "key"))
    fact = config_maps.get(name.value, {}).get(key.value) if name is not None and key is not None else None
    if fact is not None:
        return Fact(fact.value, fact.place, fact.name)
    return Fact(None, variable.place, variable.name)


def _expanded(fact: Fact[str], found: Mapping[str, Fact[str]]) -> Fact[str]:
    """Replace `$(NAME)` as the kubelet does, one level deep; unknown names stay."""

    def of(match: re.Match[str]) -> str:
        return found[match[1]].value if match[1] in found else match[0]

    return Fact(_REFERENCE.sub(of, fact.value), fact.place, fact.name)
