"""Historical bugs of the coordinator of consumer groups (KIP-848), each as the smallest change that restores it."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.versions import Differences, differences
from groupsim.coordinator.consumer import heartbeat, member_update
from groupsim.coordinator.consumer.assignment import reconciliation
from groupsim.coordinator.consumer.member import ConsumerMember, MemberState, Partitions
from groupsim.coordinator.consumer.state import _MISSING, GroupState
from groupsim.coordinator.partition.state import Partition
from groupsim.testing.patcher import Patcher


def _release(patch: Patcher, **fields: bool) -> None:
    """Give coordinators these differences of an older release (`coordinator/base/versions.py`)."""

    def mutant(config: CoordinatorConfig) -> Differences:
        return evolve(differences(config.broker_version, config.defects), **fields)

    patch.setattr(CoordinatorConfig, "differences", property(mutant))


# --- epochs ------------------------------------------------------------------------------------------------------


def epoch_map_order(patch: Patcher) -> None:
    """KAFKA-16147: a partition that goes from pending back to assigned is added to the map of owners, then removed."""
    put_member = GroupState._put_member

    def mutant(self: GroupState, old: ConsumerMember | None, new: ConsumerMember | None) -> None:
        put_member(self, old, new)
        for topic, partitions in ({} if old is None or new is None else old.pending).items():
            for partition in partitions:
                if new is not None and partition in new.assigned.get(topic, {}):
                    self._set_partition(topic, partition, _MISSING)

    patch.setattr(GroupState, "_put_member", mutant)


def epoch_reused(patch: Patcher) -> None:
    """KAFKA-19974: a member that has revoked is at the next epoch, although it has to revoke more."""
    _release(patch, revocation_adds_epoch=True)


def reject_epoch_zero(patch: Patcher) -> None:
    """KAFKA-19233: epoch 0 of a member that the coordinator knows is fenced like any epoch that is not the member's."""
    _release(patch, epoch_0_is_accepted=False)


# --- reconciliation ----------------------------------------------------------------------------------------------


def recompute_during_revocation(patch: Patcher) -> None:
    """kfake 007d8635: a member that has not revoked yet moves on to each new target, and its pending set shrinks."""
    reconcile = reconciliation.reconcile

    def mutant(member: ConsumerMember, goal: Any, owned: Any, rules: Differences) -> ConsumerMember:
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            return reconciliation._advance(member, goal, owned, member.member_epoch, rules)
        return reconcile(member, goal, owned, rules)

    patch.setattr(member_update, "reconcile", mutant)


def unsubscribed_topic_in_assignment(patch: Patcher) -> None:
    """KAFKA-19431: until a target for the new subscription is computed, a member keeps topics that it has given up."""
    _release(patch, target_follows_subscription=False)


def self_blocks_reassignment(patch: Patcher) -> None:
    """KAFKA-19449: a partition that the member itself has to revoke counts as one of another member."""
    _release(patch, own_pending_is_free=False)


def full_response_condition(patch: Patcher) -> None:
    """KAFKA-16367: a request that reports partitions counts as a full one, and is answered with the assignment."""
    patch.setattr(heartbeat, "_is_full", lambda request: request.topic_partitions is not None)


# --- what bumps the group epoch ----------------------------------------------------------------------------------


def regex_cleared_without_bump(patch: Patcher) -> None:
    """KAFKA-19891: a member that gives up its regular expression does not bump the group epoch."""
    _release(patch, empty_regex_bumps=False)


def assignor_vote_without_bump(patch: Patcher) -> None:
    """KAFKA-20434: another preferred assignor does not bump the group epoch."""
    _release(patch, assignor_choice_bumps=False)


def empty_group_epochs_differ(patch: Patcher) -> None:
    """KAFKA-20442: the last leave bumps the group epoch; the epoch and the time of the target stay."""
    _release(patch, last_leave_ends_target=False)


# --- static members, administrators ------------------------------------------------------------------------------


def full_group_refuses_replacement(patch: Patcher) -> None:
    """KAFKA-20601: the size of a full group is checked before the instance id of a member that comes back."""
    _release(patch, known_instance_passes=False)


def instance_map_leak(patch: Patcher) -> None:
    """KAFKA-20747: a member that takes another instance id is named by its former one as well."""
    _release(patch, instance_change_frees=False)


def pending_not_described(patch: Patcher) -> None:
    """KAFKA-20431: ConsumerGroupDescribe leaves out the partitions that a member has to revoke."""
    _release(patch, describe_shows_pending=False)


# --- logs --------------------------------------------------------------------------------------------------------


def replay_during_compaction(patch: Patcher) -> None:
    """KAFKA-19862: a load fails at a partition whose former owner gives it up after another member has got it."""

    def mutant(self: GroupState, partitions: Partitions, epoch: int) -> None:
        for topic_id, held in partitions.items():
            for partition in held:
                if self.partition_epoch(topic_id, partition) != epoch:
                    raise IllegalState(f"{topic_id}-{partition} is still owned at a different epoch")
                self._set_partition(topic_id, partition, _MISSING)

    patch.setattr(GroupState, "_release", mutant)


def memory_reverted_log_kept(patch: Patcher) -> None:
    """KAFKA-20845: a failed append takes back all later changes in memory, also those whose records are written."""
    patch.setattr(Partition, "_apply_again", lambda self, applied, vanished: None)
