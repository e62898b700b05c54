"""Requests by hand: which broker each is for, and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from attrs import define

from groupsim.members.interfaces import Disconnected
from groupsim.protocol.messages.group import AnsweredBy
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)

if TYPE_CHECKING:
    from groupsim.cluster.cluster import Cluster

#: What the coordinator of a transactional id takes. TxnOffsetCommit names one too, and is the group's.
_OF_TRANSACTIONS = (InitProducerIdRequest, AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, EndTxnRequest)

Answer = TypeVar("Answer")


@define
class Sent(Generic[Answer]):
    """A raw request that a test sent; `outcome` is None until it is answered (or its connection breaks)."""

    request: AnsweredBy[Answer]
    correlation: int = -1
    outcome: Answer | Disconnected | None = None

    @property
    def answered(self) -> bool:
        """Whether an answer came. A parked request is not answered."""
        return self.outcome is not None and not isinstance(self.outcome, Disconnected)

    @property
    def answer(self) -> Answer:
        """The answer. Raises AssertionError while there is none, or when its connection broke."""
        if self.outcome is None:
            raise AssertionError(f"no answer yet to {self.request}; wait: await sim.until(lambda: sent.answered)")
        if isinstance(self.outcome, Disconnected):
            raise AssertionError(f"no answer to {self.request}: {self.outcome}")
        return self.outcome


def node_for(cluster: Cluster, request: AnsweredBy[Answer]) -> int:
    """The node a request is for. Raises LookupError when nobody coordinates its group, or its transactions, just now.

    The first one about transactions has their topic made, as the first look-up does in Kafka.
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
    """Whether the node it is for has still to hear that it coordinates this transactional id."""
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
