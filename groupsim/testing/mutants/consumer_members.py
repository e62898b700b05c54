"""Historical bugs of members of consumer groups (KIP-848), each as the smallest change that restores it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from groupsim.members.consumer_protocol import fields
from groupsim.members.consumer_protocol.assignment import LocalAssignment
from groupsim.members.consumer_protocol.callbacks import Callbacks
from groupsim.members.consumer_protocol.fields import HeartbeatFields
from groupsim.members.consumer_protocol.membership import ConsumerMembership
from groupsim.members.consumer_protocol.ownership import ConsumerOwnership
from groupsim.members.consumer_protocol.reconciliation import Reconciliation
from groupsim.members.consumer_protocol.states import OUTSIDE, MemberState
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


# --- partitions that are given up --------------------------------------------------------------------------------


def assigned_after_unsubscribe(patch: Patcher) -> None:
    """KAFKA-20428: an assignment that waits for `poll` is applied after the application has unsubscribed."""
    patch.setattr(Callbacks, "clear", lambda self: None)


def lost_partitions_fetched(patch: Patcher) -> None:
    """KAFKA-20321: partitions that are lost are fetched until their callback has run."""
    _consumes_on(patch, MemberState.FENCED, MemberState.STALE, MemberState.FATAL)
