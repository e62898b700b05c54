"""The fields of a heartbeat: everything when the member joins or a heartbeat has failed, else what has changed.

The request names group, member id, member epoch and instance id always. The rest is compared with what the last built
request had; a field counts as sent when the request is built, not when it is answered. A failure of any kind forgets
what was sent, so that the next request is complete, and is answered with the assignment. TopicPartitions is what the
member has reconciled, also if the same partitions were reconciled once more: it is the acknowledgement. The rack is
sent with a join only. A regular expression that is given up is sent as "". A heartbeat that leaves follows the same
rule: the member has no partitions by then, and, unless it leaves by the poll limit, no topics.

Sources: `ConsumerHeartbeatRequestManager.HeartbeatState`, `SentFields` (4.4.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupsim.members.consumer_protocol.assignment import LocalAssignment, to_message
from groupsim.members.consumer_protocol.states import MemberState
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest

if TYPE_CHECKING:
    from groupsim.members.consumer_protocol.parts import MembershipManager
    from groupsim.members.ports import Ports

_STABLE = MemberState.STABLE  # bound once: access to a member of an enumeration is slow
#: The first version of ConsumerGroupHeartbeat that has SubscribedTopicRegex.
REGEX_SINCE: Final = 1


class HeartbeatFields:
    """Builds the heartbeats of one member, and keeps what the last one had."""

    __slots__ = (
        "_assignment",
        "_assignor",
        "_before",
        "_changes",
        "_member",
        "_membership",
        "_plain",
        "_regex",
        "_remembers_all",
        "_timeout_ms",
        "_topics",
    )

    def __init__(self, member: Ports, membership: MembershipManager) -> None:
        self._member = member
        self._membership = membership
        self._changes = 0  # of the subscription, up to the last request
        self._plain: ConsumerGroupHeartbeatRequest | None = None
        row = member.profile.consumer_protocol
        #: What was sent last is all that decides on the next request of a stable member.
        self._remembers_all = not (row.repeats or row.awaits_partitions or row.resends_topics)
        self.forget()

    def forget(self) -> None:
        """Forget what was sent: the next request has all fields."""
        self._timeout_ms: int | None = None
        self._topics: tuple[str, ...] | None = None
        self._regex: str | None = None
        self._assignor: str | None = None
        self._assignment: LocalAssignment | None = None
        self._before: tuple[int | None, tuple[str, ...] | None, str | None, str | None, LocalAssignment | None] = (
            None,
            None,
            None,
            None,
            None,
        )

    def take_back(self) -> None:
        """Forget what the last request had, and keep what was sent before it."""
        self._timeout_ms, self._topics, self._regex, self._assignor, self._assignment = self._before

    def build(self, version: int) -> ConsumerGroupHeartbeatRequest:
        """Build the next request; one without changes is the same object as long as the epoch stays."""
        membership = self._membership
        member, settings = self._member, self._member.settings
        row, subscription, state = member.profile.consumer_protocol, member.subscription, membership.state
        if membership.epoch < 0 and not row.leaves_in_full:
            return self._with_ids(version)
        if (
            state is _STABLE
            and self._remembers_all
            and self._assignment is membership.current
            and self._topics is subscription.topics
            and self._regex is subscription.regex
            and self._timeout_ms is not None
            and not (row.in_full and not membership.current.partitions)
        ):
            return self._unchanged(version)  # the rest are settings, which do not change
        joins = state is MemberState.JOINING or (row.awaits_partitions and membership.has_nothing)
        timeout_ms = settings.max_poll_interval_ms
        topics, regex = subscription.topics, subscription.regex
        if membership.has_unsubscribed:
            topics, regex = (), None
        if state is MemberState.PREPARE_LEAVING and self._topics is not None:
            topics, regex = self._topics, self._regex  # the subscription ends when the callback has returned
        assignor, assignment = settings.group_remote_assignor or row.assignor, membership.current
        if row.in_full and (not assignment.partitions or assignment != self._assignment):
            joins = True
        new_timeout = joins or timeout_ms != self._timeout_ms
        new_topics = joins or topics != self._topics or (row.resends_topics and self._changes != subscription.changes)
        self._changes = subscription.changes
        new_regex = regex != self._regex or (joins and regex is not None) or (new_topics and row.regex_beside_topics)
        new_assignor = joins or assignor != self._assignor
        new_assignment = joins or assignment != self._assignment
        if not (new_timeout or new_topics or new_regex or new_assignor or new_assignment):
            self._before = self._timeout_ms, self._topics, self._regex, self._assignor, self._assignment
            return self._unchanged(version)
        self._before = self._timeout_ms, self._topics, self._regex, self._assignor, self._assignment
        self._timeout_ms, self._topics, self._assignor, self._assignment = timeout_ms, topics, assignor, assignment
        self._regex = regex
        return ConsumerGroupHeartbeatRequest(
            member.group,
            membership.member_id,
            membership.epoch,
            settings.group_instance_id if row.instance_always or joins else None,
            settings.client_rack or None if joins and row.rack else None,
            timeout_ms if new_timeout else -1,
            topics if new_topics else None,
            (regex or "") if new_regex else None,
            assignor if new_assignor else None,
            to_message(assignment.partitions) if new_assignment else None,
            version,
        )

    def _unchanged(self, version: int) -> ConsumerGroupHeartbeatRequest:
        plain = self._plain
        if plain is None or plain.member_epoch != self._membership.epoch or plain.version != version:
            plain = self._plain = self._with_ids(version)
        return plain

    def _with_ids(self, version: int) -> ConsumerGroupHeartbeatRequest:
        membership, member = self._membership, self._member
        row = member.profile.consumer_protocol
        named = row.instance_always or (membership.epoch < 0 and row.leaves_named)
        instance_id = member.settings.group_instance_id if named else None
        return ConsumerGroupHeartbeatRequest(
            member.group, membership.member_id, membership.epoch, instance_id, version=version
        )


def is_plain(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a request only keeps the session: ids and epoch of a member that stays."""
    return (
        request.member_epoch > 0
        and request.rebalance_timeout_ms < 0
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.server_assignor is None
        and request.topic_partitions is None
    )
