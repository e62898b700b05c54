"""What a simulated cluster is made of, and how long things take in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve, field, frozen, validators

from groupsim.coordinator.config import CoordinatorConfig
from groupsim.eventloop.distributions import Distribution, parse_distribution


def _drawn(text: str) -> Callable[[], Distribution]:
    return lambda: parse_distribution(text)


@frozen
class ClusterConfig:
    """The cluster.

    `broker_ids` are 0 and following unless given. `racks` are dealt out to the brokers in turn. `latency` is that of
    one segment on the wire, `processing` what a broker takes for a request, `append_latency` until the followers of
    `__consumer_offsets` have an append. `election_us` is the gap between a coordinator's end and the election of the
    next, `load_us` how long that one loads, `metadata_stale_us` how long brokers name the old one.
    `offsets_partitions` is `offsets.topic.num.partitions`, unless given that of `coordinator`.
    """

    brokers: int = field(default=3, validator=validators.ge(1))
    broker_ids: tuple[int, ...] = ()
    racks: tuple[str, ...] = ()
    coordinator: CoordinatorConfig = field(factory=CoordinatorConfig)
    offsets_partitions: int = field(validator=validators.ge(1))
    latency: Distribution = field(factory=_drawn("uniform(200us, 800us)"))
    processing: Distribution = field(factory=_drawn("100us"))
    append_latency: Distribution = field(factory=_drawn("uniform(1ms, 3ms)"))
    election_us: int = field(default=200_000, validator=validators.ge(0))
    load_us: int = field(default=50_000, validator=validators.ge(0))
    metadata_stale_us: int = field(default=100_000, validator=validators.ge(0))
    #: Coordinators of brokers that run another release, or have other defects, than the rest.
    coordinators: Mapping[int, CoordinatorConfig] = field(factory=dict)

    @offsets_partitions.default
    def _from_coordinator(self) -> int:
        return self.coordinator.offsets_topic_num_partitions

    @property
    def nodes(self) -> tuple[int, ...]:
        """The brokers' ids."""
        return self.broker_ids or tuple(range(self.brokers))

    @property
    def coordinator_config(self) -> CoordinatorConfig:
        """The coordinator's settings, with the number of partitions that holds here."""
        return evolve(self.coordinator, offsets_topic_num_partitions=self.offsets_partitions)

    def coordinator_of(self, node: int) -> CoordinatorConfig:
        """The settings of one broker's coordinator."""
        other = self.coordinators.get(node, self.coordinator)
        return evolve(other, offsets_topic_num_partitions=self.offsets_partitions)
