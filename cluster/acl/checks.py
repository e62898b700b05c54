"""The authorization of a broker, with the check of every request that clients can send."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groupsim.cluster.acl import cluster, consumer_groups, groups, offsets, operators, records, topics, transactions
from groupsim.cluster.acl.authorization import Authorization
from groupsim.cluster.acl.rules import StandardAuthorizer
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import Acl
from groupsim.protocol.messages.admin import ConfigsToAlter
from groupsim.protocol.messages.cluster import ClusterImage
from groupsim.protocol.messages.group import MetadataRequest

if TYPE_CHECKING:
    from groupsim.cluster.config.cluster import ClusterConfig


class KafkaAuthorization(Authorization):
    """Kafka's checks."""

    def forbids(self, call: Any, resource: ConfigsToAlter) -> tuple[ErrorCode, str | None] | None:
        return cluster.alter_error(self.context(call, _never_forward), resource.type, resource.name)


def _never_forward(call: object, request: object) -> None:
    raise RuntimeError(f"{request} was forwarded a second time")


def authorization_of(
    config: ClusterConfig, image: Callable[[], ClusterImage], node: int = 0
) -> KafkaAuthorization | None:
    """Return the checks of a broker with these settings, over the ACLs of its image; None without an authorizer."""
    if not config.acl.enabled:
        return None

    def acls() -> frozenset[Acl]:
        return image().acls

    checks = {
        **groups.CHECKS,
        **consumer_groups.checks(config.coordinator_of(node).consumer_protocol),
        **offsets.CHECKS,
        **transactions.CHECKS,
        **records.CHECKS,
        **topics.CHECKS,
        **cluster.CHECKS,
        **operators.CHECKS,
        MetadataRequest: topics.Metadata(creates=config.auto_create_topics_enable).check,
    }
    return KafkaAuthorization(StandardAuthorizer(config.acl, acls), image, checks)
