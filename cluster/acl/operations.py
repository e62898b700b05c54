"""What can be done with a resource, and what clients are told of it: the fields called authorized operations (KIP-430).

Each operation is one bit. Without an authorizer everybody may do everything that can be done.

Source: `AclEntry.supportedOperations`, `AuthHelper.authorizedOperations`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve

from groupsim.protocol.messages.acl import Operation, Resource
from groupsim.protocol.messages.group import MetadataRequest, MetadataResponse

SUPPORTED: Final[Mapping[Resource, tuple[Operation, ...]]] = {
    Resource.TOPIC: (
        *(Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE, Operation.DELETE, Operation.ALTER),
        *(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
    ),
    Resource.GROUP: (
        *(Operation.READ, Operation.DESCRIBE, Operation.DELETE),
        *(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
    ),
    Resource.CLUSTER: (
        *(Operation.CREATE, Operation.CLUSTER_ACTION, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
        *(Operation.IDEMPOTENT_WRITE, Operation.ALTER, Operation.DESCRIBE),
    ),
}
"""What can be done with a resource, as far as clients are told of it."""


def bits(operations: Iterable[Operation]) -> int:
    """Operations as the field of a response."""
    return sum(1 << operation for operation in operations)


CLUSTER_OPERATIONS: Final = bits(SUPPORTED[Resource.CLUSTER])
TOPIC_OPERATIONS: Final = bits(SUPPORTED[Resource.TOPIC])


def allowed_everything(answer: MetadataResponse, request: MetadataRequest) -> MetadataResponse:
    """What somebody who may do everything is told, if it was asked for."""
    if request.include_topic_operations:
        told = (evolve(topic, operations=TOPIC_OPERATIONS) for topic in answer.topics)
        answer = evolve(answer, topics=tuple(told))
    if request.include_cluster_operations:
        answer = evolve(answer, operations=CLUSTER_OPERATIONS)
    return answer
