"""`uniform` of the group coordinator, Kafka's default: as many partitions for each member as possible, few moves.

Source: `org.apache.kafka.coordinator.group.assignor.UniformAssignor`; consumer-protocol reference, 1.11.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.assignors.server.heterogeneous import Heterogeneous
from groupsim.assignors.server.homogeneous import assign_homogeneous
from groupsim.assignors.server.interface import ServerAssignor, ServerGroup, Target, Topics


class ServerUniform(ServerAssignor):
    """Kafka's `uniform` for groups of the consumer protocol.

    `returns_extra`: a member that does not fill the extra of its quota returns it; False for the broker 4.0.0, which
    moved more partitions (KAFKA-18688).
    """

    name = "uniform"

    def __init__(self, *, returns_extra: bool = True) -> None:
        self._returns_extra = returns_extra

    def assign(self, group: ServerGroup, topics: Topics) -> Mapping[str, Target]:
        """Spread the partitions over the members."""
        if not group.members:
            return {}
        if group.homogeneous:
            return assign_homogeneous(group, topics, returns_extra=self._returns_extra)
        return Heterogeneous(group, topics).targets()
