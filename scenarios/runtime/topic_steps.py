"""Steps that act on topics, and on the traffic of a topic's own `rate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.scenarios.language.model import TopicSpec
from groupsim.scenarios.plans.producers import millionths

if TYPE_CHECKING:
    from groupsim.scenarios.language.values import Rate
    from groupsim.scenarios.runtime.stage import Stage


class OnTopics:
    """The topics of one stage, and the traffic of their own `rate`."""

    def __init__(self, stage: Stage) -> None:
        self._cluster = stage.cluster

    def create(self, name: str, spec: TopicSpec) -> None:
        """Create a topic with its traffic. Raises ValueError if the name exists."""
        self._cluster.create_topic(
            name,
            spec.partitions,
            rate=per_second(spec.rate),
            replication=spec.replication,
            weights=spec.weights,
            config={key: _text(value) for key, value in spec.properties.items()},
            assignment=spec.replicas,
            sizes=spec.record_size,
        )

    def set_rate(self, topic: str, rate: Rate) -> None:
        """Change the rate at which a topic grows."""
        self._cluster.set_rate(topic, per_second(rate))

    def burst(self, topic: str, records: int) -> None:
        """Append `records` at once, distributed over the partitions like the topic's traffic."""
        self._cluster.burst(topic, records)


def _text(value: object) -> str:
    """Write a setting as Kafka's own tools take it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(getattr(value, "text", value))


def per_second(rate: Rate) -> str:
    """Return a rate as the cluster takes it: records per second, as decimal digits."""
    whole = millionths(rate)
    return f"{whole // 1_000_000}.{whole % 1_000_000:06d}"
