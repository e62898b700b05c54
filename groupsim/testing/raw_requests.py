"""Raw requests of a test: the broker of each, and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from groupsim.members.interfaces import Disconnected
from groupsim.protocol.messages.group import AnsweredBy
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)
from groupsim.protocol.values import define

if TYPE_CHECKING:
    from groupsim.cluster.cluster import Cluster

#: Requests to the coordinator of a transactional id. TxnOffsetCommit has one too, but goes to the group's coordinator.
_OF_TRANSACTIONS = (InitProducerIdRequest, AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, EndTxnRequest)

Answer = TypeVar("Answer")


@define
class Sent(Generic[Answer]):
    """A raw request of a test; `outcome` is None until its answer arrives or its connection breaks."""

    request: AnsweredBy[Answer]
    correlation: int = -1
    outcome: Answer | Disconnected | None = None

    @property
    def answered(self) -> bool:
        """Whether the answer has arrived. A parked request has none."""
        return self.outcome is not None and not isinstance(self.outcome, Disconnected)

    @property
    def answer(self) -> Answer:
        """The answer. Raises AssertionError if there is none yet, or if the connection broke."""
        if self.outcome is None:
            raise AssertionError(f"no answer yet to {self.request}; wait: await sim.until(lambda: sent.answered)")
        if isinstance(self.outcome, Disconnected):
            raise AssertionError(f"no answer to {self.request}: {self.outcome}")
        return self.outcome


def node_for(cluster: Cluster, request: AnsweredBy[Answer]) -> int:
    """Return the node of a request. Raises LookupError while its group or its transactional id has no coordinator.

    The first request with a transactional id creates the topic of transactions, as Kafka's first look-up does.
    """
    name = _transactional_id(request)
    if name is not None and not cluster.is_counted:
        cluster.replicated.make_transaction_topic()
        return cluster.replicated.transaction_coordinator_of(name)[0]
    group = getattr(request, "group_id", None) or getattr(request, "key", None)
    if group is None:
        group = next(iter(getattr(request, "groups", ()) or ()), None)
    return cluster.coordinator_of(group)[0] if group is not None else cluster.transport.bootstrap[0]


def is_awaited(cluster: Cluster, request: AnsweredBy[Answer]) -> bool:
    """Whether the coordinator of a request's transactional id does not lead the partition yet."""
    name = _transactional_id(request)
    if name is None or cluster.is_counted:
        return False
    cluster.replicated.make_transaction_topic()
    try:
        _, coordinator = cluster.replicated.transaction_coordinator_of(name)
    except LookupError:
        return True
    return coordinator.partition_for(name) not in coordinator.led_partitions


def _transactional_id(request: AnsweredBy[Answer]) -> str | None:
    return request.transactional_id if isinstance(request, _OF_TRANSACTIONS) else None
