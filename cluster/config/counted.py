"""How long things take that follow from replication where logs are replicated."""

from __future__ import annotations

from attrs import field, frozen, validators

from groupsim.eventloop.distributions import Distribution, parse_distribution


@frozen
class CountedConfig:
    """`append_latency` is the time until an append to `__consumer_offsets` has committed, `election_us` the gap between
    a coordinator's end and the election of the next (µs).
    """

    append_latency: Distribution = field(factory=lambda: parse_distribution("uniform(1ms, 3ms)"))
    election_us: int = field(default=200_000, validator=validators.ge(0))
