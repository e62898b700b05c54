"""Check the sender of an offset commit, and of a fetch, to a consumer group.

    condition, in order                                                    answer
    epoch below 0, and the group has no members                            accepted
    in a transaction, without any field of a member                        accepted
    the group does not have the member                                     UNKNOWN_MEMBER_ID
    not in a transaction, below version 9, of the consumer protocol        UNSUPPORTED_VERSION
    the epoch is the member's                                              accepted, for any partition
    it is greater                                                          STALE_MEMBER_EPOCH
    it is smaller, and each partition was assigned at most at this epoch   accepted (since 4.3, KIP-1251)
    it is smaller                                                          STALE_MEMBER_EPOCH

A commit that crosses a new assignment on the wire has an older epoch; it counts for partitions that the member has had
since then, also for those that it has to revoke. The first partition that fails refuses the whole request. A member of
the classic protocol gets ILLEGAL_GENERATION in place of STALE_MEMBER_EPOCH. No commit prolongs a session.

A static member that left with epoch -2 has that epoch, so a commit that has -2 as its epoch passes, as in Kafka.

Source: `ConsumerGroup.validateOffsetCommit`, `validateOffsetFetch`; consumer-protocol reference, 1.21.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.consumer.changes import WrittenGroup
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import OffsetCommitRequest, OffsetFetchRequest
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest

_HAS_MEMBER_EPOCH = 9
"""The first version of OffsetCommit for members of the consumer protocol (KIP-848)."""


def commit_error(group: WrittenGroup, op: Operation, request: OffsetCommitRequest) -> ErrorCode | None:
    """Return the error of a sender that may not commit now; None when it may."""
    if request.generation_id < 0 and not group.data.members:
        return None
    member = group.data.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if member.classic is None and request.version < _HAS_MEMBER_EPOCH:
        return ErrorCode.UNSUPPORTED_VERSION
    return _epoch_error(op, member, request.generation_id, _written(op, request))


def txn_commit_error(group: WrittenGroup, op: Operation, request: TxnOffsetCommitRequest) -> ErrorCode | None:
    """Return the same for a commit in a transaction; `offsets/transactions.py` names it for old versions."""
    epoch = request.generation_id
    outside = epoch == -1 and request.member_id == "" and request.group_instance_id is None
    if outside or (epoch < 0 and not group.data.members):
        return None
    member = group.data.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return _epoch_error(op, member, epoch, _written(op, request))


def fetch_error(group: WrittenGroup, request: OffsetFetchRequest, *, committed: bool) -> ErrorCode | None:
    """Return the error of a sender that may not fetch offsets; None when it may, as any sender that is no member."""
    if request.member_id is None and request.member_epoch < 0:
        return None
    if request.member_id is None:
        return ErrorCode.UNKNOWN_SERVER_ERROR  # Kafka looks the id up in a map that takes no null
    state = group.data.committed() if committed else group.data
    member = state.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return None if request.member_epoch == member.member_epoch else _stale(member)


def _written(op: Operation, request: OffsetCommitRequest | TxnOffsetCommitRequest) -> Iterable[TopicPartition]:
    """Return the partitions whose metadata is short enough to be written; the others do not count for the epoch."""
    limit = op.config.offset_metadata_max_bytes
    return (
        entry.partition
        for entry in request.offsets
        if len(entry.metadata.encode("utf-16-le", "surrogatepass")) // 2 <= limit
    )


def _epoch_error(
    op: Operation, member: ConsumerMember, epoch: int, partitions: Iterable[TopicPartition]
) -> ErrorCode | None:
    if epoch == member.member_epoch:
        return None
    if epoch > member.member_epoch or not op.differences.older_epochs_commit:
        return _stale(member)
    return next((_stale(member) for one in partitions if not _had(op, member, one, epoch)), None)


def _had(op: Operation, member: ConsumerMember, partition: TopicPartition, epoch: int) -> bool:
    """Whether the member has had the partition since this epoch at the latest."""
    topic = op.topics.topic(partition.topic)
    if topic is None:
        return False
    for partitions in (member.assigned, member.pending):
        since = partitions.get(topic.topic_id, {}).get(partition.partition)
        if since is not None:
            return since <= epoch
    return False


def _stale(member: ConsumerMember) -> ErrorCode:
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
