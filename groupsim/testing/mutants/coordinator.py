"""Historical bugs of group coordinators, each as the smallest change that restores it."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from groupsim.coordinator import replay, shard
from groupsim.coordinator.base.expiry import ExpiryRule
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.base.timers import session_timer
from groupsim.coordinator.classic import entry_points, heartbeat, join, leave, rebalance, static_replacement
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.states import State
from groupsim.coordinator.ids import MemberIds
from groupsim.coordinator.service import GroupCoordinator
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import HeartbeatResponse, JoinGroupRequest
from groupsim.testing.patcher import Patcher

NEVER_MS = 10**9


# --- fencing -----------------------------------------------------------------------------------------------------


def static_reuse_id(patch: Patcher) -> None:
    """KAFKA-8500: outside Stable a known instance gets the member id that is stored for it."""
    replace_member = join.replace_static_member

    def mutant(op: Operation, group: GroupData, arrival: Arrival, request: JoinGroupRequest, old_id: str) -> None:
        same = arrival if group.state is State.STABLE else evolve(arrival, fresh_id=old_id)
        replace_member(op, group, same, request, old_id)

    patch.setattr(join, "replace_static_member", mutant)


def static_id_not_unique(patch: Patcher) -> None:
    """KAFKA-8715: member ids consist of the instance and a time that does not change while the group is Stable."""
    patch.setattr(MemberIds, "fresh", lambda self, group_id, prefix: f"{prefix}-1571961600000")


def static_rejoin_not_persisted(patch: Patcher) -> None:
    """KAFKA-10284: the new id of a static member is answered, and never written."""
    append = Operation.append

    def mutant(self: Operation, records: Any, then: Any = None, within_ms: int | None = None) -> None:
        if isinstance(then, static_replacement.ReplacementStored):
            then(self, None)
        else:
            append(self, records, then, within_ms)

    patch.setattr(Operation, "append", mutant)


# --- stuck members -----------------------------------------------------------------------------------------------


def no_sync_deadline(patch: Patcher) -> None:
    """KAFKA-12890: no timer limits how long a joined member may delay its SyncGroup."""
    patch.setattr(rebalance, "_arm_sync", lambda op, group: None)


def first_expiry_check_true(patch: Patcher) -> None:
    """KAFKA-9752: a member passes the first check of its session, and there is no second."""
    looked: dict[str, None] = {}
    expired = entry_points.session_expired

    def mutant(op: Operation, group: GroupData, member_id: str) -> None:
        if member_id in looked or member_id not in group.members:
            expired(op, group, member_id)
        looked[member_id] = None

    patch.setattr(entry_points, "session_expired", mutant)


def lookup_before_exists(patch: Patcher) -> None:
    """KAFKA-8896: a timer looks up its member without checking that it still exists."""
    expired = entry_points.session_expired

    def mutant(op: Operation, group: GroupData, member_id: str) -> None:
        if member_id not in group.pending_join:
            assert group.lookup[member_id] is not None
        expired(op, group, member_id)

    patch.setattr(entry_points, "session_expired", mutant)


def pending_member_immortal(patch: Patcher) -> None:
    """Redpanda 3300: a member id that was handed out and never used is never removed."""
    hand_out = join._hand_out_id

    def mutant(op: Operation, group: GroupData, arrival: Arrival, request: JoinGroupRequest) -> None:
        hand_out(op, group, arrival, request)
        op.stop_timer(session_timer(group.group_id, arrival.fresh_id))

    patch.setattr(join, "_hand_out_id", mutant)


def leave_does_not_complete_join(patch: Patcher) -> None:
    """KoP 380: a member that leaves an open round is removed, and the round is not completed."""
    patch.setattr(leave, "maybe_complete", lambda op, group: None)


def ghost_members_accumulate(patch: Patcher) -> None:
    """KAFKA-7610: a member whose first JoinGroup is parked has no limit of five minutes."""
    patch.setattr(join, "NEW_MEMBER_JOIN_TIMEOUT_MS", NEVER_MS)


def absent_leader(patch: Patcher) -> None:
    """KAFKA-8220: a round closes with a leader that did not join, and all members wait for its assignment."""
    patch.setattr(rebalance, "_elect_joined_leader", lambda op, group: group.leader is not None)


def heartbeat_hides_rebalance(patch: Patcher) -> None:
    """KAFKA-1740: heartbeats during PreparingRebalance are answered NONE."""
    patch.setitem(heartbeat._BY_STATE, State.PREPARING_REBALANCE, HeartbeatResponse(ErrorCode.NONE))


def last_member_expires_with_pending(patch: Patcher) -> None:
    """Redpanda 25270: the longest rebalance timeout of a group without members is computed, and fails."""

    def mutant(self: GroupData) -> int:
        return 1_000 * max(member.rebalance_timeout_ms for member in self.lookup.values())

    patch.setattr(GroupData, "rebalance_timeout_us", property(mutant))


# --- protocols ---------------------------------------------------------------------------------------------------


def first_join_without_protocols(patch: Patcher) -> None:
    """KAFKA-6005: the first member of a group need not support any protocol."""
    supports = join.supports
    patch.setattr(
        join, "supports", lambda group, kind, protocols: not group.members or supports(group, kind, protocols)
    )


def protocol_match_any(patch: Patcher) -> None:
    """kfake 7825098b: a protocol in common with one member counts as common to all."""

    def mutant(group: GroupData, kind: str, protocols: Any) -> bool:
        offered = {protocol.name for protocol in protocols}
        return not group.members or any(
            offered & {protocol.name for protocol in member.protocols} for member in group.members.values()
        )

    patch.setattr(join, "supports", mutant)


def strategy_alphabetical(patch: Patcher) -> None:
    """librdkafka 3818: the order of preference is ignored; the first name in the alphabet wins."""

    def mutant(group: GroupData, **_: bool) -> str:
        common = set.intersection(*({one.name for one in member.protocols} for member in group.members.values()))
        return min(common)

    patch.setattr(rebalance, "select_protocol", mutant)


def ignore_changed_metadata(patch: Patcher) -> None:
    """kfake d4d15137: a follower that rejoins with another subscription is answered with the present generation."""
    patch.setattr(join, "_cause_of_rejoin", lambda group, member, request: None)


# --- time limits -------------------------------------------------------------------------------------------------


def rebalance_timeout_minus_one(patch: Patcher) -> None:
    """KAFKA-8653: the rebalance timeout that JoinGroup v0 lacks is taken as -1."""
    patch.setattr(
        join, "rebalance_timeout_ms", lambda op, request: -1 if request.version < 1 else request.rebalance_timeout_ms
    )


def rebalance_equals_session(patch: Patcher) -> None:
    """librdkafka's mock broker: a round waits no longer than a session."""
    patch.setattr(join, "rebalance_timeout_ms", lambda op, request: request.session_timeout_ms)


def new_member_timer_not_cleared(patch: Patcher) -> None:
    """KAFKA-9232: the five minutes of a new member stay in force after its JoinGroup is answered."""
    set_session = Operation.set_session

    def mutant(self: Operation, group: GroupData, member: Member, timeout_ms: int | None = None) -> None:
        set_session(self, group, member, join.NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new else timeout_ms)

    patch.setattr(Operation, "set_session", mutant)


def member_timeouts_not_updated(patch: Patcher) -> None:
    """KAFKA-14009: a static member comes back with other timeouts, and the old ones stay in force."""
    patch.setattr(
        static_replacement, "_take", lambda op, group, member, join: group.change_protocols(member, join.protocols)
    )


def initial_delay_skipped(patch: Patcher) -> None:
    """Redpanda a90cd758: the first member of a group does not wait for others."""

    def mutant(op: Operation, group: GroupData) -> None:
        op.set_timer(rebalance.join_timer(group.group_id), rebalance.TimerKind.JOIN, 1_000, group.group_id)

    patch.setattr(rebalance, "_set_initial_timer", mutant)


# --- group sizes -------------------------------------------------------------------------------------------------


def size_check_race(patch: Patcher) -> None:
    """KAFKA-9844: a member that joins while the group is being formed is not counted."""
    accepts = join.accepts

    def mutant(op: Operation, group: GroupData, member_id: str) -> bool:
        return (group.generation == 0 and member_id == "") or accepts(op, group, member_id)

    patch.setattr(join, "accepts", mutant)


def pending_not_counted(patch: Patcher) -> None:
    """KAFKA-9885: a member that returns with a pending member id is always accepted, full group or not."""
    accepts = join.accepts

    def mutant(op: Operation, group: GroupData, member_id: str) -> bool:
        return member_id in group.pending_join or accepts(op, group, member_id)

    patch.setattr(join, "accepts", mutant)


# --- offsets -----------------------------------------------------------------------------------------------------


def expire_active_group(patch: Patcher) -> None:
    """KAFKA-4682: offsets expire by the time of their commit, whether or not the group is active."""
    patch.setattr(ClassicGroup, "expiry_rule", lambda group, op: ExpiryRule())


def expire_while_rebalancing(patch: Patcher) -> None:
    """KAFKA-13636: offsets expire while the group rebalances."""
    rule = ClassicGroup.expiry_rule
    rebalancing = (State.PREPARING_REBALANCE, State.AWAITING_SYNC)
    mutant = lambda group, op: ExpiryRule() if group.state in rebalancing else rule(group, op)  # noqa: E731
    patch.setattr(ClassicGroup, "expiry_rule", mutant)


def no_expiry_means_expired(patch: Patcher) -> None:
    """KAFKA-8069: an offset without an expiry time of its own counts as expired."""
    patch.setattr(
        ExpiryRule,
        "expired",
        lambda self, partition, value, now_us, retention_us: value.expire_us is None or now_us >= value.expire_us,
    )


def state_timestamp_not_loaded(patch: Patcher) -> None:
    """KAFKA-10401: the time since when a group is empty is not read back from the log."""
    restore = replay.restore
    patch.setattr(replay, "restore", lambda group, value: restore(group, evolve(value, state_timestamp_us=None)))


# --- fail-over ---------------------------------------------------------------------------------------------------


def load_check_order(patch: Patcher) -> None:
    """Kafka 8662a022: a broker that is loading a partition answers NOT_COORDINATOR."""
    refusal = GroupCoordinator._unavailable

    def mutant(self: GroupCoordinator, *args: Any) -> ErrorCode | None:
        error = refusal(self, *args)
        return ErrorCode.NOT_COORDINATOR if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else error

    patch.setattr(GroupCoordinator, "_unavailable", mutant)


def unload_drops_callbacks(patch: Patcher) -> None:
    """KAFKA-2841, KAFKA-16148: a coordinator that resigns drops parked requests without an answer."""
    patch.setattr(ClassicGroup, "unloaded", lambda group, op: None)


def partial_replay_accepted(patch: Patcher) -> None:
    """Redpanda 9d75795e: a replay that ends half-way counts as complete."""
    replay_all = shard.replay

    def mutant(partition: Any, records: Any) -> None:
        every = list(records)
        replay_all(partition, every[: len(every) // 2])

    patch.setattr(shard, "replay", mutant)


def field_lost_on_reload(patch: Patcher) -> None:
    """Redpanda 501b9d35: one field of a member is written, and not read back."""
    restore = replay.restore

    def mutant(group: GroupData, value: Any) -> None:
        members = tuple(evolve(member, rebalance_timeout_ms=member.session_timeout_ms) for member in value.members)
        restore(group, evolve(value, members=members))

    patch.setattr(replay, "restore", mutant)


def txn_commit_unvalidated(patch: Patcher) -> None:
    """Redpanda 0e3a7522: offsets in a transaction are accepted without a check of member and generation (KIP-447)."""
    patch.setattr(ClassicGroup, "txn_commit_error", lambda group, op, request: None)
