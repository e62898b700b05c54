"""The operations that exist for a resource, and the fields of responses called authorized operations (KIP-430).

Each operation is one bit. Without an authorizer all operations of a resource are set.

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
"""Resource → the operations that responses report."""


def bits(operations: Iterable[Operation]) -> int:
    """Return operations as the bit set of a response."""
    return sum(1 << operation for operation in operations)


CLUSTER_OPERATIONS: Final = bits(SUPPORTED[Resource.CLUSTER])
TOPIC_OPERATIONS: Final = bits(SUPPORTED[Resource.TOPIC])


def with_all_operations(answer: MetadataResponse, request: MetadataRequest) -> MetadataResponse:
    """Return the answer of a broker without an authorizer, with all operations where the request asks for them."""
    if request.include_topic_operations:
        topics = (evolve(topic, operations=TOPIC_OPERATIONS) for topic in answer.topics)
        answer = evolve(answer, topics=tuple(topics))
    if request.include_cluster_operations:
        answer = evolve(answer, operations=CLUSTER_OPERATIONS)
    return answer
