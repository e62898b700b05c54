"""Read autoscalers: Kubernetes' HorizontalPodAutoscaler and KEDA's ScaledObject.

A scenario follows the lag of a group or the CPU of its pods; a comment names other metrics. A trigger `kafka`
of KEDA also names a group and its topic.

Source: Kubernetes API reference, HorizontalPodAutoscaler v1 and v2; KEDA, ScaledObject spec and scaler "Apache Kafka".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import evolve

from groupsim.scenarios.drafting.facts import AutoscalerFacts, Fact, Node

KINDS = ("HorizontalPodAutoscaler", "ScaledObject")
KEDA_MAXIMUM = 100
"""KEDA's default of maxReplicaCount."""
KEDA_LAG = 10
"""KEDA's default of lagThreshold."""
_KAFKA = ("kafka", "apache-kafka")
_LAG = re.compile(r"lag", re.IGNORECASE)
_QUANTITY = re.compile(r"(\d+)(k|M)?")
_TIMES = {None: 1, "k": 1_000, "M": 1_000_000}


def read_autoscalers(node: Node) -> Iterator[AutoscalerFacts]:
    """Yield the autoscalers that one manifest declares: one for each trigger `kafka` of a ScaledObject.

    Raises ScenarioError for invalid numbers.
    """
    if node.data["kind"] == "HorizontalPodAutoscaler":
        yield _hpa(node)
    else:
        yield from _scaled_object(node)


def _hpa(node: Node) -> AutoscalerFacts:
    cpu, lag, other = node.number_at("spec", "targetCPUUtilizationPercentage", least=1), None, []
    group = topic = None
    for metric in node.items("spec", "metrics"):
        kind = metric.text("type")
        resource = metric.text("resource", "name") or metric.text("containerResource", "name")
        of_pods = metric.at("external") or metric.at("pods")
        if resource is not None and resource.value == "cpu" and (value := _utilization(metric)) is not None:
            cpu = value
        elif of_pods is not None and (value := _lag_of(of_pods)) is not None:
            lag = value
            group, topic = (_label(of_pods, names) for names in (("group", "consumergroup"), ("topic",)))
        else:
            what = resource.value if resource is not None else kind.value if kind is not None else "a metric"
            other.append(Fact(what, metric.place, metric.name))
    return AutoscalerFacts(
        kind="HorizontalPodAutoscaler",
        place=node.place,
        target=_target(node),
        minimum=node.number_at("spec", "minReplicas"),
        maximum=node.number_at("spec", "maxReplicas", least=1),
        lag=lag,
        cpu=cpu,
        stabilization_s=node.number_at("spec", "behavior", "scaleDown", "stabilizationWindowSeconds"),
        group=group,
        topic=topic,
        other=tuple(other),
    )


def _utilization(metric: Node) -> Fact[int] | None:
    """Return a percentage of the containers' request; v2beta1 has it beside the name."""
    for source in ("resource", "containerResource"):
        found = metric.number_at(source, "target", "averageUtilization", least=1)
        found = found or metric.number_at(source, "targetAverageUtilization", least=1)
        if found is not None:
            return found
    return None


def _lag_of(metric: Node) -> Fact[int] | None:
    """Return the target of a metric whose name contains `lag`."""
    name = metric.text("metric", "name") or metric.text("metricName")
    value = metric.text("target", "averageValue") or metric.text("targetAverageValue") or metric.text("target", "value")
    if name is None or value is None or _LAG.search(name.value) is None:
        return None
    quantity = _QUANTITY.fullmatch(value.value)
    return None if quantity is None else Fact(int(quantity[1]) * _TIMES[quantity[2]], value.place, value.name)


def _label(metric: Node, names: tuple[str, ...]) -> Fact[str] | None:
    return next((fact for name in names if (fact := metric.text("metric", "selector", "matchLabels", name))), None)


def _scaled_object(node: Node) -> Iterator[AutoscalerFacts]:
    stabilization = node.number_at(
        "spec",
        "advanced",
        "horizontalPodAutoscalerConfig",
        "behavior",
        "scaleDown",
        "stabilizationWindowSeconds",
    )
    base = AutoscalerFacts(
        kind="ScaledObject",
        place=node.place,
        target=_target(node),
        minimum=node.number_at("spec", "minReplicaCount"),
        maximum=node.number_at("spec", "maxReplicaCount", least=1)
        or Fact(KEDA_MAXIMUM, node.place, "maxReplicaCount: KEDA's default"),
        stabilization_s=stabilization,
    )
    triggers = list(node.items("spec", "triggers"))
    others = []
    for trigger in triggers:
        kind = trigger.text("type")
        name = kind.value if kind is not None else "a trigger"
        metadata = trigger.at("metadata")
        if name in _KAFKA and metadata is not None:
            yield _of_kafka(trigger, metadata, base)
        elif name == "cpu" and metadata is not None and metadata.at("value") is not None:
            yield evolve(base, place=trigger.place, cpu=metadata.number_at("value", least=1))
        else:
            others.append(Fact(name, trigger.place, trigger.name))
    if others or not triggers:
        yield evolve(base, other=tuple(others))


def _of_kafka(trigger: Node, metadata: Node, base: AutoscalerFacts) -> AutoscalerFacts:
    return evolve(
        base,
        place=trigger.place,
        lag=metadata.number_at("lagThreshold", least=1)
        or Fact(KEDA_LAG, trigger.place, "lagThreshold: KEDA's default"),
        group=metadata.text("consumerGroup"),
        topic=metadata.text("topic"),
        reset=metadata.text("offsetResetPolicy"),
    )


def _target(node: Node) -> str:
    """Return the name of the scaled workload; KEDA 1 has it under deploymentName."""
    for key in ("name", "deploymentName"):
        found = node.text("spec", "scaleTargetRef", key)
        if found is not None:
            return found.value
    raise node.problem("has no `spec.scaleTargetRef.name`", "write the name of the Deployment or StatefulSet")
