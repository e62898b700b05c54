"""Historical bugs of members of consumer groups (KIP-848), each as the smallest change that restores it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from groupsim.members import backoff
from groupsim.members.commit import before_reconciliation
from groupsim.members.consumer_protocol import fields
from groupsim.members.consumer_protocol.assignment import LocalAssignment
from groupsim.members.consumer_protocol.callbacks import Callbacks
from groupsim.members.consumer_protocol.fields import HeartbeatFields
from groupsim.members.consumer_protocol.heartbeat import ConsumerHeartbeats
from groupsim.members.consumer_protocol.membership import ConsumerMembership
from groupsim.members.consumer_protocol.ownership import ConsumerOwnership
from groupsim.members.consumer_protocol.poll_timer import PollTimer
from groupsim.members.consumer_protocol.reconciliation import Reconciliation
from groupsim.members.consumer_protocol.states import OUTSIDE, MemberState
from groupsim.members.ownership.owned import ASSIGNED
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatResponse
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
