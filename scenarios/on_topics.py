"""What steps do to topics: on counted logs the topic grows by itself, on replicated ones its feed writes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.replicated import ReplicatedCluster
from groupsim.scenarios.model import TopicSpec
from groupsim.scenarios.producing import millionths

if TYPE_CHECKING:
    from groupsim.scenarios.stage import Stage
    from groupsim.scenarios.values import Rate


class OnTopics:
    """The topics of one stage, and the traffic that their own `rate` makes."""

    def __init__(self, stage: Stage) -> None:
        self._cluster = stage.cluster
        self._specs: dict[str, TopicSpec] = {}

    def create(self, name: str, spec: TopicSpec) -> None:
        """Create a topic, and let it grow at its rate. Raises ValueError when there is one of this name."""
        cluster, rate = self._cluster, per_second(spec.rate)
        if isinstance(cluster, Cluster):
            replicas = spec.replication or 1
            cluster.create_topic(name, spec.partitions, rate=rate, replication=replicas, weights=spec.weights)
            return
        cluster.create_topic(
            name,
            spec.partitions,
            replication=spec.replication,
            config={key: _text(value) for key, value in spec.properties.items()},
            assignment=spec.replicas,
        )
        self._specs[name] = spec
        if millionths(spec.rate):
            self._feed(cluster, name, rate)

    def set_rate(self, topic: str, rate: Rate) -> None:
        """Let a topic grow at another rate."""
        cluster = self._cluster
        if isinstance(cluster, ReplicatedCluster) and topic not in cluster.feeds:
            self._feed(cluster, topic, per_second(rate))
        else:
            cluster.set_rate(topic, per_second(rate))

    def burst(self, topic: str, records: int) -> None:
        """So many records at once, shared out as the topic's traffic is."""
        cluster = self._cluster
        if isinstance(cluster, Cluster):
            cluster.data.burst(topic, records)
            return
        if topic not in cluster.feeds:
            self._feed(cluster, topic, "0")
        cluster.feeds[topic].burst(topic, records)

    def _feed(self, cluster: ReplicatedCluster, topic: str, rate: str) -> None:
        """The steady producer behind a topic, with the weights and sizes that the scenario gives it."""
        spec = self._specs.get(topic)
        if spec is None:
            raise ValueError(f"there is no topic {topic!r}; there are: {', '.join(self._specs)}")
        count = len(cluster.controller.image.topics[topic].partitions)
        cluster.attach_feed(topic, rate, spec.weights or [1] * count, sizes=spec.record_size)


def _text(value: object) -> str:
    """A setting as Kafka's own tools would be given it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(getattr(value, "text", value))


def per_second(rate: Rate) -> str:
    """A rate as the cluster takes it: records per second, as decimal digits."""
    whole = millionths(rate)
    return f"{whole // 1_000_000}.{whole % 1_000_000:06d}"
