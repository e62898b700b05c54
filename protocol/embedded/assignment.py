"""The input and the result of an assignor: the contract between the leader and any assignor.

Sources: `ConsumerPartitionAssignor` (GroupSubscription, GroupAssignment, Subscription, Cluster); assignors reference,
section 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from groupsim.protocol.messages.group import TopicPartition


@frozen
class MemberSubscription:
    """One member as an input of the assignor.

    `owned` and `generation` are the member's claims (`cooperative-sticky`: from the subscription's own fields,
    `sticky`: decoded from `user_data` by the assignor); `generation` None means absent (negative on the wire).
    """

    member_id: str
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None
    rack: str | None = None
    instance_id: str | None = None


@frozen
class TopicMetadata:
    """The leader's metadata of one topic; `racks[p]` are the racks of partition p's replicas."""

    name: str
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()


@frozen
class GroupAssignment:
    """One round's result: for each member (input order) its partitions in the order the assignor listed them.

    A custom assignor returns a dict; `range` and `roundrobin` return a mapping that makes its tuples at the first read.
    """

    partitions: Mapping[str, tuple[TopicPartition, ...]]
    user_data: Mapping[str, bytes] = {}
