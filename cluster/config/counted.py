"""Durations of counted logs, which follow from replication where logs are replicated."""

from __future__ import annotations

from attrs import field, validators

from groupsim.eventloop.distributions import Distribution, parse_distribution
from groupsim.protocol.values import frozen


@frozen
class CountedConfig:
    """`append_latency` is the time until an append to `__consumer_offsets` has committed, `election_us` the time in µs
    between the end of a coordinator and the election of the next.
    """

    append_latency: Distribution = field(factory=lambda: parse_distribution("uniform(1ms, 3ms)"))
    election_us: int = field(default=200_000, validator=validators.ge(0))
