"""Read topics and brokers: Strimzi's KafkaTopic, Kafka and KafkaNodePool, and StatefulSets that run brokers.

Source: Strimzi, API reference (KafkaTopicSpec, KafkaSpec, KafkaNodePoolSpec); Kafka's container images, which read
`KAFKA_…` variables as settings of the broker.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from groupsim.scenarios.drafting.facts import BrokerFacts, Fact, Node, Topic, Workload

KINDS = ("KafkaTopic", "Kafka", "KafkaNodePool")
#: A container with one of these variables runs a broker.
BROKERS_ONLY = (
    "KAFKA_ADVERTISED_LISTENERS",
    "KAFKA_BROKER_ID",
    "KAFKA_CONTROLLER_QUORUM_VOTERS",
    "KAFKA_NODE_ID",
    "KAFKA_PROCESS_ROLES",
    "KAFKA_ZOOKEEPER_CONNECT",
    "KAFKA_CFG_PROCESS_ROLES",
    "KAFKA_CFG_ZOOKEEPER_CONNECT",
)
_PREFIXES = ("KAFKA_CFG_", "KAFKA_")


def read_topic(node: Node) -> Topic:
    """Read a KafkaTopic. Raises ScenarioError for invalid numbers."""
    name = node.text("spec", "topicName") or node.text("metadata", "name")
    if name is None:
        raise node.problem("has no `metadata.name`", "write the name of the topic")
    return Topic(
        name=name.value,
        place=node.place,
        partitions=node.number_at("spec", "partitions", least=1),
        replicas=node.number_at("spec", "replicas", least=1),
        config=config_at(node, "spec", "config"),
    )


def read_brokers(node: Node) -> BrokerFacts:
    """Read a Kafka resource. Raises ScenarioError for invalid numbers."""
    name = node.text("metadata", "name")
    return BrokerFacts(
        name=name.value if name is not None else "",
        place=node.place,
        count=node.number_at("spec", "kafka", "replicas", least=1),
        version=node.text("spec", "kafka", "version"),
        config=config_at(node, "spec", "kafka", "config"),
        racks=node.text("spec", "kafka", "rack", "topologyKey"),
    )


def read_pool(node: Node) -> BrokerFacts | None:
    """Read a KafkaNodePool of brokers; None for one of controllers. Raises as `read_brokers` does."""
    roles = node.at("spec", "roles")
    if roles is not None and isinstance(roles.data, list) and "broker" not in roles.data:
        return None
    cluster = node.text("metadata", "labels", "strimzi.io/cluster")
    return BrokerFacts(cluster.value if cluster else "", node.place, count=node.number_at("spec", "replicas", least=1))


def config_at(node: Node, *path: str) -> dict[str, Fact[Any]]:
    """Return a mapping of settings by Kafka's names, with the values as written."""
    config = node.at(*path)
    if config is None or not isinstance(config.data, dict):
        return {}
    facts = ((name, config.text(name)) for name in config.data)
    return {name: Fact(config.data[name], fact.place, fact.name) for name, fact in facts if fact is not None}


def runs_brokers(workload: Workload) -> bool:
    """Return whether the pods of a workload are brokers."""
    return any(name in workload.env for name in BROKERS_ONLY)


def brokers_of(workload: Workload, known: Iterable[str]) -> BrokerFacts:
    """Return the brokers that a workload runs, with the variables that are settings in `known`."""
    by_variable = {name.replace(".", "_").upper(): name for name in known}
    config = {}
    for variable, fact in workload.env.items():
        prefix = next((one for one in _PREFIXES if variable.startswith(one)), None)
        setting = by_variable.get(variable.removeprefix(prefix)) if prefix is not None else None
        if setting is not None:
            config[setting] = fact
    return BrokerFacts(workload.name, workload.place, count=workload.replicas, config=config)
