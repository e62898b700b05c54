"""The check of the member epoch of a heartbeat.

    received            with the request                                answer
    0                   -                                               accepted: the member joins again (since 4.2)
    equal to the epoch  -                                               accepted
    greater             -                                               FENCED_MEMBER_EPOCH
    the previous epoch  partitions reported, all of them assigned       accepted: the last response was lost
    any other           -                                               FENCED_MEMBER_EPOCH

A refused heartbeat changes nothing: the member stays in the group, and its session is not prolonged. Before 4.2 epoch 0
went through the last three rows (KAFKA-19233), so a member that was fenced was refused until its session expired.

Source: `GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid`; consumer-protocol reference, 1.9.
"""

from __future__ import annotations

from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.consumer.assignment.reconciliation import Owned
from groupsim.coordinator.consumer.member import ConsumerMember, Partitions
from groupsim.coordinator.consumer.refused import Refused
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import JOIN_EPOCH


def check_epoch(member: ConsumerMember, received: int, owned: Owned, rules: Differences) -> None:
    """Check the epoch of a heartbeat of a known member. Raises Refused (FENCED_MEMBER_EPOCH)."""
    epoch = member.member_epoch
    if received == epoch or (received == JOIN_EPOCH and rules.epoch_0_is_accepted):
        return
    if received > epoch:
        raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, _text("greater", received, epoch))
    if received != member.previous_epoch or not _all_assigned(owned, member.assigned):
        raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, _text("smaller", received, epoch))


def _all_assigned(owned: Owned, assigned: Partitions) -> bool:
    """Whether the member reports its partitions, and has only assigned ones."""
    return owned is not None and all(
        topic.topic_id in assigned and assigned[topic.topic_id].keys() >= set(topic.partitions) for topic in owned
    )


def _text(how: str, received: int, epoch: int) -> str:
    return (
        f"The consumer group member has a {how} member epoch ({received}) than the one known by the group coordinator "
        f"({epoch}). The member must abandon all its partitions and rejoin."
    )
