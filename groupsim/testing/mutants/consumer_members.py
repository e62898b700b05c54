"""Historical bugs of members of consumer groups (KIP-848), each as the smallest change that restores it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from groupsim.members import backoff, metadata
from groupsim.members.commit import before_reconciliation
from groupsim.members.consumer_protocol import fields
from groupsim.members.consumer_protocol.assignment import NONE, LocalAssignment
from groupsim.members.consumer_protocol.callbacks import Callbacks
from groupsim.members.consumer_protocol.errors import ACTIONS, Action
from groupsim.members.consumer_protocol.fields import HeartbeatFields
from groupsim.members.consumer_protocol.heartbeat import ConsumerHeartbeats
from groupsim.members.consumer_protocol.membership import ConsumerMembership
from groupsim.members.consumer_protocol.ownership import ConsumerOwnership
from groupsim.members.consumer_protocol.poll_timer import PollTimer
from groupsim.members.consumer_protocol.reconciliation import Reconciliation
from groupsim.members.consumer_protocol.states import OUTSIDE, MemberState
from groupsim.members.fetch.positions import Fetcher
from groupsim.members.ownership.owned import ASSIGNED
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import LEAVE_EPOCH, ConsumerGroupHeartbeatResponse
from groupsim.protocol.messages.group import FetchedOffset, MetadataRequest, TopicPartition
from groupsim.testing.patcher import Patcher

# --- reconciliation ----------------------------------------------------------------------------------------------


def stale_reconciliation_applied(patch: Patcher) -> None:
    """KAFKA-16375: a round looks at the state alone, and goes on after the member was fenced and has joined again."""
    rejoined = Reconciliation.rejoined

    def mutant(self: Reconciliation) -> None:
        rejoined(self)
        self._rejoined = False

    patch.setattr(Reconciliation, "rejoined", mutant)


def deliver_after_ack(patch: Patcher) -> None:
    """KAFKA-20332: records of a partition are delivered after the round that revokes it has begun."""
    _consumes_on(patch, MemberState.RECONCILING)


def _consumes_on(patch: Patcher, *states: MemberState) -> None:
    stop = ConsumerOwnership.stop_consuming

    def mutant(self: ConsumerOwnership, partitions: Any) -> None:
        if self._member.state not in states:
            stop(self, partitions)

    patch.setattr(ConsumerOwnership, "stop_consuming", mutant)


def part_acknowledged_again(patch: Patcher) -> None:
    """KAFKA-20145: as long as a topic of the target is unknown, the rest is acknowledged with every pass."""
    begin = Reconciliation.begin

    def mutant(self: Reconciliation, *, in_poll: bool) -> None:
        if self._membership.state is MemberState.RECONCILING and not self.in_progress and not self.current.is_none:
            resolved, _ = self._resolve()
            if resolved == self.current != self.target:
                self._membership.become(MemberState.ACKNOWLEDGING)
                return
        begin(self, in_poll=in_poll)

    patch.setattr(Reconciliation, "begin", mutant)


def partial_resolution_replaces(patch: Patcher) -> None:
    """KAFKA-16198: topics that become known later are taken for the whole target."""
    resolve = Reconciliation._resolve

    def mutant(self: Reconciliation) -> Any:
        known = resolve(self)[0].partitions
        late = {topic: numbers for topic, numbers in known.items() if topic not in self.current.partitions}
        if late and self.target.number == self.current.number:
            self.target = LocalAssignment(self.target.number, late)
        return resolve(self)

    patch.setattr(Reconciliation, "_resolve", mutant)


def same_assignment_not_acknowledged(patch: Patcher) -> None:
    """KAFKA-16185, KAFKA-16312: a later target with the same partitions counts as reconciled, and is not reported."""
    begin = Reconciliation.begin

    def mutant(self: Reconciliation, *, in_poll: bool) -> None:
        if self.in_progress or self.current.is_none or self._resolve()[0].partitions != self.current.partitions:
            begin(self, in_poll=in_poll)

    patch.setattr(Reconciliation, "begin", mutant)


def assigned_outside_poll(patch: Patcher) -> None:
    """KAFKA-20106: the background thread changes the assignment, whether the application polls or not."""
    revoked = Reconciliation._revoked

    def mutant(self: Reconciliation, number: int, resolved: Any, partitions: Any, failure: Any) -> None:
        revoked(self, number, resolved, partitions, failure)
        if failure is None and self.in_progress:
            self._ownership._own(partitions, [])

    patch.setattr(Reconciliation, "_revoked", mutant)


def round_waits_for_failed_callback(patch: Patcher) -> None:
    """KAFKA-18160, KAFKA-20382: a callback that throws is not reported to the round, which waits for it for good."""

    def without_failures(step: Any) -> Any:
        def mutant(*args: Any) -> None:
            if args[-1] is None:
                step(*args)

        return mutant

    for name in ("_revoked", "_assigned"):
        patch.setattr(Reconciliation, name, without_failures(getattr(Reconciliation, name)))


def fetched_before_callback(patch: Patcher) -> None:
    """KAFKA-16107: new partitions are consumed while the assigned callback runs."""

    async def mutant(self: ConsumerOwnership, partitions: Any, added: Any) -> None:
        self._own(partitions, list(added))
        await self._call_back(ASSIGNED, added)

    patch.setattr(ConsumerOwnership, "assign", mutant)


def commit_retry_deleted_topic(patch: Patcher) -> None:
    """KAFKA-16224: the commit before a reconciliation is repeated for a topic that no longer exists."""
    patch.setattr(before_reconciliation, "_UNKNOWN_TOPIC", "")


def unknown_topics_dropped(patch: Patcher) -> None:
    """franz-go 9b92299f: topics that metadata lack as they are assigned are left out of the target for good."""
    resolve = Reconciliation._resolve

    def mutant(self: Reconciliation) -> Any:
        resolved, partitions = resolve(self)
        self.target = resolved
        return resolved, partitions

    patch.setattr(Reconciliation, "_resolve", mutant)


def target_of_a_round_ignored(patch: Patcher) -> None:
    """franz-go 6536e4f3: a target that comes while partitions are being revoked is ignored."""
    assigned = ConsumerMembership._assigned

    def mutant(self: ConsumerMembership, partitions: Any) -> None:
        if not self._reconciliation.in_progress:
            assigned(self, partitions)

    patch.setattr(ConsumerMembership, "_assigned", mutant)


def ack_before_revoke_done(patch: Patcher) -> None:
    """franz-go 466a4512: heartbeats report the target while the revoked callback runs."""

    def mutant(self: ConsumerMembership) -> LocalAssignment:
        reconciliation = self._reconciliation
        return reconciliation.target if reconciliation.in_progress else reconciliation.current

    patch.setattr(ConsumerMembership, "current", property(mutant))


# --- heartbeats --------------------------------------------------------------------------------------------------


def delta_on_rejoin(patch: Patcher) -> None:
    """KAFKA-16190: the heartbeat that joins again leaves out what earlier ones had."""
    forget = HeartbeatFields.forget

    def mutant(self: HeartbeatFields) -> None:
        if not hasattr(self, "_topics"):
            forget(self)

    patch.setattr(HeartbeatFields, "forget", mutant)
    patch.setattr(fields, "MemberState", SimpleNamespace(JOINING=None, PREPARE_LEAVING=MemberState.PREPARE_LEAVING))


def negative_epoch_in_join(patch: Patcher) -> None:
    """KAFKA-19335: the epoch of an answer is taken in any state, so that a member joins with the epoch of its leave."""
    accepted = ConsumerMembership.accepted

    def mutant(self: ConsumerMembership, response: ConsumerGroupHeartbeatResponse) -> None:
        accepted(self, response)
        if response.member_epoch < 0 and self.state not in OUTSIDE:
            self._set_epoch(response.member_epoch)

    patch.setattr(ConsumerMembership, "accepted", mutant)


def interval_from_answer(patch: Patcher) -> None:
    """KAFKA-16528: the heartbeat interval counts from the answer to the last heartbeat."""
    accepted = ConsumerHeartbeats._accepted

    def mutant(self: ConsumerHeartbeats, request: Any, response: ConsumerGroupHeartbeatResponse) -> None:
        accepted(self, request, response)
        self._due_us = self._member.loop.now_us + self._interval_us

    patch.setattr(ConsumerHeartbeats, "_accepted", mutant)


def jitter_beyond_one(patch: Patcher) -> None:
    """KAFKA-19813: max.poll.interval.ms is taken for the jitter of the backoff, so that every other wait is none."""
    failed = ConsumerHeartbeats._failed

    def mutant(self: ConsumerHeartbeats, outcome: Any) -> None:
        jitter, backoff._JITTER_PERCENT = backoff._JITTER_PERCENT, 100 * self._member.settings.max_poll_interval_ms
        failed(self, outcome)
        backoff._JITTER_PERCENT = jitter

    patch.setattr(ConsumerHeartbeats, "_failed", mutant)


def lost_assignment_response(patch: Patcher) -> None:
    """franz-go eca3a457: after a heartbeat without an answer the next one has no more fields than usual."""
    failed = ConsumerHeartbeats._failed

    def mutant(self: ConsumerHeartbeats, outcome: Any) -> None:
        kept, self._fields = self._fields, HeartbeatFields(self._member, self._membership)
        failed(self, outcome)
        self._fields = kept

    patch.setattr(ConsumerHeartbeats, "_failed", mutant)


def join_carries_old_owned(patch: Patcher) -> None:
    """franz-go 8e7cfc60: a member that joins again reports what it has lost."""

    def mutant(self: Reconciliation) -> None:
        self.target = NONE

    patch.setattr(Reconciliation, "clear", mutant)


def group_gone_ignored(patch: Patcher) -> None:
    """librdkafka 5485: GROUP_ID_NOT_FOUND is no reason to stop, nor to join again."""
    patch.setitem(ACTIONS, ErrorCode.GROUP_ID_NOT_FOUND, Action.BACK_OFF)


def static_leaves_for_good(patch: Patcher) -> None:
    """franz-go 197bf424, Dekaf 1348: a static member closes with epoch -1, as if it did not come back."""
    patch.setattr(ConsumerMembership, "_leave_epoch", lambda self, *, for_good: LEAVE_EPOCH)


# --- the poll limit ----------------------------------------------------------------------------------------------


def polls_not_counted(patch: Patcher) -> None:
    """KAFKA-16026: polls do not reach the background thread, and max.poll.interval.ms counts from the start."""
    for name in ("enter", "leave"):
        patch.setattr(PollTimer, name, lambda self: None)


def stays_at_poll_limit(patch: Patcher) -> None:
    """KAFKA-15818: nothing happens at max.poll.interval.ms."""
    patch.setattr(PollTimer, "is_over", False)


# --- partitions that are given up --------------------------------------------------------------------------------


def assigned_after_unsubscribe(patch: Patcher) -> None:
    """KAFKA-20428: an assignment that waits for `poll` is applied after the application has unsubscribed."""
    patch.setattr(Callbacks, "clear", lambda self: None)


def lost_partitions_fetched(patch: Patcher) -> None:
    """KAFKA-20321: partitions that are lost are fetched until their callback has run."""
    _consumes_on(patch, MemberState.FENCED, MemberState.STALE, MemberState.FATAL)


# --- positions and metadata --------------------------------------------------------------------------------------


def retry_joins_dead_request(patch: Patcher) -> None:
    """KAFKA-20765: committed offsets that were refused for a stale epoch count as requested, and are waited for."""
    refused = Fetcher._refused

    def mutant(self: Fetcher, error: ErrorCode) -> None:
        refused(self, error)
        if error is ErrorCode.STALE_MEMBER_EPOCH:
            self._looking_up = frozenset(self._without_position())

    patch.setattr(Fetcher, "_refused", mutant)


def stale_fetch_means_no_offset(patch: Patcher) -> None:
    """platformatic 267: a stale epoch in answer to OffsetFetch counts as an answer without committed offsets."""
    refused = Fetcher._refused

    def mutant(self: Fetcher, error: ErrorCode) -> None:
        if error is ErrorCode.STALE_MEMBER_EPOCH:
            self._start(tuple(FetchedOffset(partition) for partition in self._without_position()))
        else:
            refused(self, error)

    patch.setattr(Fetcher, "_refused", mutant)


def positions_of_revoked_looked_up(patch: Patcher) -> None:
    """KAFKA-19781: committed offsets are requested of partitions that are about to be revoked."""
    without_position = Fetcher._without_position

    def mutant(self: Fetcher) -> list[TopicPartition]:
        leaving, self._leaving = self._leaving, set()
        missing = without_position(self)
        self._leaving = leaving
        return missing

    patch.setattr(Fetcher, "_without_position", mutant)


def regex_means_all_topics(patch: Patcher) -> None:
    """KAFKA-18117, KAFKA-18729: a member with a regular expression requests metadata of all topics."""

    def mutant(topics: Any, *, version: int, topic_ids: Any) -> MetadataRequest:
        return MetadataRequest(None if topic_ids else topics, version=version)

    patch.setattr(metadata, "MetadataRequest", mutant)
