"""The upgrade: a classic group with members becomes a consumer group, when a member of the consumer protocol joins it.

`CHECKS` are asked first; the first that holds refuses the heartbeat with GROUP_ID_NOT_FOUND, and nothing changes. The
state of the classic group does not matter. Then, in this order:

1. Every parked JoinGroup and SyncGroup is answered REBALANCE_IN_PROGRESS, so that its sender joins again.
2. The bytes of each member are read: its subscription, for the protocol of the group, and its assignment, which is
   empty when the member never sent SyncGroup. Bytes that are malformed, and an assignment with user data, refuse the
   heartbeat with GROUP_ID_NOT_FOUND. The topics of a subscription may have user data, as those of `sticky` have.
3. Group epoch, assignment epoch and the epoch of each member are the generation. Each member is STABLE, and owns its
   assignment, which is its target. A target may be computed at once.
4. The session of each member begins again, as that of a classic member of a consumer group.
5. The consumer group handles the heartbeat. Its first append begins with the tombstone of the classic group and the
   records of all members.

A heartbeat that is refused after step 1 leaves a classic group whose parked requests have been answered; and so does a
failed append. Timers of the other kind do nothing when they fire.

Two classic members with the same partition, or a group without a protocol, because its first round is still open, are
states that Kafka does not expect: IllegalState, so the sender is answered UNKNOWN_SERVER_ERROR.

Source: `GroupMetadataManager.validateOnlineUpgrade`, `convertToConsumerGroup`, `ConsumerGroup.fromClassicGroup`;
consumer-protocol reference, 1.17.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.consumer_records import EpochRecord, EpochValue, TargetRecord
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.purgatory import Then
from groupsim.coordinator.base.records import Record
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.rebalance import answer_join, answer_sync
from groupsim.coordinator.consumer.assignment.topics_metadata import topics_metadata
from groupsim.coordinator.consumer.changes import Write
from groupsim.coordinator.consumer.group_records import group_records
from groupsim.coordinator.consumer.hosted.embedded import by_topic_id
from groupsim.coordinator.consumer.member import ClassicMetadata, ConsumerMember
from groupsim.coordinator.consumer.member_records import current_record, member_record
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.state import GroupState, Head
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.embedded.consumer_protocol import Assignment, decode_assignment, decode_subscription
from groupsim.protocol.errors import ErrorCode, ProtocolError
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.group import JoinGroupResponse, SyncGroupResponse
from groupsim.protocol.topic_ids import TopicIdMap
from groupsim.protocol.values import frozen

POLICIES = ("upgrade", "bidirectional")

Check: TypeAlias = tuple[str, Callable[[ClassicGroup, CoordinatorConfig], bool], str]
"""What holds of a classic group that cannot be upgraded, the condition, and the end of Kafka's message."""

CHECKS: Sequence[Check] = (
    (
        "`group.consumer.migration.policy` is `downgrade` or `disabled`",
        lambda _, config: config.consumer_migration_policy not in POLICIES,
        "online upgrade is disabled.",
    ),
    (
        "the protocol type is not `consumer`",
        lambda group, _: not group.is_consumer,
        "the group does not use the consumer embedded protocol.",
    ),
    (
        "it has more than `group.consumer.max.size` members",
        lambda group, config: len(group.members) > config.consumer_max_size,
        "the group size exceeds the consumer group maximum size.",
    ),
)
MALFORMED = "the embedded consumer protocol is malformed."
USER_DATA = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor "
    "before re-attempting the upgrade."
)
REFUSALS: Sequence[tuple[str, str]] = (
    *((when, text) for when, _, text in CHECKS),
    ("a subscription or an assignment of a member is malformed", MALFORMED),
    ("an assignment of a member has user data", USER_DATA),
)
"""Every refusal, in the order in which they are looked for; the last two are found member by member."""
_AGAIN = ErrorCode.REBALANCE_IN_PROGRESS


def upgraded(group: ClassicGroup, op: Operation) -> GroupState:
    """Return the consumer group that a classic group becomes; its parked requests are answered.

    Raises Refused (GROUP_ID_NOT_FOUND), and IllegalState.
    """
    for _, holds, text in CHECKS:
        if holds(group, op.config):
            raise _refused(group, text)
    for member in group.members.values():
        answer_join(op, group, member, JoinGroupResponse(_AGAIN, member_id=member.member_id))
    for member in group.members.values():
        answer_sync(op, member, SyncGroupResponse(_AGAIN))
    epoch = group.generation
    head = Head(group_epoch=epoch, assignment_epoch=epoch)
    state = GroupState(group.group_id, head, frees_instances=op.differences.instance_change_frees)
    try:
        for member in group.members.values():
            _add(state, _consumer_member(group, member, op), op)
    except ProtocolError as problem:
        raise _refused(group, MALFORMED) from problem
    state.put_once()
    metadata = topics_metadata(state, state.names, op)
    for record in metadata.before:
        state.apply(record)
    state.apply(EpochRecord(group.group_id, EpochValue(epoch, metadata.hash)))
    return state


def _consumer_member(group: ClassicGroup, member: Member, op: Operation) -> ConsumerMember:
    """Return a member with its last assignment. Raises Refused, ProtocolError and IllegalState."""
    given = decode_assignment(member.assignment) if member.assignment else Assignment()
    if given.user_data:
        raise _refused(group, USER_DATA)
    sent = decode_subscription(member.metadata(group.protocol))
    epoch = group.generation
    owned = TopicIdMap(by_topic_id(given.partitions, op.topics).items())
    return ConsumerMember(
        member.member_id,
        instance_id=member.instance_id,
        rack_id=sent.rack,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        names=tuple(java_sorted(set(sent.topics))),
        classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
        member_epoch=epoch,
        previous_epoch=epoch,
        assigned={topic: dict.fromkeys(sorted(numbers), epoch) for topic, numbers in owned.items()},
    )


def _add(state: GroupState, member: ConsumerMember, op: Operation) -> None:
    """Add a member whose target is what it owns. Raises IllegalState when another one owns a partition of it."""
    target = {topic: tuple(partitions) for topic, partitions in member.assigned.items()}
    state.apply(member_record(state.group_id, member))
    state.apply(TargetRecord(state.group_id, member.member_id, target))
    state.apply(current_record(state.group_id, member, op.differences))


def _refused(group: ClassicGroup, text: str) -> Refused:
    because = f"Cannot upgrade classic group {group.group_id} to consumer group because {text}"
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, because)


@frozen(eq=False)
class UpgradeWrite:
    """The first write of an upgraded group: it puts the group in the place of the classic one.

    Implements `consumer.changes.Write`. `state` is the group before the heartbeat of the member `culprit`.
    """

    append: Write
    op: Operation
    group: ClassicGroup
    state: GroupState
    culprit: str

    def __call__(self, records: tuple[Record, ...], then: Then | None = None, within_ms: int | None = None) -> None:
        """Append the conversion, then the records of the heartbeat, as one append. Raises IllegalState."""
        self.append(
            (*self.group.tombstones(), *group_records(self.state, self.op.differences), *records), then, within_ms
        )
        self.group.replaced = True
        payload = {
            "members": len(self.group.members),
            "before": self.group.state.printed,
            "state": self.state.state.value,
        }
        reason = f"Member {self.culprit} joins the classic group using the consumer protocol."
        self.op.emit(
            Kind.GROUP_CONVERTED, self.group, self.culprit, from_="classic", to="consumer", reason=reason,
            payload=payload,
        )  # fmt: skip
